"""Split a loop in two."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.loops.moves.base import Move, missing, not_whole, position
from strop.loops.nest import Loop, Nest


@dataclass(frozen=True, slots=True, repr=False)
class Split(Move):
    """Make of one loop an outer one and, right inside, an inner one of `factor` iterations.

    A factor that doesn't divide the loop leaves a shorter last iteration. The inner loop keeps the unrolling; the
    outer keeps the rest.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Split("m.0", 6), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for m.0 in 64 by 6
      for m.1 in 6
        for k.0 in 32
          for n.0 in 48  # vector
    """

    loop: str
    factor: int

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop) or not_whole(self.factor, 1, "the factor")) is not None:
            return why
        at = position(nest, self.loop)
        loop = nest.loops[at]
        if loop.pieces:
            return f"{self.loop} is covered by pieces: split it before the Cover"
        if loop.axis in {outer.partner for outer in nest.loops if outer.partner}:
            return f"a Cover sets the step of {loop.axis}: split it before the Cover"
        if self.factor > nest.trips(at):
            return f"{self.loop} has only {nest.trips(at)} iterations: a split by {self.factor} is longer than the loop"
        if len(nest.loops) >= 24:
            return "a nest has at most 24 loops"
        return None

    def changed(self, nest: Nest) -> Nest:
        at = position(nest, self.loop)
        loop = nest.loops[at]
        outer = replace(loop, step=loop.step * self.factor, unroll=1)
        inner = Loop(loop.axis, loop.step, unroll=min(loop.unroll, self.factor))
        return nest.with_loops((*nest.loops[:at], outer, inner, *nest.loops[at + 1 :]))
