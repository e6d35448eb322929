"""A register tile over several axes, and how its remainders are covered."""

from __future__ import annotations

from dataclasses import dataclass

from strop.loops.moves.base import Move, missing, not_whole, position
from strop.loops.moves.split import Split
from strop.loops.nest import Loop, Nest


@dataclass(frozen=True, slots=True, repr=False)
class Tile(Move):
    """Split several loops and sink their inner parts, in the order given, inside everything else.

    What stands inside the innermost reduction loop is the register tile: its output elements stay in registers.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Tile(("m.0", "n.0"), (6, 16)), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for m.0 in 64 by 6
      for k.0 in 32
        for n.0 in 48 by 16
          for m.1 in 6
            for n.1 in 16  # vector
    """

    loops: tuple[str, ...]
    sizes: tuple[int, ...]

    def reason(self, nest: Nest) -> str | None:
        if len(self.loops) != len(self.sizes) or not self.loops:
            return "a Tile names at least one loop and a size for each"
        axes = []
        for name, size in zip(self.loops, self.sizes, strict=True):
            if (why := Split(name, size).reason(nest)) is not None:
                return why
            loop = nest.loops[position(nest, name)]
            if loop.step != 1:
                return f"{name} has loops of its axis inside: tile the innermost of them"
            axes.append(loop.axis)
        if len(set(axes)) != len(axes):
            return "a Tile takes one loop of an axis"
        return None

    def changed(self, nest: Nest) -> Nest:
        inner: list[Loop] = []
        loops = list(nest.loops)
        for name, size in zip(self.loops, self.sizes, strict=True):
            at = position(nest, name)
            split = Split(name, size).changed(nest)
            loops[at] = split.loops[at]
            inner.append(split.loops[at + 1])
        return nest.with_loops((*loops, *inner))


@dataclass(frozen=True, slots=True, repr=False)
class Cover(Move):
    """Cover a split loop by pieces of given extents instead of equal ones with a tail.

    `rows` may name an axis split inside; `steps` then gives its step in each piece, so that a narrow piece gets a
    taller tile. Pieces sum to the axis' extent.

    >>> from strop.loops.moves import Reorder, Tile, show
    >>> tile = (Tile(("m.0", "n.0"), (9, 48)), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))
    >>> show("mk,kn->mn", *tile, Cover("n.0", (80, 48), "m", (5, 9)), m=64, k=32, n=128)
    for n.0 in 128 by 48
      for m.0 in 64 by 9
        for k.0 in 32
          for m.1 in 9
            for n.1 in 48  # vector
    becomes
    for n.0 in 128 as 80 + 48  # m by 5, 9
      for m.0 in 64 by 9
        for k.0 in 32
          for m.1 in 9
            for n.1 in 80  # vector
    """

    loop: str
    pieces: tuple[int, ...]
    rows: str = ""
    steps: tuple[int, ...] = ()

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop)) is not None:
            return why
        at = position(nest, self.loop)
        loop = nest.loops[at]
        for piece in self.pieces:
            if (why := not_whole(piece, 1, "a piece")) is not None:
                return why
        if loop.step == 1:
            return f"{self.loop} isn't split: a Cover gives the extents of an outer loop"
        if any(other.axis == loop.axis for other in nest.loops[:at]):
            return f"{self.loop} stands inside another loop of its axis: cover the outermost"
        if sum(self.pieces) != nest.contraction.extent(loop.axis):
            return f"the pieces of {loop.axis} sum to {sum(self.pieces)}, not {nest.contraction.extent(loop.axis)}"
        if loop.pieces or loop.partner or loop.balanced:
            return f"{self.loop} is covered or balanced already"
        if sum(1 for other in nest.loops if other.axis == loop.axis) != 2:
            return f"{loop.axis} must be split exactly once"
        return self._rows_reason(nest, at)

    def _rows_reason(self, nest: Nest, at: int) -> str | None:
        if not self.rows:
            return "steps need an axis: name it as rows" if self.steps else None
        inside = [loop for loop in nest.loops[at + 1 :] if loop.axis == self.rows]
        if len(inside) != 2 or sum(1 for loop in nest.loops if loop.axis == self.rows) != 2:
            return f"{self.rows or 'rows'} must be an axis split once, with both loops inside {self.loop}"
        if nest.loops[at].axis == self.rows:
            return "rows must be another axis"
        if inside[0].step == 1:
            return f"the outer loop of {self.rows} has step 1: split it by more"
        if any(loop.pieces or loop.partner for loop in inside):
            return f"{self.rows} is covered already"
        if any(loop.partner == self.rows for loop in nest.loops):
            return f"another Cover sets the step of {self.rows}"
        if len(self.steps) != len(self.pieces):
            return "steps gives one step for each piece"
        for step in self.steps:
            if (why := not_whole(step, 1, "a step")) is not None:
                return why
        return None

    def changed(self, nest: Nest) -> Nest:
        at = position(nest, self.loop)
        return nest.with_loop(
            at, pieces=self.pieces, partner=self.rows, partner_steps=self.steps, step=max(self.pieces)
        )


@dataclass(frozen=True, slots=True, repr=False)
class Balance(Move):
    """Even out the iterations of a split loop: 64 by 6 runs as 9 of 6 and 2 of 5 instead of 10 of 6 and one of 4.

    >>> from strop.loops.moves import Split, show
    >>> show("mk,kn->mn", Split("m.0", 6), Balance("m.0"), m=64, k=32, n=48)
    for m.0 in 64 by 6
      for m.1 in 6
        for k.0 in 32
          for n.0 in 48  # vector
    becomes
    for m.0 in 64 by 6  # balanced
      for m.1 in 6
        for k.0 in 32
          for n.0 in 48  # vector
    """

    loop: str

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop)) is not None:
            return why
        loop = nest.loops[position(nest, self.loop)]
        if loop.step == 1:
            return f"{self.loop} isn't split: there is nothing to balance"
        if loop.pieces or loop.balanced:
            return f"{self.loop} is covered or balanced already"
        return None

    def changed(self, nest: Nest) -> Nest:
        return nest.with_loop(position(nest, self.loop), balanced=True)
