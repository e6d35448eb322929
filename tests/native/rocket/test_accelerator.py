"""The core's side of an accelerator: commands, back-pressure and replay, answers, fences, stale memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strop import _native
from tests.native.rocket import encoding as e
from tests.native.rocket.conftest import BASE

A0, A1, A2, A3 = 10, 11, 12, 13
DATA = BASE + 0x8000
Call = Callable[..., Any]


def command(funct: int, *, rd: int = 0, rs1: int = A0, rs2: int = A1, answers: bool = False) -> int:
    return e.r_type(e.CUSTOM_3, rd, 3 | answers << 2, rs1, rs2, funct)


WRITE = command(1)  # memory[a0] = a1, when it has been served


@pytest.fixture
def attach(machine: Any) -> Callable[[int, int], Any]:
    def attached(depth: int, service: int) -> Any:
        queue = _native.QueueCoprocessor(machine.memory, depth, service)
        machine.attach(queue)
        return queue

    return attached


def test_a_command_carries_its_registers_and_leaves_at_write_back(call: Call, attach: Callable[..., Any]) -> None:
    queue = attach(8, 1)
    result = call(e.NOP, command(5), e.r_type(e.CUSTOM_3, 0, 1, A0, A1, 9), arguments=[DATA, 17], timed=True)
    assert result.commands == 2
    assert queue.seen() == [
        (5, DATA, 17, BASE + 4, 1 + 3, False, True, True),
        (9, 0, 17, BASE + 8, 2 + 3, False, False, True),
    ]


def test_an_answer_is_waited_for_where_it_is_used(call: Call, attach: Callable[..., Any]) -> None:
    attach(8, 50)
    ask = command(0, rd=A2, answers=True)
    used = call(ask, e.addi(A0, A2, 1), arguments=[40, 1], timed=True)
    attach(8, 50)
    unused = call(ask, e.addi(A0, A1, 1), arguments=[40, 1], timed=True)
    assert used.code == 42
    assert used.cycles - unused.cycles == 3 + 50 - 1  # asked at write-back, 3 after issue


def test_a_full_queue_holds_the_core_up(call: Call, attach: Callable[..., Any]) -> None:
    queue = attach(2, 100)
    result = call(*[command(5)] * 5, timed=True)
    # Room at 103, 203, ...: seen by decode one later, write-back is three further on.
    assert [row[4] for row in queue.seen()] == [3, 4, 5, 108, 208]
    assert result.stalls["back_pressure"] == 102 + 99 + 99
    assert result.idle_cycle == 503


def test_a_command_refused_for_one_cycle_is_replayed(call: Call, attach: Callable[..., Any]) -> None:
    queue = attach(1, 2)
    result = call(*[command(5)] * 2, timed=True)
    # The second is offered at 4, there is room at 5: fetched again, it costs five cycles all the same.
    assert result.stalls["back_pressure"] == 5
    assert [row[4] for row in queue.seen()] == [3, 4]


def test_profiles_tell_back_pressure_and_fences_apart(call: Call, machine: Any, attach: Callable[..., Any]) -> None:
    attach(2, 100)
    result = call(*[command(5)] * 3, e.FENCE_ALL, timed=True, profile=True)
    rows = {pc - BASE: (cycles, back, fence) for pc, _, cycles, back, fence in machine.counts()}
    assert rows[8] == (1 + 102, 102, 0)
    assert rows[12][2] == result.stalls["fence"] == rows[12][0] - 1
    assert sum(row[0] for row in rows.values()) == result.cycles


def test_memory_is_stale_until_the_accelerator_has_written(
    call: Call, machine: Any, attach: Callable[..., Any]
) -> None:
    load = e.i_type(e.LOAD, A0, 3, A0, 0)

    def loaded(*between: int) -> int:
        machine.memory.fill(DATA, 8, 0)
        attach(8, 60)
        result = call(WRITE, *between, load, arguments=[DATA, 77], timed=True)
        assert result.outcome == "returned"
        assert machine.memory.read(DATA, 1) == b"\x4d"  # written by the end in any case
        return int(result.code)

    assert loaded() == 0
    assert loaded(e.FENCE_ALL) == 77
    assert loaded(*[e.NOP] * 59) == 0  # served at 3 + 60; the load is in its memory stage 2 after issue
    assert loaded(*[e.NOP] * 60) == 77


def test_a_fence_waits_until_nothing_is_in_flight(call: Call, attach: Callable[..., Any]) -> None:
    attach(8, 100)
    result = call(command(5), command(5), e.FENCE_ALL, timed=True)
    assert result.stalls["fence"] == 203 - 2
    assert result.idle_cycle == result.cycles
    attach(8, 100)
    assert call(e.FENCE_ALL, timed=True).stalls["fence"] == 0


def test_work_past_the_return_is_counted(call: Call, attach: Callable[..., Any]) -> None:
    attach(8, 1000)
    result = call(command(5), timed=True)
    assert result.cycles < 20
    assert result.idle_cycle == 1003


def test_what_the_accelerator_refuses_ends_the_run(call: Call, machine: Any, attach: Callable[..., Any]) -> None:
    attach(8, 1)
    result = call(e.NOP, command(2))
    assert (result.outcome, result.trap, result.pc) == ("trap", "illegal-command", BASE + 4)
    assert "refused" in result.text


@pytest.mark.parametrize("fenced", [False, True])
def test_dma_out_of_bounds_ends_the_run(call: Call, machine: Any, attach: Callable[..., Any], fenced: bool) -> None:
    attach(8, 10)
    machine.memory.add_range(DATA, DATA + 64, "C")
    machine.memory.restrict_dma(True)
    result = call(WRITE, *[e.FENCE_ALL] * fenced, arguments=[DATA + 60, 1], timed=True)
    assert (result.outcome, result.trap, result.address) == ("trap", "dma-write-access", DATA + 60)
    assert "C" in result.text
    machine.memory.clear_ranges()
    machine.memory.add_range(DATA, DATA + 64, "A", writable=False)
    attach(8, 10)
    assert call(WRITE, arguments=[DATA, 1], timed=True).trap == "dma-write-access"


def test_provenance_of_what_dma_writes(call: Call, machine: Any, attach: Callable[..., Any]) -> None:
    attach(8, 1)
    machine.memory.track(DATA, DATA + 16)
    call(WRITE, e.FENCE_ALL, e.s_type(e.STORE, 0, A0, 0, 3), arguments=[DATA, 1], timed=True)
    assert machine.memory.provenance(DATA, DATA + 16) == b"\1\1\1\2\1\1\1\1" + bytes(8)


def test_detached_the_command_is_illegal(call: Call, machine: Any, attach: Callable[..., Any]) -> None:
    attach(8, 1)
    machine.attach(None)
    assert call(command(5)).trap == "illegal-instruction"


def test_a_fence_waits_for_a_command_on_its_way(call: Call, attach: Callable[..., Any]) -> None:
    attach(8, 0)  # served as soon as it arrives, which is at write-back, 3 after issue
    result = call(command(5), e.FENCE_ALL, timed=True)
    assert result.stalls["fence"] == 3 + 1 - 1
