"""The machine model: about how many cycles a nest takes, lowered literally.

It counts what the generator would emit: multiply-adds, loads and stores against the rates of the ports, chains of
dependent additions, loop overhead, packing; then how many bytes come from each cache. It is there to rank schedules,
not to foretell times.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from strop.loops import ports
from strop.loops.accesses import LINE, Accesses, accesses
from strop.loops.machine import Machine
from strop.loops.nest import Loop, Nest
from strop.loops.registers import RegisterTile, registers, trips
from strop.loops.traffic import stays_near, traffic_cycles
from strop.values.layout import Layout

CALL = 120.0
"""Cycles of a call: arguments, saved registers."""
TILE, TILE_LOOP = 2.0, 6.0
"""Cycles around a register tile that the next one doesn't hide; more where its reduction is a loop."""
LOOP = 2.0
"""Cycles of an iteration of a loop around the tile: counter and pointers."""
SHORT_LOOP, LONG_LOOP = 4.0, 12.0
"""Cycles to enter and leave a loop inside a tile: its last branch is foreseen, or not."""
FORWARD, MASKED_FORWARD = 9.0, 20.0
"""Cycles until a stored vector can be added to again; a masked store isn't forwarded."""
HORIZONTAL = 1.0
"""Cycles of each halving when the lanes of a vector are added up, other tiles going on."""
STRIDED = 12.0
"""Cycles to bring a vector of results with a stride through the stack, besides those of its elements."""
FORK = 12_000.0
"""Cycles to wake the threads and wait for them."""
PASS = 6.0
"""Cycles around a chunk of a pass over the vector loop."""
CHUNK = 12
"""Vectors that the generator takes at a time where no reduction loop holds the output in registers."""
MOST_VARIANTS = 12
BLEND = 8.0
"""How sharply the longest of computing and the caches' times prevails: 1 would add them up."""
SEEN = {"l2": 0.06, "l3": 0.3, "memory": 0.4}
"""The part of a cache's time that computing doesn't hide."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """About how many cycles a call takes, and what takes most of them.

    `bound` is `fma`, `loads`, `stores`, `issue`, `latency`, `packing`, `l2`, `l3`, `memory` or `overhead`.
    """

    cycles: float
    bound: str


def predict(nest: Nest, layout: Layout, machine: Machine, threads: int = 1) -> Prediction:
    """What the model says of a nest on a layout; `threads` counts only where the nest is parallel."""
    facts = accesses(nest.contraction, layout, machine)
    if not nest.loops or 0 in facts.sizes:
        return Prediction(CALL, "overhead")
    tile = registers(nest, facts)
    cost = _Cost(nest, tile, facts, machine)
    caches = traffic_cycles(nest.loops, tile, facts, machine)
    core = cost.total() + caches.pop("exposed")
    longest = max(core, *caches.values())
    # Where two take equally long, neither hides the other wholly.
    cycles = longest * sum((part / longest) ** BLEND for part in (core, *caches.values())) ** (1 / BLEND)
    cycles += sum(SEEN[name] * cost for name, cost in caches.items() if cost < longest)
    if nest.loops[0].parallel and threads > 1:
        count = trips(nest.loops[0], facts.sizes[tile.axis[0]])
        cycles = cycles * ceil(count / threads) / count + FORK
    parts = cost.parts | caches
    return Prediction(cycles, max(parts, key=lambda name: parts[name]))


@dataclass(slots=True)
class _Variant:
    """Executions of the tile with equal extents: how many, the extent of each axis, steps that a Cover sets."""

    count: float
    extent: list[int]
    steps: dict[int, int]


class _Cost:
    """The core's cycles of one nest, by what takes them."""

    def __init__(self, nest: Nest, tile: RegisterTile, facts: Accesses, machine: Machine) -> None:
        self.loops, self.tile, self.facts, self.machine = nest.loops, tile, facts, machine
        self.accumulators = nest.accumulators
        self.vector = tile.axis[-1]
        self.reduced_vector = not facts.is_output[self.vector]
        self.far = not stays_near(tile, facts, machine)
        self.parts = {"overhead": CALL}

    def total(self) -> float:
        """All cycles of the core."""
        tile, facts = self.tile, self.facts
        end = len(self.loops) - 1 if tile.at is None else tile.at
        reduced_outside = any(
            not facts.is_output[tile.axis[at]] and trips(self.loops[at], tile.extents[at][tile.axis[at]]) > 1
            for at in range(end)
        )
        variants, iterations = self._variants(end)
        self._add("overhead", iterations * LOOP, 1.0)
        for variant in variants:
            if tile.at is None:
                self._pass(variant, reduced_outside)
            else:
                self._tile(variant, reduced_outside)
        for array, at in tile.packed.items():
            self._pack(array, at)
        return sum(self.parts.values())

    def _add(self, part: str, cycles: float, times: float) -> None:
        self.parts[part] = self.parts.get(part, 0.0) + cycles * times

    # The loops around the tile ----------------------------------------------------------------------------------------

    def _variants(self, end: int) -> tuple[list[_Variant], float]:
        """The different extents with which the loops from `end` on run, and the iterations of the loops before."""
        variants = [_Variant(1.0, list(self.facts.sizes), {})]
        iterations = 0.0
        for at in range(end):
            loop, axis = self.loops[at], self.tile.axis[at]
            if loop.step == 1 and not loop.pieces and at not in variants[0].steps:
                for variant in variants:
                    variant.count *= variant.extent[axis]
                    variant.extent[axis] = 1
            else:
                variants = self._split(variants, at)
            iterations += sum(variant.count for variant in variants)
        return variants, iterations

    def _split(self, variants: list[_Variant], at: int) -> list[_Variant]:
        loop, axis = self.loops[at], self.tile.axis[at]
        partner = -1
        if loop.partner:
            wanted = self.facts.axes[loop.partner]
            partner = self.tile.axis.index(wanted, at + 1)
        made = []
        for variant in variants:
            runs = _runs(loop, variant.extent[axis], variant.steps.get(at, loop.step))
            if len(runs) * len(variants) > MOST_VARIANTS:
                longest = max(runs, key=lambda run: run[0] * run[1])
                runs = [(variant.extent[axis] / longest[1], longest[1], longest[2])]
            for count, extent, step in runs:
                extents = variant.extent[:]
                extents[axis] = extent
                steps = variant.steps | {partner: step} if step else variant.steps
                made.append(_Variant(variant.count * count, extents, steps))
        return made

    # The tile ---------------------------------------------------------------------------------------------------------

    def _tile(self, variant: _Variant, reduced_outside: bool) -> None:
        """Cycles of the register tile with a variant's extents."""
        facts, machine, tile, vector = self.facts, self.machine, self.tile, self.vector
        extent, lanes = variant.extent, facts.lanes
        assert tile.at is not None
        loop = self.loops[tile.inner]
        inside = extent[:]  # extents inside the innermost reduction loop
        for at in range(tile.at, tile.inner + 1):
            inside[tile.axis[at]] = min(inside[tile.axis[at]], self.loops[at].step)
        vectors = tile.vectors(tile.at, extent[vector], lanes)
        columns = 1 if self.reduced_vector else tile.vectors(tile.inner + 1, inside[vector], lanes)
        outputs, terms = (1, 1) if self.reduced_vector else (vectors, columns)
        steps = float(vectors) if self.reduced_vector else 1.0
        for axis, output in enumerate(facts.is_output):
            if axis == vector:
                continue
            if output:
                outputs *= extent[axis]
                terms *= inside[axis]
            else:
                steps *= extent[axis]
        repeats = max(1.0, outputs / terms)  # output loops of the tile around the innermost reduction
        sets = max(1, min(self.accumulators, tile.room // outputs))
        one = ports.step(
            facts,
            machine,
            vector=vector,
            stride=tile.stride,
            packed=tile.packed,
            inside=inside,
            columns=columns,
            outputs=outputs,
            room=tile.room,
            steps=steps,
            far=self.far,
            sets=sets,
            unroll=max(loop.unroll, sets),
        )
        self._add(one.bound, one.cycles * steps * repeats, variant.count)
        here = tile.axis[tile.inner]
        count = vectors if here == vector else trips(loop, extent[here])
        ends = repeats
        for at in range(tile.at, tile.inner):
            if not facts.is_output[tile.axis[at]]:
                ends *= trips(self.loops[at], extent[tile.axis[at]])
        around = TILE + (TILE_LOOP if count > max(loop.unroll, sets) else 0.0)
        self._add("overhead", (ends - 1) * (SHORT_LOOP if count < 64 else LONG_LOOP) + around, variant.count)
        self._add("stores", self._results(outputs, extent, reduced_outside), variant.count)

    def _results(self, outputs: int, extent: list[int], reduced_outside: bool) -> float:
        """Cycles to start and to store a tile's outputs."""
        facts, machine = self.facts, self.machine
        cycles = outputs / machine.issue_per_cycle
        load = 1.0 / machine.loads_per_cycle
        store = 1.0 / machine.stores_per_cycle
        if self.reduced_vector:
            cycles += outputs * HORIZONTAL * facts.lanes.bit_length()
        elif self.tile.stride[-1] not in (0, 1):
            width = min(facts.lanes, extent[self.vector], *(step for _, step in self.tile.vector_loops[-1:]))
            load, store = STRIDED + width, STRIDED / 2 + 1.5 * width
        elif facts.aligned[-1] < facts.vector_bytes:
            crossing = facts.vector_bytes / LINE
            load += crossing * machine.split_load_cycles
            store += crossing * machine.split_store_cycles
        cycles += outputs * store
        if reduced_outside or facts.accumulate:
            cycles += outputs * load
        return cycles + outputs * facts.epilogue_cycles / machine.fma_per_cycle

    def _pass(self, variant: _Variant, reduced_outside: bool) -> None:
        """Cycles of one pass over the vector loop where no reduction loop holds the outputs in registers."""
        facts, machine = self.facts, self.machine
        vectors = -(-variant.extent[self.vector] // facts.lanes)
        inside = [1] * len(variant.extent)
        inside[self.vector] = variant.extent[self.vector]
        one = ports.step(
            facts,
            machine,
            vector=self.vector,
            stride=self.tile.stride,
            packed=self.tile.packed,
            inside=inside,
            columns=vectors,
            outputs=min(vectors, CHUNK),
            room=self.tile.room,
            steps=1.0,
            far=self.far,
        )
        results = self._results(vectors, variant.extent, reduced_outside)
        chained = one.bound == "latency"  # a pass has no chain: each element is stored
        bound, cycles = ("stores", results) if chained or results > one.cycles else (one.bound, one.cycles)
        again = len(self.loops) > 1 and not facts.is_output[self.tile.axis[-2]]
        forward = FORWARD if variant.extent[self.vector] % facts.lanes == 0 else MASKED_FORWARD
        if again and cycles < forward:
            bound, cycles = "latency", forward
        self._add(bound, cycles, variant.count)
        self._add("overhead", PASS * ceil(vectors / CHUNK), variant.count)

    # Packing ----------------------------------------------------------------------------------------------------------

    def _pack(self, array: int, at: int) -> None:
        """Cycles of all copies of an input to scratch."""
        facts, tile = self.facts, self.tile
        steps = facts.strides[array]
        inner = next((axis for axis in reversed(tile.axis[at + 1 :]) if steps[axis]), None)
        if inner is None:
            return
        elements = 1.0
        for axis, step in enumerate(steps):
            if step:
                elements *= facts.sizes[axis]
        for outer in range(at + 1):
            axis = tile.axis[outer]
            if not steps[axis]:
                elements *= trips(self.loops[outer], tile.extents[outer][axis])
        row = tile.extents[at + 1][inner]
        if steps[inner] == 1:
            vector = ports.load_cycles(array, 1, facts, self.machine, (), row) + 1.0 / self.machine.stores_per_cycle
            cycles = 5.0 + ceil(row / facts.lanes) * vector
        else:
            cycles = 5.0 + 1.4 * row
        self._add("packing", elements / row, cycles)


def _runs(loop: Loop, extent: int, step: int) -> list[tuple[float, int, int]]:
    """Runs of equal iterations: count, extent, and the step they give a partner (0: none)."""
    if loop.pieces:
        runs: dict[tuple[int, int], float] = {}
        for number, piece in enumerate(loop.pieces):
            key = (piece, loop.partner_steps[number] if loop.partner else 0)
            runs[key] = runs.get(key, 0.0) + 1.0
        return [(count, piece, partner) for (piece, partner), count in runs.items()]
    if loop.balanced:
        count = -(-extent // step)
        big = -(-extent // count)
        wide = extent - count * (big - 1)
        return [(wide, big, 0), *([(count - wide, big - 1, 0)] if count > wide else [])]
    whole, rest = divmod(extent, step)
    return [*([(whole, step, 0)] if whole else []), *([(1, rest, 0)] if rest else [])]
