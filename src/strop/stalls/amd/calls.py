"""What a call and a return do to registers, by the compiler's calling convention, and merging loads.

Without this a value that the callee returns would seem to be the one that the caller had there before, and waits for
what a caller or a callee reads would seem to serve nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from strop.stalls.instruction import Flow, Instruction, Register, Role, Use

# LLVM, User Guide for AMDGPU Backend, "Non-Kernel Functions", and AMDGPUCallingConv.td: arguments and results in v0 to
# v31 and s0 to s29; VGPRs from 40 are the callee's and the caller's in turns of eight; AGPRs from 32 are kept.
ARGUMENTS = {"v": 32, "s": 30}
FIRST_KEPT = {"v": 40, "a": 32, "s": 30}
TURN = 8


def is_kept(register: Register) -> bool:
    """Whether a callee gives a register back as it was."""
    first = FIRST_KEPT.get(register.space)
    if first is None:
        return register.space not in ("vcc", "scc", "m0")
    if register.index < first:
        return False
    return register.space != "v" or (register.index - first) // TURN % 2 == 0


def with_calls(code: Sequence[Instruction], leaves: Mapping[str, frozenset[Register]]) -> tuple[Instruction, ...]:
    """Give calls the registers that they write, and returns those that the caller may read.

    Only registers that the function itself names are added; to a return, those that something of variable latency
    defines. A call reads nothing that it would wait for: the callee waits for all counters when it begins.
    """
    if not any(each.control and each.control.flow in (Flow.CALL, Flow.RETURN) for each in code):
        return tuple(code)
    mentioned = {register for each in code for register in each.defs}
    mentioned |= {use.register for each in code for use in each.uses}
    slow = sorted({register for each in code if each.variable for register in each.defs})
    made = []
    for each in code:
        flow = each.control.flow if each.control else None
        if flow is Flow.CALL:
            target = each.control.targets[0] if each.control and each.control.targets else None
            written = leaves.get(str(target))
            if written is None:
                written = frozenset(register for register in mentioned if not is_kept(register))
            defs = (*each.defs, *sorted(written & mentioned - set(each.defs)))
            each = replace(each, defs=defs)
        elif flow is Flow.RETURN:
            each = replace(each, uses=each.uses + _read(each, slow))
        made.append(each)
    return tuple(made)


def _read(each: Instruction, slow: Sequence[Register]) -> tuple[Use, ...]:
    named = {use.register for use in each.uses}
    return tuple(
        Use(register, Role.IMPLICIT)
        for register in slow
        if register not in named and (register.index < ARGUMENTS.get(register.space, 0) or is_kept(register))
    )


def with_merges(code: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Note which loads merge into what an earlier load on the same counter leaves in the register.

    A d16 load keeps half of its destination. Both arrive in order of issue, so that the second needs no wait for the
    first: the note `forwards` on both says so. Not where the second also takes an address from the register.
    """
    merging: dict[int, list[str]] = {}
    for index, each in enumerate(code):
        if each.memory is None or not each.defs or "d16" not in each.opcode or not each.pends:
            continue
        address = {use.register for use in each.uses if use.role is Role.ADDRESS}
        merging[index] = [f"{each.pends[0].resource} {register}" for register in each.defs if register not in address]
    if not any(merging.values()):
        return tuple(code)
    wanted = {name for names in merging.values() for name in names}
    made = []
    for index, each in enumerate(code):
        names = list(merging.get(index, ()))
        if each.memory is not None and each.defs and len(each.pends) == 1 and each.pends[0].in_order:
            given = (f"{each.pends[0].resource} {register}" for register in each.defs)
            names += [name for name in given if name in wanted and name not in names]
        notes = each.notes + tuple(("forwards", name) for name in names)
        made.append(replace(each, notes=notes) if names else each)
    return tuple(made)
