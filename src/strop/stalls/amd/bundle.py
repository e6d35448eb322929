"""Finds the code objects in what a file holds: one itself, a clang offload bundle, a host program with bundles."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from strop.errors import UnreadableBinary

ELF = b"\x7fELF"
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
EM_AMDGPU = 224
MOST_INFLATED = 2**31  # bytes: a small compressed bundle may claim any size
MOST_ENTRIES = 4096


def holds_code_objects(data: bytes) -> bool:
    """Whether `data` begins as an AMDGPU code object or an offload bundle does (a host program isn't looked into)."""
    return _is_code_object(data) or data.startswith((BUNDLE, COMPRESSED))


def code_objects(data: bytes, *, path: str) -> list[bytes]:
    """The AMDGPU ELF files in `data`, in order. Raises :class:`UnreadableBinary` where there is none."""
    found = list(_search(data, path))
    if not found:
        raise UnreadableBinary(path=path, reason="it holds no AMDGPU code object")
    return found


def _is_code_object(data: bytes) -> bool:
    return len(data) >= 64 and data.startswith(ELF) and struct.unpack_from("<H", data, 18)[0] == EM_AMDGPU


def _search(data: bytes, path: str) -> Iterator[bytes]:
    if _is_code_object(data):
        yield data
    elif data.startswith(BUNDLE):
        yield from _entries(data, path)
    elif data.startswith(COMPRESSED):
        yield from _entries(_inflate(data, path), path)
    elif data.startswith(ELF):  # a host program: its bundles lie in .hip_fatbin, aligned to a page
        at = -1
        while (at := _next(data, at + 1)) >= 0:
            yield from _search(data[at:], path)


def _next(data: bytes, start: int) -> int:
    at = [place for mark in (BUNDLE, COMPRESSED) if (place := data.find(mark, start)) >= 0]
    return min(at, default=-1)


def _entries(data: bytes, path: str) -> Iterator[bytes]:
    """Entries of a bundle: u64 count, then per entry u64 offset, u64 size, u64 length of the id, the id."""
    at = len(BUNDLE)
    try:
        (count,) = struct.unpack_from("<Q", data, at)
        at += 8
        if count > MOST_ENTRIES:
            raise UnreadableBinary(path=path, reason=f"its offload bundle claims {count} entries")
        for _ in range(count):
            offset, size, length = struct.unpack_from("<3Q", data, at)
            at += 24 + length
            if at > len(data) or offset + size > len(data):
                raise UnreadableBinary(path=path, reason="its offload bundle names bytes past its end")
            if _is_code_object(data[offset : offset + size]):
                yield data[offset : offset + size]
    except struct.error:
        raise UnreadableBinary(path=path, reason="its offload bundle is cut off") from None


def _inflate(data: bytes, path: str) -> bytes:
    """A compressed bundle, versions 1 to 3: magic, u16 version, u16 method (0 zlib, 1 zstd), sizes, a hash, data."""
    try:
        version, method = struct.unpack_from("<2H", data, 4)
        if version == 1:
            at, total = 8, len(data)
        elif version == 2:
            total, at = struct.unpack_from("<I", data, 8)[0], 12
        elif version == 3:
            total, at = struct.unpack_from("<Q", data, 8)[0], 16
        else:
            raise UnreadableBinary(path=path, reason=f"its compressed offload bundle has version {version}")
        wide = 8 if version == 3 else 4
        size = int.from_bytes(data[at : at + wide], "little")
        at += wide + 8
    except struct.error:
        raise UnreadableBinary(path=path, reason="its compressed offload bundle is cut off") from None
    if method != 0:
        reason = "its offload bundle is compressed with zstd; unpack it with clang-offload-bundler -unbundle first"
        raise UnreadableBinary(path=path, reason=reason)
    if size > MOST_INFLATED:
        raise UnreadableBinary(path=path, reason=f"its compressed offload bundle claims {size} bytes")
    try:
        return zlib.decompressobj().decompress(data[at:total], size)
    except zlib.error as error:
        raise UnreadableBinary(path=path, reason=f"its compressed offload bundle is damaged ({error})") from None
