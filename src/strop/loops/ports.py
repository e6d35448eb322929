"""One step of a register tile's innermost reduction: what it asks of the ports, and how long it takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from strop.loops.accesses import LINE, Accesses
from strop.loops.machine import Machine

AGAIN = 0.5
"""Price of loading a vector again that lies across two lines, against the first time."""
WINDOW = 400.0
"""Instructions that are under way at once."""
RESULT = 20.0
"""Instructions of a tile besides those of its steps."""
GATHER = 6.0
"""Cycles of a gather besides those of its elements: indices and masks."""


@dataclass(frozen=True, slots=True)
class Step:
    """What bounds a step (`fma`, `loads`, `issue`, `latency`), its cycles, and those of its loads alone."""

    bound: str
    cycles: float
    load_cycles: float


def step(
    facts: Accesses,
    machine: Machine,
    *,
    vector: int,
    stride: Sequence[int],
    packed: Collection[int],
    inside: Sequence[int],
    columns: int,
    outputs: int,
    room: int,
    steps: float,
    far: bool = False,
    sets: int = 1,
    unroll: int = 4,
) -> Step:
    """A step whose output loops have the extents `inside`, while `outputs` registers of `room` hold results.

    `columns` are the vectors along the vector axis, 1 where it is reduced; `stride` is that of the vector axis in each
    array, packing done; `far` says that the inputs don't stay in the first-level cache; `sets` are the partial results
    of each output. Tiles of few `steps` overlap, and with them their chains of additions.
    """
    rows = 1
    for axis, output in enumerate(facts.is_output):
        if output and axis != vector:
            rows *= inside[axis]
    spare = room + 2 - outputs * sets
    loads = busy = 0.0
    for array in range(facts.inputs):
        first, again = _loads(facts.strides[array], stride[array], facts, vector, inside, rows, columns, spare)
        cycles_each = load_cycles(array, stride[array], facts, machine, packed, inside[vector], far)
        loads += first + again
        busy += first * cycles_each + again * max(1.0 / machine.loads_per_cycle, AGAIN * cycles_each)
    operations = rows * columns * (1 if facts.fused else 2)
    cycles = {
        "fma": operations / machine.fma_per_cycle,
        "loads": busy,
        "issue": (operations + loads + 4.0 / unroll) / machine.issue_per_cycle,
        "latency": machine.fma_latency / sets / max(1.0, WINDOW / (steps * (operations + loads) + RESULT)),
    }
    bound = max(cycles, key=cycles.__getitem__)
    return Step(bound, cycles[bound], busy)


def _loads(
    steps: Sequence[int],
    stride: int,
    facts: Accesses,
    vector: int,
    inside: Sequence[int],
    rows: int,
    columns: int,
    spare: int,
) -> tuple[int, int]:
    """Loads of one input: its distinct elements and vectors, and those again that `spare` registers can't keep."""
    distinct = 1
    for axis, output in enumerate(facts.is_output):
        if output and axis != vector and steps[axis]:
            distinct *= inside[axis]
    if not stride:
        # A row's element is used by its columns at once; with one column, elements wait for the other rows.
        return (distinct, rows - distinct if columns == 1 and distinct < rows and distinct >= spare else 0)
    if distinct >= rows or columns < spare:
        return distinct * columns, 0
    return distinct * columns, distinct * (_vector_loads(rows // distinct, columns, max(1, spare - 1)) - columns)


@lru_cache(maxsize=4096)
def _vector_loads(rows: int, columns: int, held: int) -> int:
    """Loads when each of `rows` uses the same `columns` vectors in order and `held` registers keep them.

    The generator evicts the vector that is needed last again.
    """
    kept: set[int] = set()
    loads = 0
    for _ in range(rows):
        for column in range(columns):
            if column in kept:
                continue
            loads += 1
            if len(kept) == held:
                kept.remove(max(kept, key=lambda other: (other - column) % columns))
            kept.add(column)
    return loads


def load_cycles(
    array: int,
    stride: int,
    facts: Accesses,
    machine: Machine,
    packed: Collection[int],
    extent: int,
    far: bool = False,
) -> float:
    """Cycles that one access keeps the load ports busy; a vector that isn't aligned may lie across two lines."""
    if stride not in (0, 1):
        return GATHER + machine.gather_cycles_per_element * min(facts.lanes, extent)
    plain = 1.0 / machine.loads_per_cycle
    if stride == 0 or array in packed or facts.aligned[array] >= facts.vector_bytes:
        return plain
    crossing = facts.vector_bytes / LINE
    return (1.0 - crossing) * plain + crossing * (machine.far_split_load_cycles if far else machine.split_load_cycles)
