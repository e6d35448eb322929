"""Decodes Intel binaries: `decode(data, path=…)` gives every instruction of every kernel and function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strop.stalls.instruction import Binary, Flow, Function, Instruction, Register, Use
from strop.stalls.intel import flowing, lines
from strop.stalls.intel import operands as registers
from strop.stalls.intel.disassemble import Row, disassemble
from strop.stalls.intel.forms import Form, Forms, Scoreboard
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.operands import Operands, Sources, Splits
from strop.stalls.intel.swsb import Generation
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
    reader = Reader(made.generation)
    for code, said in zip(made.codes, rows, strict=True):
        yield from _functions(reader, code, said, found)


def _functions(reader: Reader, code: Code, rows: Sequence[Row], found: lines.Lines) -> Iterator[Function]:
    starts = flowing.starts(rows)
    size = rows[-1].pc + rows[-1].size if rows else 0
    ends = [*starts[1:], size]
    names = {start: code.labels.get(start, f"{code.name}+{start:#x}") if start else code.name for start in starts}
    for start, end in zip(starts, ends, strict=True):
        inside = rows if len(starts) == 1 else [row for row in rows if start <= row.pc < end]
        yield Function(
            name=names[start],
            arch=NAMES[reader.generation],
            address=code.address + start,
            size=end - start,
            is_kernel=code.is_kernel and start == 0,
            instructions=tuple(_instructions(reader, code, inside, (start, end), names, found)),
        )


def _instructions(
    reader: Reader,
    code: Code,
    rows: Sequence[Row],
    bounds: tuple[int, int],
    names: dict[int, str],
    found: lines.Lines,
) -> Iterator[Instruction]:
    whats = [reader.read(row.node) if row.node is not None else None for row in rows]
    splits = Splits(what.operands for what in dict.fromkeys(whats) if what is not None and what.operands is not None)
    known: dict[int, tuple[tuple[Register, ...], tuple[Use, ...]]] = {}  # defs and uses, by what was read
    first, address = bounds[0], code.address
    for row, what in zip(rows, whats, strict=True):
        pc, source = row.pc - first, found.at(address + row.pc)
        board = what.form.scoreboard(row) if what is not None else None
        if what is None or board is None or what.operands is None or not what.is_known:
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
        each, form = what.operands, what.form
        used = known.get(id(what))
        if used is None:
            used = known[id(what)] = splits.defs(each), splits.uses(each)
        goes = flowing.control(what.node, function=bounds, names=names) if what.may_go else None
        yield Instruction(
            pc=pc,
            size=row.size,
            opcode=_opcode(row.text),
            text=row.text,
            kind=form.kind or "control",
            pipe=form.unit,
            guard=each.guard,
            defs=used[0],
            uses=used[1],
            memory=form.memory,
            waits=board.waits,
            pends=board.pends,
            control=goes,
            latency=form.latency,
            variable=board.takes,
            source=source,
            notes=_notes(each, form, board, goes is not None and goes.flow is Flow.EXIT),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What an instruction's JSON says, wherever it stands: `operands` is None where they can't be read.

    `is_known`: a table has its opcode. `may_go`: control may go elsewhere from it.
    """

    node: Node
    form: Form
    operands: Operands | None
    is_known: bool
    may_go: bool


class Reader:
    """Reads the instructions of a binary, each node once: those that say the same are one node."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self._forms, self._sources = Forms(generation), Sources()
        self._read: dict[int, Read] = {}  # by node; held, so that no other takes its place

    def read(self, node: Node) -> Read:
        """Read an instruction's JSON."""
        found = self._read.get(id(node))
        if found is None:
            form = self._forms.of(node)
            is_known = form.kind is not None or node["op"] == "illegal"
            may_go = flowing.may_go(node)
            operands = _operands(node, self.generation, self._sources)
            found = self._read[id(node)] = Read(node, form, operands, is_known, may_go)
        return found


def _opcode(text: str) -> str:
    """The opcode of a text that may begin with a predicate: `(W&~f0.0) jmpi …` is `jmpi`."""
    rest = text.partition(")")[2].strip() if text.startswith("(") else text
    return rest.partition(" ")[0]


def _operands(node: Node, generation: Generation, sources: Sources) -> Operands | None:
    try:
        return registers.decode(node, generation, sources)
    except (KeyError, TypeError, ValueError):
        return None


def _notes(operands: Operands, form: Form, board: Scoreboard, is_exit: bool) -> tuple[tuple[str, str], ...]:
    if not (operands.indirect or form.message or operands.special):
        return board.notes
    found: list[tuple[str, str]] = []
    if operands.indirect:
        found.append(("indirect", "registers named by an address register: which, is known only when it runs"))
    if form.message and not is_exit:
        found.append(("message", form.message))
    if operands.special:
        found.append(("orders", f"the thread's own state ({operands.special}): nothing else is under way then"))
    return (*found, *board.notes)
