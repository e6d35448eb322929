"""Source lines by address, with the stack of inlined calls: DWARF 4 and 5 through pyelftools, for AMD and Intel.

Debug information is read as data of doubtful origin: whatever is wrong with it costs lines, never the decode.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strop.stalls.instruction import Source

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

MOST_BYTES = 256 * 2**20  # of debug information: more than that takes minutes in Python
MOST_ROWS = 5_000_000
MOST_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows (address, source) in order of address; a row holds until the next. None ends a sequence."""

    addresses: tuple[int, ...] = ()
    sources: tuple[Source | None, ...] = ()
    missing: str = ""  # in words, what the binary lacks

    def at(self, address: int) -> Source | None:
        """The source of an address."""
        place = bisect_right(self.addresses, address) - 1
        return self.sources[place] if place >= 0 else None


def read(
    data: bytes, *, section_names: frozenset[str], size: int, relocate: Callable[[bytes], bytes] | None = None
) -> Lines:
    """The line table of an ELF file whose debug information is `size` bytes or less.

    `relocate` makes a file whose addresses stand there from one whose addresses are relocations.
    """
    if ".debug_line" not in section_names:
        return Lines(missing="line information (compile with -gline-tables-only or -g)")
    if size > MOST_BYTES:
        return Lines(missing=f"line information (there is more than {MOST_BYTES >> 20} MiB of it: not read)")
    try:
        from elftools.elf.elffile import ELFFile

        relocated = relocate(data) if relocate is not None else data
        dwarf = ELFFile(io.BytesIO(relocated)).get_dwarf_info(relocate_dwarf_sections=False)
        return _joined(_rows(dwarf), _inlined(dwarf))
    except RecursionError:
        return Lines(missing="line information (it is nested too deeply)")
    except Exception as error:  # pyelftools raises whatever its parsers meet in damaged data
        return Lines(missing=f"line information (it can't be read: {type(error).__name__})")


@dataclass(frozen=True, slots=True)
class _Row:
    address: int
    file: str
    line: int  # 0 ends a sequence


def _rows(dwarf: DWARFInfo) -> list[_Row]:
    rows: list[_Row] = []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        names = _files(program)
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            name = names.get(state.file, "?")
            rows.append(_Row(state.address, name, 0 if state.end_sequence else state.line or -1))
            if len(rows) > MOST_ROWS:
                raise ValueError("too many rows")
    # Of rows at one address the last counts; an end gives way to a sequence that begins there.
    rows.sort(key=lambda row: (row.address, row.line != 0))
    return rows


def _files(program: Any) -> dict[int, str]:
    """File names by the number that rows use: from 1 in DWARF 4, from 0 in DWARF 5."""
    header = program.header
    version = header["version"]
    directories = [_text(each) for each in header["include_directory"]]
    first = 0 if version >= 5 else 1
    names = {}
    for number, entry in enumerate(header["file_entry"], first):
        name, place = _text(entry.name), entry.dir_index
        if version < 5:
            place -= 1
        folder = directories[place] if 0 <= place < len(directories) else ""
        names[number] = name if name.startswith("/") or folder in ("", ".") else f"{folder}/{name}"
    return names


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True, slots=True)
class _Inlined:
    """A range of code inlined at `file`:`line`; deeper ones lie inside."""

    low: int
    high: int
    depth: int
    file: str
    line: int


def _inlined(dwarf: DWARFInfo) -> list[_Inlined]:
    found: list[_Inlined] = []
    ranges = dwarf.range_lists()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        names = _files(program) if program is not None else {}
        for entry, depth in _inlined_entries(unit.get_top_DIE(), 0):
            attributes = entry.attributes
            file, line = attributes.get("DW_AT_call_file"), attributes.get("DW_AT_call_line")
            if line is None:
                continue
            name = names.get(file.value, "?") if file is not None else "?"
            for low, high in _spans(unit, entry, ranges):
                found.append(_Inlined(low, high, depth, name, line.value))
    return found


def _inlined_entries(entry: DIE, depth: int) -> Iterator[tuple[DIE, int]]:
    if depth > MOST_DEPTH:
        return
    for child in entry.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine":
            yield child, depth
            yield from _inlined_entries(child, depth + 1)
        elif child.tag in ("DW_TAG_subprogram", "DW_TAG_lexical_block", "DW_TAG_namespace", "DW_TAG_class_type"):
            yield from _inlined_entries(child, depth + (child.tag == "DW_TAG_lexical_block"))


def _spans(unit: CompileUnit, entry: DIE, ranges: Any) -> Iterator[tuple[int, int]]:
    attributes = entry.attributes
    low, high = attributes.get("DW_AT_low_pc"), attributes.get("DW_AT_high_pc")
    if low is not None and high is not None:
        start = low.value
        end = high.value if high.form == "DW_FORM_addr" else start + high.value
        yield start, end
        return
    listed = attributes.get("DW_AT_ranges")
    if listed is None or ranges is None:
        return
    top = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
    base = top.value if top is not None else 0
    if unit["version"] >= 5:
        offset = listed.value
        entries = ranges.get_range_list_at_offset(offset, unit)
        translate = getattr(ranges, "translate_v5_entry", None)
    else:
        entries, translate = ranges.get_range_list_at_offset(listed.value), None
    for each in entries:
        if translate is not None and type(each).__name__ not in ("RangeEntry", "BaseAddressEntry"):
            each = translate(each, unit)
        if hasattr(each, "base_address"):
            base = each.base_address
        elif getattr(each, "is_absolute", False):
            yield each.begin_offset, each.end_offset
        else:
            yield base + each.begin_offset, base + each.end_offset


def _joined(rows: list[_Row], inlined: list[_Inlined]) -> Lines:
    """Rows with the inlined calls around them. A row is cut where a call's range begins or ends inside it."""
    if not rows:
        return Lines(missing="line information (its tables are empty)")
    edges = sorted({edge for each in inlined for edge in (each.low, each.high)})
    opening = sorted(inlined, key=lambda each: each.low)
    addresses: list[int] = []
    sources: list[Source | None] = []
    open_now: list[_Inlined] = []
    upcoming, edge = 0, 0
    for place, row in enumerate(rows):
        end = rows[place + 1].address if place + 1 < len(rows) else row.address
        while edge < len(edges) and edges[edge] <= row.address:
            edge += 1
        starts = [row.address]
        ahead = edge
        while ahead < len(edges) and edges[ahead] < end:
            starts.append(edges[ahead])
            ahead += 1
        for start in starts:
            while upcoming < len(opening) and opening[upcoming].low <= start:
                open_now.append(opening[upcoming])
                upcoming += 1
            open_now = [each for each in open_now if each.high > start]
            source = None
            if row.line > 0:
                stack = sorted((each for each in open_now if each.low <= start), key=lambda each: -each.depth)
                source = Source(row.file, row.line, tuple((each.file, each.line) for each in stack))
            if addresses and addresses[-1] == start:
                sources[-1] = source
            else:
                addresses.append(start)
                sources.append(source)
    return Lines(tuple(addresses), tuple(sources))
