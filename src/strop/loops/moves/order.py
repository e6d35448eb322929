"""Change the order of the loops."""

from __future__ import annotations

from dataclasses import dataclass

from strop.loops.moves.base import Move, indexed_by, missing, position
from strop.loops.nest import Loop, Nest


def order_reason(nest: Nest, loops: tuple[Loop, ...]) -> str | None:
    """Why the loops can't run in this order: the coarse loop of an axis stays outside, and so does what needs it."""
    steps: dict[str, int] = {}
    partners: set[str] = set()
    for i, loop in enumerate(loops):
        if loop.step > steps.get(loop.axis, loop.step) or (loop.pieces and loop.axis in steps):
            return f"the coarser loop of {loop.axis} must stay outside the finer one"
        if loop.parallel and i > 0:
            return "a parallel loop must stay outermost"
        partners.discard(loop.axis)
        steps[loop.axis] = loop.step
    for i, loop in enumerate(loops):
        if loop.partner and not any(inner.axis == loop.partner and inner.step > 1 for inner in loops[i + 1 :]):
            return f"the loop of {loop.partner} whose step the Cover sets must stay inside it"
    return annotation_reason(nest, loops)


def annotation_reason(nest: Nest, loops: tuple[Loop, ...]) -> str | None:
    """Why loops can't keep what is said of them where they now stand."""
    if not loops:
        return None
    if loops[-1].pack or loops[-1].prefetch:
        return f"the loop of {loops[-1].axis} that packs or prefetches would be the vector loop"
    if loops[-1].parallel:
        return f"the loop of {loops[-1].axis} that is parallel would be the vector loop"
    for i, loop in enumerate(loops):
        inside = {inner.axis for inner in loops[i + 1 :]}
        for operand in loop.pack:
            if not indexed_by(nest, operand) & inside:
                return f"inside the loop of {loop.axis} that packs {operand} only one element of it would be used"
    return None


@dataclass(frozen=True, slots=True, repr=False)
class Swap(Move):
    """Exchange two loops.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Swap("m.0", "k.0"), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for k.0 in 32
      for m.0 in 64
        for n.0 in 48  # vector
    """

    first: str
    second: str

    def _loops(self, nest: Nest) -> tuple[Loop, ...]:
        loops = list(nest.loops)
        a, b = position(nest, self.first), position(nest, self.second)
        loops[a], loops[b] = loops[b], loops[a]
        return tuple(loops)

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.first) or missing(nest, self.second)) is not None:
            return why
        first, second = nest.loops[position(nest, self.first)], nest.loops[position(nest, self.second)]
        if first.axis == second.axis:
            return f"{self.first} and {self.second} are loops of one axis: their order is fixed"
        return _same_names(nest, self._loops(nest)) or order_reason(nest, self._loops(nest))

    def changed(self, nest: Nest) -> Nest:
        return nest.with_loops(self._loops(nest))


def _same_names(nest: Nest, loops: tuple[Loop, ...]) -> str | None:
    """Loops of an axis that have equal steps may not pass each other either: names would change hands."""
    for axis in nest.contraction.axes:
        before = [loop for loop in nest.loops if loop.axis == axis]
        after = [loop for loop in loops if loop.axis == axis]
        if before != after:
            return f"the loops of {axis} must keep their order"
    return None


@dataclass(frozen=True, slots=True, repr=False)
class Reorder(Move):
    """Put all loops in a new order, named from outside in.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Reorder(("n.0", "k.0", "m.0")), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for n.0 in 48
      for k.0 in 32
        for m.0 in 64  # vector
    """

    order: tuple[str, ...]

    def _places(self, nest: Nest) -> list[int | None]:
        places = nest.places
        return [
            places.get(name if "." in name else f"{name}.0") if isinstance(name, str) else None for name in self.order
        ]

    def reason(self, nest: Nest) -> str | None:
        places = self._places(nest)
        for name, place in zip(self.order, places, strict=True):
            if place is None:
                return missing(nest, name)
        if {*places} != {*range(len(nest.loops))} or len(places) != len(nest.loops):
            return f"a new order names each loop once: {', '.join(nest.names)}"
        loops = tuple(nest.loops[place] for place in places if place is not None)
        return _same_names(nest, loops) or order_reason(nest, loops)

    def changed(self, nest: Nest) -> Nest:
        return nest.with_loops(tuple(nest.loops[place] for place in self._places(nest) if place is not None))


@dataclass(frozen=True, slots=True, repr=False)
class Vectorize(Move):
    """Move a loop innermost: the innermost loop is the one whose iterations share vector registers.

    >>> from strop.loops.moves import show
    >>> show("mk,kn->mn", Vectorize("m.0"), m=64, k=32, n=48)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    becomes
    for k.0 in 32
      for n.0 in 48
        for m.0 in 64  # vector
    """

    loop: str

    def _loops(self, nest: Nest) -> tuple[Loop, ...]:
        at = position(nest, self.loop)
        return (*nest.loops[:at], *nest.loops[at + 1 :], nest.loops[at])

    def reason(self, nest: Nest) -> str | None:
        if (why := missing(nest, self.loop)) is not None:
            return why
        loop = nest.loops[position(nest, self.loop)]
        if loop.step != 1 or loop.pieces:
            return f"{self.loop} has loops of its axis inside: vectorize the innermost of them"
        return order_reason(nest, self._loops(nest))

    def changed(self, nest: Nest) -> Nest:
        return nest.with_loops(self._loops(nest))
