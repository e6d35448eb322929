"""The reference: a contraction's result in float64, and how far a computation in its own type may lie from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from strop.loops.rounding import carried
from strop.loops.semiring import reduced
from strop.values.contraction import Contraction

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]


def reference(
    contraction: Contraction,
    operands: Sequence[Array],
    c0: Array | None = None,
    epilogue_operands: Mapping[str, Array] | None = None,
) -> Array:
    """The result in float64. ``c0``, of the output's shape, is what an accumulating contraction adds to.

    The operands are arrays that fit the contraction; ``epilogue_operands`` come by name.
    """
    x = _accumulated(contraction, operands, c0)
    if contraction.epilogue is None:
        return x
    return contraction.epilogue.evaluate(x, epilogue_operands or {}, contraction.output)


def tolerance(
    contraction: Contraction,
    operands: Sequence[Array],
    c0: Array | None = None,
    epilogue_operands: Mapping[str, Array] | None = None,
) -> Array:
    """The error allowed to each value of the result, in float64, with the shape of the output.

    With eps the type's and n the number of terms (an accumulating contraction has one more):

    - ``+``: eps (4 + sqrt(n)) times the sum of the terms' absolute values, whatever order they are added in.
    - ``max``, ``min``: eps (4 + sqrt(n)) times the largest absolute value of a finite term.
    - One operand and nothing to add, or a maximum or minimum of one operand: 0, values are only moved.
    - An epilogue carries that error on, see :mod:`strop.loops.rounding`.

    Where the reference is infinite or NaN it is 0: the kind must match. Where nothing can be said it is infinite.
    """
    return expect(contraction, operands, c0, epilogue_operands).tolerance


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What a result is compared with: the value and the tolerance of each element, in float64.

    ``values`` are infinite where the contraction's type overflows for certain. ``low`` and ``high`` are the bounds in
    that type, for a quick comparison.
    """

    values: Array
    tolerance: Array
    low: Array
    high: Array

    def mismatch(self, result: Array) -> str | None:
        """One sentence on the worst element out of bounds, ``None`` if all are within them."""
        import numpy as np

        if result.shape != self.values.shape:
            return f"the result has shape {result.shape}, not {self.values.shape}"
        inside = (result >= self.low) & (result <= self.high)
        if inside.all():
            return None
        wrong = ~inside & ~(np.isnan(result) & np.isnan(self.values)) & ~np.isinf(self.tolerance)
        count = int(wrong.sum())
        if not count:
            return None
        with np.errstate(all="ignore"):
            excess = np.abs(result - self.values) / np.where(self.tolerance > 0, self.tolerance, 1e-300)
        excess = np.where(wrong, np.nan_to_num(excess, nan=np.inf), -1.0)
        worst = tuple(int(place) for place in np.unravel_index(int(np.argmax(excess)), excess.shape))
        return (
            f"{count} of {result.size} values are wrong; the worst, at {worst}, is {float(result[worst])!r}, "
            f"not {float(self.values[worst])!r} ± {float(self.tolerance[worst]):.2g}"
        )


def expect(
    contraction: Contraction,
    operands: Sequence[Array],
    c0: Array | None = None,
    epilogue_operands: Mapping[str, Array] | None = None,
) -> Expected:
    """The reference and the tolerance at once, as bounds to compare with."""
    import numpy as np

    limits = np.finfo(contraction.dtype)
    values = _accumulated(contraction, operands, c0)
    with np.errstate(all="ignore"):
        allowed = _allowed(contraction, operands, c0)
        # Sums that may have overflowed on their way: nothing can be said. Infinite ones must be just that.
        allowed = np.where(np.isfinite(values), np.where(np.isfinite(allowed), allowed, np.inf), 0.0)
        if contraction.epilogue is not None:
            named = epilogue_operands or {}
            values, allowed = carried(
                contraction.epilogue, values, allowed, named, contraction.output, contraction.dtype
            )
        beyond = np.isfinite(values) & (np.abs(values) - allowed > limits.max)
        values = np.where(beyond, np.copysign(np.inf, values), values)
        allowed = np.where(beyond, 0.0, allowed)
        low, high = (np.asarray(values + sign * allowed).astype(contraction.dtype) for sign in (-1, 1))
        # Rounding to the type may have moved a bound inwards by half a unit.
        moved = allowed > 0
        low = np.where(moved, np.nextafter(low, np.array(-np.inf, low.dtype)), low)
        high = np.where(moved, np.nextafter(high, np.array(np.inf, high.dtype)), high)
    return Expected(values=values, tolerance=allowed, low=low, high=high)


def _accumulated(contraction: Contraction, operands: Sequence[Array], c0: Array | None) -> Array:
    import numpy as np

    x = reduced(contraction, operands)
    if contraction.accumulate and c0 is not None:
        plus = {"+": np.add, "max": np.maximum, "min": np.minimum}[contraction.semiring.split(",")[0]]
        with np.errstate(all="ignore"):
            x = np.asarray(plus(x, np.asarray(c0, np.float64)))
    return x


def _allowed(contraction: Contraction, operands: Sequence[Array], c0: Array | None) -> Array:
    import numpy as np

    limits = np.finfo(contraction.dtype)
    adds = contraction.semiring[0] == "+"
    accumulates = contraction.accumulate and c0 is not None
    terms = 1
    for axis in contraction.reduction:
        terms *= contraction.extent(axis)
    if len(contraction.operands) == 1 and (not adds or (terms <= 1 and not accumulates)):
        return np.zeros(contraction.output_shape)
    scale = reduced(contraction, operands, magnitudes=True)
    if accumulates:
        terms += 1
        magnitude = np.abs(np.asarray(c0, np.float64))
        magnitude = np.where(np.isfinite(magnitude), magnitude, 0.0)
        scale = scale + magnitude if adds else np.maximum(scale, magnitude)
    if terms == 0:
        return np.zeros(contraction.output_shape)
    factor = float(limits.eps) * (4 + terms**0.5)
    # Each product may round to a subnormal, which has no relative precision.
    bound = factor * scale + float(limits.smallest_subnormal) * (terms + 4)
    return np.asarray(np.where(scale > limits.max, np.inf, bound) if adds else bound)
