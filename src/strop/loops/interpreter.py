"""The naive interpreter of nests: one element at a time, in plain Python, in the nest's order.

It is what the property tests compare machine code with, so it is short and shares no code with the generator. Moves
that change only how fast a nest runs (unrolling, packing, prefetch, accumulators, threads) leave it untouched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from strop.loops.nest import Nest
from strop.values.contraction import Contraction
from strop.values.layout import c_order

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]


def interpret(
    nest: Nest,
    operands: Sequence[Array],
    *,
    c0: Array | None = None,
    epilogue_operands: Mapping[str, Array] | None = None,
) -> Array:
    """The result of the nest in float64, computed as its loops say.

    `operands` fit the contraction; `c0`, of the output's shape, is what an accumulating contraction adds to;
    `epilogue_operands` come by name. Raises AssertionError if the loops miss a point or visit one twice.
    """
    import numpy as np

    contraction = nest.contraction
    arrays = [np.asarray(operand, np.float64) for operand in operands]
    values = [np.ascontiguousarray(array).reshape(-1).tolist() for array in arrays]
    strides = [_strides(contraction, number, array.shape) for number, array in enumerate(arrays)]
    output_strides = dict(zip(contraction.output, c_order(contraction.output_shape), strict=True))
    result = [contraction.identity] * math.prod(contraction.output_shape)
    if contraction.accumulate and c0 is not None:
        result = np.asarray(c0, np.float64).reshape(-1).tolist()

    visits = bytearray(contraction.points)
    point_strides = dict(zip(contraction.axes, c_order(tuple(s for _, s in contraction.sizes)), strict=True))
    plus, times = _operations(contraction)
    left, right = values[0], values[-1]
    if len(values) == 1:
        times, strides = _first, [strides[0], strides[0]]

    def row(at: Sequence[int], moves: Sequence[int], count: int) -> None:
        """`count` points from the offsets `at` (of the point, the output, both operands), `moves` apart."""
        point, out, a, b = at
        point_move, out_move, a_move, b_move = moves
        for _ in range(count):
            visits[point] += 1
            result[out] = plus(result[out], times(left[a], right[b]))
            point += point_move
            out += out_move
            a += a_move
            b += b_move

    _walk(nest, [point_strides, output_strides, *strides], row)
    assert visits.count(1) == len(visits), "the nest misses a point or visits one twice"
    total = np.array(result, np.float64).reshape(contraction.output_shape)
    if contraction.epilogue is None:
        return total
    return contraction.epilogue.evaluate(total, epilogue_operands or {}, contraction.output)


def _walk(
    nest: Nest,
    strides: Sequence[Mapping[str, int]],
    row: Callable[[Sequence[int], Sequence[int], int], None],
) -> None:
    """Call `row` for each run of the innermost loop, in the order of the nest, with the offset in each array."""
    loops = nest.loops
    extent = dict(nest.contraction.sizes)
    step = [loop.step for loop in loops]
    moves = [[stride.get(loop.axis, 0) for stride in strides] for loop in loops]
    partners = [_partner(nest, depth) for depth in range(len(loops))]

    def run(depth: int, at: Sequence[int]) -> None:
        loop = loops[depth]
        outer, partner = extent[loop.axis], partners[depth]
        if depth == len(loops) - 1:
            row(at, moves[depth], outer)
            return
        for number, block in enumerate(loop.blocks(outer, step[depth])):
            if partner is not None:
                step[partner] = loop.partner_steps[number]
            extent[loop.axis] = block
            run(depth + 1, at)
            at = [offset + block * move for offset, move in zip(at, moves[depth], strict=True)]
        extent[loop.axis] = outer
        if partner is not None:
            step[partner] = loops[partner].step

    if not loops:
        row([0] * len(strides), [0] * len(strides), 1)
    elif all(extent.values()):
        run(0, [0] * len(strides))


def _partner(nest: Nest, depth: int) -> int | None:
    """The loop whose step the pieces of a Cover set: the outer one of the partner's axis inside."""
    partner = nest.loops[depth].partner
    if not partner:
        return None
    return next(i for i in range(depth + 1, len(nest.loops)) if nest.loops[i].axis == partner)


def _strides(contraction: Contraction, number: int, shape: Sequence[int]) -> dict[str, int]:
    """How many elements one step of an axis moves in a C-ordered copy of the operand."""
    steps: dict[str, int] = {}
    for index, stride in zip(contraction.operands[number], c_order(shape), strict=True):
        for coefficient, axis in index:
            steps[axis] = steps.get(axis, 0) + coefficient * stride
    return steps


def _operations(contraction: Contraction) -> tuple[Callable[[float, float], float], Callable[[float, float], float]]:
    plus, times = contraction.semiring.split(",")
    return _REDUCE[plus], _COMBINE[times]


def _first(a: float, b: float) -> float:
    return a


def _add(a: float, b: float) -> float:
    return a + b


def _multiply(a: float, b: float) -> float:
    return a * b


def _maximum(a: float, b: float) -> float:
    """NaN if either is, as in NumPy."""
    return a if a > b or math.isnan(a) else b


def _minimum(a: float, b: float) -> float:
    """NaN if either is, as in NumPy."""
    return a if a < b or math.isnan(a) else b


_REDUCE = {"+": _add, "max": _maximum, "min": _minimum}
_COMBINE = {"*": _multiply, "+": _add}
