"""An epilogue as a NumPy user would write it: ufuncs in the contraction's own type, in place where nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from strop.values.epilogue import Apply, Expression, Node, Number, Operand, X

BINARY = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "min": "minimum", "max": "maximum"}
UNARY = {"neg": "negative", "tanh": "tanh", "exp": "exp"}

# erf by Abramowitz and Stegun, 7.1.26 (error below 1.5e-7): NumPy has none, and this is what people paste.
ERF_P, ERF_A = 0.3275911, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


def epilogue(
    expression: Expression, operands: Mapping[str, Any], output_axes: Sequence[str], dtype: str
) -> Callable[[Any], Any]:
    """A function of the contraction's result; it may write into that and returns the new values."""
    import numpy as np

    spread = {}
    for name, axes in expression.operands:
        value = np.asarray(operands[name], dtype=dtype)
        value = value.transpose([axes.index(axis) for axis in output_axes if axis in axes])
        extents = iter(value.shape)
        spread[name] = value.reshape([next(extents) if axis in axes else 1 for axis in output_axes])
    once = _count(expression.root) == 1  # only then may x be written over

    def evaluate(node: Node, x: Any) -> tuple[Any, bool]:
        """The value, and whether it is ours to overwrite."""
        match node:
            case X():
                return x, once
            case Number(value):
                return np.dtype(dtype).type(value), False
            case Operand(name, _):
                return spread[name], False
            case Apply(op, arguments):
                taken = [evaluate(argument, x) for argument in arguments]
                into = next((value for value, ours in taken if ours and value.shape == x.shape), None)
                return _apply(np, op, [value for value, _ in taken], into), True

    return lambda x: evaluate(expression.root, x)[0]


def _apply(np: Any, op: str, values: list[Any], into: Any) -> Any:
    if op in BINARY:
        return getattr(np, BINARY[op])(*values, out=into)
    (x,) = values
    if op in UNARY:
        return getattr(np, UNARY[op])(x, out=into)
    if op == "relu":
        return np.maximum(x, 0, out=into)
    if op == "sigmoid":
        result = np.exp(np.negative(x, out=into), out=into)
        result = np.add(result, 1, out=into)
        return np.reciprocal(result, out=into)
    assert op == "gelu", op
    scaled = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + ERF_P * scaled)
    polynomial = ERF_A[0] * t
    for coefficient in ERF_A[1:]:
        polynomial += coefficient
        polynomial *= t
    np.square(scaled, out=scaled)
    np.exp(np.negative(scaled, out=scaled), out=scaled)
    polynomial *= scaled  # 1 - erf(|x| / sqrt 2)
    return np.maximum(x, 0) - np.abs(x) * polynomial * np.float32(0.5)


def _count(node: Node) -> int:
    """How often x stands in the expression."""
    if isinstance(node, Apply):
        return sum(map(_count, node.arguments))
    return isinstance(node, X)
