"""An AMDGPU code object (ELF64): its architecture, the ranges of its functions, kernel descriptors, metadata, GOT.

The layout is that of LLVM's "User Guide for AMDGPU Backend"; every offset of the file is checked before it's used, for
files may be cut off or damaged.
"""

from __future__ import annotations

import struct
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from strop.errors import UnknownArchitecture, UnreadableBinary
from strop.stalls.amd.msgpack import unpack

SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 4, 7, 8, 11
STT_FUNC, STT_OBJECT = 2, 1
SHF_EXECINSTR, SHF_COMPRESSED = 4, 0x800
NT_AMDGPU_METADATA = 32
R_AMDGPU_ABS64, R_AMDGPU_RELATIVE64 = 3, 13
DESCRIPTOR_BYTES = 64
OVERLAP = 8  # bytes that tables and texts may claim in all, in sizes of the file
ENABLE_PRIVATE_SEGMENT_BUFFER, WAVEFRONT_SIZE32 = 1 << 0, 1 << 10  # of kernel_code_properties


@dataclass(frozen=True, slots=True)
class Architecture:
    """`isa` as LLVM names it, the `family` whose tables hold, the first LLVM release that disassembles it."""

    isa: str
    family: str
    llvm: int


@dataclass(frozen=True, slots=True)
class Section:
    """A section with bytes in the file; `address` is where it is loaded."""

    name: str
    kind: int
    flags: int
    address: int
    size: int
    link: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What a kernel descriptor says: where the kernel starts, bytes of LDS and scratch, its wave size.

    `private_buffer` says that s[0:3] is the buffer of the stack when the kernel starts.
    """

    entry: int
    lds_bytes: int
    scratch_bytes: int
    wave: int
    private_buffer: bool


@dataclass(frozen=True, slots=True)
class Range:
    """A function's bytes. `name` is mangled as in the file."""

    name: str
    address: int
    data: bytes
    descriptor: Descriptor | None


@dataclass(frozen=True, slots=True)
class CodeObject:
    """A code object taken apart. `got` maps addresses of relocated words to the addresses that they will hold."""

    architecture: Architecture
    functions: tuple[Range, ...]
    got: dict[int, int]
    metadata: dict[str, Any]
    section_names: frozenset[str]
    named: int  # functions that have a symbol
    wave: int = 64  # lanes of functions without a descriptor
    debug_bytes: int = 0  # of debug sections, as large as they say that they are when inflated


@cache
def architectures() -> dict[int, Architecture]:
    """Architectures by machine number."""
    table = tomllib.loads(files("strop.stalls.amd").joinpath("tables/architectures.toml").read_text("utf-8"))
    return {int(number, 16): Architecture(**entry) for number, entry in table["machines"].items()}


def read(data: bytes, *, path: str) -> CodeObject:
    """Take a code object apart. Raises :class:`UnreadableBinary` or :class:`UnknownArchitecture`."""
    try:
        return _read(data, path)
    except struct.error:
        raise UnreadableBinary(path=path, reason="its ELF file is cut off") from None


def _read(data: bytes, path: str) -> CodeObject:
    if data[4:6] != b"\x02\x01":
        raise UnreadableBinary(path=path, reason="it isn't a 64-bit little-endian ELF file")
    (flags,) = struct.unpack_from("<I", data, 48)
    architecture = architectures().get(flags & 0xFF)
    if architecture is None:
        known = "gfx9, gfx90a, gfx942, gfx950, gfx10, gfx11 and gfx12"
        raise UnknownArchitecture(path=path, arch=f"AMD machine 0x{flags & 0xFF:02x}", known=known)
    sections = list(_sections(data, path))
    _check_apart(sections, path)
    symbols = _symbols(sections, OVERLAP * len(data))
    descriptors = _descriptors(sections, symbols, architecture)
    functions = tuple(_functions(sections, symbols, descriptors))
    if not functions:
        raise UnreadableBinary(path=path, reason="it holds no code")
    named = sum(not function.name.startswith("unnamed@") for function in functions)
    return CodeObject(
        architecture,
        functions,
        _relocated(sections, symbols),
        _metadata(sections),
        frozenset(section.name for section in sections),
        named,
        next((each.wave for each in descriptors.values()), 64 if architecture.family.startswith("gfx9") else 32),
        sum(_inflated(section) for section in sections if section.name.startswith(".debug")),
    )


