"""A layout: where the values of the operands and of the result lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from strop.values.contraction import Contraction
from strop.values.subscripts import Subscript

ALIGNMENTS = (64, 32, 16)
"""The classes of an address, in bytes; what is in none of them has the item's size."""
FARTHEST = 2**59  # elements; no 64-bit address reaches so far


class AxisStrides(NamedTuple):
    """For each array, how many elements one step of an axis moves; an axis that isn't there doesn't index it."""

    operands: tuple[dict[str, int], ...]
    output: dict[str, int]
    epilogue: tuple[dict[str, int], ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Strides of each dimension, in elements, and the alignment class of each array, in bytes.

    Strides may be negative or 0 (the output's may not be 0). ``alignment`` has one entry for each operand, then one
    for the output, then one for each operand of the epilogue: 64, 32 or 16 where the first element's address is a
    multiple of that, otherwise the item size, which promises nothing more.
    """

    operands: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    epilogue: tuple[tuple[int, ...], ...]
    alignment: tuple[int, ...]

    @classmethod
    def default(cls, contraction: Contraction) -> Layout:
        """C order, any alignment."""
        arrays = len(contraction.operands) + 1 + len(contraction.epilogue_operands)
        return cls(
            operands=tuple(c_order(shape) for shape in contraction.operand_shapes),
            output=c_order(contraction.output_shape),
            epilogue=tuple(c_order(shape) for shape in contraction.epilogue_shapes),
            alignment=(contraction.itemsize,) * arrays,
        )

    def axis_strides(self, contraction: Contraction) -> AxisStrides:
        """The stride of each axis in each array, in elements.

        An affine subscript adds coefficient times the dimension's stride; an axis in two dimensions, a diagonal, adds
        both.

        >>> c = Contraction.parse("n 2h+r, r -> n h", n=4, h=5, r=3)
        >>> Layout.default(c).axis_strides(c).operands[0]
        {'n': 11, 'h': 2, 'r': 1}
        """
        plain = [tuple(((1, axis),) for axis in axes) for _, axes in contraction.epilogue_operands]
        return AxisStrides(
            operands=tuple(
                _by_axis(subscript, strides)
                for subscript, strides in zip(contraction.operands, self.operands, strict=True)
            ),
            output=dict(zip(contraction.output, self.output, strict=True)),
            epilogue=tuple(
                _by_axis(subscript, strides) for subscript, strides in zip(plain, self.epilogue, strict=True)
            ),
        )

    def checked(self, contraction: Contraction) -> Layout:
        """This layout, read from outside, if it fits the contraction. Raises ValueError."""
        default = Layout.default(contraction)

        def form(layout: Layout) -> list[int]:
            return [len(strides) for strides in (*layout.operands, layout.output, *layout.epilogue, layout.alignment)]

        if len(self.operands) != len(default.operands) or form(self) != form(default):
            raise ValueError("the layout has other dimensions than the contraction")
        strides = [stride for array in (*self.operands, self.output, *self.epilogue) for stride in array]
        if not all(_whole(stride) and abs(stride) < FARTHEST for stride in strides):
            raise ValueError("the layout's strides are no numbers of elements")
        if any(item not in ALIGNMENTS and item != contraction.itemsize for item in self.alignment):
            raise ValueError("the layout's alignment is no class of it")
        shape = contraction.output_shape
        if any(stride == 0 for stride, extent in zip(self.output, shape, strict=True) if extent > 1):
            raise ValueError("the layout's result lies on itself")
        return self

    def to_json(self) -> dict[str, Any]:
        """The layout as JSON."""
        return {
            "operands": [list(strides) for strides in self.operands],
            "output": list(self.output),
            "epilogue": [list(strides) for strides in self.epilogue],
            "alignment_bytes": list(self.alignment),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Layout:
        """The inverse of :meth:`to_json`."""
        return cls(
            operands=tuple(tuple(strides) for strides in value["operands"]),
            output=tuple(value["output"]),
            epilogue=tuple(tuple(strides) for strides in value["epilogue"]),
            alignment=tuple(value["alignment_bytes"]),
        )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def c_order(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a contiguous array whose last dimension varies fastest.

    >>> c_order((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def _by_axis(subscript: Subscript, strides: Sequence[int]) -> dict[str, int]:
    steps: dict[str, int] = {}
    for index, stride in zip(subscript, strides, strict=True):
        for coefficient, axis in index:
            steps[axis] = steps.get(axis, 0) + coefficient * stride
    return steps
