"""From a cubin, or a container of cubins, to functions of decoded instructions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from strop.errors import UnknownArchitecture, UnreadableBinary
from strop.stalls.instruction import Binary, Flow, Function, Guard, Instruction
from strop.stalls.nvidia import branches
from strop.stalls.nvidia.control import Control, control_of
from strop.stalls.nvidia.disassemble import Listing, Row, disassemble, parse
from strop.stalls.nvidia.elf import TEXT, Cubin, Section, Symbol, is_cubin, read_cubin
from strop.stalls.nvidia.fatbin import cubins
from strop.stalls.nvidia.opcodes import FIRST, LAST, Form, form_of
from strop.stalls.nvidia.operands import Effects, effects_of, hidden_descriptor, split_guard
from strop.stalls.nvidia.sync import member_of, sync_of

SIZE = 16  # bytes of an instruction since Volta


def decode(data: bytes, *, path: str, listing: str | None = None) -> Binary:
    """Decode a cubin, or all cubins of a fat binary or of a host program with fat binaries in it.

    A function's address is its offset in the cubin's file; its `arch` is the cubin's. `listing` is the text of
    `nvdisasm -c -g -gi -hex` of a cubin; without it nvdisasm is run. Raises :class:`UnreadableBinary`,
    :class:`UnknownArchitecture`, :class:`DisassemblerMissing`, :class:`DisassemblerFailed`.
    """
    parts = [data] if is_cubin(data) else [cubin for _, cubin in cubins(data, path=path)]
    if not parts:
        raise UnreadableBinary(path=path, reason="it holds no cubin")
    functions: list[Function] = []
    archs: dict[str, None] = {}
    missing: dict[str, None] = {}
    skipped: dict[str, None] = {}
    for part in parts:
        cubin = read_cubin(part, path=path)
        arch = f"sm_{cubin.sm}"
        if not FIRST <= cubin.sm <= LAST:
            skipped[arch] = None
            continue
        text = disassemble(part, path=path, sm=cubin.sm) if listing is None else listing
        decoder = _Decoder(cubin, parse(text), arch)
        found = tuple(function for section in cubin.sections for function in decoder.section(section))
        functions += found
        archs[arch] = None
        missing.update(dict.fromkeys(decoder.missing(found)))
    if skipped and not archs:
        raise UnknownArchitecture(path=path, arch=", ".join(skipped), known=f"sm_{FIRST} to sm_{LAST}")
    if not functions:
        raise UnreadableBinary(path=path, reason="it holds no code")
    missing.update(dict.fromkeys(f"code for {arch}, which strop doesn't know" for arch in skipped))
    return Binary(
        path=path,
        vendor="nvidia",
        arch=",".join(archs),
        digest=hashlib.sha256(data).hexdigest(),
        functions=tuple(functions),
        missing=tuple(missing),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A row taken apart, before it is known which scoreboard speaks for it."""

    row: Row
    form: Form
    operands: str
    comment: str
    guard: Guard | None
    never: bool
    effects: Effects
    control: Control


