"""One run of a candidate on the simulated machine: its operands laid out and fenced in, the clock around `solution`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strop.errors import BadElf
from strop.kernels.problem import Host, Problem, Role
from strop.kernels.targets.gemmini.layout import BASE, PROGRAM_BYTES, layout
from strop.kernels.targets.gemmini.lines import SourceLines
from strop.kernels.targets.gemmini.machine import Core
from strop.kernels.targets.target import Outcome, Refusal, Refused, Trial
from strop.values.verdict import Verdict

ROWS_A_CYCLE = 4  # that move at most: one in, one through the array, one out, and one to spare
REGISTERS = 8  # arguments beyond these stand on the stack
READ, WRITE = 1, 2
ARRAY, CORE = 1, 2  # bits of provenance; operand i has bit 2 + i


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled candidate, and the source line of each of its addresses."""

    elf: bytes
    lines: SourceLines
    loops: bool  # the loop unrollers are allowed


def run(
    problem: Problem, program: Program, trial: Trial, values: Mapping[str, float], *, most_cycles: int, events: int = 0
) -> Outcome:
    """Run a candidate once on fresh state."""
    import numpy as np

    planned = trial.planned
    where = layout(problem.buffers, planned.placement)
    core = Core(
        {**values, "limit.cycles": float(most_cycles)},
        memory_bytes=where.memory_bytes,
        timed=planned.timed,
        poison=planned.poison,
        loops=program.loops,
    )
    machine, gemmini, memory = core.machine, core.gemmini, core.machine.memory
    loaded = _loaded(core, program)
    if not planned.timed:
        gemmini.limit_rows(ROWS_A_CYCLE * most_cycles)
    if events:
        gemmini.record(events)
    _fence_in(memory, problem, where, loaded, planned.poison, trial)
    arguments = [where.operands[buffer.name] for buffer in problem.buffers]
    stack = where.stack_high - 16 * ((len(arguments) - REGISTERS + 1) // 2 + 1 if len(arguments) > REGISTERS else 0)
    for number, address in enumerate(arguments[REGISTERS:]):
        memory.write(stack + 8 * number, address.to_bytes(8, "little"))
    done = machine.call(
        loaded["symbols"]["solution"], arguments[:REGISTERS], stack, instructions=most_cycles, cycles=most_cycles,
        output_bytes=1 << 16, timed=planned.timed,
    )  # fmt: skip
    cycles = max(done.cycles, done.idle_cycle)
    buffers = {
        buffer.name: np.frombuffer(memory.read(where.operands[buffer.name], buffer.nbytes), buffer.dtype).reshape(
            buffer.shape
        )
        for buffer in problem.buffers
    }
    broken = _ended(done, program, problem, where.operands) or _descended(problem, memory, where.operands)
    detail: dict[str, Any] = {
        "instructions": done.instructions,
        "commands": done.commands,
        "stream": done.stream,
        "work": gemmini.work(),
    }
    if planned.timed:
        detail |= {"account": gemmini.account(), "cycles": cycles}
        detail["work"]["store_bytes"] = detail["account"]["counters"]["bytes_written"]
    return Outcome(
        trial=trial, buffers=buffers, cost=(float(cycles),) if planned.timed else (), broken=broken, detail=detail
    )


def _loaded(core: Core, program: Program) -> dict[str, Any]:
    """Load the program. Raises :class:`Refused` where it isn't one that may run."""
    try:
        loaded = core.load(program.elf, protect=True)
    except BadElf as error:
        raise Refused(Verdict.LIMIT, f"the program and its data take more than {PROGRAM_BYTES >> 20} MiB") from error
    if "solution" not in loaded["symbols"]:
        raise Refused(Verdict.COMPILE_ERROR, "there is no function called solution that others can see")
    for name in ("tohost", "fromhost"):
        if name in loaded["symbols"]:
            raise Refused(Verdict.ILLEGAL, f"the name {name}: a candidate doesn't talk to the host")
    if any(not BASE <= begin <= begin + size <= BASE + PROGRAM_BYTES for begin, size, _ in loaded["segments"]):
        raise Refused(Verdict.LIMIT, f"the program and its data take more than {PROGRAM_BYTES >> 20} MiB")
    return loaded


def _fence_in(memory: Any, problem: Problem, where: Any, loaded: Any, poison: int, trial: Trial) -> None:
    """Fill and protect memory: nothing but the program, its stack and the operands can be touched."""
    end = BASE + where.memory_bytes
    memory.protect(BASE, end, 0)
    for address, size, permissions in loaded["segments"]:
        memory.protect(address, address + size, permissions)
    memory.fill(where.stack_low, where.stack_high - where.stack_low, poison)
    memory.protect(where.stack_low, where.stack_high, READ | WRITE)
    for number, buffer in enumerate(problem.buffers):
        begin = where.operands[buffer.name]
        if buffer.role is Role.OUTPUT:
            memory.fill(begin, buffer.nbytes, poison)
        else:
            memory.write(begin, trial.inputs[buffer.name].tobytes())
        closed = buffer.host is Host.NONE
        allowed = {Host.NONE: 0, Host.READ: READ, Host.WRITE: WRITE, Host.ANY: READ | WRITE}[buffer.host]
        memory.protect(begin, begin + buffer.nbytes, allowed)
        memory.add_range(
            begin, begin + buffer.nbytes, buffer.name, readable=True, writable=buffer.role is not Role.INPUT,
            cpu_forbidden=closed,
        )  # fmt: skip
        memory.track(
            begin, begin + buffer.nbytes, 1 << 2 + number if buffer.role is not Role.OUTPUT and number < 6 else 0
        )
    if not problem.blind:
        # The core's own results may go to the array: its data and its stack.
        for address, size, permissions in loaded["segments"]:
            if permissions & WRITE:
                memory.add_range(address, address + size, "the program's data")
        memory.add_range(where.stack_low, where.stack_high, "the stack")
    memory.restrict_dma(True)


def _ended(done: Any, program: Program, problem: Problem, operands: Mapping[str, int]) -> Refusal | None:
    """Say why a run that didn't return isn't one."""
    line = program.lines.at(done.pc)
    if done.outcome == "returned":
        return None
    if done.outcome == "limit":
        verdict = Verdict.LIMIT if done.limit == "output" else Verdict.RUN_TIMEOUT
        return Refusal(verdict, f"stopped after the most {done.limit} that it may take", line)
    if done.outcome == "exited":
        return Refusal(Verdict.CRASH, f"the program ended with exit code {done.code} before `solution` returned", line)
    if "accelerator ran for more" in done.text or "rows have been moved" in done.text:
        return Refusal(Verdict.RUN_TIMEOUT, done.text, line)
    found = re.search(r"\(command \d+, at 0x([0-9a-f]+)\)", done.text)
    if found is not None:
        line = program.lines.at(int(found[1], 16)) or line
    illegal = "dma" in done.trap or "command" in done.trap
    said = done.text
    for buffer in problem.buffers:
        if done.trap in ("load-access", "store-access") and 0 <= done.address - operands[buffer.name] < buffer.nbytes:
            illegal, said = True, f"the core touches {buffer.name}, which this problem doesn't let it ({done.text})"
    what = f"line {line}: {said}" if line else said
    return Refusal(Verdict.ILLEGAL if illegal else Verdict.CRASH, what, line)


def _descended(problem: Problem, memory: Any, operands: Mapping[str, int]) -> Refusal | None:
    """Say whether an output wasn't made from what the problem says it must be made from."""
    import numpy as np

    numbers = {buffer.name: number for number, buffer in enumerate(problem.buffers)}
    sizes = {buffer.name: buffer.nbytes for buffer in problem.buffers}
    hosts = {buffer.name: buffer.host for buffer in problem.buffers}
    for descent in problem.descents:
        begin = operands[descent.output]
        bits = np.frombuffer(memory.provenance(begin, begin + sizes[descent.output]), np.uint8)
        if hosts[descent.output] in (Host.NONE, Host.READ) and np.any(bits & CORE):
            return Refusal(Verdict.ILLEGAL, f"{descent.output} was written by the core")
        if descent.through_array and not np.all(bits & ARRAY):
            return Refusal(Verdict.NO_WORK, f"part of {descent.output} never went through the array")
        for name in descent.inputs:
            if numbers[name] < 6 and not np.all(bits & (1 << 2 + numbers[name])):
                return Refusal(Verdict.NO_WORK, f"part of {descent.output} was made without {name}")
    return None
