"""A plan: a schedule in the terms a person thinks in (vector axis, register tile, cover, order), and its moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from strop.loops.moves import (
    Balance,
    Cover,
    Move,
    Pack,
    Parallel,
    Prefetch,
    Reorder,
    Schedule,
    Split,
    Tile,
    Unroll,
    legal,
)
from strop.loops.moves.base import indexed_by
from strop.loops.nest import Nest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to make of a nest that has no register tile yet.

    `tile` gives the inner axes, outermost first, each with its extent inside; the last is the vector axis. `order`
    gives the axes in which the loops around the tile run. `pieces` cover the vector axis, `rows` give the first tile
    axis' extent in each piece. `blocks` splits reductions for the caches, outermost of all.

    The rest says how the loops run; None leaves it to `complete`. `unroll` is of the innermost reduction, `packs` are
    operands; `prefetches` are operands and how many iterations of the innermost reduction ahead. What a nest can't have
    is left out of its moves.
    """

    tile: tuple[tuple[str, int], ...]
    order: tuple[str, ...]
    pieces: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    balanced: bool = True
    blocks: tuple[tuple[str, int], ...] = ()
    unroll: int | None = None
    accumulators: int | None = None
    packs: tuple[str, ...] | None = None
    prefetches: tuple[tuple[str, int], ...] = ()

    @property
    def vector(self) -> str:
        """The vector axis."""
        return self.tile[-1][0]

    def moves(self, nest: Nest) -> Schedule:
        """The moves that make the plan of a nest."""
        return tuple(self.make(Making(nest)).moves)

    def make(self, making: Making) -> Making:
        """Add the plan's moves."""
        output = making.nest.contraction.output
        for axis, size in self.blocks:
            _split_block(making, axis, size)
        split = _split_tile(making, self.tile)
        _reorder(making, self.order, [axis for axis, _ in self.tile], split)
        if self.pieces:
            rows = self.tile[0][0] if self.rows and len(self.tile) > 1 else ""
            loop = f"{self.vector}.0"
            if not rows or not making.make(Cover(loop, self.pieces, rows, self.rows)):
                making.make(Cover(loop, self.pieces))
        for axis in split:
            if self.balanced and axis != self.vector and axis in output:
                _balance(making, axis)
        self._annotate(making)
        return making

    def _annotate(self, making: Making) -> None:
        for operand in self.packs or ():
            at = packing_loop(making.nest, operand)
            if at is not None:
                making.make(Pack(operand, making.nest.names[at]))
        nest = making.nest
        reductions = [at for at in range(len(nest.loops)) if not nest.is_output(at)]
        inner = [at for at in reductions if at < len(nest.loops) - 1] or reductions
        if not inner:
            return
        name = nest.names[inner[-1]]
        for operand, distance in self.prefetches:
            making.make(Prefetch(operand, name, distance))
        if self.unroll:
            making.make(Unroll(name, min(self.unroll, nest.trips(inner[-1]))))


class Making:
    """A nest under way, and the moves made."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.moves: list[Move] = []

    def make(self, move: Move) -> bool:
        """Make the move if it is legal; one that changes nothing isn't kept."""
        if legal(self.nest, move) is not None:
            return False
        changed = move.changed(self.nest)
        if changed != self.nest:
            self.moves.append(move)
            self.nest = changed
        return True

    def innermost(self, axis: str) -> int:
        """Position of the axis' innermost loop."""
        return max(at for at, loop in enumerate(self.nest.loops) if loop.axis == axis)


def make_parallel(making: Making, threads: int) -> None:
    """Share the outermost loop among the threads; one that has enough iterations and indexes the output goes there."""
    nest = making.nest
    if threads < 2 or not nest.loops or nest.loops[0].parallel:
        return
    around = _around(nest) or [at for at in range(len(nest.loops) - 1) if nest.is_output(at)]
    enough = [at for at in around if nest.trips(at) >= threads]
    if not enough:
        return
    name = nest.names[enough[0]]
    if enough[0] and not making.make(Reorder((name, *(other for other in nest.names if other != name)))):
        return
    making.make(Parallel(making.nest.names[0]))


def packing_loop(nest: Nest, operand: str) -> int | None:
    """The loop at whose iterations an input is best packed: the innermost one around the tile that changes its block.

    None where nothing inside it uses the block again.
    """
    axes = indexed_by(nest, operand)
    around = _around(nest)
    changing = [at for at in around if nest.loops[at].axis in axes]
    if not around:
        return None
    at = changing[-1] if changing else around[0]
    again = [inner for inner in around if inner > at and nest.loops[inner].axis not in axes and nest.trips(inner) > 1]
    return at if again else None


def _around(nest: Nest) -> list[int]:
    """Output loops outside the innermost run of reductions around the tile."""
    reductions = [at for at in range(len(nest.loops)) if not nest.is_output(at)]
    if not reductions:
        return []
    first = reductions[-1]
    if first == len(nest.loops) - 1 and len(reductions) > 1:
        first = reductions[-2]  # the vector loop is a reduction: the tile's loop is the next one
    while first and not nest.is_output(first - 1):
        first -= 1
    return [at for at in range(first) if nest.is_output(at)]


def _split_block(making: Making, axis: str, size: int) -> None:
    """Split a reduction and put its outer loop outermost."""
    at = making.innermost(axis)
    name = making.nest.names[at]
    if size < making.nest.extent(at) and making.make(Split(name, size)):
        making.make(Reorder((name, *(other for other in making.nest.names if other != name))))


def _split_tile(making: Making, tile: tuple[tuple[str, int], ...]) -> list[str]:
    """Split the tile's axes where they are longer than the tile; those axes."""
    nest = making.nest
    wanted = [(axis, size) for axis, size in tile if size < nest.extent(making.innermost(axis))]
    if not wanted:
        return []
    names = tuple(nest.names[making.innermost(axis)] for axis, _ in wanted)
    made = making.make(Tile(names, tuple(size for _, size in wanted)))
    return [axis for axis, _ in wanted] if made else []


def _reorder(making: Making, order: Iterable[str], tile: list[str], split: list[str]) -> None:
    """Blocks that were there first, then the loops around the tile in their order, then the tile."""
    names, loops = making.nest.names, making.nest.loops
    last = {axis: making.innermost(axis) for axis in making.nest.contraction.axes}
    around: list[int] = []
    for axis in order:
        if axis in split:
            around.append(max(at for at in range(last[axis]) if loops[at].axis == axis))
        elif axis not in tile:
            around.append(last[axis])
    inner = [last[axis] for axis in tile]
    rest = [at for at in range(len(loops)) if at not in around and at not in inner]
    making.make(Reorder(tuple(names[at] for at in (*rest, *around, *inner))))


def _balance(making: Making, axis: str) -> None:
    """Even out the outer loop of a split axis where it may leave a rest."""
    nest = making.nest
    outer = max(at for at in range(making.innermost(axis)) if nest.loops[at].axis == axis)
    if any(nest.contraction.extent(axis) % step for step in nest.steps(outer)):
        making.make(Balance(nest.names[outer]))
