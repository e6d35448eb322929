"""A zebin: Intel's ELF file with one section of code a kernel, and what `.ze_info` and the notes say of them."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from strop.errors import UnknownArchitecture, UnreadableBinary
from strop.stalls.intel.swsb import Generation

MACHINE = 205  # EM_INTELGT
TEXT = ".text."
NOBITS = 8
FUNCTION = 2  # STT_FUNC
OVERLAP = 8  # bytes that tables and texts may claim in all, in sizes of the file
PRODUCT, CORE = 1, 2  # types of notes in .note.intelgt.compat
# Graphics core families, and products for files that name only these (igfxfmid.h of Intel's graphics compiler).
CORES = {0x0C07: Generation.XE_HPG, 0x0C08: Generation.XE_HPC}
PRODUCTS = {1270: Generation.XE_HPG, 1271: Generation.XE_HPC}
KNOWN = "Xe-HPG (dg2) and Xe-HPC (pvc)"

_KERNEL = re.compile(r"^  - name:\s+(\S.*?)\s*$")
_ITEM = re.compile(r"^      (simd_size|grf_count):\s+(\d{1,6})\b")
_TOP = re.compile(r"^(\w+):")


@dataclass(frozen=True, slots=True)
class Code:
    """A kernel's section: its address as profiles give it, its bytes, and its symbols as offset to name."""

    name: str
    address: int
    data: bytes
    is_kernel: bool
    labels: dict[int, str]
    simd: int | None = None
    registers: int | None = None


@dataclass(frozen=True, slots=True)
class Zebin:
    """What strop needs of a zebin."""

    generation: Generation
    codes: tuple[Code, ...]
    section_names: frozenset[str]


class _Damaged(Exception):
    pass


def read(data: bytes, *, path: str) -> Zebin:
    """Read a zebin. Raises :class:`UnreadableBinary` and :class:`UnknownArchitecture`."""
    try:
        return _read(data, path)
    except _Damaged as problem:
        raise UnreadableBinary(path=path, reason=str(problem)) from None
    except struct.error:
        raise UnreadableBinary(path=path, reason="its headers point outside the file") from None


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int


def _read(data: bytes, path: str) -> Zebin:
    if data[:5] != b"\x7fELF\x02":
        raise _Damaged("it isn't a 64-bit ELF file")
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine != MACHINE:
        raise _Damaged(f"its ELF machine is {machine}, not Intel's {MACHINE}")
    (table,) = struct.unpack_from("<Q", data, 40)
    width, count, names = struct.unpack_from("<HHH", data, 58)
    if width != 64 or not table or table + width * count > len(data) or names >= count:
        raise _Damaged("its section table lies outside the file: it was cut off or damaged")
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, table + width * index) for index in range(count)]
    for row in rows:
        if row[1] != NOBITS and row[4] + row[5] > len(data):
            raise _Damaged("a section lies outside the file: it was cut off or damaged")
    # In a sound file they lie apart. In others, thousands of headers may each claim all of it.
    if sum(row[5] for row in rows if row[1] != NOBITS) > OVERLAP * len(data):
        raise _Damaged("its sections overlap")
    strings = _Strings(data)
    sections = [_Section(strings.at(rows[names], row[0]), row[1], row[3], row[4], row[5], row[6]) for row in rows]
    generation = _generation(data, sections, path)
    about = _about(next((_content(data, each) for each in sections if each.name == ".ze_info"), b""))
    labels = _labels(data, sections, rows, strings)
    codes = []
    for index, section in enumerate(sections):
        if not section.name.startswith(TEXT) or not section.size or section.kind == NOBITS:
            continue
        name = section.name[len(TEXT) :]
        item = about.get(name)
        codes.append(
            Code(
                name=name,
                address=section.address,
                data=_content(data, section),
                is_kernel=item is not None or not about,
                labels=labels.get(index, {}),
                simd=(item or {}).get("simd_size"),
                registers=(item or {}).get("grf_count"),
            )
        )
    if not codes:
        raise _Damaged("it holds no kernel")
    return Zebin(generation, tuple(codes), frozenset(each.name for each in sections))


def _content(data: bytes, section: _Section) -> bytes:
    return data[section.offset : section.offset + section.size]


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


def _labels(
    data: bytes, sections: list[_Section], rows: list[tuple[int, ...]], strings: _Strings
) -> dict[int, dict[int, str]]:
    """Names of functions by section and offset in it. Linked files give symbols addresses, others offsets."""
    found: dict[int, dict[int, str]] = {}
    for section in sections:
        if section.kind != 2 or section.link >= len(sections):  # SHT_SYMTAB
            continue
        for at in range(section.offset, section.offset + section.size - 23, 24):
            name, info, _, index, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 != FUNCTION or not 0 < index < len(sections):
                continue
            base = sections[index].address
            said = strings.at(rows[section.link], name)
            found.setdefault(index, {})[value - base if value >= base else value] = said
    return found


def _generation(data: bytes, sections: list[_Section], path: str) -> Generation:
    said: dict[int, int] = {}
    for section in sections:
        if section.name != ".note.intelgt.compat":
            continue
        at, end = section.offset, section.offset + section.size
        while at + 12 <= end:
            owner, size, kind = struct.unpack_from("<III", data, at)
            at += 12 + (owner + 3 & ~3)
            if size == 4 and at + 4 <= end:
                (said[kind],) = struct.unpack_from("<I", data, at)
            at += size + 3 & ~3
    found = CORES.get(said.get(CORE, -1)) or PRODUCTS.get(said.get(PRODUCT, -1))
    if found is not None:
        return found
    if not said:
        raise _Damaged("it doesn't say for which GPU it is (no .note.intelgt.compat)")
    named = f"graphics core {said[CORE]:#x}" if said.get(CORE) else f"product {said.get(PRODUCT, 0):#x}"
    raise UnknownArchitecture(path=path, arch=f"Intel {named}", known=KNOWN)


def _about(text: bytes) -> dict[str, dict[str, int]]:
    """SIMD width and number of registers by kernel, from the few lines of the YAML that say so."""
    found: dict[str, dict[str, int]] = {}
    part, current = "", None
    for line in text.decode("utf-8", "replace").splitlines():
        if top := _TOP.match(line):
            part = top[1]
        elif part == "kernels" and (kernel := _KERNEL.match(line)):
            current = found.setdefault(kernel[1].strip("'\""), {})
        elif part == "kernels" and current is not None and (item := _ITEM.match(line)):
            current[item[1]] = int(item[2])
    return found
