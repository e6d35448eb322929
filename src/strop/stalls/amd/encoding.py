"""How long an instruction is that no disassembler here knows: by the bits that say its encoding.

Without this the second half of an unknown instruction would be taken for an instruction of its own.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

TABLE = {"gfx90a": "gfx9", "gfx940": "gfx9", "gfx1250": "gfx12"}
# Source fields that say that 32 bits follow: a constant; in fields of nine bits SDWA, DPP and DPP8 as well.
CONSTANT = 255
EXTENDED = (CONSTANT, 249, 250, 233, 234)


@cache
def _encodings(family: str) -> tuple[tuple[int, int, int, tuple[tuple[int, int], ...]], ...]:
    text = files("strop.stalls.amd").joinpath("tables/encodings.toml").read_text("utf-8")
    found = []
    for bits, entry in tomllib.loads(text)[TABLE.get(family, family)].items():
        sources = tuple((low, width) for low, width in entry.get("sources", ()))
        found.append((len(bits), int(bits, 2), entry["bytes"], sources))
    return tuple(sorted(found, reverse=True))  # longest first


def length(code: bytes, family: str) -> int:
    """Bytes of the instruction at the start of `code`, at least 4 (fewer only where the code ends).

    >>> length(bytes.fromhex("0d6a00d7" "80020402" "0000"), "gfx11")
    8
    """
    word = int.from_bytes(code[:4], "little")
    whole = int.from_bytes(code[:8], "little")
    for bits, prefix, size, sources in _encodings(family):
        if word >> 32 - bits == prefix:
            longer = any(
                whole >> low & (1 << width) - 1 in (EXTENDED if width == 9 else (CONSTANT,)) for low, width in sources
            )
            return min(size + 4 * longer, len(code))
    return min(4, len(code))