def _sections(data: bytes, path: str) -> Iterator[Section]:
    offset, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<2H", data, 60)
    if offset + 64 * count > len(data):
        raise UnreadableBinary(path=path, reason="its section table lies outside the file: it was cut off or damaged")
    headers = [struct.unpack_from("<2I4Q2I2Q", data, offset + 64 * index) for index in range(count)]
    if not headers or names >= count:
        raise UnreadableBinary(path=path, reason="it has no section headers")
    # In a sound file they lie apart. In others, thousands of headers may each claim all of it.
    if sum(header[5] for header in headers if header[1] != SHT_NOBITS) > OVERLAP * len(data):
        raise UnreadableBinary(path=path, reason="its sections overlap, or lie past its end")
    strings = _bytes(data, headers[names])
    left = OVERLAP * len(data)
    for header in headers:
        name, kind, flags, address, _, size, link, *_ = header
        held = b"" if kind == SHT_NOBITS else _bytes(data, header)
        if kind != SHT_NOBITS and len(held) < size:
            raise UnreadableBinary(path=path, reason="a section of it lies past its end")
        named = _string(strings, name)
        left -= len(named)
        if left < 0:
            raise UnreadableBinary(path=path, reason="the names in it overlap")
        yield Section(named, kind, flags, address, size, link, held)


def _check_apart(sections: list[Section], path: str) -> None:
    """Raise where two sections of code have an address in common: nobody could say whose a sample is."""
    code = sorted((each.address, each.size) for each in sections if each.flags & SHF_EXECINSTR and each.data)
    if any(address + size > after for (address, size), (after, _) in pairwise(code)):
        raise UnreadableBinary(path=path, reason="its sections of code overlap (is it linked?)")


def _inflated(section: Section) -> int:
    if section.flags & SHF_COMPRESSED and len(section.data) >= 16:
        return int(struct.unpack_from("<Q", section.data, 8)[0])  # ch_size
    return len(section.data)


def _bytes(data: bytes, header: tuple[int, ...]) -> bytes:
    return data[header[4] : header[4] + header[5]]


def _string(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else len(strings)].decode(errors="replace")


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    kind: int
    section: int
    address: int
    size: int


