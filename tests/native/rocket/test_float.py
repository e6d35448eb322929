"""Cases of IEEE 754 and of RISC-V's choices that random programs meet rarely; results and flags worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from strop import _native
from tests.native.rocket import encoding as e
from tests.native.rocket.conftest import BASE, RETURN

NX, UF, OF, DZ, NV = 1, 2, 4, 8, 16
RNE, RTZ, RDN, RUP, RMM = range(5)
BOX = 0xFFFFFFFF << 32
ONE, MINUS_ONE, TWO_AND_HALF, INFINITY, ZERO, NAN, SIGNALING = (
    0x3F800000,
    0xBF800000,
    0x40200000,
    0x7F800000,
    0,
    0x7FC00000,
    0x7F800001,
)
MINUS = 0x80000000
LARGEST, SMALLEST_NORMAL, SMALLEST = 0x7F7FFFFF, 0x00800000, 1


def s(funct5: int, rm: int = RNE, rs2: int = 2) -> int:
    """OP-FP on floats: f3 = f1 op f2."""
    return e.r_type(e.OP_FLOAT, 3, rm, 1, rs2, funct5 << 2)


def to_integer(kind: int, rm: int = RNE) -> int:
    return e.r_type(e.OP_FLOAT, 12, rm, 1, kind, 0x18 << 2)


FMADD = 0x43 | 3 << 7 | 1 << 15 | 2 << 20 | 4 << 27
ADD, SUB, MUL, DIV, SQRT, MIN_MAX, COMPARE = 0, 1, 2, 3, 0x0B, 5, 0x14


def execute(machine: Any, instruction: int, *sources: int) -> tuple[int, int, int]:
    """(f3, a2, fflags) after the instruction, with f1, f2 and f4 as given."""
    machine.memory.write(BASE, e.words(instruction, e.i_type(e.SYSTEM, 10, 2, 0, 1), RETURN))
    machine.reset(BASE)
    machine.set_register(1, _native.RETURN_ADDRESS)
    for register, bits in zip((1, 2, 4), sources, strict=False):
        machine.set_float_register(register, bits)
    result = machine.resume()
    assert result.outcome == "returned"
    return machine.float_register(3), machine.register(12), result.code


@pytest.mark.parametrize(
    ("instruction", "sources", "expected", "flags"),
    [
        (FMADD, (ZERO, INFINITY, NAN), NAN, NV),  # 0 * inf is invalid whatever is added
        (FMADD, (INFINITY, ONE, INFINITY | MINUS), NAN, NV),
        (FMADD, (ONE, ONE, MINUS_ONE), ZERO, 0),
        (s(ADD), (INFINITY, INFINITY | MINUS), NAN, NV),
        (s(ADD), (SIGNALING, ONE), NAN, NV),
        (s(ADD), (0x7FC12345, ONE), NAN, 0),  # payloads are dropped
        (s(ADD, RDN), (ONE, MINUS_ONE), MINUS, 0),  # x - x is -0 when rounding down
        (s(ADD), (MINUS, MINUS), MINUS, 0),
        (s(ADD), (LARGEST, LARGEST), INFINITY, OF | NX),
        (s(ADD, RTZ), (LARGEST, LARGEST), LARGEST, OF | NX),
        (s(ADD, RDN), (LARGEST | MINUS, LARGEST | MINUS), INFINITY | MINUS, OF | NX),
        (s(ADD, RUP), (ONE, SMALLEST), ONE + 1, NX),
        (s(SUB, RTZ), (ONE, SMALLEST), ONE - 1, NX),
        (s(MUL), (SMALLEST, 0x3F000000), ZERO, UF | NX),
        (s(MUL, RMM), (SMALLEST, 0x3F000000), SMALLEST, UF | NX),  # the tie goes away from zero
        (s(MUL), (SMALLEST_NORMAL, 0x3F000000), 0x00400000, 0),  # exact: no underflow
        (s(DIV), (ONE, ZERO), INFINITY, DZ),
        (s(DIV), (ZERO, ZERO), NAN, NV),
        (s(DIV), (ONE, 0x40400000), 0x3EAAAAAB, NX),
        (s(DIV, RDN), (ONE, 0x40400000), 0x3EAAAAAA, NX),
        (s(SQRT, rs2=0), (MINUS_ONE,), NAN, NV),
        (s(SQRT, rs2=0), (MINUS,), MINUS, 0),
        (s(SQRT, rs2=0), (0x40000000,), 0x3FB504F3, NX),
        (s(SQRT, rs2=0), (SMALLEST,), 0x1A3504F3, NX),
        (s(MIN_MAX, 0), (ZERO, MINUS), MINUS, 0),
        (s(MIN_MAX, 1), (MINUS, ZERO), ZERO, 0),
        (s(MIN_MAX, 0), (SIGNALING, ONE), ONE, NV),
        (s(MIN_MAX, 1), (NAN, NAN), NAN, 0),
    ],
)
def test_arithmetic(machine: Any, instruction: int, sources: tuple[int, ...], expected: int, flags: int) -> None:
    result, _, raised = execute(machine, instruction, *[BOX | bits for bits in sources])
    assert (hex(result), raised) == (hex(BOX | expected), flags)


@pytest.mark.parametrize(
    ("double", "expected", "flags"),
    [
        (0x380FFFFFF8000000, SMALLEST_NORMAL, NX),  # rounds up to a normal number with any exponent: not tiny
        (0x380FFFFFF0000000, SMALLEST_NORMAL, NX),
        (0x380FFFFFE0000000, SMALLEST_NORMAL, NX | UF),  # 24 bits hold it with an unbounded exponent: tiny
        (0x36A0000000000000, SMALLEST, 0),
        (0x3690000000000000, ZERO, NX | UF),
        (0x7FF0000000000001, NAN, NV),
        (0xFFF8000000000001, NAN, 0),
    ],
)
def test_tininess_is_seen_after_rounding(machine: Any, double: int, expected: int, flags: int) -> None:
    narrow = e.r_type(e.OP_FLOAT, 3, RNE, 1, 1, 0x08 << 2)
    result, _, raised = execute(machine, narrow, double)
    assert (hex(result), raised) == (hex(BOX | expected), flags)


@pytest.mark.parametrize(
    ("instruction", "source", "expected", "flags"),
    [
        (to_integer(0), TWO_AND_HALF, 2, NX),
        (to_integer(0, RMM), TWO_AND_HALF, 3, NX),
        (to_integer(0, RDN), TWO_AND_HALF | MINUS, -3, NX),
        (to_integer(0), NAN, 0x7FFFFFFF, NV),
        (to_integer(0), INFINITY | MINUS, -0x80000000, NV),
        (to_integer(0), 0xCF000000, -0x80000000, 0),
        (to_integer(0), 0x4F000000, 0x7FFFFFFF, NV),
        (to_integer(1), MINUS_ONE, 0, NV),
        (to_integer(1, RTZ), 0xBF000000, 0, NX),
        (to_integer(1), 0x4F32D05E, -0x4D2FA200, 0),  # 3,000,000,000: a 32-bit result is sign-extended
        (to_integer(2), 0x5F000000, 0x7FFFFFFFFFFFFFFF, NV),
        (to_integer(3), 0x5F000000, -(1 << 63), 0),
        (to_integer(3), NAN, -1, NV),
    ],
)
def test_conversion_to_integers(machine: Any, instruction: int, source: int, expected: int, flags: int) -> None:
    _, result, raised = execute(machine, instruction, BOX | source)
    assert (hex(result), raised) == (hex(expected & (1 << 64) - 1), flags)


def test_a_float_that_is_not_boxed_is_the_canonical_nan(machine: Any) -> None:
    result, _, raised = execute(machine, s(ADD), ONE, BOX | ONE)
    assert (result, raised) == (BOX | NAN, 0)
    moved = e.r_type(e.OP_FLOAT, 12, 0, 1, 0, 0x1C << 2)
    assert execute(machine, moved, MINUS_ONE)[1] == 0xFFFFFFFF00000000 | MINUS_ONE  # the bits as they are


@pytest.mark.parametrize(("funct3", "flags"), [(2, 0), (1, NV), (0, NV)])
def test_comparisons_with_nan(machine: Any, funct3: int, flags: int) -> None:
    compare = e.r_type(e.OP_FLOAT, 12, funct3, 1, 2, COMPARE << 2)
    assert execute(machine, compare, BOX | NAN, BOX | ONE)[1:] == (0, flags)
    assert execute(machine, compare, BOX | SIGNALING, BOX | ONE)[1:] == (0, NV)
    assert execute(machine, compare, BOX | ZERO, BOX | MINUS)[1:] == (int(funct3 != 1), 0)
