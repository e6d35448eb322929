"""Reads a binary that somebody names, of any size: of a large one only what can be GPU code comes into memory."""

from __future__ import annotations

import hashlib
import mmap
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from strop.errors import OtherBinary, UnreadableBinary
from strop.stalls.binaries import ELF, MACHINES
from strop.stalls.profiles.profile import EmbeddedBinary, KernelProfile

WHOLE = 1 << 28  # bytes; files up to here are read as they are
MOST = 1 << 30  # bytes of GPU code
HEADER = 64  # bytes of an ELF header
NOBITS = 8
_RECORDED = re.compile(r"([0-9a-f]{32})\.gpubin")
# Where host programs keep it: NVIDIA's containers, and clang's bundles.
CODE = (b".nv_fatbin", b"__nv_relfatbin", b".hip_fatbin")


@dataclass(frozen=True, slots=True)
class _Section:
    name: bytes
    offset: int
    size: int


def read_binary(path: Path) -> EmbeddedBinary:
    """Read a GPU binary or a host program. Raises :class:`UnreadableBinary`."""
    try:
        if path.exists() and not path.is_file():
            what = "a directory" if path.is_dir() else "a pipe or a device: save it to a file first"
            raise UnreadableBinary(path=str(path), reason=f"it is {what}")
        with path.open("rb") as file:
            size = path.stat().st_size
            if size <= WHOLE:
                data = file.read(WHOLE)
            else:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                try:
                    data = _code(mapped, str(path))
                finally:
                    with suppress(BufferError):
                        mapped.close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableBinary(path=str(path), reason=reason) from None
    return EmbeddedBinary(name=path.name, data=data, origin=str(path))


def check_build(kernel: KernelProfile, binary: EmbeddedBinary) -> None:
    """Raise :class:`OtherBinary` where a profile records the checksum of the binary that ran, and this one has another.

    HPCToolkit names a GPU binary by the MD5 of its bytes. Containers and host programs hold it among others: there the
    addresses tell.
    """
    recorded = _RECORDED.fullmatch(PurePath(kernel.module or "").name)
    data = binary.data
    if recorded is None or not data.startswith(ELF) or int.from_bytes(data[18:20], "little") not in MACHINES:
        return
    found = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if found != recorded[1]:
        reason = f"HPCToolkit recorded the checksum {recorded[1]}, and this file's is {found}"
        raise OtherBinary(kernel=kernel.name, path=binary.origin or binary.name, reason=reason)


def _code(file: mmap.mmap, path: str) -> bytes:
    """Return the part of a large file that can be GPU code, in the form of a file that the decoders know."""
    head = file[:HEADER]
    if not head.startswith(ELF):
        return _part(file, [(0, len(file))], path)
    try:
        sections = list(_sections(file))
    except struct.error:
        raise UnreadableBinary(path=path, reason="its table of sections lies outside the file") from None
    (machine,) = struct.unpack_from("<H", head, 18)
    if machine in MACHINES:
        # what lies behind the last section is no part of it
        table, count, entry = _table(file)
        end = max([HEADER, table + count * entry, _segments(file), *(one.offset + one.size for one in sections)])
        return _part(file, [(0, min(end, len(file)))], path)
    # A host program: its header says that the rest is to be searched.
    wanted = [(one.offset, one.size) for one in sections if one.name in CODE]
    if not wanted:
        names = ", ".join(name.decode() for name in CODE)
        raise UnreadableBinary(path=path, reason=f"it is a host program without GPU code in it (sections {names})")
    return _part(file, [(0, HEADER), *wanted], path)


def _part(file: mmap.mmap, places: list[tuple[int, int]], path: str) -> bytes:
    size = sum(size for _, size in places)
    if size > MOST:
        reason = f"it holds {size:,} bytes of what may be GPU code, and strop reads at most {MOST:,}: extract the one"
        raise UnreadableBinary(path=path, reason=f"{reason} code object that ran")
    return b"".join(file[offset : offset + size] for offset, size in places)


def _table(file: mmap.mmap) -> tuple[int, int, int]:
    """Where the table of sections lies, how many it has, how large each is."""
    (table,) = struct.unpack_from("<Q", file, 40)
    entry, count = struct.unpack_from("<HH", file, 58)
    if table and entry >= HEADER and not count:  # too many for the field: the first section has the number
        (count,) = struct.unpack_from("<Q", file, table + 32)
    return table, min(count, 1 << 20), entry


def _segments(file: mmap.mmap) -> int:
    """Where the table of segments ends: linkers put it before the sections, NVIDIA's behind them."""
    (table,) = struct.unpack_from("<Q", file, 32)
    entry, count = struct.unpack_from("<HH", file, 54)
    return int(table + count * entry)


def _sections(file: mmap.mmap) -> Iterator[_Section]:
    table, count, entry = _table(file)
    if not table or entry < HEADER or table + count * entry > len(file):
        raise struct.error
    (names,) = struct.unpack_from("<H", file, 62)
    (start,) = struct.unpack_from("<Q", file, table + names * entry + 24)
    for number in range(count):
        name, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", file, table + number * entry)
        if kind != NOBITS and offset + size <= len(file):
            yield _Section(file[start + name : start + name + 32].split(b"\0")[0], offset, size)
