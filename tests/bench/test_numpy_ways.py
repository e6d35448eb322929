"""Every way to write a contraction in NumPy gives einsum's result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from strop.bench.numpy_epilogue import epilogue
from strop.bench.numpy_ways import views, ways
from strop.values.contraction import Contraction
from strop.values.epilogue import Expression
from strop.values.layout import Layout

CASES = {
    "matmul": ("mk,kn->mn", {"m": 5, "k": 7, "n": 3}),
    "turned": ("km,nk->nm", {"m": 5, "k": 7, "n": 3}),
    "batched": ("bmk,bkn->bmn", {"b": 2, "m": 5, "k": 7, "n": 3}),
    "batch inside": ("mbk,nkb->mbn", {"b": 2, "m": 5, "k": 7, "n": 3}),
    "vector": ("mk,k->m", {"m": 5, "k": 7}),
    "dot": ("k,k->", {"k": 7}),
    "outer": ("m,n->mn", {"m": 5, "n": 3}),
    "elementwise": ("mn,n->nm", {"m": 5, "n": 3}),
    "several": ("abij,ijcd->acbd", {"a": 2, "b": 3, "c": 4, "d": 2, "i": 3, "j": 2}),
    "terms in two orders": ("aij,jib->ab", {"a": 2, "b": 3, "i": 3, "j": 2}),
    "sum of one": ("mki,kn->mn", {"m": 2, "k": 3, "i": 4, "n": 5}),
    "diagonal": ("iik,kn->in", {"i": 3, "k": 4, "n": 2}),
    "trace": ("ii->", {"i": 5}),
    "transpose": ("abc->cab", {"a": 2, "b": 3, "c": 4}),
    "column sums": ("mn->n", {"m": 4, "n": 3}),
    "convolution": ("n c h+r w+s, o c r s -> n o h w", {"n": 2, "c": 3, "h": 4, "w": 5, "r": 3, "s": 2, "o": 4}),
    "depthwise": ("c 2h+r, c r -> c h", {"c": 3, "h": 4, "r": 3}),
}
SEMIRINGS = {
    "+,*": (np.add, np.multiply),
    "max,+": (np.maximum, np.add),
    "min,+": (np.minimum, np.add),
    "max,*": (np.maximum, np.multiply),
}


def arrays(contraction: Contraction) -> list[Any]:
    random = np.random.default_rng(3)
    return [random.standard_normal(shape).astype(contraction.dtype) for shape in contraction.operand_shapes]


def expected(contraction: Contraction, operands: list[Any]) -> Any:
    """All points at once, reduced over the trailing axes."""
    reduce, combine = SEMIRINGS[contraction.semiring]
    every = (*contraction.output, *contraction.reduction)
    spread = [v.spread(every).astype("float64") for v in views(contraction, Layout.default(contraction), operands)]
    points = spread[0] if len(spread) == 1 else combine(*spread)
    points = np.broadcast_to(points, [contraction.extent(axis) for axis in every])
    return reduce.reduce(points, axis=tuple(range(len(contraction.output), len(every))))


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("case", CASES)
def test_every_way_is_right(case: str, semiring: str) -> None:
    text, sizes = CASES[case]
    contraction = Contraction.parse(text, sizes=sizes, semiring=semiring)
    operands, out = arrays(contraction), np.empty(contraction.output_shape, "float32")
    correct = expected(contraction, operands)
    texts = []
    for way in ways(contraction, Layout.default(contraction), operands, out):
        out.fill(np.nan)
        returned = way.run()
        got = out if way.writes_out else returned
        np.testing.assert_allclose(got, correct, rtol=1e-4, atol=1e-4, err_msg=way.text)
        assert got.shape == contraction.output_shape
        texts.append(way.text)
    assert texts


@pytest.mark.parametrize(
    ("case", "first"),
    [
        ("matmul", "np.matmul(a, b, out=out)"),
        ("turned", "np.matmul(a, b, out=out)"),
        ("batched", "np.matmul(a, b, out=out)"),
        ("convolution", "np.matmul(a, b).reshape(...).transpose(...)"),
        ("outer", "np.multiply(a, b)"),
        ("column sums", "np.sum(a, axis)"),
    ],
)
def test_the_way_a_user_thinks_of_first(case: str, first: str) -> None:
    text, sizes = CASES[case]
    contraction = Contraction.parse(text, sizes=sizes)
    out = np.empty(contraction.output_shape, "float32")
    assert next(ways(contraction, Layout.default(contraction), arrays(contraction), out)).text == first


@pytest.mark.parametrize(
    "text",
    [
        "relu(x + bias[n])",
        "gelu(x)",
        "sigmoid(x) * x",
        "-tanh(x / scale) + mask[m,n]",
        "max(x, min(bias[n], 2)) - exp(x)",
        "relu(bias[n]) + x",
        "mask[n,m] - x",
        "3",
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_epilogues(text: str, dtype: str) -> None:
    random = np.random.default_rng(1)
    axes, sizes = ("m", "n"), {"m": 4, "n": 5}
    expression = Expression.parse(text, axes=axes)
    operands = {
        name: random.standard_normal([sizes[axis] for axis in theirs]).astype(dtype) + 2
        for name, theirs in expression.operands
    }
    x = random.standard_normal((4, 5)).astype(dtype)
    correct = expression.evaluate(x, operands, axes)
    before = {name: value.copy() for name, value in operands.items()}
    got = epilogue(expression, operands, axes, dtype)(x.copy())
    np.testing.assert_allclose(np.broadcast_to(got, x.shape), correct, rtol=1e-5, atol=1e-6)
    for name, value in operands.items():
        np.testing.assert_array_equal(value, before[name])
    if text != "3":
        assert got.dtype == dtype
