"""Makes small ELF files of large ones: tests that read a file 50,000 times have no use for the rest."""

from __future__ import annotations

import struct
from collections.abc import Callable

HEADER, ROW = 64, "<IIQQQQIIQQ"
NOBITS = 8


def shrunk(data: bytes, size_of: Callable[[str, int], int]) -> bytes:
    """Return the ELF file with each section cut to `size_of(name, size)` bytes. All sections keep their numbers."""
    (table,) = struct.unpack_from("<Q", data, 40)
    width, count, names = struct.unpack_from("<HHH", data, 58)
    rows = [list(struct.unpack_from(ROW, data, table + width * index)) for index in range(count)]
    strings = data[rows[names][4] : rows[names][4] + rows[names][5]]
    out = bytearray(data[:HEADER])
    for row in rows:
        name = strings[row[0] : strings.index(b"\0", row[0])].decode()
        if row[1] != NOBITS:
            size = size_of(name, row[5])
            held = data[row[4] : row[4] + size]
            out += bytes(-len(out) % 16)
            row[4:6] = len(out), size
            out += held
    out += bytes(-len(out) % 16)
    struct.pack_into("<Q", out, 40, len(out))
    struct.pack_into("<Q", out, 32, 0)  # no program headers
    struct.pack_into("<HH", out, 54, 0, 0)
    return bytes(out) + b"".join(struct.pack(ROW, *row) for row in rows)
