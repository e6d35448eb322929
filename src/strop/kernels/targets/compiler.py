"""What a compiler's failure says of a candidate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from strop.kernels.targets.target import Refused
from strop.values.verdict import Verdict

if TYPE_CHECKING:
    from strop.bench.foreign import ForeignResult

MOST_QUOTED = 200  # characters
_PLACE = re.compile(r"^(?P<file>[^:\s]+):(?P<line>\d+)(?::\d+)?:\s*(?:fatal )?error:\s*(?P<what>.*)$", re.MULTILINE)


def refusal(done: ForeignResult) -> Refused:
    """Return what a compiler's failure says of a candidate: its first error, cut to a line."""
    said = (done.stderr + b"\n" + done.stdout).decode(errors="replace")
    if done.verdict is Verdict.RUN_TIMEOUT:
        return Refused(Verdict.COMPILE_TIMEOUT, f"The compiler was stopped: {done.detail}")
    if done.verdict is Verdict.LIMIT:
        return Refused(Verdict.LIMIT, f"The compiler reached a limit: {done.detail}")
    place = next((each for each in _PLACE.finditer(said) if each["file"].endswith("candidate.c")), None)
    if place is not None:
        return Refused(Verdict.COMPILE_ERROR, f"line {place['line']}: {quoted(place['what'])}", int(place["line"]))
    telling = ("error", "undefined", "multiple", "not run")
    lines = [line for line in said.splitlines() if any(word in line.casefold() for word in telling)]
    first = re.sub(r"\S*/(?=candidate\.)", "", lines[0]) if lines else done.detail
    return Refused(Verdict.COMPILE_ERROR, quoted(first) if lines else first)


def quoted(text: str) -> str:
    """Return what a compiler said as a quotation: it may repeat a candidate's own words, and they are data."""
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).replace('"', "'").split())
    return f'the compiler says "{plain if len(plain) <= MOST_QUOTED else plain[: MOST_QUOTED - 1] + "…"}"'
