"""Which output elements the generator will hold in registers, and across which loop: its rules, without its code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strop.loops.accesses import Accesses
from strop.loops.nest import Loop, Nest


@dataclass(frozen=True, slots=True, eq=False)
class RegisterTile:
    """What `registers` found out about a nest. Axes are numbered as in `Accesses`, loops from outside.

    `at` is the outermost reduction loop whose inside fits the registers, None where there is none: then each pass over
    the vector loop loads and stores the output. `inner` is the innermost reduction loop of the tile that stays a loop.
    """

    axis: tuple[int, ...]
    """The axis of each loop."""
    extents: tuple[tuple[int, ...], ...]
    """The largest extents of the axes that reach each loop, and after the last loop."""
    stride: tuple[int, ...]
    """Elements between neighbours of the vector axis in each array, packing done."""
    packed: dict[int, int]
    """The loop that packs each packed input."""
    at: int | None
    inner: int
    room: int
    """Registers for output elements."""
    outputs: int
    """Registers that the output elements take."""
    vector_loops: tuple[tuple[int, int], ...]
    """Position and step of the loops around the vector loop that divide its axis."""

    @property
    def vector(self) -> int:
        """The vector axis."""
        return self.axis[-1]

    def vectors(self, at: int, extent: int, lanes: int) -> int:
        """Vectors along `extent` elements of the vector axis when the loops from `at` on run: each part has its own."""
        return _vectors([step for position, step in self.vector_loops if position >= at], extent, lanes)


def registers(nest: Nest, facts: Accesses) -> RegisterTile:
    """Where a nest of at least one loop keeps its results."""
    loops = nest.loops
    axis = tuple(facts.axes[loop.axis] for loop in loops)
    vector = axis[-1]
    packed = {0 if name == "A" else 1: at for at, loop in enumerate(loops) if loop.pack for name in loop.pack}
    stride = tuple(
        min(1, abs(steps[vector])) if array in packed else steps[vector] for array, steps in enumerate(facts.strides)
    )
    variants = _extents(nest, axis, facts)
    gathers = any(step not in (0, 1) for step in stride[: facts.inputs])
    room = facts.available - facts.reserved(
        gathers=gathers,
        partial=facts.sizes[vector] % facts.lanes > 0,
        vector_is_reduction=not facts.is_output[vector],
    )
    divided = tuple((i, loops[i].step) for i in range(len(loops) - 1) if axis[i] == vector)
    broken = _last_breaking(loops, facts)
    for position, number in enumerate(axis):
        if facts.is_output[number] or position <= broken:
            continue
        outputs, extents = max(
            (_outputs(extents[position], position, vector, divided, facts), extents) for extents in variants
        )
        if outputs <= room:
            inner = _innermost(loops, axis, extents, position, facts)
            return RegisterTile(axis, extents, stride, packed, position, inner, room, outputs, divided)
    return RegisterTile(axis, variants[0], stride, packed, None, len(loops) - 1, room, 0, divided)


def _outputs(
    extent: Sequence[int], position: int, vector: int, divided: tuple[tuple[int, int], ...], facts: Accesses
) -> int:
    steps = [step for at, step in divided if at >= position]
    return outputs_of(extent, vector, _vectors(steps, extent[vector], facts.lanes), facts)


def outputs_of(extent: Sequence[int], vector: int, vectors: int, facts: Accesses) -> int:
    """Registers that hold the output elements of loops with these extents and so many vectors along the vector axis."""
    size = vectors if facts.is_output[vector] else 1
    for number, output in enumerate(facts.is_output):
        if output and number != vector:
            size *= extent[number]
    return size


def _vectors(steps: list[int], extent: int, lanes: int) -> int:
    if not steps or extent <= steps[-1]:
        return -(-extent // lanes)
    whole, rest = divmod(extent, steps[0])
    count = whole * _vectors(steps[1:], steps[0], lanes) if whole else 0
    return count + (_vectors(steps[1:], rest, lanes) if rest else 0)


def trips(loop: Loop, extent: int) -> int:
    """Iterations of a loop when `extent` elements of its axis remain."""
    return len(loop.pieces) or -(-extent // loop.step)


def _extents(nest: Nest, axis: tuple[int, ...], facts: Accesses) -> list[tuple[tuple[int, ...], ...]]:
    """The largest extents that reach each loop; several where a Cover gives pieces their own steps."""
    cover = next((loop for loop in nest.loops if loop.partner), None)
    if cover is None:
        return [_reach(nest, axis, facts, None, 0, 0)]
    kinds = dict.fromkeys(zip(cover.pieces, cover.partner_steps, strict=True))
    return [_reach(nest, axis, facts, cover, piece, step) for piece, step in kinds]


def _reach(
    nest: Nest, axis: tuple[int, ...], facts: Accesses, cover: Loop | None, piece: int, rows: int
) -> tuple[tuple[int, ...], ...]:
    extent = list(facts.sizes)
    extents = [tuple(extent)]
    for loop, number in zip(nest.loops, axis, strict=True):
        step = max(loop.pieces) if loop.pieces else loop.step
        if loop is cover:
            step = piece
        elif cover is not None and loop.axis == cover.partner and loop.step > 1:
            step = rows
        if step < extent[number]:
            extent[number] = step
        extents.append(tuple(extent))
    return tuple(extents)


def _last_breaking(loops: tuple[Loop, ...], facts: Accesses) -> int:
    """The innermost loop that no tile lives across: an output loop that packs, a reduction's pieces that set rows."""
    for position in range(len(loops) - 1, -1, -1):
        loop = loops[position]
        if loop.pack or loop.partner:
            output = facts.is_output[facts.axes[loop.axis]]
            if (output and loop.pack) or (not output and loop.partner):
                return position
    return -1


def _innermost(
    loops: tuple[Loop, ...], axis: tuple[int, ...], extents: tuple[tuple[int, ...], ...], at: int, facts: Accesses
) -> int:
    inner = at
    last = len(loops) - 1
    for position in range(at + 1, last + 1):
        number = axis[position]
        if not facts.is_output[number]:
            extent = extents[position][number]
            count = -(-extent // facts.lanes) if position == last else trips(loops[position], extent)
            if count > max(1, loops[position].unroll):
                inner = position
    return inner
