"""Undo a split."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.loops.moves.base import Move, missing, position
from strop.loops.nest import Nest


def _inner(nest: Nest, at: int) -> int | None:
    axis = nest.loops[at].axis
    return next((i for i in range(at + 1, len(nest.loops)) if nest.loops[i].axis == axis), None)


@dataclass(frozen=True, slots=True, repr=False)
class Merge(Move):
    """Fuse a loop with the next loop of its axis inside it; the fused loop stands where the inner one stood.

    >>> from strop.loops.moves import Split, show
    >>> show("mk,kn->mn", Split("m.0", 6), Merge("m.0"), m=64, k=32, n=48)
    for m.0 in 64 by 6
      for m.1 in 6
        for k.0 in 32
          for n.0 in 48  # vector
    becomes
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    """

    loop: str

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop)) is not None:
            return why
        at = position(nest, self.loop)
        inner = _inner(nest, at)
        if inner is None:
            return f"{self.loop} has no inner loop of its axis to merge with"
        if not replace(nest.loops[at], parallel=False).plain:
            return f"{self.loop} is annotated or covered: only a plain loop merges"
        if any(loop.partner == nest.loops[at].axis for loop in nest.loops):
            return f"a Cover sets the step of {nest.loops[at].axis}: it can't be merged"
        if nest.loops[at].parallel and inner != at + 1:
            return f"{self.loop} is parallel: only its direct inner loop merges with it"
        if nest.loops[at].parallel and len(nest.loops) == 2:
            return f"{self.loop} is parallel: merged it would be the vector loop"
        return None

    def changed(self, nest: Nest) -> Nest:
        at = position(nest, self.loop)
        inner = _inner(nest, at)
        assert inner is not None
        loops = list(nest.loops)
        loops[inner] = replace(loops[inner], parallel=loops[at].parallel)
        del loops[at]
        return nest.with_loops(tuple(loops))
