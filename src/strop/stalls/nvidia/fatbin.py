"""Fat binaries: cubins for several architectures and PTX in one container, alone or in a host program's `.nv_fatbin`.

The layout was read off containers that nvcc 13.0 wrote in each of its compression modes; NVIDIA doesn't document it.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator

from strop.errors import MissingPackage, UnreadableBinary

MAGIC = b"\x50\xed\x55\xba"
ELF = 2  # kind of an entry: 1 is PTX
LZ4, ZSTD = 0x2000, 0x8000  # in the entry's flags
PIECE = 2**20
MOST = 2**31  # bytes of a decompressed cubin


def is_fatbin(data: bytes) -> bool:
    """Whether this is a container by itself."""
    return data.startswith(MAGIC)


def cubins(data: bytes, *, path: str) -> Iterator[tuple[int, bytes]]:
    """The cubins of a container or of all containers in a host program: (sm, bytes), in the file's order.

    Raises :class:`UnreadableBinary` where a container is damaged and :class:`MissingPackage` where one is compressed
    by zstd and nothing here decompresses it.
    """
    at = data.find(MAGIC)
    while at >= 0:
        try:
            end = yield from _container(data, at, path)
        except struct.error:
            raise UnreadableBinary(path=path, reason="its fat binary was cut off or damaged") from None
        at = data.find(MAGIC, end)  # not inside: containers that overlap would make a small file cost much


def _container(data: bytes, at: int, path: str) -> Generator[tuple[int, bytes], None, int]:
    """Yield the cubins of the container at `at`; returns where it ends."""
    _version, header, size = struct.unpack_from("<HHQ", data, at + 4)
    end: int = at + header + size
    if header < 16 or end > len(data):
        raise UnreadableBinary(path=path, reason="its fat binary was cut off or damaged")
    at += header
    while at + 64 <= end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
        (packed,) = struct.unpack_from("<I", data, at + 16)
        (sm,) = struct.unpack_from("<I", data, at + 28)
        flags, _, unpacked = struct.unpack_from("<QQQ", data, at + 40)
        if header < 64 or at + header + size > end or packed > size:
            raise UnreadableBinary(path=path, reason="an entry of its fat binary lies outside it")
        if kind == ELF:
            payload = data[at + header : at + header + (packed or size)]
            yield sm, _unpack(payload, flags, unpacked, path)
        at += header + size
    return end


def _unpack(payload: bytes, flags: int, size: int, path: str) -> bytes:
    if not flags & (LZ4 | ZSTD):
        return payload
    if size > MOST:
        raise UnreadableBinary(path=path, reason=f"an entry of its fat binary claims {size} bytes")
    unpacked = _lz4(payload, size, path) if flags & LZ4 else _zstd(payload, size, path)
    if len(unpacked) != size:
        raise UnreadableBinary(path=path, reason="an entry of its fat binary doesn't decompress to its size")
    return unpacked


def _lz4(data: bytes, size: int, path: str) -> bytes:
    """Decompress one LZ4 block (block format: token, literals, offset, match)."""
    out = bytearray()
    at = 0
    try:
        while at < len(data):
            token = data[at]
            at += 1
            length, at = _length(data, at, token >> 4)
            out += data[at : at + length]
            at += length
            if at >= len(data):
                break
            offset = data[at] | data[at + 1] << 8
            at += 2
            length, at = _length(data, at, token & 15)
            length += 4
            begin = len(out) - offset
            if not offset or begin < 0 or len(out) + length > size:
                raise IndexError
            if offset >= length:
                out += out[begin : begin + length]
            else:
                out += (out[begin:] * (length // offset + 1))[:length]
    except IndexError:
        raise UnreadableBinary(path=path, reason="an entry of its fat binary doesn't decompress") from None
    return bytes(out)


def _length(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            more = data[at]
            at += 1
            length += more
            if more != 255:
                break
    return length, at


def _zstd(data: bytes, size: int, path: str) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise MissingPackage(
            what=f"The compressed fat binary {path}", package="zstandard", install="zstandard"
        ) from None
    out = bytearray()
    try:
        # Piece by piece: what is asked for at once is allocated at once, and the frame may claim any size as well.
        reader = zstandard.ZstdDecompressor().stream_reader(data)
        while len(out) <= size and (part := reader.read(PIECE)):
            out += part
    except zstandard.ZstdError:
        raise UnreadableBinary(path=path, reason="an entry of its fat binary doesn't decompress") from None
    return bytes(out)
