"""Source lines of a zebin: its DWARF, whose addresses are relocations against symbols that have the kernels' addresses.

The tables are read as those of AMD's code objects are; only the relocations are Intel's.
"""

from __future__ import annotations

import struct

from strop.stalls.amd import lines as dwarf
from strop.stalls.amd.lines import Lines

__all__ = ["Lines", "read"]

NONE = "line information (compile with -g or -gline-tables-only)"
RELA = 4
ADDRESS_64, ADDRESS_32 = 1, 2  # R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32


def read(data: bytes, section_names: frozenset[str]) -> Lines:
    """The line table; `missing` says in words what it lacks. Damage costs lines, never the decode."""
    if ".debug_line" not in section_names:
        return Lines((), (), NONE)
    try:
        relocated = _relocated(data)
    except (struct.error, IndexError):
        return Lines((), (), "line information (its relocations can't be read)")
    return dwarf.read(relocated, section_names)


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
