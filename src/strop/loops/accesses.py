"""How a contraction's arrays are accessed on a layout by a machine: what the model and `complete` look up all the time.

Axes are numbered as the contraction has them, arrays as its operands, then the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from strop.loops.machine import Machine
from strop.values.contraction import Contraction
from strop.values.layout import Layout

LINE = 64
"""Bytes of a cache line on every CPU we know."""
EPILOGUE_CYCLES = {"div": 8, "tanh": 12, "exp": 10, "sigmoid": 18, "gelu": 25}
"""Rough cycles of a vector in an epilogue; what isn't here takes 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """Facts about one contraction, layout and machine; `lanes` is the number of elements of a vector."""

    axes: dict[str, int]
    sizes: tuple[int, ...]
    is_output: tuple[bool, ...]
    strides: tuple[tuple[int, ...], ...]
    """Elements that one step of an axis moves in each array; 0 where an axis has one element."""
    windows: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]
    """Dimensions of each array, each as its terms: coefficient and axis."""
    aligned: tuple[int, ...]
    """Bytes that vectors of each array are sure to be aligned to, whatever the other axes' indices."""
    inputs: int
    itemsize: int
    lanes: int
    vector_bytes: int
    fused: bool
    """Whether a term takes one instruction: a fused multiply-add, or the reduction of a single operand."""
    reduces_by_adding: bool
    accumulate: bool
    epilogue_cycles: float
    available: int
    """Registers that output elements may take when nothing is partial or gathered."""
    narrow: bool
    """Whether masks take vector registers."""

    def reserved(self, *, gathers: bool, partial: bool, vector_is_reduction: bool) -> int:
        """Registers that the generator keeps for operands, masks, indices and temporaries."""
        count = 2 + (2 if self.narrow else 1) * gathers
        if not self.reduces_by_adding:
            count += 2 if self.narrow else 1
        if self.narrow and partial:
            count += 1 + (vector_is_reduction and self.reduces_by_adding)
        return count


@lru_cache(maxsize=256)
def accesses(contraction: Contraction, layout: Layout, machine: Machine) -> Accesses:
    """The facts, made once for each problem."""
    axes = {axis: number for number, axis in enumerate(contraction.axes)}
    sizes = tuple(size for _, size in contraction.sizes)
    by_axis = layout.axis_strides(contraction)
    strides = tuple(
        tuple(steps.get(axis, 0) if size > 1 else 0 for axis, size in contraction.sizes)
        for steps in (*by_axis.operands, by_axis.output)
    )
    output = tuple(((1, axis),) for axis in contraction.output)
    windows = tuple(
        tuple(tuple((coefficient, axes[axis]) for coefficient, axis in index) for index in subscript)
        for subscript in (*contraction.operands, output)
    )
    itemsize = contraction.itemsize
    lanes = machine.lanes(itemsize)
    plus, times = contraction.semiring.split(",")
    operations = contraction.epilogue.postfix() if contraction.epilogue else ()
    return Accesses(
        axes=axes,
        sizes=sizes,
        is_output=tuple(axis in contraction.output for axis in contraction.axes),
        strides=strides,
        windows=windows,
        aligned=tuple(
            _alignment(steps, itemsize, base)
            for steps, base in zip(strides, layout.alignment, strict=False)  # the epilogue's operands come last there
        ),
        inputs=len(contraction.operands),
        itemsize=itemsize,
        lanes=lanes,
        vector_bytes=lanes * itemsize,
        fused=len(contraction.operands) == 1 or (plus, times) == ("+", "*"),
        reduces_by_adding=plus == "+",
        accumulate=contraction.accumulate,
        epilogue_cycles=float(sum(EPILOGUE_CYCLES.get(str(operation[0]), 1) for operation in operations)),
        available=machine.registers,
        narrow=machine.isa == "avx2",
    )


def _alignment(steps: tuple[int, ...], itemsize: int, base: int) -> int:
    """The largest power of two up to a line that the base and all strides but those of one element are multiples of."""
    alignment = min(base, LINE)
    ones = 0
    for step in steps:
        if abs(step) == 1:
            ones += 1
        elif step:
            while (step * itemsize) % alignment:
                alignment //= 2
    return alignment if ones <= 1 else itemsize
