"""What instructions cost: Rocket's latencies as issue cycles of short sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strop import _native
from tests.native.rocket import encoding as e
from tests.native.rocket.conftest import BASE, RETURN

A0, A1, A2, A3 = 10, 11, 12, 13
DATA = BASE + 0x8000
Call = Callable[..., Any]


def op(funct3: int, funct7: int = 0, rd: int = A2, rs1: int = A0, rs2: int = A1, opcode: int = e.OP) -> int:
    return e.r_type(opcode, rd, funct3, rs1, rs2, funct7)


USE, APART = e.addi(A3, A2, 0), e.addi(A3, A1, 0)  # reads what the first one wrote, or doesn't


@pytest.mark.parametrize(
    ("producer", "latency"),
    [
        (op(0), 1),
        (e.i_type(e.LOAD, A2, 3, A0, 0), 2),  # ld
        (e.i_type(e.LOAD, A2, 2, A0, 0), 2),  # lw
        (e.i_type(e.LOAD, A2, 0, A0, 0), 3),  # lb
        (e.i_type(e.LOAD, A2, 5, A0, 0), 3),  # lhu
        (e.r_type(e.AMO, A2, 3, A0, A1, 0), 3),
        (e.i_type(e.SYSTEM, A2, 2, 0, 0xF14), 3),  # csrr
        (e.r_type(e.OP_FLOAT, A2, 0, 1, 0, 0x1C << 2), 3),  # fmv.x.w
        (e.r_type(e.OP_FLOAT, A2, 2, 1, 2, 0x14 << 2), 3),  # feq.s
    ],
)
def test_a_use_waits_for_its_producer(call: Call, producer: int, latency: int) -> None:
    waits = call(producer, USE, arguments=[DATA, 3], timed=True)
    apart = call(producer, APART, arguments=[DATA, 3], timed=True)
    assert waits.cycles - apart.cycles == latency - 1
    assert waits.stalls["operand"] - apart.stalls["operand"] == latency - 1


@pytest.mark.parametrize(("wide", "latency"), [(0, 4), (1, 5)])
def test_a_float_use_waits_for_its_producer(call: Call, wide: int, latency: int) -> None:
    add = e.r_type(e.OP_FLOAT, 3, 0, 1, 2, wide)
    chain = [call(*[e.r_type(e.OP_FLOAT, 3, 0, 3, 2, wide)] * n, timed=True).cycles for n in (4, 8)]
    apart = [call(*[add, e.NOP, e.NOP, e.NOP, e.NOP] * n, timed=True).cycles for n in (4, 8)]
    assert chain[1] - chain[0] == 4 * latency
    assert apart[1] - apart[0] == 4 * 5


@pytest.mark.parametrize(
    ("a", "latency"),  # 8 bits of the first operand a cycle, one more to see that the rest is zero, 2 about them
    [(0, 3), (1, 4), (255, 4), (256, 5), (1 << 32, 8), (1 << 60, 10), ((1 << 64) - 1, 10)],
)
def test_a_product_takes_as_long_as_its_first_operand(call: Call, a: int, latency: int) -> None:
    waits = call(op(0, 1), USE, arguments=[a, 5], timed=True)
    apart = call(op(0, 1), APART, arguments=[a, 5], timed=True)
    assert waits.cycles - apart.cycles == latency - 1


def test_the_multiplier_serves_one_at_a_time(call: Call) -> None:
    one, two = (call(*[op(0, 1, rd=rd) for rd in (A2, A3)[:n]], arguments=[1 << 60, 5], timed=True) for n in (1, 2))
    assert two.cycles - one.cycles == 10


@pytest.mark.parametrize(
    ("a", "b", "latency"),  # steps: the bits by which the dividend is longer, and those for signs
    [(1000, 7, 12), (1 << 62, 1, 67), ((1 << 64) - 1000, 7, 14), (7, 0, 67)],
)
def test_a_division_takes_as_long_as_its_quotient(call: Call, a: int, b: int, latency: int) -> None:
    waits = call(op(4, 1), USE, arguments=[a, b], timed=True)
    apart = call(op(4, 1), APART, arguments=[a, b], timed=True)
    assert waits.cycles - apart.cycles == latency - 1


def test_a_loop_branch_is_free_once_it_is_known(call: Call) -> None:
    def cycles(rounds: int) -> int:
        body = [e.addi(A0, 0, rounds), e.addi(A0, A0, -1), e.NOP, e.branch(1, A0, 0, -8)]
        return int(call(*body, timed=True).cycles)

    assert cycles(400) - cycles(200) == 3 * 200


def test_a_branch_that_goes_elsewhere_costs_three(call: Call) -> None:
    skipped = call(e.branch(0, 0, 0, 8), e.NOP, timed=True)  # taken, never seen: predicted not taken
    through = call(e.branch(1, 0, 0, 8), e.NOP, timed=True)
    assert skipped.cycles - through.cycles == 3 - 1
    assert skipped.stalls["control"] - through.stalls["control"] == 3


def test_a_jump_is_predecoded_and_then_known(call: Call) -> None:
    loop = [e.addi(A0, 0, 50), e.addi(A0, A0, -1), e.jal(0, 8), e.NOP, e.branch(1, A0, 0, -12)]
    result = call(*loop, timed=True)
    assert result.cycles - result.instructions <= 1 + 3 * 12  # the jump once, the branch while its history fills


def test_returns_are_predicted_by_the_stack(call: Call, machine: Any) -> None:
    machine.memory.write(BASE + 256, e.words(RETURN))
    save, restore = e.addi(A3, 1, 0), e.addi(1, A3, 0)
    costs = []
    for n in (4, 8):  # calls from different places: a target buffer alone would miss each
        body = [save, *[e.jal(1, 256 - 4 * (1 + i)) for i in range(n)], restore]
        costs.append(call(*body, timed=True).cycles)
    assert costs[1] - costs[0] == 4 * (2 + 1)  # two instructions, and the call's redirection


def test_caches_cost_when_they_are_asked_for() -> None:
    machine = _native.Machine(1 << 20, parameters={"rocket.dcache.sets": 64, "rocket.dcache.miss": 30})
    loads = [e.i_type(e.LOAD, A2, 3, A0, 64 * i) for i in range(16)]
    machine.memory.write(BASE, e.words(*loads, *loads, RETURN))
    result = machine.call(BASE, [DATA], timed=True)
    assert result.stalls["cache"] == 16 * 30
    code = _native.Machine(1 << 20, parameters={"rocket.icache.sets": 64, "rocket.icache.miss": 25})
    code.memory.write(BASE, e.words(*[e.NOP] * 63, RETURN))
    assert code.call(BASE, timed=True).stalls["cache"] == 4 * 25


def test_parameters_change_the_machine(call: Call) -> None:
    slow = _native.Machine(1 << 20, parameters={"rocket.latency.load_word": 7})
    slow.memory.write(BASE, e.words(e.i_type(e.LOAD, A2, 3, A0, 0), USE, RETURN))
    fast = call(e.i_type(e.LOAD, A2, 3, A0, 0), USE, arguments=[DATA], timed=True)
    assert slow.call(BASE, [DATA], timed=True).cycles - fast.cycles == 5
