"""One step of a register tile's innermost reduction: what it asks of the ports, and how long it takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from strop.loops.accesses import LINE, Accesses
from strop.loops.machine import Machine


@dataclass(frozen=True, slots=True)
class Step:
    """What bounds a step (`fma`, `loads`, `issue`, `latency`), its cycles, and the slots of the load ports it takes."""

    bound: str
    cycles: float
    slots: float


def step(
    facts: Accesses,
    machine: Machine,
    *,
    vector: int,
    stride: Sequence[int],
    packed: Collection[int],
    inside: Sequence[int],
    outputs: int,
    room: int,
    sets: int = 1,
    unroll: int = 4,
) -> Step:
    """A step whose output loops have the extents `inside`, while `outputs` registers of `room` hold results.

    `stride` is that of the vector axis in each array, packing done; `sets` are the partial results of each output.
    """
    reduced = not facts.is_output[vector]
    columns = 1 if reduced else -(-inside[vector] // facts.lanes)
    rows = 1
    for axis, output in enumerate(facts.is_output):
        if output and axis != vector:
            rows *= inside[axis]
    spare = room + 2 - outputs * sets
    loads = slots = 0.0
    for array in range(facts.inputs):
        needed = _loads(facts.strides[array], stride[array], facts, vector, inside, rows, columns, spare)
        loads += needed
        slots += needed * load_slots(array, stride[array], facts, machine, packed, inside[vector])
    operations = rows * columns * (1 if facts.fused else 2)
    cycles = {
        "fma": operations / machine.fma_per_cycle,
        "loads": slots / machine.loads_per_cycle,
        "issue": (operations + loads + 4.0 / unroll) / machine.issue_per_cycle,
        "latency": machine.fma_latency / sets,
    }
    bound = max(cycles, key=cycles.__getitem__)
    return Step(bound, cycles[bound], slots)


def _loads(
    steps: Sequence[int],
    stride: int,
    facts: Accesses,
    vector: int,
    inside: Sequence[int],
    rows: int,
    columns: int,
    spare: int,
) -> int:
    """Loads of one input: its distinct elements and vectors, and those again that `spare` registers can't keep."""
    distinct = 1
    for axis, output in enumerate(facts.is_output):
        if output and axis != vector and steps[axis]:
            distinct *= inside[axis]
    if not stride:
        # A row's element is used by its columns at once; with one column, elements wait for the other rows.
        return rows if columns == 1 and distinct < rows and distinct >= spare else distinct
    if distinct < rows and columns >= spare:
        return distinct * columns + (rows - distinct) * (columns - max(0, spare - 2))
    return distinct * columns


def load_slots(
    array: int, stride: int, facts: Accesses, machine: Machine, packed: Collection[int], extent: int
) -> float:
    """Slots of the load ports that one access takes: two for a vector across two lines."""
    if stride == 0:
        return 1.0
    if stride != 1:
        return 2.0 * machine.gather_cycles_per_element * min(facts.lanes, extent)
    if array in packed or facts.aligned[array] >= facts.vector_bytes:
        return 1.0
    return 1.0 + facts.vector_bytes / LINE
