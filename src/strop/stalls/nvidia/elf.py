"""A cubin: an ELF file of NVIDIA's, in either of its two layouts of `e_flags`."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from strop.errors import UnreadableBinary

MACHINE = 190  # EM_CUDA
FUNCTION = 2  # STT_FUNC
ENTRY = 0x10  # STO_CUDA_ENTRY in st_other: a kernel
NOBITS = 8
TEXT = ".text."
OVERLAP = 8  # bytes that tables and texts may claim in all, in sizes of the file


@dataclass(frozen=True, slots=True)
class Section:
    """A section: where it lies in the file, and its link and type."""

    name: str
    kind: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function: `value` is its offset in its section."""

    name: str
    section: int
    value: int
    size: int
    is_kernel: bool


@dataclass(frozen=True, slots=True)
class Cubin:
    """What strop needs of a cubin. `sm` is e.g. 90; `sections` in the file's order."""

    sm: int
    sections: tuple[Section, ...]
    functions: tuple[Symbol, ...]

    @property
    def has_lines(self) -> bool:
        """Whether it was compiled with line information."""
        return any(section.name == ".debug_line" and section.size for section in self.sections)


def is_cubin(data: bytes) -> bool:
    """Whether `data` begins as a cubin does."""
    return data[:4] == b"\x7fELF" and len(data) >= 20 and struct.unpack_from("<H", data, 18)[0] == MACHINE


def read_cubin(data: bytes, *, path: str) -> Cubin:
    """Read headers, sections and function symbols; :class:`UnreadableBinary` where the file contradicts itself."""
    try:
        return _read(data)
    except (struct.error, _Damaged, UnicodeDecodeError) as problem:
        reason = str(problem) if isinstance(problem, _Damaged) else "its headers point outside the file"
        raise UnreadableBinary(path=path, reason=reason) from None


class _Damaged(Exception):
    pass


def _read(data: bytes) -> Cubin:
    if data[:5] != b"\x7fELF\x02":
        raise _Damaged("it isn't a 64-bit ELF file")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine != MACHINE:
        raise _Damaged(f"its ELF machine is {machine}, not NVIDIA's {MACHINE}")
    abi = data[8]
    (section_table,) = struct.unpack_from("<Q", data, 40)
    (flags,) = struct.unpack_from("<I", data, 48)
    width, count, names = struct.unpack_from("<HHH", data, 58)
    if width != 64 or not section_table or section_table + width * count > len(data) or names >= count:
        raise _Damaged("its section table lies outside the file: it was cut off or damaged")
    # ABI 7 and older keep the number of the architecture in the lowest byte of e_flags, ABI 8 in the next.
    sm = flags >> 8 & 0xFF if abi >= 8 else flags & 0xFF
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, section_table + width * i) for i in range(count)]
    for row in rows:
        if row[1] != NOBITS and row[4] + row[5] > len(data):
            raise _Damaged("a section lies outside the file: it was cut off or damaged")
    # In a sound file they lie apart. In others, thousands of headers may each claim all of it.
    if sum(row[5] for row in rows if row[1] != NOBITS) > OVERLAP * len(data):
        raise _Damaged("its sections overlap")
    strings = _Strings(data)
    sections = tuple(Section(strings.at(rows[names], row[0]), row[1], row[4], row[5], row[6]) for row in rows)
    return Cubin(sm, sections, tuple(_functions(data, sections, rows, strings)))


class _Strings:
    """The names in a file: all together no longer than so many times the file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._left = OVERLAP * len(data)

    def at(self, table: tuple[int, ...], offset: int) -> str:
        """The name at an offset of the string table that a section's header says."""
        start = table[4] + offset
        end = self._data.find(b"\0", start, table[4] + table[5])
        if end < 0:
            raise _Damaged("a name in its string table has no end")
        self._left -= end - start
        if self._left < 0:
            raise _Damaged("the names in it overlap")
        return self._data[start:end].decode("utf-8", "replace")


def _functions(
    data: bytes, sections: tuple[Section, ...], rows: list[tuple[int, ...]], strings: _Strings
) -> list[Symbol]:
    found = []
    for section in sections:
        if section.kind != 2:  # SHT_SYMTAB
            continue
        if section.link >= len(rows):
            raise _Damaged("its symbol table names no string table")
        for at in range(section.offset, section.offset + section.size - 23, 24):
            name, info, other, index, value, size = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == FUNCTION and index < len(sections) and sections[index].name.startswith(TEXT):
                found.append(Symbol(strings.at(rows[section.link], name), index, value, size, bool(other & ENTRY)))
    return found
