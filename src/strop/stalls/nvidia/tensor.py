"""How many registers the operands of tensor-core instructions take: from their shape, not from a list."""

from __future__ import annotations

import re

BITS = {
    "F64": 64,
    "TF32": 32,
    "F32": 32,
    "F16": 16,
    "BF16": 16,
    "S8": 8,
    "U8": 8,
    "E4M3": 8,
    "E5M2": 8,
    "E3M2": 8,
    "E2M3": 8,
    "E2M1": 8,
    "S4": 4,
    "U4": 4,
    "B1": 1,
}
# bits of an element of A and B where no modifier says it
INPUT = {
    "HMMA": 16,
    "IMMA": 8,
    "BMMA": 1,
    "QMMA": 8,
    "OMMA": 4,
    "DMMA": 64,
    "HGMMA": 16,
    "IGMMA": 8,
    "QGMMA": 8,
    "BGMMA": 1,
}
_SHAPE = re.compile(r"^(16|8)(8)(\d+)$")
LANES = 32 * 32  # bits that one register holds in a warp
GROUP = 128 * 32  # and in a warpgroup


def matrix_widths(base: str, modifiers: tuple[str, ...]) -> tuple[int, int, int, int] | None:
    """Registers of D, A, B, C of a warp's product; None for a shape that isn't understood.

    >>> matrix_widths("HMMA", ("16816", "F32"))
    (4, 4, 2, 4)
    >>> matrix_widths("IMMA", ("8816", "S8", "S8"))
    (2, 1, 1, 2)
    """
    shape = _shape(modifiers)
    if shape is None:
        return None
    m, n, k = shape
    if base == "HMMA" and (m, n, k) == (8, 8, 4):  # Volta's: each STEP writes a pair
        return 2, 2, 2, 2
    types = [modifier for modifier in modifiers if modifier in BITS]
    if base == "HMMA":
        out = 16 if types[:1] == ["F16"] else 32
        element = 32 if "TF32" in types else 16
    elif base == "DMMA":
        out = element = 64
    elif base in ("QMMA", "OMMA"):
        out = 16 if types[:1] == ["F16"] else 32
        element = INPUT[base]
    else:
        out = 32
        element = BITS[types[0]] if types else INPUT[base]
    sparse = 2 if "SP" in modifiers else 1
    d = max(1, m * n * out // LANES)
    return d, max(1, m * k * element // LANES // sparse), max(1, k * n * element // LANES), d


def _shape(modifiers: tuple[str, ...]) -> tuple[int, int, int] | None:
    for modifier in modifiers:
        if "x" in modifier:
            sides = modifier.split("x")
            if len(sides) == 3 and all(side.isdigit() for side in sides):
                return int(sides[0]), int(sides[1]), int(sides[2])
        elif modifier == "884":
            return 8, 8, 4
        elif match := _SHAPE.match(modifier):
            return int(match[1]), int(match[2]), int(match[3])
    return None


def group_widths(base: str, modifiers: tuple[str, ...]) -> tuple[int, int] | None:
    """Registers per thread of D (and C) and of an A in registers, of a warpgroup's product.

    >>> group_widths("HGMMA", ("64x16x16", "F32"))
    (8, 4)
    """
    shape = _shape(modifiers)
    if shape is None:
        return None
    m, n, k = shape
    types = [modifier for modifier in modifiers if modifier in BITS]
    out = 16 if base in ("HGMMA", "QGMMA") and types[:1] == ["F16"] else 32
    element = 32 if "TF32" in types else INPUT[base]
    return max(1, m * n * out // GROUP), max(1, m * k * element // GROUP)
