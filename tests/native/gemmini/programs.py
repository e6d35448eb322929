"""Encodings of Gemmini commands, and the data that the golden vectors use."""

from __future__ import annotations

import struct
import zlib
from typing import TypeAlias

Command: TypeAlias = tuple[int, int, int]

ACC, ACCA, FULL, GARBAGE = 0x80000000, 0xC0000000, 0x20000000, 0xFFFFFFFF
BASE = 0x80000000
WHERE = {"A": BASE + 0x10000, "B": BASE + 0x20000, "D": BASE + 0x30000, "O": BASE + 0x40000, "P": BASE + 0x50000}


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def local(address: int, columns: int = 16, rows: int = 16) -> int:
    return address | columns << 32 | rows << 48


def ld(state: int, shrink: int, block_stride: int, scale: float, stride: int, *, pixels: int = 1) -> Command:
    return 0, bits(scale) << 32 | block_stride << 16 | pixels << 8 | state << 3 | shrink << 2 | 1, stride


def st(activation: int, scale: float, stride: int) -> Command:
    return 0, activation << 2 | 2, bits(scale) << 32 | stride


def ex(ws: int, activation: int, at: int, bt: int, a_stride: int, c_stride: int, shift: int) -> Command:
    return 0, a_stride << 16 | bt << 9 | at << 8 | activation << 3 | ws << 2, c_stride << 48 | shift


def pool(
    *,
    stride: int,
    size: int,
    up: int,
    left: int,
    out_dim: int,
    pooled: tuple[int, int],
    image: tuple[int, int],
    row: int,
    scale: float,
) -> Command:
    rs1 = image[1] << 56 | image[0] << 48 | pooled[1] << 40 | pooled[0] << 32 | out_dim << 24
    return 0, rs1 | left << 10 | up << 8 | size << 6 | stride << 4 | 2, bits(scale) << 32 | row


def norm(
    *, stat: int = 0, act_msb: int = 0, only: int = 0, kind: int = 0, q: int = 0, qb: int = 0, qc: int = 0
) -> Command:
    rs1 = (q & 0xFFFFFFFF) << 32 | kind << 18 | only << 17 | act_msb << 16 | stat << 8 | 3
    return 0, rs1, (qc & 0xFFFFFFFF) << 32 | qb & 0xFFFFFFFF


def mvin(address: int, to: int) -> Command:
    return 2, address, to


def mvin2(address: int, to: int) -> Command:
    return 1, address, to


def mvin3(address: int, to: int) -> Command:
    return 14, address, to


def mvout(address: int, source: int) -> Command:
    return 3, address, source


def preload(b: int, c: int) -> Command:
    return 6, b, c


def flip(a: int, bd: int) -> Command:
    return 4, a, bd


def stay(a: int, bd: int) -> Command:
    return 5, a, bd


def loop_ws(
    bounds: tuple[int, int, int],
    pads: tuple[int, int, int],
    addresses: tuple[int, int, int, int],
    strides: tuple[int, int, int, int],
    rs1: int = 0,
    rs2: int = 0,
) -> list[Command]:
    """`addresses` and `strides` (elements) of A, B, D, C."""
    (i, j, k), (pi, pj, pk), (a, b, d, c), (sa, sb, sd, sc) = bounds, pads, addresses, strides
    return [
        (9, pk << 32 | pj << 16 | pi, k << 32 | j << 16 | i),
        (10, a, b),
        (11, d, c),
        (12, sa, sb),
        (13, sd, sc),
        (8, rs1, rs2),
    ]


def _lcg(seed: int, count: int) -> list[int]:
    words, x = [], seed
    for _ in range(count):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        words.append(x)
    return words


def data() -> dict[str, bytes]:
    """A, B and D as the golden vectors define them; O and P filled with 0x5A."""
    d = [(x - (1 << 32) if x >> 31 else x) >> 16 for x in _lcg(3, 4096)]
    return {
        "A": bytes(x >> 24 for x in _lcg(1, 32768)),
        "B": bytes(x >> 24 for x in _lcg(2, 32768)),
        "D": struct.pack("<4096i", *d),
        "O": b"\x5a" * 32768,
        "P": b"\x5a" * 16384,
    }


def crc(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"
