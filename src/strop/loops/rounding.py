"""How far an epilogue carries the error of its input: running error analysis, one bound a node.

Each node's value is bounded by (value, error): what float64 says, and how far a computation in the contraction's own
type may lie from it. The bound of an operation is that of its arguments, carried by its derivative, plus a rounding.
The functions are allowed 8 units in the last place, which a good vector polynomial keeps with room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from strop.values.epilogue import Apply, Expression, Node, Number, Operand, X, apply, spread

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

ULPS = 8


def carried(
    expression: Expression,
    x: Array,
    error: Array,
    operands: Mapping[str, Array],
    output_axes: Sequence[str],
    dtype: str,
) -> tuple[Array, Array]:
    """The epilogue of ``x`` and the error allowed to it, both float64, when ``x`` may be off by ``error``.

    Values beyond the range of ``dtype`` become infinite, as they do there. An infinite error says that nothing can be
    said: a quotient by what may be 0, or a value that may or may not leave the range.
    """
    import numpy as np

    limits = np.finfo(dtype)
    eps, tiny, largest = float(limits.eps), float(limits.tiny), float(limits.max)

    def bounded(node: Node) -> tuple[Array, Array]:
        match node:
            case X():
                return x, error
            case Number(number):
                beyond = number > largest
                return np.asarray(np.inf if beyond else number), np.asarray(0.0 if beyond else eps * number)
            case Operand(name, axes):
                return spread(operands[name], axes, output_axes), np.asarray(0.0)
            case Apply(op, arguments):
                values, errors = zip(*(bounded(argument) for argument in arguments), strict=True)
                value = apply(op, *values)
                bound = _error(op, values, errors, value, eps, tiny)
                unsure = np.isinf(sum(errors)) | _singular(op, values, errors)
                return in_range(value, bound, unsure | (np.isinf(bound) & np.isfinite(value)))

    def in_range(value: Array, error: Array, unsure: Array) -> tuple[Array, Array]:
        # An infinity or NaN that isn't unsure is certain: its kind must match.
        error = np.where(np.isfinite(value) & ~np.isnan(error), error, 0.0)
        overflows = np.abs(value) - error > largest
        unsure = unsure | ~overflows & np.isfinite(value) & (np.abs(value) + error > largest)
        value = np.where(overflows & np.isfinite(value), np.copysign(np.inf, value), value)
        return value, np.where(unsure, np.inf, np.where(overflows, 0.0, error))

    with np.errstate(all="ignore"):
        value, bound = bounded(expression.root)
        return np.broadcast_to(value, x.shape).copy(), np.broadcast_to(bound, x.shape).copy()


def _error(op: str, values: Sequence[Array], errors: Sequence[Array], value: Array, eps: float, tiny: float) -> Array:
    import numpy as np

    a, e = values[0], errors[0]
    size = np.abs(value)
    bound: Any
    match op:
        case "add" | "sub":
            bound = e + errors[1] + eps * size
        case "mul":
            b, f = values[1], errors[1]
            bound = np.abs(a) * f + np.abs(b) * e + e * f + eps * size + tiny
        case "div":
            b, f = values[1], errors[1]
            bound = (e + size * f) / (np.abs(b) - f) + 2 * eps * size + tiny
        case "min" | "max":
            bound = np.maximum(e, errors[1])
        case "neg" | "relu":
            bound = e
        case "tanh":
            bound = np.minimum(e, 2.0) + ULPS * eps * size
        case "exp":
            bound = size * np.expm1(e) + ULPS * eps * size + tiny
        case "sigmoid":
            bound = np.minimum(np.minimum(e / 4, size * np.expm1(e)), 1.0) + ULPS * eps * size + tiny
        case "gelu":
            # The derivative stays under 1.13. In the left tail 1 + erf cancels: the error is one of x, not of gelu(x).
            bound = 1.13 * e + ULPS / 2 * eps * np.abs(a) + tiny
        case _:
            raise AssertionError(op)
    return np.asarray(bound)


def _singular(op: str, values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """Where an operation meets a value that may or may not be 0 and would give another kind of result if it were."""
    import numpy as np

    def may_vanish(number: int) -> Array:
        return np.asarray((np.abs(values[number]) <= errors[number]) & (errors[number] > 0))

    if op == "div":
        return np.asarray(may_vanish(1) & ~np.isnan(values[0]))
    if op == "mul":
        return np.asarray((may_vanish(0) & np.isinf(values[1])) | (may_vanish(1) & np.isinf(values[0])))
    return np.asarray(False)