class _Decoder:
    def __init__(self, cubin: Cubin, listing: Listing, arch: str) -> None:
        self._cubin, self._listing, self._arch = cubin, listing, arch
        self._forms: dict[str, Form] = {}
        self._effects: dict[tuple[str, str], Effects] = {}
        self._lost = 0  # instructions in the file and not in the listing
        self._disagree = 0  # reuse bits unlike the text
        self._unknown: Counter[str] = Counter()
        self._starts: dict[str, list[tuple[int, str]]] = {}

    def section(self, section: Section) -> list[Function]:
        """The functions of a text section. Device functions often stand behind their kernel in one section."""
        if not section.name.startswith(TEXT) or not section.size:
            return []
        rows = _inside(self._listing.rows.get(section.name, ()), section.size)
        self._lost += max(0, section.size // SIZE - len(rows))
        if not rows:
            return []
        index = self._cubin.sections.index(section)
        symbols = sorted(
            {s.value: s for s in reversed(self._cubin.functions) if s.section == index}.values(), key=_start
        )
        if not symbols or symbols[0].value > 0:
            # without symbols only the section's name says what this is
            symbols.insert(0, Symbol(section.name[len(TEXT) :], index, 0, section.size, True))
        self._starts[section.name] = [(symbol.value, symbol.name) for symbol in symbols]
        ends = [*(symbol.value for symbol in symbols[1:]), section.size]
        found, at = [], 0
        for symbol, end in zip(symbols, ends, strict=True):
            begin = at
            while at < len(rows) and rows[at].offset < end:
                at += 1
            if at > begin:
                instructions = self._function(rows[begin:at], section.name, symbol.value, end)
                address = section.offset + symbol.value
                found.append(Function(
                    name=symbol.name, arch=self._arch, address=address, size=end - symbol.value,
                    is_kernel=symbol.is_kernel, instructions=instructions,
                ))  # fmt: skip
        return found

    def _function(self, rows: list[Row], section: str, start: int, end: int) -> tuple[Instruction, ...]:
        parts = [self._part(row) for row in rows]
        resolve = self._resolver(section, start, end)
        riders = _riders(parts)
        groups = frozenset(filter(None, (member_of(part.form, part.operands) for part in parts)))
        return tuple(
            _instruction(part, start, rider, groups, resolve) for part, rider in zip(parts, riders, strict=True)
        )

    def _part(self, row: Row) -> _Part:
        text, _, comment = row.text.partition("(*")
        guard, never, rest = split_guard(text)
        name, _, operands = rest.strip().partition(" ")
        name = name.rstrip(";")
        operands = operands.strip().rstrip(";").rstrip()
        form = self._forms.get(name)
        if form is None:
            form = self._forms[name] = form_of(name, self._cubin.sm)
        if not form.known:
            self._unknown[form.base] += 1
        effects = self._effects.get((name, operands))
        if effects is None:
            effects = self._effects[name, operands] = effects_of(form, operands)
        if 80 <= self._cubin.sm < 90 and form.memory is not None:
            hidden = hidden_descriptor(form, operands, row.low, row.high)
            effects = Effects(effects.defs, effects.uses + hidden, effects.memory)
        control = control_of(row.high)
        # nvdisasm prints no .reuse on texture instructions, whatever the bits say
        if text.count(".reuse") != control.reuse.bit_count() and form.pipe != "tex":
            self._disagree += 1
        return _Part(row, form, operands, comment, guard, never, effects, control)

    def _resolver(self, section: str, start: int, end: int) -> branches.Resolve:
        def resolve(target: str | int) -> int | str | None:
            if isinstance(target, str):
                place = self._listing.labels.get(target)
                if place is None:
                    return target  # a function of another module
                there, offset = place
            else:
                there, offset = section, target
            if there != section:
                return target if isinstance(target, str) else None
            for value, name in self._starts[section]:
                if value == offset and offset != start:
                    return name
            return offset - start if start <= offset < end else self._owner(section, offset)

        return resolve

    def _owner(self, section: str, offset: int) -> str | None:
        return next((name for value, name in reversed(self._starts[section]) if value <= offset), None)

    def missing(self, functions: tuple[Function, ...]) -> list[str]:
        """What the binary lacks and what couldn't be decoded, in words."""
        words = []
        if not any(i.source for function in functions for i in function.instructions):
            words.append("line information (compile with -lineinfo)")
        if self._unknown:
            names = ", ".join(f"{name} ({count})" for name, count in self._unknown.most_common(8))
            words.append(f"a table row for {sum(self._unknown.values())} instructions: {names}")
        if self._lost:
            words.append(f"the disassembly of {self._lost} instructions")
        if self._disagree:
            words.append(f"agreement of control word and text on {self._disagree} instructions: waits may be misread")
        return words


def _inside(rows: Sequence[Row], size: int) -> list[Row]:
    """The rows in order, each offset once, without what lies outside the section: a listing is data like any other."""
    if all(row.offset == place * SIZE for place, row in enumerate(rows)) and len(rows) * SIZE <= size:
        return list(rows)
    found = {row.offset: row for row in rows if 0 <= row.offset <= size - SIZE and row.offset % SIZE == 0}
    return [found[offset] for offset in sorted(found)]


def _start(symbol: Symbol) -> int:
    return symbol.value


def _riders(parts: list[_Part]) -> list[int | None]:
    """For each result without a scoreboard of its own, the next scoreboard of its queue.

    Results of a queue return in order, so that one speaks for those before it. Nothing rides past the end of a path.
    """
    found: list[int | None] = [None] * len(parts)
    following: dict[str, int] = {}
    for place in range(len(parts) - 1, -1, -1):
        part = parts[place]
        queue = part.form.in_order
        if queue is not None and part.form.variable:
            if part.control.write is not None:
                following[queue] = part.control.write
            elif part.effects.defs:
                found[place] = following.get(queue)
        elif part.form.base in ("EXIT", "RET", "BRA", "BRX", "JMP") and part.guard is None:
            following.clear()
    return found


def _instruction(
    part: _Part, start: int, rider: int | None, groups: frozenset[str], resolve: branches.Resolve
) -> Instruction:
    form, effects = part.form, part.effects
    waits, pends, notes = sync_of(form, part.operands, part.control, rider, groups)
    control = branches.control_of(form, part.operands, part.comment, part.guard is not None, resolve)
    if part.never:  # @!PT: only the waits take effect
        effects, pends, control = _NOTHING, (), control if control and control.flow is Flow.BARRIER else None
    if "SpillRefill" in part.comment:
        notes = (*notes, ("spill", "compiler"))
    variable = form.variable and any(register.space != "B" for register in effects.defs)
    return Instruction(
        pc=part.row.offset - start,
        size=SIZE,
        opcode=form.name,
        text=part.row.text.partition("(*")[0].strip(),
        kind=form.kind,
        pipe=form.pipe,
        known=form.known,
        guard=part.guard,
        defs=effects.defs,
        uses=effects.uses,
        memory=effects.memory,
        waits=waits,
        pends=pends,
        control=control,
        latency=form.latency,
        variable=variable,
        issue_cycles=max(1, part.control.stall),
        source=part.row.source,
        notes=notes,
    )


_NOTHING = Effects((), (), None)
