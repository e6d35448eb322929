"""Moves that leave the loops as they are and say how they run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.loops.moves.base import OPERANDS, Move, indexed_by, missing, not_whole, position
from strop.loops.nest import Nest

FARTHEST = 2**31
"""Iterations that a prefetch may look ahead: the address is computed with 64 bits."""


def _operand_reason(nest: Nest, operand: str, *, output: bool) -> str | None:
    names = OPERANDS[: len(nest.contraction.operands)] + (("C",) if output else ())
    if operand not in names:
        return f"{operand!r} is no operand here: {', '.join(names)}"
    return None


@dataclass(frozen=True, slots=True, repr=False)
class Unroll(Move):
    """Repeat a loop's body `factor` times between jumps. Pays on short bodies: the reduction loop of a register tile.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Unroll("k.0", 4), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for m.0 in 64
      for k.0 in 32  # unroll 4
        for n.0 in 48  # vector
    """

    loop: str
    factor: int

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop) or not_whole(self.factor, 1, "the factor")) is not None:
            return why
        if self.factor > 64:
            return "an unroll of more than 64 only makes code"
        if self.factor > nest.trips(position(nest, self.loop)):
            return f"{self.loop} has only {nest.trips(position(nest, self.loop))} iterations"
        return None

    def changed(self, nest: Nest) -> Nest:
        return nest.with_loop(position(nest, self.loop), unroll=self.factor)


@dataclass(frozen=True, slots=True, repr=False)
class Accumulators(Move):
    """Keep `count` partial results of each output element and add them up at the end.

    Pays where one chain of dependent additions is slower than the units: narrow tiles, reductions to few elements.
    As many are kept as registers hold.

    >>> from strop.loops.moves import show
    >>> show("mk,k->m", Accumulators(4), m=64, k=512)
    for m.0 in 64
      for k.0 in 512  # vector
    becomes
    for m.0 in 64  # 4 accumulators
      for k.0 in 512  # vector
    """

    count: int

    def reason(self, nest: Nest) -> str | None:
        if (why := not_whole(self.count, 1, "the count")) is not None:
            return why
        if self.count > 16:
            return "no register file holds more than 16 partial results of a tile"
        if not nest.contraction.reduction:
            return "nothing is reduced: there are no partial results"
        return None

    def changed(self, nest: Nest) -> Nest:
        return replace(nest, accumulators=self.count)


@dataclass(frozen=True, slots=True, repr=False)
class Pack(Move):
    """At each iteration of a loop, copy the part of an input used inside to contiguous, aligned scratch.

    The copy is laid out in the order in which the loops inside walk it. Pays where the part is used many times and
    lies badly: rows a multiple of 2 KiB apart, misaligned rows, a vector axis that isn't contiguous.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Pack("B", "m.0"), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for m.0 in 64  # pack B
      for k.0 in 32
        for n.0 in 48  # vector
    """

    operand: str
    loop: str

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop) or _operand_reason(nest, self.operand, output=False)) is not None:
            return why
        at = position(nest, self.loop)
        if any(self.operand in loop.pack for loop in nest.loops):
            return f"{self.operand} is packed already"
        if at == len(nest.loops) - 1:
            return f"{self.loop} is the vector loop: nothing stands inside it"
        if not indexed_by(nest, self.operand) & {loop.axis for loop in nest.loops[at + 1 :]}:
            return f"inside {self.loop} only one element of {self.operand} is used"
        return None

    def changed(self, nest: Nest) -> Nest:
        at = position(nest, self.loop)
        return nest.with_loop(at, pack=tuple(sorted({*nest.loops[at].pack, self.operand})))


@dataclass(frozen=True, slots=True, repr=False)
class Prefetch(Move):
    """At each iteration of a loop, ask for what the operand needs `distance` iterations later.

    Pays where a walk leaves the caches and the hardware doesn't foresee it.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Prefetch("B", "k.0", 4), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for m.0 in 64
      for k.0 in 32  # prefetch B 4 ahead
        for n.0 in 48  # vector
    """

    operand: str
    loop: str
    distance: int

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop) or _operand_reason(nest, self.operand, output=True)) is not None:
            return why
        if (why := not_whole(self.distance, 1, "the distance")) is not None:
            return why
        if self.distance > FARTHEST:
            return f"the distance must be at most {FARTHEST}, not {self.distance}"
        at = position(nest, self.loop)
        if any(operand == self.operand for operand, _ in nest.loops[at].prefetch):
            return f"{self.loop} prefetches {self.operand} already"
        if nest.loops[at].axis not in indexed_by(nest, self.operand):
            return f"{self.operand} isn't indexed by {nest.loops[at].axis}: nothing new is needed later"
        if at == len(nest.loops) - 1:
            return f"{self.loop} is the vector loop: prefetch in a loop around it"
        return None

    def changed(self, nest: Nest) -> Nest:
        at = position(nest, self.loop)
        return nest.with_loop(at, prefetch=(*nest.loops[at].prefetch, (self.operand, self.distance)))


@dataclass(frozen=True, slots=True, repr=False)
class Parallel(Move):
    """Share the iterations of the outermost loop among the threads. The axis must index the output.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Parallel("m.0"), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for m.0 in 64  # parallel
      for k.0 in 32
        for n.0 in 48  # vector
    """

    loop: str

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop)) is not None:
            return why
        at = position(nest, self.loop)
        if at != 0:
            return f"{self.loop} isn't the outermost loop: swap it outside first"
        if not nest.is_output(at):
            return f"{nest.loops[at].axis} is reduced: its iterations write the same elements"
        if len(nest.loops) == 1:
            return f"{self.loop} is the vector loop: split it first"
        if nest.loops[at].parallel:
            return f"{self.loop} is parallel already"
        return None

    def changed(self, nest: Nest) -> Nest:
        return nest.with_loop(position(nest, self.loop), parallel=True)
