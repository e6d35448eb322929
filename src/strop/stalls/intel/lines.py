"""Source lines by address, with the stack of inlined calls: a zebin's DWARF through pyelftools.

Its addresses are relocations against symbols that have the kernels' addresses; these are applied first. Debug
information is data of doubtful origin: whatever is wrong with it costs lines, never the decode.
"""

from __future__ import annotations

import io
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strop.stalls.instruction import Source

if TYPE_CHECKING:
    from elftools.dwarf.compileunit import CompileUnit
    from elftools.dwarf.die import DIE
    from elftools.dwarf.dwarfinfo import DWARFInfo

MOST_BYTES = 256 * 2**20  # of a file whose debug information is read: more takes minutes
MOST_ROWS = 5_000_000
MOST_DEPTH = 64
RELA = 4
ADDRESS_64, ADDRESS_32 = 1, 2  # R_ZE_SYM_ADDR, R_ZE_SYM_ADDR_32

Calls = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows (address, file, line) and stacks (address, calls), each in order and holding until the next; line 0: none.

    `missing` says in words what the binary lacks.
    """

    rows: tuple[tuple[int, str, int], ...] = ()
    stacks: tuple[tuple[int, Calls], ...] = ()
    missing: str = ""

    def at(self, address: int) -> Source | None:
        """The source of an address."""
        place = bisect_right(self.rows, address, key=lambda row: row[0]) - 1
        if place < 0 or self.rows[place][2] <= 0:
            return None
        _, file, line = self.rows[place]
        stack = bisect_right(self.stacks, address, key=lambda each: each[0]) - 1
        return Source(file, line, self.stacks[stack][1] if stack >= 0 else ())


def read(data: bytes, section_names: frozenset[str]) -> Lines:
    """The line table and the inlined calls of a zebin."""
    if ".debug_line" not in section_names:
        return Lines(missing="line information (compile with -g or -gline-tables-only)")
    if len(data) > MOST_BYTES:
        return Lines(missing=f"line information (the file is larger than {MOST_BYTES >> 20} MiB: not read)")
    try:
        from elftools.elf.elffile import ELFFile

        dwarf = ELFFile(io.BytesIO(_relocated(data))).get_dwarf_info(relocate_dwarf_sections=False)
        rows, stacks = _rows(dwarf), _stacks(list(_inlined(dwarf)))
    except RecursionError:
        return Lines(missing="line information (it is nested too deeply)")
    except Exception as error:  # pyelftools raises whatever its parsers meet in damaged data
        return Lines(missing=f"line information (it can't be read: {type(error).__name__})")
    return Lines(rows, stacks) if rows else Lines(missing="line information (its tables are empty)")


def _relocated(data: bytes) -> bytes:
    (table,) = struct.unpack_from("<Q", data, 40)
    width, count = struct.unpack_from("<HH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + width * index) for index in range(count)]
    patched = bytearray(data)
    for row in rows:
        if row[1] != RELA:
            continue
        symbols, target = rows[row[6]], rows[row[7]]
        for at in range(row[4], row[4] + row[5] - 23, 24):
            offset, info, addend = struct.unpack_from("<QQq", data, at)
            (value,) = struct.unpack_from("<Q", data, symbols[4] + 24 * (info >> 32) + 8)
            size = {ADDRESS_64: 8, ADDRESS_32: 4}.get(info & 0xFFFFFFFF)
            if size is None or offset + size > target[5]:
                continue
            place = target[4] + offset
            patched[place : place + size] = (value + addend & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(patched)


def _rows(dwarf: DWARFInfo) -> tuple[tuple[int, str, int], ...]:
    rows: list[tuple[int, str, int]] = []
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        names = _files(program)
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            rows.append((state.address, names.get(state.file, "?"), 0 if state.end_sequence else state.line or -1))
            if len(rows) > MOST_ROWS:
                raise ValueError("too many rows")
    # Of rows at one address the last counts; an end gives way to a sequence that begins there.
    rows.sort(key=lambda row: (row[0], row[2] != 0))
    return tuple(row for row, after in zip(rows, [*rows[1:], None], strict=True) if not after or after[0] != row[0])


def _files(program: Any) -> dict[int, str]:
    """File names by the number that rows use: from 1 in DWARF 4, from 0 in DWARF 5."""
    header = program.header
    is_new = header["version"] >= 5
    folders = [_text(each) for each in header["include_directory"]]
    names = {}
    for number, entry in enumerate(header["file_entry"], 0 if is_new else 1):
        name, place = _text(entry.name), entry.dir_index - (not is_new)
        folder = folders[place] if 0 <= place < len(folders) else ""
        names[number] = name if name.startswith("/") or folder in ("", ".") else f"{folder}/{name}"
    return names


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


# low, high, depth, file and line of the call
Inlined = tuple[int, int, int, str, int]


def _inlined(dwarf: DWARFInfo) -> Iterator[Inlined]:
    ranges = dwarf.range_lists()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        names = _files(program) if program is not None else {}
        for entry, depth in _entries(unit.get_top_DIE(), 0):
            file, line = entry.attributes.get("DW_AT_call_file"), entry.attributes.get("DW_AT_call_line")
            if line is None:
                continue
            name = names.get(file.value, "?") if file is not None else "?"
            for low, high in _spans(unit, entry, ranges):
                yield low, high, depth, name, line.value


def _entries(entry: DIE, depth: int) -> Iterator[tuple[DIE, int]]:
    if depth > MOST_DEPTH:
        return
    for child in entry.iter_children():
        if child.tag == "DW_TAG_inlined_subroutine":
            yield child, depth
            yield from _entries(child, depth + 1)
        elif child.tag in ("DW_TAG_subprogram", "DW_TAG_lexical_block", "DW_TAG_namespace", "DW_TAG_class_type"):
            yield from _entries(child, depth + (child.tag == "DW_TAG_lexical_block"))


def _spans(unit: CompileUnit, entry: DIE, ranges: Any) -> Iterator[tuple[int, int]]:
    low, high, listed = (entry.attributes.get(f"DW_AT_{name}") for name in ("low_pc", "high_pc", "ranges"))
    if low is not None and high is not None:
        yield low.value, high.value if high.form == "DW_FORM_addr" else low.value + high.value
    elif listed is not None and ranges is not None and unit["version"] < 5:
        top = unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        base = top.value if top is not None else 0
        for each in ranges.get_range_list_at_offset(listed.value):
            if hasattr(each, "base_address"):
                base = each.base_address
            else:
                yield base + each.begin_offset, base + each.end_offset


def _stacks(found: list[Inlined]) -> tuple[tuple[int, Calls], ...]:
    """Which calls are open from each address on where that changes, the innermost first."""
    waiting = sorted(found, reverse=True)
    open_now: list[Inlined] = []
    stacks: list[tuple[int, Calls]] = []
    for edge in sorted({edge for each in found for edge in each[:2]}):
        open_now = [each for each in open_now if each[1] > edge]
        while waiting and waiting[-1][0] <= edge:
            if waiting[-1][1] > edge:
                open_now.append(waiting[-1])
            waiting.pop()
        calls = tuple((each[3], each[4]) for each in sorted(open_now, key=lambda each: -each[2]))
        stacks.append((edge, calls))
    return tuple(stacks)
