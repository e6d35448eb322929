"""A binary file read by offsets that it gives itself: every access is checked against its size."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from strop.errors import CorruptProfile, MissingProfile, TruncatedProfile

_LONGEST_TEXT = 1 << 20  # bytes of a name; C++ names of a megabyte exist, longer ones are damage

_U16, _U32, _U64, _F64 = (struct.Struct(code) for code in ("<H", "<I", "<Q", "<d"))


class Bounded:
    """Bytes of a file; reading past its end is a `TruncatedProfile`, never a crash or a huge allocation."""

    def __init__(self, data: bytes | mmap.mmap, *, path: str, format: str) -> None:
        self.data = data
        self.size = len(data)
        self.path = path
        self.format = format
        # Tables and texts of a sound file lie apart. Their sums are bounded, so that offsets that were tampered with
        # can't make a small file cost much.
        self._entries_left = self.size
        self._text_left = self.size + _LONGEST_TEXT

    def corrupt(self, what: str) -> CorruptProfile:
        """Return the error that says what can't be."""
        return CorruptProfile(format=self.format, path=self.path, what=what)

    def check(self, offset: int, length: int, what: str) -> None:
        """Raise unless `length` bytes at `offset` lie in the file."""
        if offset < 0 or length < 0 or offset + length > self.size:
            need = f"{what} needs {length} bytes at offset {offset}, and the file has {self.size}"
            raise TruncatedProfile(format=self.format, path=self.path, what=need)

    def bytes(self, offset: int, length: int, what: str) -> bytes:
        """Return `length` bytes."""
        self.check(offset, length, what)
        return self.data[offset : offset + length]

    def u8(self, offset: int, what: str) -> int:
        """Return an unsigned integer of 8 bits."""
        self.check(offset, 1, what)
        return self.data[offset]

    def u16(self, offset: int, what: str) -> int:
        """Return a little-endian unsigned integer of 16 bits."""
        return int(_U16.unpack(self.bytes(offset, 2, what))[0])

    def u32(self, offset: int, what: str) -> int:
        """Return a little-endian unsigned integer of 32 bits."""
        return int(_U32.unpack(self.bytes(offset, 4, what))[0])

    def u64(self, offset: int, what: str) -> int:
        """Return a little-endian unsigned integer of 64 bits."""
        return int(_U64.unpack(self.bytes(offset, 8, what))[0])

    def text(self, offset: int, what: str) -> str:
        """Return a text that ends in a zero byte, kept verbatim but for what isn't UTF-8."""
        self.check(offset, 1, what)
        end = self.data.find(b"\0", offset, min(self.size, offset + _LONGEST_TEXT))
        if end < 0:
            raise self.corrupt(f"{what} at offset {offset} has no end")
        self._text_left -= end - offset
        if self._text_left < 0:
            raise self.corrupt("its texts overlap")
        return self.data[offset:end].decode("utf-8", "replace")

    def table(self, offset: int, count: int, stride: int, least: int, what: str) -> Iterator[int]:
        """Yield the offsets of the `count` entries of a table, each of at least `least` bytes."""
        if count and stride < least:
            raise self.corrupt(f"an entry of {what} has {stride} bytes instead of {least} or more")
        self.check(offset, count * stride, what)
        self._entries_left -= count
        if self._entries_left < 0:
            raise self.corrupt("its tables overlap")
        return iter(range(offset, offset + count * stride, stride) if count else ())


@contextmanager
def open_bounded(path: Path, *, format: str) -> Iterator[Bounded]:
    """Map a file into memory: pages that nobody reads cost nothing, so its size doesn't matter."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                yield Bounded(b"", path=str(path), format=format)
                return
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            try:
                yield Bounded(data, path=str(path), format=format)
            finally:
                with suppress(BufferError):  # an error on its way still holds slices: the last of them closes it
                    data.close()
    except OSError as error:
        raise MissingProfile(path=str(path), reason=error.strerror or str(error)) from None
