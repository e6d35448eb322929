"""The grammar of epilogues and their values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import BadEpilogue
from strop.values.epilogue import FUNCTIONS, LONGEST, Apply, Expression, Node, Number, Operand, X

AXES = ("m", "n")


def read(text: str) -> Expression:
    return Expression.parse(text, axes=AXES)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("relu( x+bias[n] )", "relu(x + bias[n])"),
        ("x - (1 - 2)", "x - (1 - 2)"),
        ("(x - 1) - 2", "x - 1 - 2"),
        ("-(x*2)", "-(x * 2)"),
        ("--x", "--x"),
        ("(x+1)*-2", "(x + 1) * -2"),
        ("scale[] * x", "scale * x"),
        ("r[n m] + r[n, m]", "r[n,m] + r[n,m]"),
        ("1e-3*x + .5 + 2.", "0.001 * x + 0.5 + 2"),
        ("max(x, min(6, x)) / x", "max(x, min(6, x)) / x"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    assert read(text).text == canonical
    assert read(canonical) == read(text)


def test_postfix() -> None:
    assert read("-(x - bias[n]) * s / max(bias[n], 0.5)").postfix() == (
        ("x",),
        ("operand", 0),
        ("sub",),
        ("neg",),
        ("operand", 1),
        ("mul",),
        ("operand", 0),
        ("number", 0.5),
        ("max",),
        ("div",),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'^'"),
        ("x +", "'x +^'"),
        ("x + + 1", "'x + ^+ 1'"),
        ("foo(x)", "no function 'foo'"),
        ("relu x", "'relu ^x'"),
        ("relu", "is a function"),
        ("max(x)", "takes 2 argument(s), not 1"),
        ("relu(x, x)", "takes 1 argument(s), not 2"),
        ("x[n]", "'x^[n]'"),
        ("b[q]", "'q' is no axis of the result (m, n)"),
        ("b[n,n]", "twice"),
        ("b[n,]", "'b[n,^]'"),
        ("b[1]", "'b[^1]'"),
        ("b[n] + b", "other axes"),
        ("out * x", "reserved"),
        ("x y", "'x ^y'"),
        ("(x", "'(x^'"),
        ("x)", "'x^)'"),
        ("x ** 2", "'x *^* 2'"),
        ("x; import os", "'x^; import os'"),
        ("__import__('os')", "^"),
        ("1e999", "too large"),
        ("x + " * 200 + "x", "longer"),
        ("(" * 60 + "x" + ")" * 60, "nested"),
        ("-" * 60 + "x", "nested"),
    ],
)
def test_bad_text_is_pointed_at(text: str, said: str) -> None:
    with pytest.raises(BadEpilogue) as caught:
        read(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_text() -> None:
    with pytest.raises(BadEpilogue, match="int"):
        read(3)  # type: ignore[arg-type]


def test_values() -> None:
    x = np.array([[-2.0, 0.5, 3.0], [0.0, -0.1, 9.0]])
    bias, scale, r = np.array([1.0, 2.0, 3.0]), np.float64(0.5), np.arange(6.0).reshape(3, 2)
    operands = {"bias": bias, "scale": scale, "r": r}
    erf = np.vectorize(math.erf)
    cases: dict[str, Any] = {
        "relu(x + bias[n])": np.maximum(x + bias, 0),
        "x * scale - r[n,m]": x * 0.5 - r.T,
        "gelu(x)": 0.5 * x * (1 + erf(x / math.sqrt(2))),
        "sigmoid(x) + tanh(x) / exp(x)": 1 / (1 + np.exp(-x)) + np.tanh(x) / np.exp(x),
        "min(max(x, 0), 6)": np.clip(x, 0, 6),
        "2": np.full((2, 3), 2.0),
    }
    for text, expected in cases.items():
        result = read(text).evaluate(x, operands, AXES)
        assert result.dtype == np.float64
        np.testing.assert_allclose(result, expected, rtol=1e-14)


def test_nan_and_infinity_pass_through() -> None:
    x = np.array([[np.nan, np.inf, -np.inf]])
    np.testing.assert_array_equal(read("relu(x)").evaluate(x, {}, AXES), [[np.nan, np.inf, 0]])
    np.testing.assert_array_equal(read("min(max(x, 0), 6)").evaluate(x, {}, AXES), [[np.nan, 6, 0]])
    np.testing.assert_array_equal(read("sigmoid(x)").evaluate(x, {}, AXES), [[np.nan, 1, 0]])
    np.testing.assert_array_equal(read("1 / (x - x)").evaluate(np.zeros((1, 3)), {}, AXES), [[np.inf] * 3])


def test_scalar_result() -> None:
    assert Expression.parse("x * s", axes=()).evaluate(np.array(2.0), {"s": np.array(3.0)}, ()) == 6.0


nodes: st.SearchStrategy[Node] = st.recursive(
    st.one_of(
        st.just(X()),
        st.floats(0, 1e30).map(Number),
        st.sampled_from([Operand("bias", ("n",)), Operand("r", ("n", "m")), Operand("s", ())]),
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "div", "min", "max"]), st.tuples(inner, inner)),
        st.tuples(st.sampled_from(["neg", *(name for name, n in FUNCTIONS.items() if n == 1)]), st.tuples(inner)),
    ).map(lambda pair: Apply(*pair)),
    max_leaves=8,
)


@given(nodes)
def test_text_round_trips(node: Node) -> None:
    expression = Expression(node)
    assert read(expression.text) == expression


@given(nodes)
def test_postfix_is_a_stack_program(node: Node) -> None:
    depth = 0
    for op, *_ in Expression(node).postfix():
        pushes = op in ("x", "number", "operand")
        depth += 1 if pushes else 0 if op in ("neg", "relu", "gelu", "tanh", "exp", "sigmoid") else -1
        assert depth >= 1
    assert depth == 1


@given(st.text(alphabet="x bn[],()+-*/1.e", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expression = read(text)
    except BadEpilogue:
        return
    assert read(expression.text) == expression


def test_the_longest_is_read() -> None:
    assert len(read(" + ".join(["x"] * (LONGEST // 2))).postfix()) == LONGEST - 1
