"""Decodes Intel binaries: `decode(data, path=…)` gives every instruction of every kernel and function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from strop.stalls.instruction import Binary, Flow, Function, Instruction
from strop.stalls.intel import flowing, lines
from strop.stalls.intel import operands as registers
from strop.stalls.intel.disassemble import Row, disassemble
from strop.stalls.intel.forms import Form, Forms, Scoreboard
from strop.stalls.intel.operands import Operands, Splits
from strop.stalls.intel.swsb import Generation, Token
from strop.stalls.intel.zebin import Code, Zebin, read

__all__ = ["decode", "decode_rows"]

NAMES = {Generation.XE_HPG: "xehpg", Generation.XE_HPC: "xehpc"}


def decode(data: bytes, *, path: str) -> Binary:
    """Decode a zebin of Xe-HPG or Xe-HPC.

    A function's address is its section's address and its offset in it, as PC samples give it. Raises
    :class:`UnreadableBinary`, :class:`UnknownArchitecture`, :class:`DisassemblerMissing`, :class:`DisassemblerFailed`.
    """
    made = read(data, path=path)
    rows = disassemble([code.data for code in made.codes], made.generation, path=path)
    found = lines.read(data, made.section_names)
    return Binary(
        path=path,
        vendor="intel",
        arch=NAMES[made.generation],
        digest=hashlib.sha256(data).hexdigest(),
        functions=tuple(decode_rows(made, rows, found)),
        missing=(found.missing,) if found.missing else (),
    )


def decode_rows(made: Zebin, rows: Sequence[Sequence[Row]], found: lines.Lines) -> Iterator[Function]:
    """Functions from disassembled rows: what `decode` does after the disassembler ran."""
    forms = Forms(made.generation)
    for code, said in zip(made.codes, rows, strict=True):
        yield from _functions(forms, code, said, found)


def _functions(forms: Forms, code: Code, rows: Sequence[Row], found: lines.Lines) -> Iterator[Function]:
    starts = flowing.starts(rows)
    size = rows[-1].pc + rows[-1].size if rows else 0
    ends = [*starts[1:], size]
    names = {start: code.labels.get(start, f"{code.name}+{start:#x}") if start else code.name for start in starts}
    for start, end in zip(starts, ends, strict=True):
        inside = [row for row in rows if start <= row.pc < end]
        yield Function(
            name=names[start],
            arch=NAMES[forms.generation],
            address=code.address + start,
            size=end - start,
            is_kernel=code.is_kernel and start == 0,
            instructions=tuple(_instructions(forms, code, inside, (start, end), names, found)),
        )


def _instructions(
    forms: Forms,
    code: Code,
    rows: Sequence[Row],
    bounds: tuple[int, int],
    names: dict[int, str],
    found: lines.Lines,
) -> Iterator[Instruction]:
    read_all = [_operands(row, forms.generation) for row in rows]
    splits = Splits(each for each in read_all if each is not None)
    for row, each in zip(rows, read_all, strict=True):
        source = found.at(code.address + row.pc)
        form = forms.of(row.node) if row.node is not None else None
        board = form.scoreboard(row) if form is not None else None
        pc = row.pc - bounds[0]
        if (
            row.node is None
            or form is None
            or each is None
            or board is None
            or (form.kind is None and row.node["op"] != "illegal")
        ):
            # What it is, nobody knows; its scoreboard, where readable, is kept: others wait for its token.
            yield Instruction(
                pc=pc,
                size=row.size,
                opcode=str(row.node["op"]) if row.node is not None else "?",
                text=row.text,
                known=False,
                waits=board.waits if board is not None else (),
                pends=board.pends if board is not None else (),
                source=source,
            )
            continue
        goes = flowing.control(row.node, function=bounds, names=names)
        yield Instruction(
            pc=pc,
            size=row.size,
            opcode=_opcode(row.text),
            text=row.text,
            kind=form.kind or "control",
            pipe=form.unit,
            guard=each.guard,
            defs=splits.defs(each),
            uses=splits.uses(each),
            memory=form.memory,
            waits=board.waits,
            pends=board.pends,
            control=goes,
            latency=form.latency,
            variable=board.said.token is not None and board.said.use is Token.SET,
            source=source,
            notes=_notes(each, form, board, goes is not None and goes.flow is Flow.EXIT),
        )


def _opcode(text: str) -> str:
    """The opcode of a text that may begin with a predicate: `(W&~f0.0) jmpi …` is `jmpi`."""
    rest = text.partition(")")[2].strip() if text.startswith("(") else text
    return rest.partition(" ")[0]


def _operands(row: Row, generation: Generation) -> Operands | None:
    if row.node is None:
        return None
    try:
        return registers.decode(row.node, generation)
    except (KeyError, TypeError, ValueError):
        return None


def _notes(operands: Operands, form: Form, board: Scoreboard, is_exit: bool) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if operands.indirect:
        found.append(("indirect", "registers named by an address register: which, is known only when it runs"))
    if form.message and not is_exit:
        found.append(("message", form.message))
    if operands.special:
        found.append(("orders", f"the thread's own state ({operands.special}): nothing else is under way then"))
    if board.text:
        found.append(("swsb", board.text))
    return tuple(found)
