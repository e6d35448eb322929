"""What the core does beside computing: traps, registers of control, limits, permissions, the host's interface."""

from __future__ import annotations

import resource
import struct
from collections.abc import Callable
from typing import Any

import pytest

from strop import _native
from tests.native.rocket import encoding as e
from tests.native.rocket.conftest import BASE, RETURN

A0, A1, A2, T0, T1 = 10, 11, 12, 5, 6
DATA = BASE + 0x8000
MSTATUS, MISA, MTVEC, MEPC, MCAUSE, MTVAL, MCYCLE, CYCLE, INSTRET, MHARTID = (
    0x300,
    0x301,
    0x305,
    0x341,
    0x342,
    0x343,
    0xB00,
    0xC00,
    0xC02,
    0xF14,
)


def csrr(rd: int, number: int) -> int:
    return e.i_type(e.SYSTEM, rd, 2, 0, number)


def csrw(number: int, rs: int) -> int:
    return e.i_type(e.SYSTEM, 0, 1, rs, number)


def store(rs1: int, rs2: int, offset: int = 0, funct3: int = 3) -> int:
    return e.s_type(e.STORE, funct3, rs1, rs2, offset)


def load(rd: int, rs1: int, offset: int = 0, funct3: int = 3) -> int:
    return e.i_type(e.LOAD, rd, funct3, rs1, offset)


Call = Callable[..., Any]


def test_a_function_returns_what_it_computed(call: Call) -> None:
    result = call(e.r_type(e.OP, A0, 0, A0, A1, 0), arguments=[40, 2])
    assert (result.outcome, result.code, result.instructions) == ("returned", 42, 2)
    assert result.cycles == 2  # without timing: instructions


def test_registers_are_set_and_read(machine: Any, call: Call) -> None:
    call(e.addi(A1, 0, 7))
    assert machine.register(A1) == 7
    machine.set_register(0, 5)
    assert machine.register(0) == 0
    machine.set_float_register(3, 1 << 63)
    assert machine.float_register(3) == 1 << 63
    with pytest.raises(IndexError):
        machine.register(32)


@pytest.mark.parametrize(
    ("instruction", "trap", "address"),
    [
        (0xFFFFFFFF, "illegal-instruction", 0xFFFFFFFF),
        (0x0000, "illegal-instruction", 0),
        (e.r_type(e.CUSTOM_3, 0, 3, 1, 2, 0), "illegal-instruction", e.r_type(e.CUSTOM_3, 0, 3, 1, 2, 0)),
        (csrr(A0, 0x400), "illegal-instruction", csrr(A0, 0x400)),
        (csrw(CYCLE, A0), "illegal-instruction", csrw(CYCLE, A0)),
        (e.EBREAK, "breakpoint", BASE + 4),
        (e.ECALL, "environment-call", 0),
        (load(A0, 0), "load-access", 0),
        (load(A0, A1), "load-access", BASE + (1 << 20)),
        (load(A0, A1, -1), "load-access", BASE + (1 << 20) - 1),
        (store(A1, 0), "store-access", BASE + (1 << 20)),
        (e.r_type(e.AMO, A0, 3, A2, 0, 0), "store-misaligned", DATA + 4),
        (e.i_type(e.JALR, 0, 0, A1, 0), "instruction-access", BASE + (1 << 20)),
    ],
)
def test_what_stops_a_program_without_a_handler(call: Call, instruction: int, trap: str, address: int) -> None:
    result = call(e.NOP, instruction, arguments=[0, BASE + (1 << 20), DATA + 4])
    assert (result.outcome, result.trap, result.address) == ("trap", trap, address)
    assert result.pc == (address if trap == "instruction-access" else BASE + 4)
    assert result.text


def test_a_handler_learns_of_the_trap_and_goes_on(call: Call, machine: Any) -> None:
    # The handler at +64 keeps cause, value and pc, and steps over the instruction.
    handler = [csrr(A1, MCAUSE), csrr(A2, MTVAL), csrr(13, MEPC), e.addi(T1, 13, 4), csrw(MEPC, T1), e.MRET]
    machine.memory.write(BASE + 64, e.words(*handler))
    for instruction, cause, value in [(load(A0, 0, 8), 5, 8), (store(0, A0, 16), 7, 16), (0xFFFFFFFF, 2, 0xFFFFFFFF)]:
        result = call(e.u_type(e.AUIPC, T0, 0), e.addi(T0, T0, 64), csrw(MTVEC, T0), instruction, e.addi(A0, 0, 77))
        assert (result.outcome, result.code) == ("returned", 77)
        assert [machine.register(r) for r in (A1, A2, 13)] == [cause, value, BASE + 12]


