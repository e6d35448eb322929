"""A loop nest: how the loops of a contraction run. A value; moves make new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from strop.values.contraction import Contraction


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop over (part of) an axis.

    `step` is the extent of `axis` that one iteration covers: the product of what is inside. The innermost loop of
    each axis has step 1.
    """

    axis: str
    step: int = 1
    balanced: bool = False
    pieces: tuple[int, ...] = ()
    partner_steps: tuple[int, ...] = ()
    partner: str = ""
    unroll: int = 1
    parallel: bool = False
    pack: tuple[str, ...] = ()
    prefetch: tuple[tuple[str, int], ...] = ()

    @property
    def plain(self) -> bool:
        """True when nothing but axis and step says how the loop runs."""
        return self == Loop(self.axis, self.step)

    def blocks(self, extent: int, step: int | None = None) -> list[int]:
        """Extents of the iterations when `extent` elements of the axis remain; they sum to `extent`."""
        if self.pieces:
            return list(self.pieces)
        if extent == 0:
            return []
        step = step or self.step
        if not self.balanced:
            return [step] * (extent // step) + ([extent % step] if extent % step else [])
        count = -(-extent // step)
        big = -(-extent // count)
        wide = extent - count * (big - 1)
        return [big] * wide + [big - 1] * (count - wide)


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops of a contraction, outermost first, and how many partial sums each output element gets.

    >>> nest = Nest.default(Contraction.parse("mk,kn->mn", m=64, k=32, n=48))
    >>> print(nest)
    for m.0 in 64
      for k.0 in 32
        for n.0 in 48  # vector
    >>> nest.names
    ('m.0', 'k.0', 'n.0')
    """

    contraction: Contraction
    loops: tuple[Loop, ...]
    accumulators: int = 1

    @classmethod
    def default(cls, contraction: Contraction) -> Nest:
        """The order as written: one loop an axis, by first appearance."""
        return cls(contraction, tuple(Loop(axis) for axis in contraction.axes))

    @property
    def names(self) -> tuple[str, ...]:
        """`axis.level` of each loop, levels counted from outside."""
        return tuple(self.places)

    @property
    def places(self) -> Mapping[str, int]:
        """The position of each loop by its full name, in the order of the loops."""
        return _positions(tuple([loop.axis for loop in self.loops]))

    def find(self, name: str) -> int | None:
        """Position of a loop by name (`m` alone is `m.0`), or None."""
        full = name if "." in name else f"{name}.0"
        return self.places.get(full)

    def extent(self, position: int) -> int:
        """Extent of the loop's axis that one pass over the loop covers (full blocks, not tails)."""
        axis = self.loops[position].axis
        for at in range(position - 1, -1, -1):
            if self.loops[at].axis == axis:
                return min(max(self.steps(at)), self.contraction.extent(axis))
        return self.contraction.extent(axis)

    def steps(self, position: int) -> tuple[int, ...]:
        """The extents that one iteration of the loop may cover: several where a Cover gives pieces or steps."""
        loop = self.loops[position]
        if loop.pieces:
            return loop.pieces
        if loop.step > 1:
            for outer in self.loops[:position]:
                if outer.partner == loop.axis:
                    return outer.partner_steps
        return (loop.step,)

    def trips(self, position: int) -> int:
        """Iterations of the loop in the longest full pass, a short last one included."""
        loop = self.loops[position]
        return len(loop.pieces) or -(-self.extent(position) // min(self.steps(position)))

    def is_output(self, position: int) -> bool:
        """Whether the loop's axis indexes the output (else it is a reduction)."""
        return self.loops[position].axis in self.contraction.output

    def with_loop(self, position: int, **changes: Any) -> Nest:
        """A copy with fields of one loop changed."""
        loops = list(self.loops)
        loops[position] = replace(loops[position], **changes)
        return Nest(self.contraction, tuple(loops), self.accumulators)

    def with_loops(self, loops: tuple[Loop, ...]) -> Nest:
        """A copy with other loops."""
        return Nest(self.contraction, loops, self.accumulators)

    @property
    def summary(self) -> str:
        """The order in one line, in the field's shorthand: `n16 m6 k` is n by 16, m by 6, then k.

        >>> from strop.loops.moves import Split, Reorder, replay
        >>> schedule = (Split("m.0", 6), Split("n.0", 16), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))
        >>> replay(Contraction.parse("mk,kn->mn", m=60, k=32, n=48), schedule).summary
        'n16 m6 k'
        """
        words = []
        inner = {loop.axis: i for i, loop in enumerate(self.loops)}
        levels = [loop.axis for loop in self.loops]
        for i, loop in enumerate(self.loops):
            if i == inner[loop.axis] and levels.count(loop.axis) > 1:
                continue  # its size is said by the loop around it
            word = loop.axis
            if loop.pieces:
                word += "+".join(str(piece) for piece in loop.pieces)
            elif loop.step > 1:
                word += str(loop.step)
            words.append(word)
        return " ".join(words)

    @property
    def notes(self) -> str:
        """What `summary` leaves out, in one line.

        >>> from strop.loops.moves import Accumulators, Unroll, replay
        >>> replay(Contraction.parse("mk,kn->mn", m=6, k=32, n=48), (Unroll("k.0", 4), Accumulators(2))).notes
        'unroll k 4, 2 accumulators'
        """
        words = []
        for loop in self.loops:
            words += [f"{loop.axis} parallel"] * loop.parallel
            words += [f"{loop.axis} balanced"] * loop.balanced
            words += [f"pack {operand} in {loop.axis}" for operand in loop.pack]
            words += [f"unroll {loop.axis} {loop.unroll}"] * (loop.unroll > 1)
            words += [f"prefetch {operand} in {loop.axis}" for operand, _ in loop.prefetch]
        words += [f"{self.accumulators} accumulators"] * (self.accumulators > 1)
        return ", ".join(words)

    def lines(self) -> Iterator[str]:
        """The nest as pseudo-code, a line a loop."""
        names = self.names
        for i, loop in enumerate(self.loops):
            notes = []
            if i == len(self.loops) - 1:
                notes.append("vector")
            if loop.parallel:
                notes.append("parallel")
            if loop.unroll > 1:
                notes.append(f"unroll {loop.unroll}")
            if loop.balanced:
                notes.append("balanced")
            notes += [f"pack {operand}" for operand in loop.pack]
            notes += [f"prefetch {operand} {distance} ahead" for operand, distance in loop.prefetch]
            if loop.partner:
                notes.append(f"{loop.partner} by {', '.join(map(str, loop.partner_steps))}")
            if i == 0 and self.accumulators > 1:
                notes.append(f"{self.accumulators} accumulators")
            by = f" by {loop.step}" if loop.step > 1 and not loop.pieces else ""
            by = f" as {' + '.join(map(str, loop.pieces))}" if loop.pieces else by
            text = f"{'  ' * i}for {names[i]} in {self.extent(i)}{by}"
            yield text + (f"  # {', '.join(notes)}" if notes else "")

    def __str__(self) -> str:
        return "\n".join(self.lines())

    @property
    def key(self) -> tuple[Any, ...]:
        """What makes two nests of one contraction the same nest: loops that run once with nothing to say are dropped.

        Searches dedupe by it.
        """
        kept = tuple(
            loop
            for i, loop in enumerate(self.loops)
            if i == len(self.loops) - 1 or not (loop.plain and self.trips(i) == 1)
        )
        return (kept, self.accumulators)


@lru_cache(maxsize=4096)
def _positions(axes: tuple[str, ...]) -> Mapping[str, int]:
    seen: dict[str, int] = {}
    positions = {}
    for at, axis in enumerate(axes):
        level = seen.get(axis, 0)
        seen[axis] = level + 1
        positions[f"{axis}.{level}"] = at
    return positions
