"""The size of each axis, from what the caller says and from the shapes of the operands."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from strop.errors import BadSize, ContradictedSize, MissingSize, OperandCount, TooLarge, UnknownAxis, WrongRank
from strop.values.subscripts import Index, Subscripts, written_index

MOST_BITS = 1000  # of a size; what is less is told of with the shape that it makes


def window_extent(index: Index, sizes: Mapping[str, int]) -> int:
    """The extent a dimension needs: 0 if one of its axes is empty, otherwise the last index plus 1.

    >>> window_extent(((2, "h"), (3, "r")), {"h": 4, "r": 3})
    13
    """
    if any(sizes[axis] == 0 for _, axis in index):
        return 0
    return 1 + sum(coefficient * (sizes[axis] - 1) for coefficient, axis in index)


def resolve(
    subscripts: Subscripts, *, given: Mapping[str, Any], shapes: Sequence[Sequence[int] | None] | None = None
) -> tuple[tuple[str, int], ...]:
    """The size of each axis, in order of first appearance.

    ``given`` are the sizes the caller names. ``shapes`` are the operands' shapes, ``None`` for one that isn't known.
    A dimension that is a plain axis gives its size; a sum with one unknown axis is solved for it, rounding down: the
    rows that a stride skips at the end are left over, fewer than the largest coefficient of the sum.

    Raises UnknownAxis, BadSize, OperandCount, WrongRank, ContradictedSize and MissingSize.
    """
    text = subscripts.text
    sizes: dict[str, int] = {}
    source: dict[str, str] = {}
    for axis, size in given.items():
        if axis not in subscripts.axes:
            raise UnknownAxis(axis=axis, text=text, axes=", ".join(subscripts.axes) or "none")
        sizes[axis] = checked_size(axis, size)
        source[axis] = f"{axis}={size}"
    dimensions = _dimensions(subscripts, shapes, text)

    # Plain axes first, so that a sum has as few unknowns as can be and an error names the plainer dimension.
    for place, index, extent in dimensions:
        if len(index) == 1 and index[0][0] == 1 and index[0][1] not in sizes:
            sizes[index[0][1]], source[index[0][1]] = extent, place
    solved = True
    while solved:
        solved = False
        for place, index, extent in dimensions:
            unknown = [(coefficient, axis) for coefficient, axis in index if axis not in sizes]
            if len(unknown) != 1:
                continue
            ((coefficient, axis),) = unknown
            size = _solve(coefficient, [term for term in index if term[1] != axis], extent, sizes)
            if size is not None:
                sizes[axis], source[axis], solved = size, place, True
                if size == 0 < extent:  # not even one index fits: say what one would need
                    sizes[axis], source[axis] = 1, f"at least {axis}=1"

    for axis in subscripts.axes:
        if axis not in sizes:
            raise MissingSize(axis=axis, text=text)
    for place, index, extent in dimensions:
        expected = window_extent(index, sizes)
        slack = max(coefficient for coefficient, _ in index) - 1
        if not expected <= extent <= expected + slack:
            raise ContradictedSize(
                place=f"{place} ({written_index(index)})",
                text=text,
                found=extent,
                expected=expected,
                expected_from=_sources(index, sizes, source),
                axis=index[0][1],
            )
    return tuple((axis, sizes[axis]) for axis in subscripts.axes)


def checked_size(axis: str, size: Any) -> int:
    """``size`` as an ``int`` of 0 or more. Raises BadSize, TooLarge."""
    try:
        if isinstance(size, bool):
            raise TypeError
        number = operator.index(size)
    except TypeError:
        raise BadSize(axis=axis, size=size) from None
    if number < 0:
        raise BadSize(axis=axis, size=size)
    if number.bit_length() > MOST_BITS:
        raise TooLarge(what=f"Axis {axis!r}", bytes=f"2**{number.bit_length() - 1} or more", limit="a 64-bit machine")
    return number


def _dimensions(
    subscripts: Subscripts, shapes: Sequence[Sequence[int] | None] | None, text: str
) -> list[tuple[str, Index, int]]:
    """What to call each dimension whose extent is known, its index, and its extent."""
    if shapes is None:
        return []
    if len(shapes) != len(subscripts.operands):
        raise OperandCount(text=text, expected=len(subscripts.operands), found=len(shapes))
    dimensions = []
    for number, (subscript, shape) in enumerate(zip(subscripts.operands, shapes, strict=True), 1):
        if shape is None:
            continue
        if len(shape) != len(subscript):
            raise WrongRank(name=f"Operand {number}", found=len(shape), expected=len(subscript), text=text)
        for position, (index, extent) in enumerate(zip(subscript, shape, strict=True)):
            dimensions.append((f"Operand {number}, dimension {position}", index, int(extent)))
    return dimensions


def _solve(coefficient: int, rest: Sequence[tuple[int, str]], extent: int, sizes: Mapping[str, int]) -> int | None:
    """The largest size of the one unknown axis with which the window fits in ``extent``."""
    if extent == 0:
        return 0
    if any(sizes[axis] == 0 for _, axis in rest):
        return None
    room = extent - 1 - sum(factor * (sizes[axis] - 1) for factor, axis in rest)
    return max(room // coefficient + 1, 0)


def _sources(index: Index, sizes: Mapping[str, int], source: Mapping[str, str]) -> str:
    """What fixed the sizes of an index: `n=4`, or `n = 4 (operand 1, dimension 0)`."""
    said = []
    for _, axis in index:
        where = source[axis]
        said.append(where if "=" in where else f"{axis} = {sizes[axis]} ({where[0].lower()}{where[1:]})")
    return " and ".join(said)
