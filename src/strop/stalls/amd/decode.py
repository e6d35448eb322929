"""Decodes AMD binaries: `decode(data, path=…)` gives every instruction of every function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from strop.stalls.amd import lines as line_table
from strop.stalls.amd.bundle import code_objects
from strop.stalls.amd.calls import with_calls, with_merges
from strop.stalls.amd.code_object import CodeObject, Range, read
from strop.stalls.amd.control import Constants, control, starts
from strop.stalls.amd.disassemble import Line, disassemble
from strop.stalls.amd.latency import latency
from strop.stalls.amd.operands import Decoded
from strop.stalls.amd.operands import decode as decode_text
from strop.stalls.amd.stack import stack_resources
from strop.stalls.amd.sync import DEPENDENCY, dependency_pends, pends, waits, with_one_kind
from strop.stalls.instruction import Binary, Control, Flow, Function, Instruction, Latency, Pend, Register, Source

__all__ = ["decode", "decode_lines"]


def decode(data: bytes, *, path: str) -> Binary:
    """Decode a code object, an offload bundle or a host program with code objects in it.

    A function's address is its ELF virtual address, as PC samples give it. Raises :class:`UnreadableBinary`,
    :class:`UnknownArchitecture`, :class:`DisassemblerMissing`, :class:`DisassemblerFailed`.
    """
    functions: list[Function] = []
    missing: dict[str, None] = {}
    names: dict[str, None] = {}
    for raw in code_objects(data, path=path):
        made = read(raw, path=path)
        said = disassemble(raw, made, path=path)
        found = line_table.read(raw, made)
        functions += decode_lines(made, said, found)
        names[made.architecture.isa] = None
        if found.missing:
            missing[found.missing] = None
        if made.named < len(made.functions):
            missing[f"symbols of {len(made.functions) - made.named} functions"] = None
    return Binary(
        path=path,
        vendor="amd",
        arch=",".join(names),
        digest=hashlib.sha256(data).hexdigest(),
        functions=tuple(functions),
        missing=tuple(missing),
    )


def decode_lines(made: CodeObject, said: dict[int, tuple[Line, ...]], found: line_table.Lines) -> Iterator[Function]:
    """Functions from disassembled text: what `decode` does after the disassembler ran."""
    names = {each.address: each.name for each in made.functions}
    leaves = _leaves(made, said)
    for each in made.functions:
        wave = each.descriptor.wave if each.descriptor else made.wave
        yield Function(
            name=each.name,
            arch=made.architecture.isa,
            address=each.address,
            size=len(each.data),
            is_kernel=each.descriptor is not None,
            instructions=with_one_kind(
                with_merges(
                    with_calls(tuple(_instructions(made, each, said[each.address], found, wave, names, leaves)), leaves)
                )
            ),
        )


def _instructions(
    made: CodeObject,
    function: Range,
    said: Sequence[Line],
    found: line_table.Lines,
    wave: int,
    names: dict[int, str],
    leaves: dict[str, frozenset[Register]],
) -> Iterator[Instruction]:
    family = made.architecture.family
    scratch = stack_resources([line.text for line in said], family, function.descriptor)
    decoded = [decode_text(line.text, family, wave, scratch) for line in said]
    pcs = [line.address - function.address for line in said]
    words = [int.from_bytes(function.data[pc : pc + 4], "little") for pc in pcs]
    labels = starts(decoded, pcs, words)
    waited = _waited(decoded, words, family)
    constants = Constants(made.got)
    for line, each, pc, word in zip(said, decoded, pcs, words, strict=True):
        if pc in labels:
            constants.forget()
        goes = control(
            each,
            word=word,
            pc=pc,
            address=function.address,
            size=len(function.data),
            is_kernel=function.descriptor is not None,
            constants=constants,
            names=names,
        )
        yield _instruction(line, each, pc, word, family, wave, waited, goes, found.at(line.address))
        constants.step(each, line.address + line.size)
        if goes is not None and goes.flow is Flow.CALL:
            constants.forget(leaves.get(str(goes.targets[0])) if goes.targets else None)


def _leaves(made: CodeObject, said: dict[int, tuple[Line, ...]]) -> dict[str, frozenset[Register]]:
    """Functions that call none, and the registers that each writes: the compiler keeps values in the others."""
    found = {}
    for function in made.functions:
        lines = said[function.address]
        if function.descriptor or any(line.text.startswith(("s_swap", "s_call", ".long")) for line in lines):
            continue
        decoded = (decode_text(line.text, made.architecture.family, 64) for line in lines)
        found[function.name] = frozenset(
            register for each in decoded for register in each.defs if register.space != "exec"
        )
    return found


def _waited(decoded: Sequence[Decoded], words: Sequence[int], family: str) -> tuple[str, ...]:
    """The dependency counters that the function waits for: only for these do setters pend."""
    if family.startswith("gfx9"):
        return ()
    named = {
        wait.resource
        for each, word in zip(decoded, words, strict=True)
        if each.made and (each.made.kind in ("wait", "load") or "wait_" in " ".join(each.text.modifiers))
        for wait in waits(each, word, family)
    }
    return tuple(name for name in DEPENDENCY if name in named)


def _instruction(
    line: Line,
    each: Decoded,
    pc: int,
    word: int,
    family: str,
    wave: int,
    waited: tuple[str, ...],
    goes: Control | None,
    source: Source | None,
) -> Instruction:
    if each.made is None:
        return Instruction(pc=pc, size=line.size, opcode=each.text.opcode, text=line.text, known=False, source=source)
    counted, time, issue, notes = _fixed(line.text, each, family, wave)
    return Instruction(
        pc=pc,
        size=line.size,
        opcode=each.text.opcode,
        text=line.text,
        kind=each.made.kind,
        pipe=each.made.pipe,
        defs=each.defs,
        uses=each.uses,
        memory=each.memory,
        waits=waits(each, word, family),
        pends=counted + dependency_pends(each, waited) if waited else counted,
        control=goes,
        latency=time,
        variable=bool(counted),
        issue_cycles=issue,
        source=source,
        notes=notes,
    )


_Fixed = tuple[tuple[Pend, ...], Latency | None, int, tuple[tuple[str, str], ...]]
_FIXED: dict[tuple[str, str, int, str], _Fixed] = {}
MOST_FIXED = 65536


def _fixed(text: str, each: Decoded, family: str, wave: int) -> _Fixed:
    """What the same text always has: most texts of a function occur more than once."""
    key = (text, family, wave, each.event)
    known = _FIXED.get(key)
    if known is None:
        notes: tuple[tuple[str, str], ...] = ()
        if each.text.opcode == "s_delay_alu":
            notes = (("delay", text.partition(" ")[2]),)
        elif len(each.halves) > 1:
            notes = (("dual", " ".join(each.halves)),)
        known = (pends(each, family), *latency(each, family, wave), notes)
        if len(_FIXED) >= MOST_FIXED:
            _FIXED.clear()
        _FIXED[key] = known
    return known