def test_a_handler_that_cannot_be_fetched_ends_at_the_limit(call: Call) -> None:
    result = call(e.addi(T0, 0, 64), csrw(MTVEC, T0), 0xFFFFFFFF, instructions=1000)
    assert (result.outcome, result.limit, result.instructions) == ("limit", "instructions", 1000)


def test_control_registers_of_start_up_code(call: Call) -> None:
    assert call(csrr(A0, MHARTID)).code == 0
    misa = call(csrr(A0, MISA)).code & (1 << 64) - 1
    assert misa >> 62 == 2
    assert [chr(ord("A") + i) for i in range(26) if misa >> i & 1] == list("ACDFIMX")
    status = call(e.u_type(e.LUI, T0, 0), csrw(MSTATUS, 0), csrr(A0, MSTATUS)).code
    assert status & 3 << 13 == 0
    status = call(e.u_type(e.LUI, T0, 2), e.i_type(e.SYSTEM, 0, 2, T0, MSTATUS), csrr(A0, MSTATUS)).code
    assert status & 3 << 13 == 3 << 13  # Rocket: dirty as soon as it is on
    assert status < 0  # SD


def test_floats_are_off_until_start_up_code_turns_them_on(machine: Any) -> None:
    fadd = e.r_type(e.OP_FLOAT, 0, 0, 0, 0, 1)
    machine.load(e.elf([(BASE, e.words(fadd), 7)], entry=BASE))
    assert machine.run().trap == "illegal-instruction"
    on = e.words(e.u_type(e.LUI, T0, 2), e.i_type(e.SYSTEM, 0, 2, T0, MSTATUS), fadd, e.addi(17, 0, 93), e.ECALL)
    machine.load(e.elf([(BASE, on, 7)], entry=BASE))
    assert machine.run().outcome == "exited"


@pytest.mark.parametrize("mode", [5, 6])
def test_a_rounding_mode_that_does_not_exist_is_illegal(call: Call, mode: int) -> None:
    assert call(e.r_type(e.OP_FLOAT, 0, mode, 0, 0, 1)).trap == "illegal-instruction"
    dynamic = e.r_type(e.OP_FLOAT, 0, 7, 0, 0, 1)
    assert call(e.i_type(e.SYSTEM, 0, 5, mode, 2), dynamic).trap == "illegal-instruction"


@pytest.mark.parametrize("timed", [False, True])
def test_the_clock_cannot_be_set(call: Call, timed: bool) -> None:
    plain = call(*[e.NOP] * 20, csrr(A0, CYCLE), timed=timed)
    bent = call(csrw(MCYCLE, 0), *[e.NOP] * 19, csrr(A0, CYCLE), timed=timed)
    assert plain.code >= 20
    assert bent.code < plain.code + 4  # what the program reads moves
    assert bent.cycles >= plain.cycles  # the clock doesn't
    assert bent.instructions == plain.instructions


def test_instructions_retired_are_counted(call: Call) -> None:
    assert call(*[e.NOP] * 7, csrr(A0, INSTRET)).code == 7


def test_a_write_of_the_instruction_counter_moves_what_is_read(call: Call) -> None:
    result = call(e.addi(T0, 0, 1000), csrw(0xB02, T0), csrr(A0, INSTRET), csrr(A1, INSTRET))
    assert (result.code, result.instructions) == (1000, 5)


@pytest.mark.parametrize("timed", [False, True])
def test_an_endless_loop_ends_at_the_limit(call: Call, timed: bool) -> None:
    result = call(e.jal(0, 0), instructions=12345, timed=timed)
    assert (result.outcome, result.limit, result.instructions, result.pc) == ("limit", "instructions", 12345, BASE)


def test_cycles_are_limited(call: Call) -> None:
    result = call(e.jal(0, 0), cycles=1000, timed=True)
    assert (result.outcome, result.limit) == ("limit", "cycles")
    assert 1000 <= result.cycles <= 1010


def test_a_run_that_ended_at_a_limit_goes_on(machine: Any, call: Call) -> None:
    assert call(*[e.addi(A0, A0, 1)] * 100, instructions=60).outcome == "limit"
    result = machine.resume()
    assert (result.outcome, result.code, result.instructions) == ("returned", 100, 41)


@pytest.mark.parametrize("offset", [1, 3, 4093, 4095])
def test_misaligned_accesses_work(machine: Any, call: Call, offset: int) -> None:
    result = call(store(A0, A1, 0), load(A0, A0, 0), arguments=[DATA + offset, 0x0123456789ABCDEF])
    assert result.code == 0x0123456789ABCDEF
    assert machine.memory.read(DATA + offset, 8) == struct.pack("<Q", 0x0123456789ABCDEF)


