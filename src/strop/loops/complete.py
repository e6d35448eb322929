"""Complete a nest: append the moves that the machine model recommends, to whatever nest a search has."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import ceil, prod

from strop.loops.accesses import Accesses, accesses
from strop.loops.machine import Machine
from strop.loops.model import predict
from strop.loops.moves import Accumulators, Pack, Schedule, Unroll
from strop.loops.nest import Nest
from strop.loops.plan import Making, Plan, make_parallel, packing_loop
from strop.loops.registers import outputs_of, registers
from strop.loops.tiles import SHORT, Ranked, Tiles
from strop.loops.traffic import PAGE
from strop.values.contraction import Contraction
from strop.values.layout import Layout

COMPARED = 5
"""Plans that the whole model compares; the closed form ranks the rest."""
CLOSE = 2
"""Plans of which packing is asked, too."""
GAIN = 0.98
"""What packing or another order must at least promise to be recommended: the model is no more exact."""
STRAIGHT = 320
"""Multiply-adds of straight code that are quick to generate and stay in the instruction cache."""
LEAST_PARALLEL = 60_000.0
"""Cycles below which waking threads costs more than they save."""


@lru_cache(maxsize=4096)
def complete(nest: Nest, layout: Layout, machine: Machine, threads: int = 1) -> Schedule:
    """The moves that the model recommends for a nest, to be made after it; none for a nest that was completed.

    A nest with a register tile (a loop inside a reduction whose axis has another loop outside) keeps it, and its
    order: only what is missing is added. Otherwise the vector axis, the tile, the cover of remainders and the order of
    loops are chosen; splits that are there already stay as blocks outside. Then come unrolling, accumulators, packing
    and threads.
    """
    if not nest.loops or 0 in dict(nest.contraction.sizes).values():
        return ()
    making = Making(nest)
    # What a search said of its loops can stand in the way of a move; after the others it may not.
    for _ in range(1 if nest == Nest.default(nest.contraction) else 3):
        made = len(making.moves)
        _pass(making, layout, machine, threads)
        if len(making.moves) == made:
            break
    return tuple(making.moves)


def _pass(making: Making, layout: Layout, machine: Machine, threads: int) -> None:
    facts = accesses(making.nest.contraction, layout, machine)
    if machine.isa != "portable" and not has_tile(making.nest, facts):
        plans(making.nest, layout, machine)[0].plan.make(making)
    finish(making, layout, machine, threads)


def has_tile(nest: Nest, facts: Accesses) -> bool:
    """Whether a loop inside the register tile's innermost reduction belongs to an axis that has a loop outside, too."""
    tile = registers(nest, facts)
    if tile.at is None:
        return False
    inner = tile.at
    for at in range(tile.at, len(nest.loops) - 1):
        if not nest.is_output(at) and nest.trips(at) > 1:
            inner = at
    return bool(set(tile.axis[: inner + 1]) & set(tile.axis[inner + 1 :]))


def plans(nest: Nest, layout: Layout, machine: Machine, compared: int = COMPARED) -> list[Ranked]:
    """Plans for a nest without a tile, the model's best first: `compared` of them, and variants of the best."""
    facts = accesses(nest.contraction, layout, machine)
    nest = _plain(nest)

    def rated(plan: Plan, *, packs: bool) -> Ranked:
        return Ranked(_cycles(plan, nest, layout, machine, packs=packs), plan)

    ranked = [rated(each.plan, packs=False) for each in Tiles(nest, facts, machine).ranked()[:compared]]
    ranked.sort(key=_by_cycles)
    variants = [rated(variant, packs=False) for variant in _variants(ranked[0].plan, nest.contraction)]
    # Equal to the model, an unusual order isn't better.
    better = [each for each in variants if each.cycles < GAIN * ranked[0].cycles]
    rest = [each for each in variants if each not in better]
    # Only of the best few is it asked what packing would make of them.
    first = sorted([*sorted(better, key=_by_cycles)[:1], *ranked[:CLOSE]], key=_by_cycles)
    close = sorted((rated(each.plan, packs=True) for each in first), key=_by_cycles)
    others = [each for each in (*better, *ranked, *rest) if each not in first]
    return [*close, *sorted(others, key=_by_cycles)]


def _by_cycles(ranked: Ranked) -> float:
    return ranked.cycles


def _plain(nest: Nest) -> Nest:
    """The nest with nothing said of how its loops run: what is chosen must not depend on what was added last time."""
    loops = tuple(replace(loop, unroll=1, parallel=False, pack=(), prefetch=()) for loop in nest.loops)
    return Nest(nest.contraction, loops)


def _cycles(plan: Plan, nest: Nest, layout: Layout, machine: Machine, *, packs: bool) -> float:
    making = plan.make(Making(nest))
    if packs and plan.packs is None:
        _pack(making, layout, machine)
    _unroll(making, layout, machine)
    _accumulate(making, layout, machine, plan.accumulators)
    return predict(making.nest, layout, machine).cycles


