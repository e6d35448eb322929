"""Epilogues as machine code: each function to a few units in the last place, and expressions as float64 says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import strop
from strop.loops.moves import Reorder, Tile
from strop.loops.reference import expect

ISAS = [
    pytest.param("avx512", marks=pytest.mark.isa("avx512")),
    pytest.param("avx2", marks=pytest.mark.isa("avx2")),
    "portable",
]
DTYPES = ["float32", "float64"]

erfc = np.vectorize(math.erfc, otypes=[np.float64])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: np.where(x == -np.inf, 0, x * erfc(-x / math.sqrt(2)) / 2),
    "relu": lambda x: np.maximum(x, 0),
}


@pytest.fixture(params=ISAS)
def isa(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The instruction set that strop.compile is made to use."""
    monkeypatch.setenv("STROP_ISA", request.param)
    return str(request.param)


def run(epilogue: str, x: Any, **operands: Any) -> Any:
    """The epilogue on the values of a matrix, nothing else done to them."""
    c = strop.Contraction.parse("ab->ab", a=x.shape[0], b=x.shape[1], dtype=x.dtype.name, epilogue=epilogue)
    return strop.compile(c, (), space="literal")(x, **operands)


def arguments(dtype: str) -> Any:
    """Values of all sizes and both signs, in a shape whose rows end within a vector."""
    random = np.random.default_rng(0)
    near = [random.uniform(-reach, reach, 3001) for reach in (1e-3, 1, 10, 110)]
    far = np.copysign(np.exp2(random.uniform(-120, 120, 3001)), random.normal(size=3001))
    return np.stack([*near, far]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_are_accurate(function: str, dtype: str, isa: str) -> None:
    x = arguments(dtype)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[function](x.astype(np.float64))
        rounded = exact.astype(dtype)
    y = run(f"{function}(x)", x)
    tiny = np.finfo(dtype).tiny
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(np.isfinite(y), finite)
    np.testing.assert_array_equal(y[~finite], rounded[~finite])
    allowed = np.full(x.shape, 5e-7 if dtype == "float32" else 4e-15)
    if function == "gelu" and dtype == "float64":  # the reference's erfc magnifies the rounding of x / sqrt(2)
        allowed += 4e-16 * np.square(np.minimum(np.abs(x), 40))
    error = np.abs(y.astype(np.float64)[finite] - exact[finite])
    assert (error <= allowed[finite] * np.abs(exact[finite]) + tiny).all()


LIMITS = {
    "exp": (math.inf, 0, 1),
    "tanh": (1, -1, 0),
    "sigmoid": (1, 0, 0.5),
    "gelu": (math.inf, 0, 0),
    "relu": (math.inf, 0, 0),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", LIMITS)
def test_infinities_give_limits_and_nan_stays(function: str, dtype: str, isa: str) -> None:
    largest = np.finfo(dtype).max
    x = np.array([[math.inf, largest, -math.inf, -largest, 0.0, -0.0, math.nan] * 3], dtype)
    up, down, middle = LIMITS[function]
    expected = np.array([[up, min(up, largest), down, down, middle, middle, math.nan] * 3])
    if function == "exp":
        expected[0, 1::7] = math.inf
    np.testing.assert_array_equal(run(f"{function}(x)", x), expected.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", ["min(x, b[b])", "min(b[b], x)", "max(x, b[b])", "max(b[b], x)", "max(x, x)"])
def test_min_and_max_pass_nan_as_numpy(text: str, dtype: str, isa: str) -> None:
    values = np.array([math.nan, -math.inf, -1.5, 0.0, 2.0, math.inf], dtype)
    x, b = (np.ascontiguousarray(array) for array in np.broadcast_arrays(values[:, None], values))
    function = np.minimum if text.startswith("min") else np.maximum
    expected = function(x, x if text == "max(x, x)" else b)
    operands = {} if text == "max(x, x)" else {"b": values}
    np.testing.assert_array_equal(run(text, x, **operands), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", ["min(x, 1)", "max(1, x)", "relu(x)", "min(max(x, -1), 1)"])
def test_bounds_pass_nan(text: str, dtype: str, isa: str) -> None:
    x = np.full((2, 19), math.nan, dtype)
    assert np.isnan(run(text, x)).all()


TILE = (Tile(("m.0", "n.0"), (4, 16)), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "text",
    [
        "relu(x + bias[n])",
        "gelu(x * scale + bias[n])",
        "x * sigmoid(x)",
        "tanh(x) * row[m] - full[m,n]",
        "min(max(x + bias[n], 0), 6)",
        "exp(x / 4) / (1 + exp(x / 4)) - bias[n] * full[m,n]",
        "bias[n]",
        "2 - 3 / 4",
        "gelu(gelu(x) + gelu(row[m])) - gelu(bias[n] - gelu(x))",
    ],
)
@pytest.mark.parametrize("schedule", [(), TILE], ids=["default", "tile"])
def test_expressions_after_a_product(text: str, schedule: Any, dtype: str, isa: str) -> None:
    m, n, k = 7, 37, 11
    random = np.random.default_rng(1)
    a, b = random.normal(size=(m, k)).astype(dtype), random.normal(size=(k, n)).astype(dtype)
    extras = {"bias": (n,), "scale": (), "row": (m,), "full": (m, n)}
    c = strop.Contraction.parse("mk,kn->mn", m=m, n=n, k=k, dtype=dtype, epilogue=text)
    operands = {name: random.normal(size=extras[name]).astype(dtype) for name, _ in c.epilogue_operands}
    result = strop.compile(c, schedule, space="literal")(a, b, **operands)
    assert expect(c, [a, b], None, operands).mismatch(result) is None


LEAVES = st.sampled_from(["x", "x", "b[b]", "s", "0.5", "2"])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda parts: "{}({}, {})".format(*parts)),
        st.tuples(st.sampled_from(["relu", "tanh", "sigmoid", "gelu", "-"]), inner).map(
            lambda parts: "{}({})".format(*parts)
        ),
    ),
    max_leaves=25,
)


@pytest.mark.parametrize("dtype", DTYPES)
@given(text=EXPRESSIONS)
@hypothesis_settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_expression(text: str, dtype: str, isa: str) -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(3, 21)).astype(dtype)
    c = strop.Contraction.parse("ab->ab", a=3, b=21, dtype=dtype, epilogue=text)
    every = {"b": random.normal(size=21).astype(dtype), "s": np.array(0.75, dtype)}
    operands = {name: every[name] for name, _ in c.epilogue_operands}
    result = strop.compile(c, (), space="literal")(x, **operands)
    assert expect(c, [x], None, operands).mismatch(result) is None


def test_the_longest_expressions_find_registers(isa: str) -> None:
    balanced = "x * x"
    for _ in range(4):
        balanced = f"gelu({balanced}) - tanh({balanced})"
    deep = "x"
    for _ in range(19):
        deep = f"gelu(bias[n]) - ({deep})"
    m, n, k = 7, 37, 5
    random = np.random.default_rng(3)
    a, b, bias = (random.normal(size=shape).astype("float32") for shape in ((m, k), (k, n), (n,)))
    for text in (balanced, deep):
        c = strop.Contraction.parse("mk,kn->mn", m=m, n=n, k=k, epilogue=text)
        operands = {name: bias for name, _ in c.epilogue_operands}
        result = strop.compile(c, TILE, space="literal")(a, b, **operands)
        assert expect(c, [a, b], None, operands).mismatch(result) is None
