"""Machine code equals the interpreter and the float64 reference, for any contraction, layout and legal schedule."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from strop.loops.interpreter import interpret
from strop.loops.kernel import native
from strop.loops.moves import Pack, Reorder, Split
from strop.loops.operands import layout_of
from strop.loops.reference import expect
from strop.loops.tuned import Tuned
from tests.loops.random_cases import Case, random_case

PARTS = 8


def isas() -> list[str]:
    """All that this CPU has, the portable path included."""
    return list(native().supported_isas())


def run(case: Case, isa: str, arrays: list[Any], out: Any, extras: dict[str, Any]) -> Any:
    """The case's result on an instruction set, from arrays of the layout at hand; `out` is restored."""
    contraction = case.contraction
    layout = layout_of(contraction, arrays, out=out, epilogue=list(extras.values()))
    kernel = Tuned(contraction=contraction, layout=layout, schedule=case.schedule, nest=case.nest, isa=isa, threads=2)
    before = out.copy()
    if not contraction.accumulate:
        out[...] = np.nan
    kernel(*arrays, out=out, **extras)
    result = out.copy()
    out[...] = before
    return result


def agrees(result: Any, values: Any, tolerance: Any) -> bool:
    """Whether each element lies within its tolerance, infinities and NaN where the reference has them."""
    same = (result == values) | (np.isnan(result) & np.isnan(values))
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(result - values) <= tolerance)))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_random_nests_equal_the_interpreter_and_the_reference(part: int, soak: Any) -> None:
    for number in soak.seeds(20_000 // PARTS):
        case = random_case(number * PARTS + part)
        c0 = case.output.copy()
        expected = expect(case.contraction, case.operands, c0, case.extras)
        literal = interpret(case.nest, case.operands, c0=c0, epilogue_operands=case.extras)
        assert agrees(literal, expected.values, expected.tolerance + 1e-9), (case.seed, "interpreter")
        for isa in isas():
            result = run(case, isa, case.operands, case.output, case.extras)
            assert agrees(result, expected.values, expected.tolerance), (case.seed, isa, case.schedule)


class Guarded:
    """Pages between two that can't be touched."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        pages = max(1, -(-size // page))
        self.map = mmap.mmap(-1, (pages + 2) * page)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        libc = ctypes.CDLL(None, use_errno=True)
        for guard in (address, address + (pages + 1) * page):
            assert libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
        self.inside = (page, (pages + 1) * page)


def guarded(array: Any, *, at_end: bool) -> Any:
    """A copy of the array, same strides, whose first or last byte touches a guard page."""
    strides = [0 if extent == 1 else stride for extent, stride in zip(array.shape, array.strides, strict=True)]
    spans = [(extent - 1) * stride for extent, stride in zip(array.shape, strides, strict=True)]
    below, above = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0) + array.itemsize
    pages = Guarded(above - below)
    start = (pages.inside[1] - above) if at_end else (pages.inside[0] - below)
    view = np.ndarray(array.shape, array.dtype, pages.map, start, strides)
    if array.size:
        view[...] = array
    return view


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_no_byte_outside_the_arrays_is_touched(part: int, soak: Any) -> None:
    for number in soak.seeds(2_000 // PARTS):
        case = random_case((number * PARTS + part) * 2 + 1)  # odd seeds: long extents, tails in two axes
        expected = expect(case.contraction, case.operands, case.output.copy(), case.extras)
        for at_end in (False, True):
            arrays = [guarded(array, at_end=at_end) for array in case.operands]
            out = guarded(case.output, at_end=at_end)
            extras = {name: guarded(array, at_end=at_end) for name, array in case.extras.items()}
            for isa in isas():
                result = run(case, isa, arrays, out, extras)
                assert agrees(result, expected.values, expected.tolerance), (case.seed, isa, at_end)


def test_a_packed_window_whose_axes_are_both_contiguous() -> None:
    """Found by the soak, seed 12693: rows were turned that needed no turning, and ran over into the next ones."""
    import strop

    c = strop.Contraction.parse("2b c+d, d b -> b c d", b=11, c=9, d=37)
    a = np.random.default_rng(0).uniform(-1, 1, c.operand_shapes[0]).astype("f")
    b = np.random.default_rng(1).uniform(-1, 1, c.operand_shapes[1]).astype("f")
    moves = (Split("b.0", 3), Reorder(("b.0", "b.1", "d.0", "c.0")), Pack("A", "b.0"))
    result = strop.compile(c, moves, space="literal")(a, b)
    np.testing.assert_allclose(result, expect(c, [a, b]).values, rtol=1e-6)


def squares() -> Iterator[tuple[int, int, int]]:
    """A few shapes around vector and tile widths."""
    for m in (1, 5, 17):
        for n in (1, 3, 8, 16, 33, 100):
            yield m, n, 29


@pytest.mark.parametrize("isa", [pytest.param(isa, marks=pytest.mark.isa(isa)) for isa in ("avx2", "avx512")])
def test_each_instruction_set_really_runs(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import strop

    monkeypatch.setenv("STROP_ISA", isa)
    for m, n, k in squares():
        kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", m=m, n=n, k=k), ())
        a, b = np.random.rand(m, k).astype("f"), np.random.rand(k, n).astype("f")
        assert kernel.isa == isa
        assert ("zmm" in kernel.asm()) == (isa == "avx512")
        np.testing.assert_allclose(kernel(a, b), a.astype("d") @ b, rtol=1e-5)
