"""Memory instructions: which operand is address, data or result; space, direction, width, stack slot, event.

An *event* is what an instruction does to the counters: `tables/counters.toml` says which count it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from strop.stalls.amd.opcodes import OpcodeClass
from strop.stalls.amd.registers import Text, number, registers
from strop.stalls.instruction import Direction, Memory, Register, Role, Use

PART = re.compile(r"_d16(?:_|$)")  # 16 bits of the result's register; the others stay
WIDTHS = {"ubyte": 1, "sbyte": 1, "byte": 1, "ushort": 2, "sshort": 2, "short": 2, "dword": 4, "dwordx2": 8}
WIDTHS |= {"dwordx3": 12, "dwordx4": 16, "dwordx8": 32, "dwordx16": 64, "x": 4, "xy": 8, "xyz": 12, "xyzw": 16}
BITS = re.compile(r"^[bfui](\d+)$")


@dataclass(frozen=True, slots=True)
class Access:
    """What a memory instruction reads and writes."""

    defs: tuple[Register, ...] = ()
    uses: tuple[Use, ...] = ()
    memory: Memory | None = None
    event: str = ""


def access(text: Text, made: OpcodeClass, *, scratch: frozenset[int] = frozenset()) -> Access | None:
    """How a memory instruction accesses memory; None for other forms.

    `scratch` holds the first SGPRs of the buffer resources that are the stack.
    """
    words = made.form.split()
    if words[0] in ("flat", "async"):
        return _flat(text, made)
    if words[0] == "buffer":
        return _buffer(text, made, scratch)
    if words[0] == "smem":
        return _scalar(text, made)
    if words[0] == "ds":
        return _shared(text, made)
    if words[0] == "image":
        return _image(text, made)
    if words[0] == "tensor":
        return _tensor(text)
    return None


def _data(operand: str) -> tuple[Use, ...]:
    return tuple(Use(register) for register in registers(operand))


def _address(*operands: str) -> tuple[Use, ...]:
    return tuple(Use(register, Role.ADDRESS) for operand in operands for register in registers(operand))


def returns(text: Text) -> bool:
    """Whether an atomic returns the value before it: glc on gfx9 to gfx11, sc0 on gfx940, th:…RETURN on gfx12."""
    return bool({"glc", "sc0"} & set(text.modifiers)) or "RETURN" in (text.modifier("th") or "")


def width(opcode: str) -> int | None:
    """Bytes that a lane accesses.

    >>> width("global_load_dwordx4"), width("ds_read2st64_b32"), width("buffer_load_ubyte_d16_hi")
    (16, 8, 1)
    """
    found = None
    for word in opcode.split("_"):
        bits = BITS.match(word)
        found = WIDTHS.get(word, int(bits[1]) // 8 if bits else found)
    if found is None and opcode.endswith("_x2"):
        return 8
    if found and re.search(r"(?:read|write|load_|store_|wrxchg|storexchg_)2", opcode):
        found *= 2
    if found is None and "atomic" in opcode:
        return 4
    return found


def _kept(text: Text, defs: tuple[Register, ...]) -> tuple[Use, ...]:
    """Loads into half a register keep the other half."""
    return tuple(Use(register) for register in defs) if PART.search(text.opcode) else ()


def _offset(text: Text) -> int:
    try:
        return number(text.modifier("offset") or "0")
    except ValueError:
        return 0


def _operand(text: Text, place: int) -> str:
    return text.operands[place] if place < len(text.operands) else ""


def _flat(text: Text, made: OpcodeClass) -> Access:
    """global_, flat_, scratch_: load dst, vaddr, saddr; store vaddr, data, saddr; atomic [dst,] vaddr, data, saddr.

    gfx12 writes `off, v1, off` where an address is absent, the same places.
    """
    start = text.opcode.partition("_")[0]
    space = {"global": "global", "flat": "generic", "scratch": "scratch", "cluster": "global"}[start]
    event = {"global": "", "cluster": "", "flat": "flat ", "scratch": "scratch "}[start]
    form = made.form
    size = width(text.opcode)
    if form == "flat load":
        defs = registers(_operand(text, 0))
        address = _address(*text.operands[1:])
        memory = Memory(space, Direction.LOAD, size, slot=_slot(text, space, _operand(text, 1), _operand(text, 2)))
        return Access(defs, address + _kept(text, defs), memory, event + "load")
    if form == "flat load addtid":
        defs = registers(_operand(text, 0))
        return Access(defs, _address(*text.operands[1:]), Memory(space, Direction.LOAD, size), "load")
    if form == "flat to lds":
        memory = Memory(space, Direction.COPY, size, is_async=True, target="shared")
        return Access((), _address(*text.operands), memory, event + "load")
    if form.startswith("async"):
        to_shared = form == "async to lds"
        source, target = (space, "shared") if to_shared else ("shared", space)
        memory = Memory(source, Direction.COPY, size, is_async=True, target=target)
        return Access((), _address(*text.operands), memory, "async")
    if form == "flat store":
        data, address = _data(_operand(text, 1)), _address(_operand(text, 0), *text.operands[2:])
        memory = Memory(space, Direction.STORE, size, slot=_slot(text, space, _operand(text, 0), _operand(text, 2)))
        return Access((), data + address, memory, event + "store")
    if form == "flat store addtid":
        uses = _data(_operand(text, 0)) + _address(*text.operands[1:])
        return Access((), uses, Memory(space, Direction.STORE, size), "store")
    memory = Memory(space, Direction.ATOMIC, size)
    if returns(text):
        uses = _address(_operand(text, 1), *text.operands[3:]) + _data(_operand(text, 2))
        return Access(registers(_operand(text, 0)), uses, memory, event + "atomic return")
    uses = _address(_operand(text, 0), *text.operands[2:]) + _data(_operand(text, 1))
    return Access((), uses, memory, event + "atomic")


def _slot(text: Text, space: str, vector: str, scalar: str = "") -> tuple[str, int] | None:
    """The stack slot of scratch_…: an SGPR or nothing, plus an offset; with a vector address it's unknown."""
    if space != "scratch" or registers(vector):
        return None
    base = registers(scalar)
    return (str(base[0]) if base else "stack", _offset(text))


