"""Where iga64's reaching definitions rest on another reading than ours, and what is found with that reading.

The oracle is `iga64 -Xprint-deps`. Each entry of `READINGS` says what iga64 takes for granted and why we don't. A test
changes our decoded code to iga64's readings, and only there: whatever still differs is a mistake of one of us.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.operands import SLOT
from strop.stalls.instruction import Control, Flow, Function, Instruction, Register, Role, Use

Edges = set[tuple[int, int]]  # pcs of a consumer and a producer
Reading = Callable[[Instruction, Function], Instruction]


def edges(function: Function) -> Edges:
    """What reaches what, as pcs; values in stack slots, which iga64 doesn't follow, left out."""
    code = function.instructions
    return {
        (code[index].pc, code[producer].pc)
        for index, reads in enumerate(Definitions(Graph(function)).reads)
        for read in reads
        if not read.register.space.startswith(SLOT)
        for producer in read.definitions
    }


def joins_jump(code: Instruction, function: Function) -> Instruction:
    """A `join` jumps on where it leaves no lane enabled. Then no lane is under way, and no lane's value is either.

    Each lane that does something after the target came there by another branch, past that branch's definitions. iga64
    takes the jump for a path of its own, on which definitions of the code in between are missing.
    """
    found = re.match(r"join\b.* L(\d+)", code.text)
    if found is None:
        return code
    return replace(code, control=Control(Flow.BRANCH, (int(found[1]) - _start(function),), True))


def _start(function: Function) -> int:
    """Where in its kernel's code a function begins: `name+0x…` names called parts."""
    return int(function.name.rpartition("+")[2], 16) if "+0x" in function.name else 0


def headers_have_one_dword(code: Instruction, function: Function) -> Instruction:
    """The header of an old block message holds its offset in the third dword, which the compiler sets just before.

    iga64 takes only the first dword to be read.
    """
    if dict(code.notes).get("message") != "block" or ".dc" not in code.opcode:
        return code
    header = [use.register for use in code.uses if use.role is Role.ADDRESS and use.register.space.startswith("r")]
    beyond = [register for register in header if register.index > header[0].index]
    return replace(code, uses=tuple(use for use in code.uses if use.register not in beyond))


def surfaces_are_not_read(code: Instruction, function: Function) -> Instruction:
    """A message to a surface `[a0.2]` reads that address register; iga64 leaves it out."""
    if code.memory is None:
        return code
    return replace(code, uses=tuple(use for use in code.uses if not use.register.space.startswith("a")))


def states_are_not_followed(code: Instruction, function: Function) -> Instruction:
    """`cr0` is set and read to set the rounding mode; iga64 doesn't follow it."""
    return replace(code, uses=tuple(use for use in code.uses if use.register.space not in ("cr", "sr")))


def calls_write_a_register(code: Instruction, function: Function) -> Instruction:
    """A call writes two dwords (where to return, and which lanes); iga64 takes it to write one for each lane.

    The compiler keeps values in the rest of the register over the call.
    """
    if code.control is None or code.control.flow is not Flow.CALL or not code.defs:
        return code
    first = code.defs[0]
    lanes = re.search(r"\((\d+)\|", code.text)
    assert lanes is not None
    return replace(code, defs=tuple(Register(first.space, first.index + lane) for lane in range(int(lanes[1]))))


def borrows_are_read(code: Instruction, function: Function) -> Instruction:
    """`subb` writes the borrow to the accumulator, as `addc` does the carry; iga64 takes the first to read it, too."""
    if code.opcode != "subb":
        return code
    borrows = (register for register in code.defs if register.space.startswith("acc"))
    return replace(code, uses=(*code.uses, *(Use(register, Role.IMPLICIT) for register in borrows)))


READINGS: tuple[Reading, ...] = (
    joins_jump,
    headers_have_one_dword,
    surfaces_are_not_read,
    states_are_not_followed,
    calls_write_a_register,
    borrows_are_read,
)


def as_iga64_reads(function: Function, readings: tuple[Reading, ...] = READINGS) -> Function:
    """The function with other readings."""
    code = []
    for instruction in function.instructions:
        for reading in readings:
            instruction = reading(instruction, function)
        code.append(instruction)
    return replace(function, instructions=tuple(code))
