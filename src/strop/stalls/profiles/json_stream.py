"""JSON of any size, read front to back: what isn't asked for is skipped, arrays come element by element."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from strop.errors import CorruptProfile, MissingProfile, TruncatedProfile

_CHUNK = 1 << 18  # characters read at once
_LARGEST = 1 << 24  # characters of a value that is decoded whole
_LONGEST_NUMBER = 4300  # digits; Python refuses more
_AFTER = tuple(",]} \t\r\n")  # what may stand after a number
_DEEPEST = 500  # brackets within brackets; tools write less than ten
_BLANK = re.compile(r"[ \t\r\n]*")
_TEXT = r'"(?>[^"\\]++|\\.)*+"'
_PLAIN = rf'[^"\[\]{{}}]++|{_TEXT}'
_FLAT = rf"{_PLAIN}|\[(?>{_PLAIN})*+\]|\{{(?>{_PLAIN})*+\}}"
_NESTED = rf"{_PLAIN}|\[(?>{_FLAT})*+\]|\{{(?>{_FLAT})*+\}}"
# What opens and closes within the buffer is passed over in one step; brackets of larger values come one by one.
_PASSED = re.compile(rf"(?>{_NESTED})*+", re.DOTALL)
_IN_TEXT = re.compile(r'["\\]')


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


class JsonStream:
    """A cursor in a JSON text. Where a value stands, take it with `value`, `skip`, `items` or `elements`, just one."""

    def __init__(self, file: TextIO, *, path: str, format: str) -> None:
        self._file = file
        self._path = path
        self._format = format
        self._buffer = ""
        self._at = 0
        self._dropped = 0  # characters before the buffer, for messages
        self._decoder = json.JSONDecoder(parse_constant=_refuse)

    def _corrupt(self, what: str) -> CorruptProfile:
        where = f"{what} at character {self._dropped + self._at}"
        return CorruptProfile(format=self._format, path=self._path, what=where)

    def _fill(self) -> bool:
        """Read on, keeping what isn't consumed; False at the end of the file."""
        chunk = self._file.read(_CHUNK)
        if not chunk:
            return False
        self._dropped += self._at
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return True

    def _ended(self) -> TruncatedProfile:
        return TruncatedProfile(format=self._format, path=self._path, what="the JSON has no end")

    def peek(self) -> str:
        """Return the next character that isn't blank, without taking it."""
        while True:
            found = _BLANK.match(self._buffer, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._fill():
                raise self._ended()

    def take(self, wanted: str) -> None:
        """Take one character."""
        found = self.peek()
        if found != wanted:
            raise self._corrupt(f"{found!r} instead of {wanted!r}")
        self._at += 1

    def value(self) -> Any:
        """Decode the value here, of at most 16 million characters."""
        self.peek()
        while True:
            error: Exception | None = None
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except (ValueError, RecursionError) as caught:
                error = caught
            else:
                # A number may go on in the next chunk, and `-15.` may have been read as -15.
                whole = self._buffer[end - 1] in '"]}' or self._buffer[end : end + 1] in _AFTER
                if whole or not self._fill():
                    self._at = end
                    return value
                if len(self._buffer) - self._at > _LONGEST_NUMBER + _CHUNK:
                    raise self._corrupt("a number or constant that is no JSON")
                continue
            if isinstance(error, RecursionError) or len(self._buffer) - self._at > _LARGEST:
                raise self._corrupt("a value too large or too deep")
            if not isinstance(error, json.JSONDecodeError):
                raise self._corrupt("a number or constant that is no JSON")
            # Decoding failed well before the end of what is there: more text won't mend it.
            if error.pos < len(self._buffer) - 64 and not error.msg.startswith("Unterminated string"):
                raise self._corrupt(f"no JSON ({error.msg})")
            if not self._fill():
                raise self._ended()

    def skip(self) -> None:
        """Pass over the value here, however large."""
        first = self.peek()
        if first == '"':
            self._at += 1
            self._skip_text()
            return
        if first not in "[{":
            self.value()
            return
        depth = 0
        while True:
            if self._at >= len(self._buffer) and not self._fill():
                raise self._ended()
            mark = self._buffer[self._at]
            self._at += 1
            if mark == '"':
                self._skip_text()
            elif mark in "[{":
                depth += 1
                if depth > _DEEPEST:
                    raise self._corrupt("brackets too deep")
            elif mark in "]}":
                depth -= 1
                if depth == 0:
                    return
            passed = _PASSED.match(self._buffer, self._at)
            self._at = passed.end() if passed else self._at

    def _skip_text(self) -> None:
        while True:
            mark = _IN_TEXT.search(self._buffer, self._at)
            if mark is not None and mark[0] == '"':
                self._at = mark.end()
                return
            # A backslash hides the character after it, which may be in the next chunk.
            self._at = len(self._buffer) if mark is None else mark.end()
            if self._at >= len(self._buffer) and not self._fill():
                raise self._ended()
            if mark is not None:
                self._at += 1

    def items(self) -> Iterator[str]:
        """Yield the keys of the object here; after each, take or skip its value."""
        self.take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                raise self._corrupt("a key that is no text")
            key = self.value()
            self.take(":")
            yield key
            if self.peek() == "}":
                self._at += 1
                return
            self.take(",")

    def elements(self) -> Iterator[None]:
        """Yield once for each element of the array here; each time, take or skip it."""
        self.take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            yield None
            if self.peek() == "]":
                self._at += 1
                return
            self.take(",")


@contextmanager
def open_json(path: Path, *, format: str) -> Iterator[JsonStream]:
    """Open a JSON file for reading front to back."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            yield JsonStream(file, path=str(path), format=format)
    except OSError as error:
        raise MissingProfile(path=str(path), reason=error.strerror or str(error)) from None