def test_misaligned_accesses_can_trap_as_in_rocket() -> None:
    machine = _native.Machine(1 << 20, parameters={"rocket.misaligned.trap": 1})
    machine.memory.write(BASE, e.words(load(A0, A0), RETURN, store(A0, A0), RETURN))
    assert machine.call(BASE, [DATA + 1]).trap == "load-misaligned"
    assert machine.call(BASE + 8, [DATA + 1]).trap == "store-misaligned"
    assert machine.call(BASE, [DATA]).outcome == "returned"


def test_pages_have_permissions(machine: Any, call: Call) -> None:
    machine.memory.protect(DATA, DATA + 4096, 1)
    assert call(load(A0, A0), arguments=[DATA]).outcome == "returned"
    result = call(store(A0, A0, 8), arguments=[DATA])
    assert (result.trap, result.address) == ("store-access", DATA + 8)
    assert call(store(A0, A0, -3), arguments=[DATA]).trap == "store-access"  # half of it on the page before
    machine.memory.protect(DATA, DATA + 4096, 2)
    assert call(load(A0, A0), arguments=[DATA]).trap == "load-access"
    machine.memory.write(DATA, e.words(RETURN))
    assert machine.call(DATA).trap == "instruction-access"
    machine.memory.protect(DATA, DATA + 4096, 4)
    assert machine.call(DATA).outcome == "returned"
    machine.memory.protect(DATA, DATA + 4096, 3)  # what was decoded doesn't run on
    assert machine.call(DATA).trap == "instruction-access"


def test_ranges_keep_the_core_out_to_the_byte(machine: Any, call: Call) -> None:
    machine.memory.add_range(DATA + 16, DATA + 32, "operand A", cpu_forbidden=True)
    assert call(load(A0, A0, 8), arguments=[DATA]).outcome == "returned"
    result = call(load(A0, A0, 9), arguments=[DATA])
    assert (result.trap, result.address) == ("load-access", DATA + 9)
    assert "operand A" in result.text
    assert call(store(A0, 0, 31, 0), arguments=[DATA]).trap == "store-access"
    assert call(store(A0, 0, 32, 0), arguments=[DATA]).outcome == "returned"
    machine.memory.clear_ranges()
    assert call(store(A0, 0, 31, 0), arguments=[DATA]).outcome == "returned"


def test_stores_of_the_core_leave_their_mark(machine: Any, call: Call) -> None:
    machine.memory.track(DATA + 8, DATA + 24, 4)
    call(store(A0, 0, 4), store(A0, 0, 22, 0), arguments=[DATA])
    assert machine.memory.provenance(DATA, DATA + 32) == bytes(8) + b"\2" * 4 + b"\4" * 10 + b"\2\4" + bytes(8)


@pytest.mark.parametrize("timed", [False, True])
def test_code_that_changes_itself(call: Call, timed: bool) -> None:
    # Stores `addi a0, a0, 2` over the first of two `addi a0, a0, 1`, in a loop of two rounds.
    new = e.addi(A0, A0, 2)
    body = [
        e.addi(A2, 0, 2),
        e.addi(A0, A0, 1),
        *e.load_constant(T1, new),
        e.u_type(e.AUIPC, T0, 0),
    ]
    at = 4 * (len(body) - 1)
    body += [store(T0, T1, 4 - at, 2), e.FENCE_I, e.addi(A2, A2, -1)]
    body += [e.branch(1, A2, 0, 4 - 4 * len(body))]
    assert call(*body, timed=timed).code == 3


def test_output_goes_to_the_host_and_is_bounded(call: Call, machine: Any) -> None:
    machine.memory.write(DATA, b"hello")
    write = [e.addi(17, 0, 64), e.addi(A2, 0, 5), e.addi(A0, 0, 1), e.ECALL]
    result = call(*write, *write, arguments=[0, DATA])
    assert (result.outcome, result.output) == ("returned", b"hellohello")
    result = call(*write, *write, arguments=[0, DATA], output_bytes=7)
    assert (result.outcome, result.limit, result.output) == ("limit", "output", b"hellohe")
    result = call(*write, arguments=[0, BASE + (1 << 20) - 2])
    assert (result.outcome, result.trap, result.output) == ("trap", "load-access", b"")


def host_program(*instructions: int) -> bytes:
    """An ELF that has `tohost` at DATA and `fromhost` behind it; t0 holds the address of tohost."""
    code = e.words(*e.load_constant(T0, DATA), *instructions, e.jal(0, 0))
    return e.elf(
        [(BASE, code.ljust(0x8000, b"\0") + bytes(256), 7)],
        entry=BASE,
        symbols={"tohost": DATA, "fromhost": DATA + 64},
    )


