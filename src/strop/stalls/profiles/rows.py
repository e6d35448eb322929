"""CSV files of any size, row by row: no line and no field longer than a limit is ever held."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from strop.errors import CorruptProfile, MissingProfile, TruncatedProfile
from strop.stalls.profiles.tally import shown

_LONGEST_LINE = 1 << 20  # characters


def rows(path: Path, *, format: str, blanks: bool = False) -> Iterator[list[str]]:
    """Yield the rows of a CSV file, empty ones left out; `blanks` drops blanks after separators.

    Raises MissingProfile, and CorruptProfile for quotes that never close and lines that are too long.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.reader(_lines(file, path, format), skipinitialspace=blanks)
            while True:
                try:
                    row = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    what = f"line {reader.line_num} is no CSV ({error})"
                    raise CorruptProfile(format=format, path=str(path), what=what) from None
                if row:
                    yield row
    except OSError as error:
        raise MissingProfile(path=str(path), reason=error.strerror or str(error)) from None


def _lines(file: TextIO, path: Path, format: str) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            what = f"a line is longer than {_LONGEST_LINE} characters"
            raise CorruptProfile(format=format, path=str(path), what=what)
        yield line.replace("\0", "�")


class Columns:
    """Where a table's columns are, by name without regard to case and surrounding blanks."""

    def __init__(self, header: Sequence[str], *, path: Path, format: str) -> None:
        self.path = str(path)
        self.format = format
        self.names = [name.strip() for name in header]
        self._at = {name.lower(): at for at, name in reversed(list(enumerate(self.names)))}
        self.count = 0  # of rows so far, for messages

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._at

    def at(self, name: str) -> int:
        """Return a column's position."""
        found = self._at.get(name.lower())
        if found is None:
            names = shown(", ".join(self.names), 200)
            what = f"its header {names} lacks the column {name}"
            raise CorruptProfile(format=self.format, path=self.path, what=what)
        return found

    def check(self, row: Sequence[str]) -> None:
        """Raise unless a row has a field for every column."""
        self.count += 1
        if len(row) < len(self.names):
            what = f"row {self.count} has {len(row)} of {len(self.names)} fields"
            raise TruncatedProfile(format=self.format, path=self.path, what=what)
        if any(field.strip() for field in row[len(self.names) :]):  # a separator at the end of a row adds nothing
            what = f"row {self.count} has {len(row)} fields for {len(self.names)} columns"
            raise CorruptProfile(format=self.format, path=self.path, what=what)
