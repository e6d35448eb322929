"""The portable path runs every nest as written: tails, balanced loops, covers, in every arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from strop import _native


def run(problem: Any, loops: Any, seed: int = 0, **options: Any) -> tuple[Any, Any]:
    arrays = problem.arrays(seed)
    call = problem.bind(_native.Call(), problem.compile("portable", loops), **options)
    return call(*arrays), problem.einsum(*arrays)


def test_every_problem_and_arithmetic(problem: Any, arithmetic: Any) -> None:
    dtype, semiring = arithmetic
    got, want = run(problem.but(dtype=dtype, semiring=semiring), None)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed: int, matmul: Any, make_loop: Any) -> None:
    """Splits by anything, balanced or not, of any axis in any order; a loop that ends an axis may be missing."""
    random = np.random.default_rng(seed)
    problem = matmul(*(int(extent) for extent in random.integers(1, 24, 3)), dtype="float64")
    loops = []
    for axis, extent in enumerate(problem.sizes.values()):
        steps = sorted({int(random.integers(1, extent + 3)) for _ in range(random.integers(1, 4))}, reverse=True)
        loops.append([make_loop(axis, step, balanced=bool(random.integers(2))) for step in steps])
    order = random.permutation([axis for axis, own in enumerate(loops) for _ in own])
    got, want = run(problem, [loops[axis].pop(0) for axis in order], seed)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_pieces_steer_their_partner(matmul: Any, make_loop: Any) -> None:
    problem = matmul(23, 9, 30, dtype="float64")
    loops = [
        make_loop(2, 16, pieces=(16, 8, 6), partner=0, partner_steps=(4, 7, 23)),
        make_loop(0, 5),
        make_loop(1),
        make_loop(0),
        make_loop(2),
    ]
    got, want = run(problem, loops)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_accumulates_before_the_epilogue(matmul: Any) -> None:
    relu_plus_row = (("x",), ("operand", 0), ("add",), ("relu",))
    problem = matmul(4, 5, 6, dtype="float64", accumulate=True, extras=("n",), epilogue=relu_plus_row)
    arrays, row = problem.arrays(), np.linspace(-3, 3, 6)
    start = np.arange(24.0).reshape(4, 6) - 12
    out = start.copy()
    problem.bind(_native.Call(), problem.compile("portable"), accumulate=True)(*arrays, out=out, n_=row)
    np.testing.assert_allclose(out, np.maximum(start + arrays[0] @ arrays[1] + row, 0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("reduce", ["max", "min"])
def test_nan_and_infinity_pass_through(reduce: str, matmul: Any) -> None:
    problem = matmul(3, 4, 5, semiring=(reduce, "+"))
    left, right = problem.arrays()
    left[1, 2], right[0, 3] = np.nan, np.inf
    call = problem.bind(_native.Call(), problem.compile("portable"))
    np.testing.assert_allclose(call(left, right), problem.einsum(left, right), rtol=1e-6)


def test_refuses_what_is_no_nest(matmul: Any, make_loop: Any) -> None:
    problem = matmul(4, 4, 4)
    for loops, text in [
        ([make_loop(3)], "axis isn't there"),
        ([make_loop(0, 0)], "1 or more"),
        ([make_loop(0, pieces=(2, 2), partner=1, partner_steps=(1, 2))], "loop inside it"),
        ([make_loop(0, pieces=(2, 2), partner=1, partner_steps=(1,)), make_loop(1)], "one partner step"),
        ([(0, 1)], "wrong number of items"),
    ]:
        with pytest.raises(ValueError, match=text):
            problem.compile("portable", loops)
    with pytest.raises(TypeError):
        problem.compile("portable", 7)
    with pytest.raises(ValueError, match="empty stack"):
        problem.but(epilogue=(("x",), ("add",))).compile("portable")
    with pytest.raises(ValueError, match="no instruction set is called"):
        problem.compile("sse")