@pytest.mark.parametrize(("value", "code"), [(1, 0), (3, 1), (2469, 1234)])
def test_tohost_ends_the_program(machine: Any, value: int, code: int) -> None:
    machine.load(host_program(*e.load_constant(A0, value), store(T0, A0)))
    result = machine.run(instructions=1000)
    assert (result.outcome, result.code) == ("exited", code)


def test_tohost_prints(machine: Any) -> None:
    # The request: write(1, text, 3); then putchar of "!"; then exit with 5 by a call.
    values = [64, 1, DATA + 128, 3]
    program = [e.addi(A1, T0, 192)]
    for i, value in enumerate(values):
        program += [*e.load_constant(A0, value), store(A1, A0, 8 * i)]
    program += [store(T0, A1), load(13, T0, 64), load(14, A1, 0)]
    program += [*e.load_constant(A0, 1 << 56 | 1 << 48 | ord("!")), store(T0, A0)]
    program += [*e.load_constant(A0, 93), store(A1, A0), *e.load_constant(A0, 5), store(A1, A0, 8), store(T0, A1)]
    machine.load(host_program(*program))
    machine.memory.write(DATA + 128, b"abc")
    result = machine.run(instructions=1000)
    assert (result.outcome, result.code, result.output) == ("exited", 5, b"abc!")
    assert (machine.register(13), machine.register(14)) == (1, 3)  # fromhost, and the call's result


def test_a_request_from_outside_the_memory_is_a_trap(machine: Any) -> None:
    machine.load(host_program(*e.load_constant(A0, 0x1000), store(T0, A0)))
    assert machine.run(instructions=1000).trap == "load-access"


def test_counts_by_address_are_closed(call: Call, machine: Any) -> None:
    loop = [e.addi(A0, 0, 10), e.addi(A0, A0, -1), e.r_type(e.OP, A1, 0, A1, A1, 1), e.branch(1, A0, 0, -8)]
    result = call(*loop, timed=True, profile=True)
    rows = {pc - BASE: (instructions, cycles) for pc, instructions, cycles, _, _ in machine.counts()}
    assert {pc: row[0] for pc, row in rows.items()} == {0: 1, 4: 10, 8: 10, 12: 10, 16: 1}
    assert sum(row[0] for row in rows.values()) == result.instructions
    assert sum(row[1] for row in rows.values()) == result.cycles
    unprofiled = call(*loop, timed=True)
    assert unprofiled.cycles == result.cycles
    functional = call(*loop, profile=True)
    assert [row[:2] for row in machine.counts()] == [(BASE + pc, row[0]) for pc, row in rows.items()]
    assert functional.instructions == result.instructions


def test_runs_are_deterministic(call: Call) -> None:
    body = [e.addi(A0, 0, 500), e.addi(A0, A0, -1), load(A1, 2, -8), e.branch(1, A0, 0, -8)]
    results = [call(*body, timed=True) for _ in range(3)]
    assert len({(r.cycles, r.instructions, tuple(r.stalls.items())) for r in results}) == 1


def test_bad_arguments_are_refused(machine: Any) -> None:
    with pytest.raises(ValueError, match="no parameter"):
        _native.Machine(1 << 20, parameters={"rocket.unknown": 1})
    with pytest.raises(ValueError, match="between"):
        _native.Machine(1 << 20, parameters={"rocket.flush": -1})
    with pytest.raises(ValueError, match="whole"):
        _native.Machine(1 << 20, parameters={"rocket.flush": 1.5})
    with pytest.raises(ValueError, match="memory"):
        _native.Machine(0)
    with pytest.raises(ValueError, match="multiple"):
        _native.Machine(4096, 1)
    with pytest.raises(ValueError, match="8 arguments"):
        machine.call(BASE, list(range(9)))
    with pytest.raises(IndexError):
        machine.memory.read(BASE + (1 << 20), 1)
    with pytest.raises(IndexError):
        machine.memory.write(BASE - 1, b"x")


def test_every_parameter_names_its_source() -> None:
    parameters = _native.rocket_parameters()
    assert len(parameters) > 30
    assert all(name.startswith("rocket.") and source for name, (_, source) in parameters.items())


def test_machines_leave_nothing_behind() -> None:
    def one() -> None:
        machine = _native.Machine(8 << 20)
        machine.memory.fill(BASE, 8 << 20, 1)
        for _ in range(3):
            machine.attach(_native.QueueCoprocessor(machine.memory, 1, 1))

    one()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        one()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # of 480 MiB
