"""The order as written, and the constant schedules: what every search has to beat."""

from __future__ import annotations

from typing import Any, ClassVar

from strop.loops.moves import Move, Reorder, Tile
from strop.loops.searches.base import Exploration, LoopSearch, Proposal

ROWS = (4, 6, 14)


class Default(LoopSearch):
    """The order as written: one loop an axis."""

    literal: ClassVar[bool] = True

    def explore(self) -> Exploration:
        yield [self.start]


class Constant(LoopSearch):
    """One tile for all: the unit-stride output axis by two vectors, the next output axis by `rows`, literally.

    Two vectors of float32 are 16 elements on AVX2 and 32 on AVX-512. With several `rows`, those whose results fit in
    registers are proposed, all at once.
    """

    literal: ClassVar[bool] = True

    def __init__(self, *arguments: Any, rows: tuple[int, ...] = ROWS, **options: Any) -> None:
        self.rows = rows
        super().__init__(*arguments, **options)

    def explore(self) -> Exploration:
        fitting = [rows for rows in self.rows if 2 * rows <= self.machine.registers - 2] or [min(self.rows)]
        yield [self._tiled(rows) for rows in (fitting if len(self.rows) > 1 else self.rows)]

    def _tiled(self, rows: int) -> Proposal:
        contraction = self.problem.contraction
        strides = self.problem.layout.axis_strides(contraction).output
        lanes = self.machine.lanes(contraction.itemsize) if self.problem.isa != "portable" else 8
        sizes = {axis: size for axis, size in contraction.sizes if axis in contraction.output}
        # An axis of extent 1 may carry any stride: it comes last.
        axes = sorted(sizes, key=lambda axis: (sizes[axis] == 1, abs(strides[axis])))
        tile = dict(zip(axes, (2 * lanes, rows), strict=False))
        inner = [axis for axis in reversed(axes) if axis in tile]
        split = [axis for axis in inner if sizes[axis] > tile[axis]]
        # The published recipe is m by 4, then n by 16; by 6 and more, n goes outside (looptune.md 5.1).
        outside = [axis for axis in (inner if rows == ROWS[0] else reversed(inner)) if axis in split]
        order = [
            *(f"{axis}.0" for axis in contraction.output if axis not in tile),
            *(f"{axis}.0" for axis in outside),
            *(f"{axis}.0" for axis in contraction.reduction),
            *(f"{axis}.{1 if axis in split else 0}" for axis in inner),
        ]
        moves: list[Move] = []
        if split:
            moves.append(Tile(tuple(f"{axis}.0" for axis in split), tuple(tile[axis] for axis in split)))
        proposal = self.start.moved(*moves)
        if tuple(order) != proposal.nest.names:
            proposal = proposal.moved(Reorder(tuple(order)))
        return proposal.moved(plan=f"{rows} rows of two vectors")
