"""What flows through our kernels: definitions against iga64's, waits against dependences, spills to reloads."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.coverage import Coverage, coverage
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.operands import SLOT
from strop.stalls.flow.overwrites import Overwrites, overwrites
from strop.stalls.flow.pending import Pending
from strop.stalls.instruction import Direction, Function, Role, When
from tests.stalls.intel import oracle as oracles
from tests.stalls.intel.fixtures import DEVICES, SETS, functions, loaded, made
from tests.stalls.intel.oracle import READINGS, Edges, Reading, as_iga64_reads, edges

EVERY = pytest.mark.parametrize(("device", "name"), [(device, name) for device in DEVICES for name in SETS])


def oracle(device: str, name: str, kernel: str = "") -> list[tuple[Function, Edges]]:
    """All kernels or one, each with iga64's edges inside it (those into the functions that it calls are left out)."""
    found = []
    for code, said in zip(made(device, name).codes, loaded(f"{name}.{device}.edges"), strict=True):
        if kernel not in ("", code.name):
            continue
        function = functions(device, name)[code.name]
        inside = {each.pc for each in function.instructions}
        found.append((function, {(to, since) for to, since in said if to in inside and since in inside}))
    return found


def agreement(device: str, name: str, readings: tuple[Reading, ...], kernel: str = "") -> tuple[int, int]:
    """How many edges both have, and how many only one."""
    same = other = 0
    for function, theirs in oracle(device, name, kernel):
        mine = edges(as_iga64_reads(function, readings))
        same += len(mine & theirs)
        other += len(mine ^ theirs)
    return same, other


@EVERY
def test_reaching_definitions_are_those_of_iga64(device: str, name: str) -> None:
    """Read as iga64 reads a few instructions (`oracle.py` says why we don't), every edge is equal; raw, 96% or more."""
    same, other = agreement(device, name, READINGS)
    assert same > 2000
    assert other == 0
    same, other = agreement(device, name, ())
    assert same / (same + other) > 0.96


@pytest.mark.parametrize(
    ("reading", "device", "name", "kernel"),
    [
        (oracles.joins_jump, "pvc", "kernels", "branches"),
        (oracles.headers_have_one_dword, "dg2", "kernels", "saxpy"),
        (oracles.surfaces_are_not_read, "pvc", "kernels", "spill"),
        (oracles.states_are_not_followed, "pvc", "large", "wide"),
        (oracles.calls_write_a_register, "pvc", "kernels", "called"),
        (oracles.borrows_are_read, "dg2", "large", "wide"),
    ],
    ids=lambda each: each.__name__ if callable(each) else each,
)
def test_each_reading_is_needed(reading: Reading, device: str, name: str, kernel: str) -> None:
    assert reading in READINGS
    others = tuple(each for each in READINGS if each is not reading)
    assert agreement(device, name, READINGS, kernel)[1] == 0
    assert agreement(device, name, others, kernel)[1] > 0


@cache
def checked(device: str, name: str) -> tuple[Coverage, ...]:
    return tuple(coverage(function) for function in functions(device, name).values())


@EVERY
def test_messages_are_waited_for_before_their_results_are_read(device: str, name: str) -> None:
    found = checked(device, name)
    assert sum(each.dependences for each in found) > 5000
    assert not [each.uncovered for each in found if each.uncovered]


@EVERY
def test_waits_are_explained(device: str, name: str) -> None:
    """A distance in all pipes, `A@1`, is one wait."""
    found = checked(device, name)
    assert sum(each.waits for each in found) > 800
    assert sum(each.explained_waits for each in found) >= 0.98 * sum(each.waits for each in found)


def overwritten(function: Function) -> Overwrites:
    graph = Graph(function)
    return overwrites(Pending(graph), Definitions(graph))


@EVERY
def test_nothing_is_overwritten_while_a_message_uses_it(device: str, name: str) -> None:
    """WAR (`$n.src`) and WAW (`$n.dst`): in compiled code no writer comes too early."""
    found = [overwritten(function) for function in functions(device, name).values()]
    assert sum(each.checked for each in found) > 1000
    assert not [each.early for each in found if each.early]


@pytest.mark.parametrize(("device", "share"), [("pvc", 0.9), ("dg2", 0.6)])
def test_a_wait_for_operands_too_few_is_noticed(device: str, share: float) -> None:
    """Not for each: on dg2 compilers wait for a message, too, where a wait for a later one has covered it."""
    noticed = []
    for function in functions(device).values():
        for index, each in enumerate(function.instructions):
            if any(wait.when is When.OPERANDS_READ for wait in each.waits):
                code = list(function.instructions)
                kept = tuple(wait for wait in each.waits if wait.when is not When.OPERANDS_READ)
                code[index] = replace(each, waits=kept)
                noticed.append(bool(overwritten(replace(function, instructions=tuple(code))).early))
    assert len(noticed) > 50
    assert sum(noticed) >= share * len(noticed)


@pytest.mark.parametrize("device", DEVICES)
def test_a_reload_reads_what_was_spilled(device: str) -> None:
    """Compiled code never reads a slot that nothing wrote: what is there is a value, not the caller's."""
    function = functions(device, "large")["spilled"]
    reads = Definitions(Graph(function)).reads
    spills = {each.memory.direction for each in function.instructions if each.memory and each.memory.slot}
    assert spills == {Direction.LOAD, Direction.STORE}
    reloads = 0
    for index, each in enumerate(function.instructions):
        if each.memory is None or each.memory.slot is None or each.memory.direction is not Direction.LOAD:
            continue
        slots = [read for read in reads[index] if read.register.space.startswith(SLOT)]
        assert len(slots) == (each.memory.width_bytes or 0) // 4
        for read in slots:
            for producer in read.definitions:
                memory = function.instructions[producer].memory
                assert memory
                assert memory.direction is Direction.STORE
        reloads += all(read.definitions for read in slots)
    assert reloads > 20


@pytest.mark.parametrize(("device", "lanes"), [("pvc", 16), ("dg2", 8)])
def test_the_systolic_array(device: str, lanes: int) -> None:
    code = functions(device, "large")["tiles"].instructions
    steps = [each for each in code if each.kind == "tensor"]
    assert len(steps) == 4
    for each in steps:
        assert each.pipe == "systolic"
        assert each.latency
        assert len(each.defs) == 8 * lanes
        assert {use.role for use in each.uses} == {Role.DATA}
        # Sum, eight rows of the second operand, eight times eight dwords of the first.
        assert len({use.register for use in each.uses}) == 8 * lanes + 8 * lanes + 64
    chained = [each for each in steps if each.variable]
    assert chained
    assert {pend.when for each in chained for pend in each.pends} == {When.RESULT, When.OPERANDS_READ}
