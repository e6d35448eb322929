"""The reference against loops written out, and against einsum; the tolerance against honest and wrong results."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.loops import semiring
from strop.loops.reference import expect, reference, tolerance
from strop.values.contraction import SEMIRINGS, Contraction

Array = Any
PLUS = {"+": lambda a, b: a + b, "max": np.maximum, "min": np.minimum}


def written_out(c: Contraction, arrays: Sequence[Array], c0: Array | None = None) -> Array:
    """The definition, one point at a time."""
    plus, times = c.semiring.split(",")
    result = np.full(c.output_shape, c.identity)
    with np.errstate(all="ignore"):
        for point in itertools.product(*(range(size) for _, size in c.sizes)):
            at = dict(zip(c.axes, point, strict=True))
            values = [
                float(array[tuple(sum(factor * at[axis] for factor, axis in index) for index in operand)])
                for array, operand in zip(arrays, c.operands, strict=True)
            ]
            term = values[0] if len(values) == 1 else values[0] * values[1] if times == "*" else sum(values)
            where = tuple(at[axis] for axis in c.output)
            result[where] = PLUS[plus](result[where], term)
        if c0 is not None:
            result = PLUS[plus](result, c0)
    return result


def operands_of(c: Contraction, seed: int = 0) -> list[Array]:
    source = np.random.default_rng(seed)
    return [source.uniform(-1, 1, shape).astype(c.dtype) for shape in c.operand_shapes]


CASES = [
    ("mk,kn->mn", {"m": 3, "k": 4, "n": 5}),
    ("mk,kn->nm", {"m": 3, "k": 0, "n": 5}),
    ("mk,kn->nm", {"m": 0, "k": 2, "n": 5}),
    ("bmk,bkn->bmn", {"b": 2, "m": 3, "k": 4, "n": 5}),
    ("abcd,cbe->de", {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}),
    ("n c 2h+3r w+s, o c r s -> n o h w", {"n": 2, "c": 2, "h": 3, "w": 2, "r": 2, "s": 3, "o": 2}),
    ("c h+r w+s, c r s -> h c w", {"c": 2, "h": 3, "w": 2, "r": 2, "s": 3}),
    ("h+r -> h", {"h": 5, "r": 3}),
    ("h+2h -> h", {"h": 5}),
    ("h+w h, w -> w h", {"h": 3, "w": 2}),
    ("ii->", {"i": 4}),
    ("iij,j->ij", {"i": 4, "j": 3}),
    ("ab->ba", {"a": 4, "b": 3}),
    ("ab->", {"a": 4, "b": 3}),
    ("->", {}),
    (",k->k", {"k": 3}),
    ("m,n->mn", {"m": 3, "n": 2}),
    ("m,n->", {"m": 3, "n": 2}),
    ("h+r, r -> h", {"h": 3, "r": 0}),
]


@pytest.mark.parametrize("ring", SEMIRINGS)
@pytest.mark.parametrize(("text", "sizes"), CASES)
def test_the_definition(text: str, sizes: dict[str, int], ring: str) -> None:
    c = Contraction.parse(text, sizes=sizes, semiring=ring, accumulate=True)
    arrays = operands_of(c)
    result = reference(c, arrays)
    assert result.dtype == np.float64
    assert result.shape == c.output_shape
    np.testing.assert_allclose(result, written_out(c, arrays), rtol=1e-12, atol=1e-13)
    c0 = np.random.default_rng(1).uniform(-1, 1, c.output_shape)
    np.testing.assert_allclose(reference(c, arrays, c0), written_out(c, arrays, c0), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("ring", SEMIRINGS)
@pytest.mark.parametrize(("text", "sizes"), CASES)
def test_in_small_parts(text: str, sizes: dict[str, int], ring: str, monkeypatch: pytest.MonkeyPatch) -> None:
    c = Contraction.parse(text, sizes=sizes, semiring=ring)
    arrays = operands_of(c)
    whole = reference(c, arrays)
    monkeypatch.setattr(semiring, "CHUNK", 3)
    np.testing.assert_allclose(reference(c, arrays), whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("ring", SEMIRINGS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("text", "sizes"), CASES)
def test_special_values(text: str, sizes: dict[str, int], ring: str, value: float) -> None:
    c = Contraction.parse(text, sizes=sizes, semiring=ring)
    arrays = operands_of(c)
    for array in arrays:
        if array.size:
            array.flat[array.size // 2] = value
            array.flat[0] = 0.0
    result = reference(c, arrays)
    np.testing.assert_allclose(result, written_out(c, arrays), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(tolerance(c, arrays)[~np.isfinite(result)], 0)


def test_strides_and_rows_left_over() -> None:
    c = Contraction.parse("c 2h+r, c r -> c h", shapes=((3, 8), (3, 3)))
    big = np.random.default_rng(0).uniform(-1, 1, (16, 3))[::-2].T  # 3 x 8, one row is never read
    small = np.random.default_rng(1).uniform(-1, 1, (3, 1)).repeat(3, axis=1)
    small = np.lib.stride_tricks.as_strided(small, (3, 3), (small.strides[0], 0))
    np.testing.assert_allclose(reference(c, [big, small]), written_out(c, [big, small]), rtol=1e-12)


def test_the_result_is_not_the_operand() -> None:
    c = Contraction.parse("ab->ba", a=2, b=2, dtype="float64")
    operand = np.ones((2, 2))
    result = reference(c, [operand])
    assert not np.shares_memory(result, operand)
    result[:] = 0


@st.composite
def plain(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    axes = "abcde"[: draw(st.integers(1, 5))]
    operand = st.lists(st.sampled_from(axes), min_size=1, max_size=4).map("".join)
    operands = draw(st.lists(operand, min_size=1, max_size=2))
    known = sorted(set("".join(operands)))
    output = "".join(draw(st.lists(st.sampled_from(known), unique=True)))
    return f"{','.join(operands)}->{output}", {axis: draw(st.integers(0, 4)) for axis in known}


@given(plain(), st.sampled_from(["float32", "float64"]))
def test_einsum(drawn: tuple[str, dict[str, int]], dtype: str) -> None:
    text, sizes = drawn
    c = Contraction.parse(text, sizes=sizes, dtype=dtype)
    arrays = operands_of(c)
    expected = np.einsum(text, *(array.astype(np.float64) for array in arrays))
    np.testing.assert_allclose(reference(c, arrays), expected, rtol=1e-11, atol=1e-13)
    if c.operands and dtype == "float32":
        assert expect(c, arrays).mismatch(np.asarray(np.einsum(text, *arrays), dtype=np.float32)) is None


def test_epilogue_and_accumulate() -> None:
    c = Contraction.parse("mk,kn->mn", m=3, k=4, n=5, accumulate=True, epilogue="relu(x + bias[n]) * s")
    arrays = operands_of(c)
    c0, bias = np.ones((3, 5)), np.arange(5.0) - 2
    expected = np.maximum(written_out(c, arrays) + c0 + bias, 0) * 0.5
    np.testing.assert_allclose(reference(c, arrays, c0, {"bias": bias, "s": np.array(0.5)}), expected, rtol=1e-12)


def test_tolerance_is_the_protocol_s() -> None:
    c = Contraction.parse("mk,kn->mn", m=3, k=16, n=5)
    a, b = operands_of(c)
    scale = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    np.testing.assert_allclose(tolerance(c, [a, b]), 2.0**-23 * (4 + 16**0.5) * scale, rtol=1e-9)
    c = Contraction.parse("mk,kn->mn", m=3, k=16, n=5, semiring="max,+")
    largest = np.abs(a.astype(np.float64)[:, :, None] + b).max(axis=1)
    np.testing.assert_allclose(tolerance(c, [a, b]), 2.0**-23 * (4 + 16**0.5) * largest, rtol=1e-9)


@pytest.mark.parametrize(("text", "ring"), [("ab->ba", "+,*"), ("ab->a", "max,+"), ("ii->i", "min,*")])
def test_moving_is_exact(text: str, ring: str) -> None:
    c = Contraction.parse(text, shapes=((4, 4),), semiring=ring)
    assert not tolerance(c, operands_of(c)).any()


EPILOGUES = [
    "x",
    "relu(x + bias[n])",
    "gelu(x * 3 - bias[n])",
    "tanh(x) / (1.5 + sigmoid(x))",
    "sigmoid(-x * 20)",
    "exp(x * 10) - exp(-x)",
    "x * x - bias[n] / 3",
    "min(max(x, -0.1), bias[n]) * 0.1",
]


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_float32_is_within_the_tolerance_and_a_slip_is_not(epilogue: str) -> None:
    c = Contraction.parse("mk,kn->mn", m=9, k=33, n=17, epilogue=epilogue)
    plain_c = Contraction.parse("mk,kn->mn", m=9, k=33, n=17)
    for seed in range(10):
        arrays = operands_of(c, seed)
        bias = np.random.default_rng(seed + 100).uniform(-1, 1, 17).astype(np.float32)
        expected = expect(c, arrays, None, {"bias": bias})
        x = np.zeros((9, 17), np.float32)
        for k in range(33):  # float32 throughout, one rounding a step
            x += arrays[0][:, k, None] * arrays[1][k]
        single = in_float32(epilogue, x, bias)
        assert expected.mismatch(single) is None
        slip = reference(plain_c, arrays) - arrays[0][:, 32, None].astype(np.float64) * arrays[1][32]
        slipped = in_float32(epilogue, slip.astype(np.float32), bias)
        assert expected.mismatch(slipped) is not None


def in_float32(epilogue: str, x: Array, bias: Array) -> Array:
    from math import erf

    erf32 = np.vectorize(lambda value: np.float32(erf(value)), otypes=[np.float32])
    half, one = np.float32(0.5), np.float32(1)
    known = {
        "x": x,
        "bias": {"n": bias},
        "n": "n",
        "relu": lambda v: np.maximum(v, np.float32(0)),
        "gelu": lambda v: half * v * (one + erf32(v * np.float32(0.70710678))),
        "tanh": np.tanh,
        "exp": np.exp,
        "sigmoid": lambda v: one / (one + np.exp(-v)),
        "min": np.minimum,
        "max": np.maximum,
    }
    with np.errstate(over="ignore"):
        return np.asarray(eval(epilogue, {}, known), dtype=np.float32)


def test_mismatch_tells_the_worst() -> None:
    c = Contraction.parse("mk,kn->mn", m=3, k=4, n=5)
    arrays = operands_of(c)
    expected = expect(c, arrays)
    good = expected.values.astype(np.float32)
    assert expected.mismatch(good) is None
    wrong = good.copy()
    wrong[1, 2] += 1
    wrong[2, 0] += 5
    said = expected.mismatch(wrong)
    assert said is not None
    assert said.startswith("2 of 15 values are wrong; the worst, at (2, 0),")
    assert expected.mismatch(good.T) == "the result has shape (5, 3), not (3, 5)"


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_must_match_in_kind(poison: float) -> None:
    c = Contraction.parse("mk,kn->mn", m=3, k=4, n=5)
    arrays = operands_of(c)
    expected = expect(c, arrays)
    wrong = expected.values.astype(np.float32)
    wrong[0, 0] = poison
    assert expected.mismatch(wrong) is not None

    arrays[0][0, 0] = poison
    expected = expect(c, arrays)
    with np.errstate(all="ignore"):
        right = arrays[0] @ arrays[1]
    assert expected.mismatch(right) is None
    for other in (0.0, np.nan, np.inf, -np.inf):
        changed = right.copy()
        changed[0, 0] = other
        same = np.array_equal(changed[0, 0], right[0, 0], equal_nan=True)
        assert (expected.mismatch(changed) is None) == same


def test_overflow_to_infinity_is_expected() -> None:
    c = Contraction.parse("m,m->m", m=3)
    arrays = [np.array([3e38, 1e20, 1.0], np.float32), np.array([10, 1e10, 2.0], np.float32)]
    expected = expect(c, arrays)
    assert expected.mismatch(np.array([np.inf, 1e30, 2.0], np.float32)) is None


def test_exp_beyond_the_range() -> None:
    c = Contraction.parse("m->m", m=3, epilogue="1 / (1 + exp(x))")
    arrays = [np.array([100.0, -200.0, 0.0], np.float32)]
    assert expect(c, arrays).mismatch(np.array([0.0, 1.0, 0.5], np.float32)) is None
    assert expect(c, arrays).mismatch(np.array([0.1, 1.0, 0.5], np.float32)) is not None


def test_a_quotient_by_what_may_be_zero_says_nothing() -> None:
    c = Contraction.parse("k,k->", k=2, epilogue="1 / x")
    arrays = [np.array([1.0, 1.0], np.float32), np.array([1.0, -1.0], np.float32)]
    assert np.isinf(tolerance(c, arrays))
    exact = Contraction.parse("m->m", m=1, epilogue="1 / x")
    zero = [np.array([0.0], np.float32)]
    assert expect(exact, zero).mismatch(np.array([np.inf], np.float32)) is None
    assert expect(exact, zero).mismatch(np.array([1e30], np.float32)) is not None


def test_an_infinite_input_stays_certain_through_an_epilogue() -> None:
    c = Contraction.parse("m->m", m=3, epilogue="relu(x * 2 + b[m])")
    arrays = [np.array([np.inf, -np.inf, np.nan], np.float32)]
    expected = expect(c, arrays, None, {"b": np.ones(3, np.float32)})
    assert expected.mismatch(np.array([np.inf, 0.0, np.nan], np.float32)) is None
    assert expected.mismatch(np.array([np.nan, 0.0, np.nan], np.float32)) is not None
    assert expected.mismatch(np.array([np.inf, 1.0, np.nan], np.float32)) is not None
    assert expected.mismatch(np.array([np.inf, 0.0, 0.0], np.float32)) is not None


def test_infinite_terms_leave_the_others_certain() -> None:
    """Shortest paths: an edge that isn't there is infinite."""
    c = Contraction.parse("ik,kj->ij", i=2, k=3, j=2, semiring="min,+", accumulate=True)
    a = np.array([[1, np.inf, 2], [np.inf, np.inf, np.inf]], np.float32)
    b = np.array([[1, 5], [np.inf, 2], [3, np.inf]], np.float32)
    expected = expect(c, [a, b], np.full((2, 2), np.inf))
    assert expected.mismatch(np.array([[2, 6], [np.inf, np.inf]], np.float32)) is None
    assert expected.mismatch(np.array([[2.01, 6], [np.inf, np.inf]], np.float32)) is not None
    assert expected.mismatch(np.array([[2, 6], [9, np.inf]], np.float32)) is not None


def test_a_constant_beyond_the_range_is_infinite() -> None:
    c = Contraction.parse("m->m", m=1, epilogue="1e300 - x * 1e300")
    assert expect(c, [np.array([1.0], np.float32)]).mismatch(np.array([np.nan], np.float32)) is None
    wide = Contraction.parse("m->m", m=1, dtype="float64", epilogue="1e300 - x * 1e300")
    assert expect(wide, [np.array([1.0])]).mismatch(np.array([np.nan])) is not None
