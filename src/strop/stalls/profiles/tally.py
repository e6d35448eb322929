"""Counting samples by place and reason while a profile is read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from strop.errors import CorruptProfile
from strop.stalls.profiles.profile import Count, Place, Reason

_NUMBER = re.compile(r"[0-9]{1,18}|[0-9]{1,3}(,[0-9]{3}){1,5}", re.ASCII)
_SOURCE = re.compile(r"(?P<file>.+):(?P<line>[0-9]{1,9})", re.ASCII | re.DOTALL)


class Tally:
    """Samples of one kernel as they come; the same place and word add up."""

    def __init__(self) -> None:
        self._places: dict[Place, dict[tuple[Reason, str], list[int]]] = {}

    def add(self, place: Place, reason: Reason, word: str, samples: int, hidden: int = 0) -> None:
        """Count `samples`, `hidden` of them hidden, of a vendor's `word`; none are no entry."""
        if samples <= 0:
            return
        entry = self._places.setdefault(place, {}).setdefault((reason, word), [0, 0])
        entry[0] += samples
        entry[1] += min(hidden, samples)

    @property
    def samples(self) -> int:
        """All samples so far."""
        return sum(entry[0] for words in self._places.values() for entry in words.values())

    def counts(self) -> Mapping[Place, tuple[Count, ...]]:
        """Return the counts as a `KernelProfile` has them."""
        return {
            place: tuple(Count(reason, word, *entry) for (reason, word), entry in words.items())
            for place, words in self._places.items()
        }


def shown(text: object, limit: int = 60) -> str:
    """Return text from a file as a message may show it: short, on one line, without control characters.

    >>> shown("a" + chr(27) + "[31m")
    "'a\\\\x1b[31m'"
    """
    line = str(text)
    return repr(line if len(line) <= limit else line[: limit - 1] + "…")


def number(text: str, *, path: str, format: str, where: str) -> int:
    """Return a count as tools print it: decimal digits, perhaps in groups of three; empty is 0.

    >>> number("1,306", path="p", format="f", where="row 1")
    1306
    """
    text = text.strip()
    if not text:
        return 0
    if not _NUMBER.fullmatch(text):
        raise CorruptProfile(format=format, path=path, what=f"{where} is {shown(text)}, not a count")
    return int(text.replace(",", ""))


def integer(value: object, *, path: str, format: str, where: str) -> int:
    """Return a value of a JSON file or a database that must be a count below 2^63."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise CorruptProfile(format=format, path=path, what=f"{where} is {shown(value)}, not a count")
    return value


def source(comment: str) -> tuple[str | None, int | None]:
    """Return file and line of an AMD tool's `file:line`, the innermost of `inner:1 -> outer:2`; None, None if neither.

    >>> source("/a/k.hip:12 -> /a/main.hip:40"), source("")
    (('/a/k.hip', 12), (None, None))
    """
    found = _SOURCE.fullmatch(comment.split(" -> ", 1)[0].strip())
    return (found["file"], int(found["line"])) if found else (None, None)
