"""Our own compiled kernels of three vendors with one wait taken away: the check notices, and nothing else alarms it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import pytest

from strop.stalls.flow.bruteforce import TooManyStatesError, walk
from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.coverage import covered_by
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.needs import closes
from strop.stalls.flow.pending import Pending
from strop.stalls.instruction import Function
from tests.conftest import Soak
from tests.stalls.amd import fixtures as amd
from tests.stalls.intel import fixtures as intel
from tests.stalls.nvidia import recorded as nvidia

# Per vendor: mutants (2,000 in all), and how many instructions a function may have to be walked in its every path.
MUTANTS = {"nvidia": (800, 300), "amd": (800, 400), "intel": (400, 80)}
STATES = 6_000  # that a walk may visit
DETECTED = 0.99

Pair = tuple[int, int]  # consumer, producer


def functions(vendor: str) -> list[Function]:
    if vendor == "nvidia":
        return [each for name in nvidia.NAMES for each in nvidia.binary(name).functions]
    if vendor == "amd":
        sources = [(source, isa) for source in ("kernels", "planted") for isa in amd.TARGETS]
        return [each for source in sources for each in amd.functions(*source).values()]
    return [each for name in intel.DEVICES for each in intel.functions(name).values()]


def walked(function: Function) -> set[Pair]:
    """The dependences that some path, walked, shows uncovered."""
    return {(consumer, producer) for consumer, producer, _ in walk(Graph(function), limit=STATES).unfinished}


def found(function: Function) -> tuple[set[Pair], set[Pair]]:
    """The dependences that the data flow finds uncovered: all, and those that the coverage check counts.

    The latter has only producers of variable latency; results of Intel's in-order pipes, which a distance covers, are
    in the former alone.
    """
    pending, definitions = Pending(Graph(function)), Definitions(Graph(function))
    asked: dict[int, set[int]] = {}
    for producer, consumer, _ in definitions.dependences():
        asked.setdefault(consumer, set()).add(producer)
    counted = {(consumer, producer) for producer, consumer, _ in covered_by(pending, definitions).uncovered}
    return pending.unfinished(asked), counted


def removable(function: Function) -> list[tuple[int, int]]:
    """The waits that the compiler wrote (instruction, number): not how a group's closing is said in this model."""
    return [
        (index, number)
        for index, one in enumerate(function.instructions)
        for number, wait in enumerate(one.waits)
        if not (closes(one) and dict(one.notes).get("closes") == wait.resource)
    ]


def without(function: Function, index: int, number: int) -> Function:
    """A function whose instruction has lost one of its waits."""
    code = list(function.instructions)
    waits = code[index].waits
    code[index] = replace(code[index], waits=waits[:number] + waits[number + 1 :])
    return replace(function, instructions=tuple(code))


@dataclass(frozen=True)
class Mutant:
    """A function without one of its waits, and what that newly uncovers: by walking, and as the data flow finds it."""

    function: Function
    removed: tuple[int, int]
    harmed: set[Pair]
    noticed: set[Pair]
    counted: set[Pair]


@cache
def originals(vendor: str) -> tuple[Function, ...]:
    most = MUTANTS[vendor][1]
    return tuple(each for each in functions(vendor) if len(each.instructions) <= most)


def mutants(vendor: str) -> Iterator[Mutant]:
    """All that can be walked, in an order that mixes the functions; none twice."""
    chosen = [(place, wait) for place, each in enumerate(originals(vendor)) for wait in removable(each)]
    random.Random(0).shuffle(chosen)
    known: dict[int, tuple[set[Pair], set[Pair], set[Pair]] | None] = {}
    for place, wait in chosen:
        function = originals(vendor)[place]
        try:
            if place not in known:
                known[place] = None
                known[place] = (walked(function), *found(function))
            before = known[place]
            if before is None:
                continue
            less = without(function, *wait)
            harmed = walked(less) - before[0]
        except TooManyStatesError:
            continue
        noticed, counted = found(less)
        yield Mutant(function, wait, harmed, noticed - before[1], counted - before[2])


@pytest.mark.parametrize("vendor", MUTANTS)
def test_a_wait_too_few_is_noticed(vendor: str, soak: Soak) -> None:
    """Of the mutants that a walk shows to read a result unfinished, 99% are noticed; of the others, none is."""
    sums: Counter[str] = Counter()
    supply = mutants(vendor)
    for _ in soak.seeds(MUTANTS[vendor][0]):
        for mutant in supply:
            if mutant.harmed:
                break
            sums["harmless"] += 1
            sums["false_alarms"] += bool(mutant.noticed or mutant.counted)
        else:
            pytest.fail(f"there are only {sums['mutants']} harmful mutants")
        code = mutant.function.instructions
        sums["mutants"] += 1
        sums["detected"] += bool(mutant.noticed)
        sums["exact"] += mutant.noticed == mutant.harmed
        if any(code[producer].variable for _, producer in mutant.harmed):
            sums["variable"] += 1
            sums["counted"] += bool(mutant.counted)
    soak.note(**sums)
    assert sums["detected"] >= DETECTED * sums["mutants"]
    assert sums["counted"] >= DETECTED * sums["variable"]
    assert sums["false_alarms"] == 0
