"""What a compiler's failure says of a candidate."""

from __future__ import annotations

import re

from strop.bench.foreign import ForeignResult
from strop.kernels.targets.target import Refused
from strop.values.verdict import Verdict

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
        return Refused(Verdict.COMPILE_ERROR, f"line {place['line']}: {place['what'].strip()}", int(place["line"]))
    lines = [line.strip() for line in said.splitlines() if "error" in line or "undefined" in line or "multiple" in line]
    return Refused(Verdict.COMPILE_ERROR, re.sub(r"\S*/(?=candidate\.)", "", (lines or [done.detail])[0])[:300])
