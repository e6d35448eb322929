"""Register tiles and covers: what the machine model thinks of every vector axis, row axis and width, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, repeat
from math import inf, prod

from strop.loops.accesses import LINE, Accesses
from strop.loops.machine import Machine
from strop.loops.model import CALL, HORIZONTAL, STRIDED, TILE, TILE_LOOP
from strop.loops.nest import Nest
from strop.loops.plan import Plan
from strop.loops.ports import step
from strop.loops.traffic import NEAR

WIDEST = 8
"""Vectors of the widest piece where the tile has rows."""
MOST_PIECES = 24
"""A cover with more pieces is a split with a tail."""
EXACT = 64
"""Vectors up to which covers are compared one by one."""
SHORT = 4
"""Iterations of a reduction up to which it becomes straight code."""
LATER = 0.02
"""How much a load counts that no port waits for: among equal tiles the one with fewer loads is better."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A vector axis, an axis whose elements fill rows, axes inside the tile as a whole, and the inputs packed."""

    vector: int
    rows: int | None
    fixed: tuple[int, ...]
    packed: frozenset[int]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A plan and about how many cycles it takes."""

    cycles: float
    plan: Plan


class Tiles:
    """The tiles of one nest's innermost loops."""

    def __init__(self, nest: Nest, facts: Accesses, machine: Machine) -> None:
        self.nest, self.facts, self.machine = nest, facts, machine
        self.names = nest.contraction.axes
        inner = {loop.axis: at for at, loop in enumerate(nest.loops)}
        self.extent = tuple(nest.extent(inner[axis]) for axis in self.names)
        self._known: dict[tuple[Shape, int, int], float] = {}
        self.single = {axis for axis in self.names if sum(loop.axis == axis for loop in nest.loops) == 1}

    def ranked(self, most: int = 4) -> list[Ranked]:
        """Plans, the best first; `most` bounds how many shapes are looked at closely."""
        if all(self.facts.is_output):
            return [Ranked(0.0, plan) for plan in self._untiled()]
        shapes = sorted(self.shapes(), key=self._glance)[:most]
        plans = [ranked for shape in shapes for ranked in self.plans(shape)]
        return sorted(plans, key=lambda ranked: ranked.cycles)

    def _untiled(self) -> Iterator[Plan]:
        """Without a reduction nothing is held in registers: only the vector axis is to be chosen."""
        outputs = [axis for axis in range(len(self.names)) if self.extent[axis] > 1]
        for vector in self._vector_axes(outputs):
            others = [axis for axis in self.nest.contraction.output if axis != self.names[vector]]
            yield Plan(tile=((self.names[vector], self.extent[vector]),), order=tuple(others))

    # Shapes -----------------------------------------------------------------------------------------------------------

    def shapes(self) -> Iterator[Shape]:
        """All that are worth a look."""
        facts = self.facts
        outputs = [axis for axis, output in enumerate(facts.is_output) if output and self.extent[axis] > 1]
        for vector in self._vector_axes(outputs):
            others = [axis for axis in outputs if axis != vector]
            packs = [frozenset[int]()]
            awkward = frozenset(array for array in range(facts.inputs) if self._awkward(array, vector, others))
            if awkward:
                packs.append(awkward)
            for packed in packs:
                for rows, fixed in self._rows_and_fixed(others):
                    yield Shape(vector, rows, fixed, packed)

    def _vector_axes(self, outputs: list[int]) -> list[int]:
        """Axes worth vectorising: contiguous in the output or in an input, or else the last one of the output."""
        facts = self.facts
        found = [axis for axis in outputs if abs(facts.strides[-1][axis]) == 1]
        for axis, output in enumerate(facts.is_output):
            steps = [facts.strides[array][axis] for array in range(facts.inputs)]
            contiguous = 1 in steps if output else all(step in (0, 1) for step in steps)
            if axis not in found and self.extent[axis] > 1 and contiguous:
                found.append(axis)
        if not found:
            found = outputs[-1:] or [max(range(len(self.names)), key=lambda axis: self.extent[axis])]
        return found[:5]

    def _awkward(self, array: int, vector: int, others: list[int]) -> bool:
        """Whether an input's vectors lie badly, and packing could pay because another axis uses them again."""
        facts = self.facts
        step = facts.strides[array][vector]
        if step == 0 or not any(not facts.strides[array][axis] for axis in others):
            return False
        return step != 1 or facts.aligned[array] < facts.vector_bytes

    def _rows_and_fixed(self, others: list[int]) -> list[tuple[int | None, tuple[int, ...]]]:
        """Row axes, best first: those that leave an input's element where it is. A short one may be taken whole."""
        if not others:
            return [(None, ())]

        def kept(axis: int) -> tuple[bool, int]:
            return (any(not self.facts.strides[array][axis] for array in range(self.facts.inputs)), self.extent[axis])

        axes = sorted(others, key=kept, reverse=True)[:2]
        choices: list[tuple[int | None, tuple[int, ...]]] = [(axis, ()) for axis in axes]
        if len(axes) == 2:
            choices += [(a, (b,)) for a, b in (axes, axes[::-1]) if self.extent[b] <= 4]
        return choices

    def _room(self, shape: Shape) -> int:
        facts = self.facts
        gathers = any(
            facts.strides[array][shape.vector] not in (0, 1) and array not in shape.packed
            for array in range(facts.inputs)
        )
        reduced = not facts.is_output[shape.vector]
        partial = self.extent[shape.vector] % facts.lanes > 0
        return facts.available - facts.reserved(gathers=gathers, partial=partial, vector_is_reduction=reduced)

    # Costs ------------------------------------------------------------------------------------------------------------

    def _glance(self, shape: Shape) -> float:
        """Cycles with a usual tile: enough to leave out what can't be good."""
        vectors = self._vectors(shape)
        columns = min(vectors, 4)
        fixed = prod(self.extent[axis] for axis in shape.fixed)
        extent = self.extent[shape.rows] if shape.rows is not None else 1
        rows = max(1, min(extent, self._room(shape) // (columns * fixed)))
        return self._tile(shape, rows, columns) * vectors / columns * extent / rows * self._outside(shape) + (
            self._packing(shape)
        )

    def _vectors(self, shape: Shape) -> int:
        """Vectors of the output along the vector axis."""
        facts = self.facts
        return -(-self.extent[shape.vector] // facts.lanes) if facts.is_output[shape.vector] else 1

    def _outside(self, shape: Shape) -> float:
        """How often the row and vector axes run as a whole."""
        within = (shape.vector, shape.rows, *shape.fixed)
        return float(
            prod(self.extent[axis] for axis, output in enumerate(self.facts.is_output) if output and axis not in within)
        )

    def _packing(self, shape: Shape) -> float:
        """Cycles to pack the shape's packed inputs once."""
        facts = self.facts
        total = CALL
        for array in shape.packed:
            elements = prod(self.extent[axis] for axis, step in enumerate(facts.strides[array]) if step)
            total += elements * (1.4 if facts.strides[array][shape.vector] != 1 else 2.0 / facts.lanes)
        return total

    def _tile(self, shape: Shape, rows: int, columns: int) -> float:
        """Cycles of a tile of rows times columns (vectors) over the whole reduction."""
        key = (shape, rows, columns)
        if key not in self._known:
            self._known[key] = self._tile_cycles(shape, rows, columns)
        return self._known[key]

    def _tile_cycles(self, shape: Shape, rows: int, columns: int) -> float:
        facts, machine = self.facts, self.machine
        inside = [1] * len(self.names)
        inside[shape.vector] = columns * facts.lanes
        terms = rows * columns
        if shape.rows is not None:
            inside[shape.rows] = rows
        for axis in shape.fixed:
            inside[axis] = self.extent[axis]
            terms *= self.extent[axis]
        room = self._room(shape)
        count = 1.0
        for axis, output in enumerate(facts.is_output):
            if not output:
                count *= -(-self.extent[axis] // facts.lanes) if axis == shape.vector else self.extent[axis]
        one = step(
            facts,
            machine,
            vector=shape.vector,
            stride=[
                min(1, abs(steps[shape.vector])) if array in shape.packed else steps[shape.vector]
                for array, steps in enumerate(facts.strides)
            ],
            packed=shape.packed,
            inside=inside,
            columns=1 if not facts.is_output[shape.vector] else columns,
            outputs=terms,
            room=room,
            steps=count,
            far=count * (columns * facts.vector_bytes + rows * facts.itemsize) > NEAR * machine.l1_bytes,
            sets=max(1, min(8, room // terms)) if terms <= 8 else 1,
        )
        return count * (one.cycles + LATER * one.load_cycles) + TILE + TILE_LOOP + terms * self._result(shape)

    def _result(self, shape: Shape) -> float:
        """Cycles to finish and store one register of results."""
        facts, machine = self.facts, self.machine
        if not facts.is_output[shape.vector]:
            cost = HORIZONTAL * facts.lanes.bit_length() + 1
        elif facts.strides[-1][shape.vector] in (0, 1):
            crossing = facts.vector_bytes / LINE if facts.aligned[-1] < facts.vector_bytes else 0.0
            cost = 1.0 / machine.stores_per_cycle + crossing * machine.split_store_cycles
        else:
            cost = STRIDED / 2 + 1.5 * min(facts.lanes, self.extent[shape.vector])
        return cost + facts.epilogue_cycles / machine.fma_per_cycle

    # Covers -----------------------------------------------------------------------------------------------------------

    def plans(self, shape: Shape) -> Iterator[Ranked]:
        """Plans of a shape: the cheapest cover of the vector axis, and each width alone."""
        if not self.facts.is_output[shape.vector]:
            yield from self._reduced(shape)
            return
        vectors, room = self._vectors(shape), self._room(shape)
        fixed = prod(self.extent[axis] for axis in shape.fixed)
        widest = max(1, min(vectors, room // fixed, WIDEST if shape.rows is not None else 2 * WIDEST))
        best = {width: self._rows(shape, width, room // fixed) for width in range(1, widest + 1)}
        covers = [cheapest({width: cost for width, (cost, _) in best.items()}, vectors)]
        covers += [{width: vectors // width} | ({rest: 1} if (rest := vectors % width) else {}) for width in best]
        seen = set()
        for cover in covers:
            counts = tuple(sorted(cover.items(), reverse=True))
            if counts not in seen:
                seen.add(counts)
                whole = sum(best[width][0] * count for width, count in counts)
                cycles = whole * self._outside(shape) + self._packing(shape)
                # A long axis has millions of pieces; a plan lists them where they are few.
                widths = tuple(islice(chain.from_iterable(repeat(*pair) for pair in counts), MOST_PIECES + 1))
                yield Ranked(cycles, self._plan(shape, widths, tuple(best[width][1] for width in widths)))

    def _rows(self, shape: Shape, width: int, room: int) -> tuple[float, int]:
        """The cheapest number of rows for a piece of `width` vectors: cycles of the whole piece, and the rows."""
        if shape.rows is None:
            return self._tile(shape, 1, width), 1
        extent = self.extent[shape.rows]
        most = max(1, min(extent, room // width))
        best = (inf, 1)
        for count in {-(-extent // rows) for rows in range(most, max(0, most // 2 - 1), -1)}:
            big = -(-extent // count)
            wide = extent - count * (big - 1)
            cycles = wide * self._tile(shape, big, width)
            if count > wide:
                cycles += (count - wide) * self._tile(shape, big - 1, width)
            best = min(best, (cycles, big))
        return best

    def _plan(self, shape: Shape, widths: tuple[int, ...], rows: tuple[int, ...]) -> Plan:
        lanes, extent = self.facts.lanes, self.extent[shape.vector]
        pieces = [width * lanes for width in widths]
        pieces[-1] -= sum(pieces) - extent
        vector = self.names[shape.vector]
        covered = len(set(widths)) > 1 and len(widths) <= MOST_PIECES and vector in self.single
        tile = [(self.names[axis], self.extent[axis]) for axis in shape.fixed]
        if shape.rows is not None:
            tile.insert(0, (self.names[shape.rows], rows[0]))
        several = covered and shape.rows is not None and len(set(rows)) > 1
        return Plan(
            tile=(*tile, (vector, min(extent, widths[0] * lanes))),
            order=self._order(shape),
            pieces=tuple(pieces) if covered else (),
            rows=rows if several else (),
            packs=tuple("AB"[array] for array in sorted(shape.packed)) or None,
        )

    def _reduced(self, shape: Shape) -> Iterator[Ranked]:
        """Plans with a reduced vector axis: rows of vectors of partial sums."""
        vector, extent = self.names[shape.vector], self.extent[shape.vector]
        around = [axis for axis, output in enumerate(self.facts.is_output) if not output and axis != shape.vector]
        if shape.rows is None or (extent <= self.facts.lanes and all(self.extent[axis] == 1 for axis in around)):
            # One vector is the whole reduction: no loop is there for rows to live across.
            rows = 1 if shape.rows is None else self.extent[shape.rows]
            plan = Plan(tile=((vector, extent),), order=self._order(shape))
            yield Ranked(self._tile(shape, 1, 1) * rows * self._outside(shape) + CALL, plan)
            return
        room, total = self._room(shape), self.extent[shape.rows]
        for rows in sorted({min(total, max(1, most)) for most in (room, room // 2, 8, 4, 1)}):
            inner = min(self.facts.lanes, extent) if rows > 1 else extent
            plan = Plan(tile=((self.names[shape.rows], rows), (vector, inner)), order=self._order(shape))
            count = -(-total // rows)
            yield Ranked(self._tile(shape, rows, 1) * count * self._outside(shape) + CALL, plan)

    def _order(self, shape: Shape) -> tuple[str, ...]:
        """Loops around the tile: axes that everything changes with, the vector axis, the rows, the reductions.

        Reductions with few elements stand innermost, where they can be unrolled whole.
        """
        facts = self.facts
        outputs = [self.names.index(axis) for axis in self.nest.contraction.output]
        others = [axis for axis in outputs if axis not in (shape.vector, shape.rows)]
        rows = [] if shape.rows is None else [shape.rows]
        reductions = [axis for axis, output in enumerate(facts.is_output) if not output and axis != shape.vector]
        reductions.sort(key=lambda axis: self.extent[axis] <= SHORT)
        if facts.is_output[shape.vector]:
            order = [*others, shape.vector, *rows, *reductions]
        else:
            order = [*others, *rows, *reductions, shape.vector]
        return tuple(self.names[axis] for axis in order)


def cheapest(cost: dict[int, float], vectors: int) -> dict[int, int]:
    """How many of each width sum to `vectors` at the least total cost; `cost` is of a piece of each width.

    >>> cheapest({1: 1.9, 2: 2.0, 3: 3.1}, 7)
    {2: 2, 3: 1}
    """
    efficient = min(cost, key=lambda width: (cost[width] / width, -width))
    whole = max(0, (vectors - EXACT + efficient - 1) // efficient)
    rest = vectors - whole * efficient
    best = [0.0] + [inf] * rest
    last = [0] * (rest + 1)
    for total in range(1, rest + 1):
        for width, cycles in cost.items():
            if width <= total and best[total - width] + cycles < best[total] - 1e-9:
                best[total], last[total] = best[total - width] + cycles, width
    counts = {efficient: whole} if whole else {}
    while rest:
        counts[last[rest]] = counts.get(last[rest], 0) + 1
        rest -= last[rest]
    return counts