def _variants(plan: Plan, contraction: Contraction) -> list[Plan]:
    """Other orders of the outer loops, and reductions in blocks that fit the caches better."""
    outputs = [axis for axis in plan.order if axis in contraction.output]
    reductions = [axis for axis in plan.order if axis not in contraction.output]
    orders = dict.fromkeys([(*outputs[-1:], *outputs[:-1]), (*outputs[1:], *outputs[:1])])
    made = [replace(plan, order=(*order, *reductions)) for order in orders if order != tuple(outputs)]
    free = [axis for axis in reductions if axis not in dict(plan.tile)]
    if free:
        longest = max(free, key=contraction.extent)
        made += [
            replace(plan, blocks=((longest, size),)) for size in (32, 256) if contraction.extent(longest) >= 4 * size
        ]
    return made


def realise(plan: Plan, nest: Nest, layout: Layout, machine: Machine, threads: int = 1) -> Schedule:
    """The moves of a plan, and those recommended for what it leaves open."""
    making = plan.make(Making(nest))
    if plan.packs is None:
        _pack(making, layout, machine)
    if plan.unroll is None:
        _unroll(making, layout, machine)
    _accumulate(making, layout, machine, plan.accumulators)
    _share(making, layout, machine, threads)
    return tuple(making.moves)


def finish(making: Making, layout: Layout, machine: Machine, threads: int = 1) -> None:
    """Add what is missing of unrolling, accumulators, packing and threads."""
    _pack(making, layout, machine)
    _unroll(making, layout, machine)
    _accumulate(making, layout, machine)
    _share(making, layout, machine, threads)


def _share(making: Making, layout: Layout, machine: Machine, threads: int) -> None:
    if threads > 1 and predict(making.nest, layout, machine).cycles >= LEAST_PARALLEL:
        make_parallel(making, threads)


def _unroll(making: Making, layout: Layout, machine: Machine) -> None:
    """Make short reductions straight code, and unroll the next one: by 4, or 8 where little stands inside."""
    nest = making.nest
    if any(loop.unroll > 1 for loop in nest.loops) or not nest.contraction.reduction:
        return
    facts = accesses(nest.contraction, layout, machine)
    tile = registers(nest, facts)
    if tile.at is None:
        return
    last = len(nest.loops) - 1
    for at in range(last, tile.at - 1, -1):
        if nest.is_output(at):
            continue
        count = nest.trips(at) if at < last else -(-nest.extent(at) // facts.lanes)
        if count == 1:
            continue
        reach = tile.extents[at + 1]
        body = outputs_of(reach, tile.vector, tile.vectors(at + 1, reach[tile.vector], facts.lanes), facts)
        for inner in range(at + 1, last):
            body *= 1 if nest.is_output(inner) else nest.trips(inner)
        if at < last and count <= SHORT and body * count <= STRAIGHT:
            making.make(Unroll(nest.names[at], count))
            continue
        wanted = 8 if body <= 6 else 4 if body <= 40 else 2 if body <= STRAIGHT // 2 else 1
        if wanted > 1:
            making.make(Unroll(nest.names[at], min(wanted, count)))
        return


def _accumulate(making: Making, layout: Layout, machine: Machine, count: int | None = None) -> None:
    """Several partial results where one chain of additions each can't keep the units busy; `count` of them if said.

    Never more than the registers hold: the generator would keep fewer than the schedule says.
    """
    nest = making.nest
    if nest.accumulators > 1 or not nest.contraction.reduction:
        return
    tile = registers(nest, accesses(nest.contraction, layout, machine))
    if tile.at is None:
        return
    wanted = count or ceil(machine.fma_latency * machine.fma_per_cycle / tile.outputs)
    steps = nest.trips(tile.inner)
    sets = min(wanted, tile.room // tile.outputs, 16, steps)
    if sets > 1:
        making.make(Accumulators(sets))


def _pack(making: Making, layout: Layout, machine: Machine) -> None:
    """Pack inputs of the vector axis where the model expects it to pay."""
    nest = making.nest
    if any(loop.pack for loop in nest.loops) or machine.isa == "portable":
        return
    facts = accesses(nest.contraction, layout, machine)
    vector = facts.axes[nest.loops[-1].axis]
    for array in range(facts.inputs):
        operand = "AB"[array]
        at = packing_loop(making.nest, operand) if lies_badly(array, vector, facts, machine) else None
        if at is None:
            continue
        trial = Making(making.nest)
        if trial.make(Pack(operand, making.nest.names[at])):
            before, after = (_cycles_of_packs(which, layout, machine) for which in (making.nest, trial.nest))
            if after < GAIN * before:
                making.make(trial.moves[0])


def lies_badly(array: int, vector: int, facts: Accesses, machine: Machine) -> bool:
    """Whether a copy of an input could be read faster.

    Its vectors are strided or cross lines, its rows share few sets of the cache or lie in pages of their own, or it is
    large.
    """
    steps = facts.strides[array]
    if not steps[vector]:
        return False
    if steps[vector] != 1 or facts.aligned[array] < facts.vector_bytes:
        return True
    rows = [step * facts.itemsize for axis, step in enumerate(steps) if step and axis != vector]
    size = facts.itemsize * prod(size for size, step in zip(facts.sizes, steps, strict=True) if step)
    return any(row % machine.alias_bytes == 0 or row >= PAGE for row in rows) or 2 * size > machine.l2_bytes


def _cycles_of_packs(nest: Nest, layout: Layout, machine: Machine) -> float:
    """Cycles with packs alone: unrolling and accumulators, which may come after, don't decide."""
    loops = tuple(replace(loop, unroll=1) for loop in nest.loops)
    return predict(Nest(nest.contraction, loops), layout, machine).cycles