def _symbols(sections: list[Section], left: int) -> list[_Symbol]:
    """Symbols of the full table, else of the dynamic one, which strip leaves; names of `left` bytes at most."""
    for wanted in (SHT_SYMTAB, SHT_DYNSYM):
        found: list[_Symbol] = []
        for section in sections:
            if section.kind != wanted or section.link >= len(sections):
                continue
            strings = sections[section.link].data
            for name, info, _, index, address, size in struct.iter_unpack(
                "<I2BH2Q", section.data[: len(section.data) // 24 * 24]
            ):
                named = _string(strings, name)
                left -= len(named)
                if left < 0:
                    return found
                found.append(_Symbol(named, info & 15, index, address, size))
        if found:
            return found
    return []


def _descriptors(sections: list[Section], symbols: list[_Symbol], architecture: Architecture) -> dict[str, Descriptor]:
    """Kernel descriptors by the kernel's name: 64 bytes at the symbol `NAME.kd`."""
    found = {}
    for symbol in symbols:
        if not symbol.name.endswith(".kd") or symbol.section >= len(sections):
            continue
        section = sections[symbol.section]
        at = symbol.address - section.address
        raw = section.data[at : at + DESCRIPTOR_BYTES] if at >= 0 else b""
        if len(raw) < DESCRIPTOR_BYTES:
            continue
        lds, scratch = struct.unpack_from("<2I", raw)
        (entry,) = struct.unpack_from("<q", raw, 16)
        (properties,) = struct.unpack_from("<H", raw, 56)
        small = bool(properties & WAVEFRONT_SIZE32) and not architecture.family.startswith("gfx9")
        found[symbol.name.removesuffix(".kd")] = Descriptor(
            entry=symbol.address + entry,
            lds_bytes=lds,
            scratch_bytes=scratch,
            wave=32 if small else 64,
            private_buffer=bool(properties & ENABLE_PRIVATE_SEGMENT_BUFFER),
        )
    return found


def _functions(sections: list[Section], symbols: list[_Symbol], descriptors: dict[str, Descriptor]) -> Iterator[Range]:
    """Every byte of the executable sections belongs to one function; code without a symbol is `unnamed@ADDRESS`."""
    within: dict[int, list[_Symbol]] = {}
    for symbol in symbols:
        if symbol.kind == STT_FUNC:
            within.setdefault(symbol.section, []).append(symbol)
    entries = {descriptor.entry: (name, descriptor) for name, descriptor in descriptors.items()}
    places = sorted(entries)
    for index, section in enumerate(sections):
        if not section.flags & SHF_EXECINSTR or not section.data:
            continue
        end = section.address + len(section.data)
        starts: dict[int, tuple[str, int]] = {}
        for symbol in within.get(index, ()):
            if section.address <= symbol.address < end:
                starts.setdefault(symbol.address, (symbol.name, symbol.size))
        for address in places[bisect_left(places, section.address) : bisect_left(places, end)]:
            starts.setdefault(address, (entries[address][0], 0))
        at = section.address
        ordered = sorted(starts)
        for place, address in enumerate(ordered):
            if address < at:
                continue  # inside the function before it
            yield from _gap(section, at, address)
            following = ordered[place + 1] if place + 1 < len(ordered) else end
            name, size = starts[address]
            at = min(address + size if size else following, end)
            held = section.data[address - section.address : at - section.address]
            yield Range(name, address, held, entries[address][1] if address in entries else None)
        yield from _gap(section, at, end)


def _gap(section: Section, start: int, end: int) -> Iterator[Range]:
    """Code between functions, unless it's padding: s_nop 0, s_code_end, zeros."""
    held = section.data[start - section.address : end - section.address]
    words = {held[at : at + 4] for at in range(0, len(held) // 4 * 4, 4)}
    padding = {b"\x00\x00\x80\xbf", b"\x00\x00\x9f\xbf", b"\x00\x00\x00\x00"}
    if words - padding:
        yield Range(f"unnamed@0x{start:x}", start, held, None)


def _relocated(sections: list[Section], symbols: list[_Symbol]) -> dict[int, int]:
    """Where the loader will write addresses of this object's own symbols (calls through the GOT read them)."""
    found = {}
    for section in sections:
        if section.kind != SHT_RELA or section.link >= len(sections):
            continue
        table = sections[section.link]
        for place, info, addend in struct.iter_unpack("<2Qq", section.data[: len(section.data) // 24 * 24]):
            kind, symbol = info & 0xFFFFFFFF, info >> 32
            if kind == R_AMDGPU_RELATIVE64:
                found[place] = addend
            elif kind == R_AMDGPU_ABS64 and 24 * symbol + 24 <= len(table.data):
                found[place] = struct.unpack_from("<Q", table.data, 24 * symbol + 8)[0] + addend
    return found


def _metadata(sections: list[Section]) -> dict[str, Any]:
    """The metadata note (`amdhsa.kernels` and so on); empty where it's absent or damaged."""
    for section in sections:
        if section.kind != SHT_NOTE:
            continue
        at = 0
        while at + 12 <= len(section.data):
            name_size, size, kind = struct.unpack_from("<3I", section.data, at)
            start = at + 12 + (name_size + 3) // 4 * 4
            name = section.data[at + 12 : at + 12 + name_size]
            if kind == NT_AMDGPU_METADATA and name.rstrip(b"\0") == b"AMDGPU":
                try:
                    value = unpack(section.data[start : start + size])
                except ValueError:
                    return {}
                return value if isinstance(value, dict) else {}
            at = start + (size + 3) // 4 * 4
    return {}
