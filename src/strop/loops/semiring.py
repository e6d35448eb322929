"""A contraction's sums in float64, with NumPy, in bounded memory: what the reference and its tolerance are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from strop.values.contraction import Contraction
from strop.values.subscripts import Subscript

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

CHUNK = 2**22
"""Elements of the largest temporary: 32 MiB of float64."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand with one dimension for each of its axes, windows and diagonals resolved by strides."""

    array: Array
    axes: tuple[str, ...]

    def part(self, axis: str, start: int, stop: int) -> _Operand:
        if axis not in self.axes:
            return self
        where = tuple(slice(start, stop) if name == axis else slice(None) for name in self.axes)
        return _Operand(self.array[where], self.axes)


def reduced(contraction: Contraction, arrays: Sequence[Array], *, magnitudes: bool = False) -> Array:
    """The contraction's reduction in float64, before accumulating and the epilogue; shape: the output's.

    With ``magnitudes`` the sum (for ``+``) or the maximum (for ``max`` and ``min``) of the finite products' absolute
    values instead.
    """
    import numpy as np

    plus, times = contraction.semiring.split(",")
    values = [np.asarray(array, np.float64) for array in arrays]
    if magnitudes:
        plus = "+" if plus == "+" else "max"
        if times == "*" or len(values) == 1:
            values = [abs(array) for array in values]
    # Windows repeat values: whatever is done to all of them is done before they are spread out.
    finite = all(np.isfinite(array).all() for array in values)
    operands = [_operand(*pair, contraction) for pair in zip(values, contraction.operands, strict=True)]
    empty = 0.0 if magnitudes else contraction.identity
    table = _Table(plus=plus, times=times, empty=empty, absolute=magnitudes)
    work = _products if plus == "+" and finite else table
    with np.errstate(all="ignore"):
        return _split(work, operands, contraction.output, dict(contraction.sizes), plus)


def _operand(array: Array, subscript: Subscript, contraction: Contraction) -> _Operand:
    from numpy.lib.stride_tricks import as_strided

    sizes = dict(contraction.sizes)
    steps: dict[str, int] = {}
    for index, stride in zip(subscript, array.strides, strict=True):
        for coefficient, axis in index:
            steps[axis] = steps.get(axis, 0) + coefficient * stride
    view = as_strided(array, [sizes[axis] for axis in steps], list(steps.values()), writeable=False)
    return _Operand(view, tuple(steps))


def _split(work: Any, operands: Sequence[_Operand], output: tuple[str, ...], sizes: dict[str, int], plus: str) -> Array:
    """``work`` on parts small enough, joined along output axes and reduced along the others."""
    import numpy as np

    if work is _products:
        elements = sum(math.prod(operand.array.shape) for operand in operands)
    else:
        elements = math.prod(sizes.values())
    if elements <= CHUNK:
        return np.asarray(work(operands, output, sizes))
    # In the products an axis that both operands have is the better one: both get smaller.
    axis = max(sizes, key=lambda name: (sizes[name] > 1, sum(name in o.axes for o in operands), sizes[name]))
    middle = sizes[axis] // 2
    halves = [
        _split(
            work,
            [operand.part(axis, start, stop) for operand in operands],
            output,
            {**sizes, axis: stop - start},
            plus,
        )
        for start, stop in ((0, middle), (middle, sizes[axis]))
    ]
    if axis in output:
        return np.concatenate(halves, axis=output.index(axis))
    return np.asarray(_reductions()[plus](*halves))


def _reductions() -> dict[str, Any]:
    import numpy as np

    return {"+": np.add, "max": np.maximum, "min": np.minimum}


def _products(operands: Sequence[_Operand], output: tuple[str, ...], sizes: dict[str, int]) -> Array:
    """Sums of products of finite values, by matrix multiplication."""
    import numpy as np

    shared = set(operands[0].axes).intersection(*(operand.axes for operand in operands[1:]))
    summed = []
    for operand in operands:
        lone = len(operands) == 1
        alone = [axis for axis in operand.axes if axis not in output and (lone or axis not in shared)]
        places = tuple(operand.axes.index(axis) for axis in alone)
        array = operand.array.sum(axis=places) if places else operand.array
        summed.append(_Operand(array, tuple(axis for axis in operand.axes if axis not in alone)))
    if len(summed) == 1:
        (only,) = summed
        return only.array.transpose([only.axes.index(axis) for axis in output]).copy()
    left, right = summed
    batch = [axis for axis in left.axes if axis in right.axes and axis in output]
    inner = [axis for axis in left.axes if axis in right.axes and axis not in output]
    rows = [axis for axis in left.axes if axis not in right.axes]
    columns = [axis for axis in right.axes if axis not in left.axes]
    product = np.matmul(_matrices(left, batch, rows, inner, sizes), _matrices(right, batch, inner, columns, sizes))
    product = product.reshape([sizes[axis] for axis in batch + rows + columns])
    order = batch + rows + columns
    return np.asarray(product.transpose([order.index(axis) for axis in output]))


def _matrices(operand: _Operand, batch: list[str], rows: list[str], columns: list[str], sizes: dict[str, int]) -> Array:
    array = operand.array.transpose([operand.axes.index(axis) for axis in batch + rows + columns])
    return array.reshape([math.prod(sizes[axis] for axis in axes) for axes in (batch, rows, columns)])


@dataclass(frozen=True, slots=True)
class _Table:
    """All products, spelled out in an array with every axis, then reduced: any semiring, any values."""

    plus: str
    times: str
    empty: float
    absolute: bool

    def __call__(self, operands: Sequence[_Operand], output: tuple[str, ...], sizes: dict[str, int]) -> Array:
        import numpy as np

        order = [*output, *(axis for axis in sizes if axis not in output)]
        spread = []
        for operand in operands:
            array = operand.array.transpose([operand.axes.index(axis) for axis in order if axis in operand.axes])
            spread.append(array.reshape([sizes[axis] if axis in operand.axes else 1 for axis in order]))
        table = spread[0]
        if len(spread) == 2:
            table = spread[0] * spread[1] if self.times == "*" else spread[0] + spread[1]
        if self.absolute:
            table = np.where(np.isfinite(table), abs(table), 0.0)  # an infinite term is exact
        table = np.broadcast_to(table, [sizes[axis] for axis in order])
        inner = tuple(range(len(output), len(order)))
        result: Array = _reductions()[self.plus].reduce(table, axis=inner, initial=self.empty) if inner else table
        return result
