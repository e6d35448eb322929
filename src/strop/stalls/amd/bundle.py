"""Finds the code objects in what a file holds: one itself, a clang offload bundle, a host program with bundles."""

from __future__ import annotations

import struct
import zlib

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
    found, _ = _search(data, path)
    if not found:
        raise UnreadableBinary(path=path, reason="it holds no AMDGPU code object")
    return found


def _is_code_object(data: bytes) -> bool:
    return len(data) >= 64 and data.startswith(ELF) and struct.unpack_from("<H", data, 18)[0] == EM_AMDGPU


def _search(data: bytes, path: str, start: int = 0) -> tuple[list[bytes], int]:
    """The code objects in what begins at `start`, and where it ends."""
    if start == 0 and _is_code_object(data):
        return [data], len(data)
    if data.startswith(BUNDLE, start):
        return _entries(data, path, start)
    if data.startswith(COMPRESSED, start):
        whole, end = _inflate(data, path, start)
        return _entries(whole, path, 0)[0], end
    if data.startswith(ELF, start):
        return _carried(data, path, start), len(data)
    return [], len(data)


def _carried(data: bytes, path: str, start: int) -> list[bytes]:
    """Those of a host program: its bundles lie in .hip_fatbin, aligned to a page."""
    found: list[bytes] = []
    failed, at = None, start + 1
    while (at := _next(data, at)) >= 0:
        try:
            held, end = _search(data, path, at)
        except UnreadableBinary as error:  # the mark may be a string of the program
            failed, end = error, at
        else:
            found += held
        at = max(at + 1, end)  # not inside: bundles that overlap would make a small file cost much
    if failed is not None and not found:
        raise failed
    return found


def _next(data: bytes, start: int) -> int:
    at = [place for mark in (BUNDLE, COMPRESSED) if (place := data.find(mark, start)) >= 0]
    return min(at, default=-1)


def _entries(data: bytes, path: str, start: int) -> tuple[list[bytes], int]:
    """Entries of the bundle at `start`: u64 count, then of each u64 offset, u64 size, u64 length of the id, the id."""
    if not data.startswith(BUNDLE, start):
        raise UnreadableBinary(path=path, reason="what is in its compressed offload bundle is no offload bundle")
    found: list[bytes] = []
    at, end, left = start + len(BUNDLE), start, len(data)
    try:
        (count,) = struct.unpack_from("<Q", data, at)
        at += 8
        if count > MOST_ENTRIES:
            raise UnreadableBinary(path=path, reason=f"its offload bundle claims {count} entries")
        for _ in range(count):
            offset, size, length = struct.unpack_from("<3Q", data, at)
            at += 24 + length
            if at > len(data) or start + offset + size > len(data):
                raise UnreadableBinary(path=path, reason="its offload bundle names bytes past its end")
            left -= size
            if left < 0:
                raise UnreadableBinary(path=path, reason="the entries of its offload bundle overlap")
            end = max(end, start + offset + size)
            held = data[start + offset : start + offset + size]
            if _is_code_object(held):
                found.append(held)
    except struct.error:
        raise UnreadableBinary(path=path, reason="its offload bundle is cut off") from None
    return found, max(at, end)


def _inflate(data: bytes, path: str, start: int) -> tuple[bytes, int]:
    """A bundle inflated, and the end of the compressed one.

    A compressed bundle, versions 1 to 3: magic, u16 version, u16 method (0 zlib, 1 zstd), sizes, a hash, data.
    """
    try:
        version, method = struct.unpack_from("<2H", data, start + 4)
        if version == 1:
            at, end, wide = start + 8, len(data), 4
        elif version == 2:
            at, end, wide = start + 12, start + struct.unpack_from("<I", data, start + 8)[0], 4
        elif version == 3:
            at, end, wide = start + 16, start + struct.unpack_from("<Q", data, start + 8)[0], 8
        else:
            raise UnreadableBinary(path=path, reason=f"its compressed offload bundle has version {version}")
    except struct.error:
        raise UnreadableBinary(path=path, reason="its compressed offload bundle is cut off") from None
    size = int.from_bytes(data[at : at + wide], "little")
    at += wide + 8
    if method != 0:
        reason = "its offload bundle is compressed with zstd; unpack it with clang-offload-bundler -unbundle first"
        raise UnreadableBinary(path=path, reason=reason)
    if size > MOST_INFLATED:
        raise UnreadableBinary(path=path, reason=f"its compressed offload bundle claims {size} bytes")
    try:
        return zlib.decompressobj().decompress(data[at:end], size), max(end, at)
    except zlib.error as error:
        raise UnreadableBinary(path=path, reason=f"its compressed offload bundle is damaged ({error})") from None
