"""From a nest and a layout to what the code generator takes: plain tuples, nothing chosen on the way."""

from __future__ import annotations

from typing import Any

from strop.loops.nest import Nest
from strop.values.layout import Layout

TENSORS = {"A": 0, "B": 1, "C": 2}

Lowered = tuple[Any, ...]


def lower(nest: Nest, layout: Layout, isa: str) -> Lowered:
    """The positional arguments of `strop._native.compile` for this nest: numbers and words only, so they can be sent.

    Strides are in bytes. A contraction without any axis gets a loop that runs once.
    """
    contraction = nest.contraction
    axes = contraction.axes
    index = {axis: i for i, axis in enumerate(axes)}
    size = contraction.itemsize
    strides = layout.axis_strides(contraction)
    reduce, combine = contraction.semiring.split(",")

    def tensor(by_axis: dict[str, int]) -> tuple[int, ...]:
        return tuple(by_axis.get(axis, 0) * size for axis in axes) or (0,)

    loops = tuple(
        (
            index[loop.axis],
            loop.step,
            loop.balanced,
            loop.pieces,
            index[loop.partner] if loop.partner else -1,
            loop.partner_steps,
            loop.unroll,
            loop.parallel,
            tuple(TENSORS[operand] for operand in loop.pack),
            tuple((TENSORS[operand], distance) for operand, distance in loop.prefetch),
        )
        for loop in nest.loops
    )
    return (
        isa,
        contraction.dtype,
        reduce,
        combine,
        contraction.accumulate,
        nest.accumulators,
        tuple(contraction.extent(axis) for axis in axes) or (1,),
        tuple(axis in contraction.output for axis in axes) or (True,),
        tuple(tensor(operand) for operand in strides.operands),
        tensor(strides.output),
        tuple(tensor(operand) for operand in strides.epilogue),
        loops or ((0, 1, False, (), -1, (), 1, False, (), ()),),
        contraction.epilogue.postfix() if contraction.epilogue else (),
    )
