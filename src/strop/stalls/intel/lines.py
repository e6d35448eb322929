"""Source lines of a zebin: its addresses are relocations against symbols that have the kernels' addresses."""

from __future__ import annotations

import struct

from strop.stalls import dwarf_lines
from strop.stalls.dwarf_lines import Lines

__all__ = ["Lines", "read"]

RELA = 4
ADDRESS_64, ADDRESS_32 = 1, 2  # R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32


def read(data: bytes, section_names: frozenset[str]) -> Lines:
    """The line table and the inlined calls of a zebin."""
    return dwarf_lines.read(data, section_names=section_names, size=len(data), relocate=_relocated)


def _relocated(data: bytes) -> bytes:
    (table,) = struct.unpack_from("<Q", data, 40)
    width, count = struct.unpack_from("<HH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + width * index) for index in range(count)]
    patched = bytearray(data)
    for row in rows:
        if row[1] != RELA:
            continue
        symbols, target = rows[row[6]], rows[row[7]]
        for at in range(row[4], row[4] + row[5] - 23, 24):
            offset, info, addend = struct.unpack_from("<QQq", data, at)
            (value,) = struct.unpack_from("<Q", data, symbols[4] + 24 * (info >> 32) + 8)
            size = {ADDRESS_64: 8, ADDRESS_32: 4}.get(info & 0xFFFFFFFF)
            if size is None or offset + size > target[5]:
                continue
            place = target[4] + offset
            patched[place : place + size] = (value + addend & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(patched)
