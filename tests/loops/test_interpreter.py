from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.loops.interpreter import interpret
from strop.loops.moves import Balance, Cover, Reorder, Tile, replay
from strop.loops.nest import Loop, Nest
from strop.loops.reference import reference
from strop.values.contraction import Contraction
from tests.loops import nests


def test_a_matmul_with_covers_tails_and_balanced_rows() -> None:
    c = Contraction.parse("mk,kn->mn", m=25, k=7, n=40)
    tile = (Tile(("m.0", "n.0"), (6, 16)), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))
    nest = replay(c, (*tile, Cover("n.0", (24, 16), "m", (5, 9)), Balance("m.0")))
    a, b = np.arange(25.0 * 7).reshape(25, 7), np.arange(7.0 * 40).reshape(7, 40)
    np.testing.assert_array_equal(interpret(nest, [a, b]), a @ b)


@given(st.integers(0, 2**32))
def test_every_legal_nest_computes_the_contraction(seed: int) -> None:
    check(seed)


@pytest.mark.soak
def test_every_legal_nest_computes_the_contraction_soak(soak: object) -> None:
    for seed in soak.seeds(2000):  # type: ignore[attr-defined]
        check(seed)


def check(seed: int) -> None:
    rng = random.Random(seed)
    contraction = nests.contraction(rng)
    nest, schedule = nests.schedule(rng, Nest.default(contraction))
    operands, c0, extras = nests.arrays(contraction, seed)
    found = interpret(nest, operands, c0=c0, epilogue_operands=extras)
    expected = reference(contraction, operands, c0, extras)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=f"{contraction} {schedule}")


def test_nan_and_infinity_pass_through() -> None:
    c = Contraction.parse("mk,kn->mn", m=2, k=3, n=2, semiring="max,+")
    a = np.array([[1.0, np.nan, 2.0], [np.inf, 0.0, -np.inf]])
    b = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    np.testing.assert_array_equal(interpret(Nest.default(c), [a, b]), reference(c, [a, b]))


@pytest.mark.parametrize("text", ["mk,kn->mn", "mk->m", "m,m->m"])
def test_an_empty_axis_gives_the_identity(text: str) -> None:
    for empty in "mk":
        if empty in text:
            c = Contraction.parse(text, sizes={axis: 0 if axis == empty else 3 for axis in set(text) & set("mkn")})
            nest = Nest(c, tuple(Loop(axis, balanced=True) for axis in c.axes))
            operands = [np.ones(shape) for shape in c.operand_shapes]
            np.testing.assert_array_equal(interpret(nest, operands), reference(c, operands))


def test_a_nest_that_misses_points_is_found_out() -> None:
    c = Contraction.parse("m,m->m", m=4)
    with pytest.raises(AssertionError, match="misses a point or visits one twice"):
        interpret(Nest(c, (Loop("m", 2, pieces=(2,)), Loop("m"))), [np.ones(4), np.ones(4)])


def test_an_operand_may_have_rows_that_the_window_skips() -> None:
    c = Contraction.parse("2h+r, r -> h", shapes=((8,), (3,)))
    operands = [np.arange(8.0), np.array([1.0, 2.0, 3.0])]
    np.testing.assert_array_equal(interpret(Nest.default(c), operands), reference(c, operands))