def _buffer(text: Text, made: OpcodeClass, scratch: frozenset[int]) -> Access:
    """buffer_: [data,] vaddr or off, srsrc, soffset. With `lds` the data goes to LDS and isn't named."""
    to_shared = made.form == "buffer to lds" or text.modifier("lds") is not None
    operands = list(text.operands)
    resource = next(
        (place for place, each in enumerate(operands) if len(registers(each)) == 4 and each.startswith(("s", "ttmp"))),
        None,
    )
    data = "" if to_shared or not operands or resource == 0 else operands.pop(0)
    addresses = _address(*operands)
    base = next((each for each in operands if len(registers(each)) == 4 and each.startswith("s[")), "")
    space = "scratch" if base and registers(base)[0].index in scratch else "global"
    size = width(text.opcode)
    slot = None
    if space == "scratch" and not {"offen", "idxen"} & set(text.modifiers):
        offset = registers(operands[-1]) if operands else ()
        if offset:
            slot = (str(offset[0]), _offset(text))
        elif operands and operands[-1].isdecimal() and len(operands[-1]) < 10:
            slot = ("stack", _offset(text) + int(operands[-1]))
    event = "scratch " if space == "scratch" else ""
    if to_shared:
        return Access((), addresses, Memory(space, Direction.COPY, size, True, "shared"), event + "load")
    if made.form == "buffer load":
        defs = registers(data)
        return Access(
            defs, addresses + _kept(text, defs), Memory(space, Direction.LOAD, size, slot=slot), event + "load"
        )
    if made.form == "buffer store":
        return Access((), _data(data) + addresses, Memory(space, Direction.STORE, size, slot=slot), event + "store")
    memory = Memory(space, Direction.ATOMIC, size)
    if not returns(text):
        return Access((), _data(data) + addresses, memory, "atomic")
    defs = registers(data)
    if "cmpswap" in text.opcode:  # compares and swaps with two values, returns one
        defs = defs[: len(defs) // 2]
    return Access(defs, _data(data) + addresses, memory, "atomic return")


def _scalar(text: Text, made: OpcodeClass) -> Access:
    """s_load dst, base, offset; s_store data, base, offset. A base of four SGPRs is a buffer resource."""
    size = width(text.opcode)
    space = "scratch" if "scratch" in text.opcode else "constant"
    first, address = _operand(text, 0), _address(*text.operands[1:])
    if made.form == "smem load":
        return Access(registers(first), address, Memory(space, Direction.LOAD, size), "smem")
    if made.form == "smem store":
        space = "scratch" if space == "scratch" else "global"
        return Access((), _data(first) + address, Memory(space, Direction.STORE, size), "smem")
    defs = registers(first) if "glc" in text.modifiers else ()
    return Access(defs, _data(first) + address, Memory("global", Direction.ATOMIC, size), "smem")


def _shared(text: Text, made: OpcodeClass) -> Access:
    """ds_: load dst, addr; store addr, data…; atomic addr, data…; with return dst, addr, data…. `gds`: global."""
    is_global = "gds" in text.modifiers
    space, event = ("global", "gds") if is_global else ("shared", "lds")
    size = width(text.opcode)
    first, rest = _operand(text, 0), text.operands[1:]
    if made.form == "ds load":
        defs = registers(first)
        return Access(defs, _address(*rest) + _kept(text, defs), Memory(space, Direction.LOAD, size), event)
    if made.form == "ds lanes":
        address, *data = rest if len(rest) > 1 else ("", *rest)
        uses = _address(address) + tuple(use for each in data for use in _data(each))
        return Access(registers(first), uses, None, event)
    if made.form == "ds store":
        if "addtid" in text.opcode:
            return Access((), _data(first), Memory(space, Direction.STORE, size), event)
        uses = _address(first) + tuple(use for each in rest for use in _data(each))
        return Access((), uses, Memory(space, Direction.STORE, size), event)
    memory = Memory(space, Direction.ATOMIC, size)
    if made.form == "ds atomic":
        return Access((), _address(first) + tuple(use for each in rest for use in _data(each)), memory, event)
    uses = _address(*rest[:1]) + tuple(use for each in rest[1:] for use in _data(each))
    defs = registers(first)
    if "bvh_stack" in text.opcode:  # the stack's address is advanced
        defs += registers(_operand(text, 1))
    return Access(defs, uses, memory, event)


def _image(text: Text, made: OpcodeClass) -> Access:
    """image_: data, vaddr, srsrc[, ssamp]."""
    address = _address(*text.operands[1:])
    first = _operand(text, 0)
    event = {"image load": "load", "image sample": "sample", "image bvh": "bvh", "image store": "store"}.get(made.form)
    if made.form == "image atomic":
        memory = Memory("texture", Direction.ATOMIC)
        back = returns(text)
        uses = _data(first) + address
        return Access(registers(first) if back else (), uses, memory, "atomic return" if back else "atomic")
    if made.form == "image store":
        return Access((), _data(first) + address, Memory("texture", Direction.STORE), "store")
    defs = registers(first)
    kept = tuple(Use(register) for register in defs) if "d16" in text.modifiers else ()
    return Access(defs, address + kept, Memory("texture", Direction.LOAD), event or "load")


def _tensor(text: Text) -> Access:
    load = text.opcode.startswith("tensor_load")
    source, target = ("global", "shared") if load else ("shared", "global")
    return Access((), _address(*text.operands), Memory(source, Direction.COPY, None, True, target), "tensor")
