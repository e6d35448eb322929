"""Operands of one instruction: what is written, what is read and for what, and which memory is touched.

The text is nvdisasm's. Widths come operand by operand from the tables: `.64` widens the data of a load and not its
32-bit index, `IMAD.WIDE` its sum and not its factors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from strop.stalls.instruction import Direction, Guard, Memory, Register, Role, Use
from strop.stalls.nvidia.opcodes import Form
from strop.stalls.nvidia.tensor import group_widths, matrix_widths

_REGISTER = re.compile(r"^[-~!|+]*(UR|UP|R|P|B)(\d+|Z|T)(?![\w])")
_IN_ADDRESS = re.compile(r"(?<![\w.])(UR|R|UP|P)(\d+|Z)((?:\.\w+)*)")
_GROUPS = re.compile(r"\[([^\]]*)\]")
_OFFSET = re.compile(r"\+(-?)0x([0-9a-f]+)\]")
_GUARD = re.compile(r"^@(!?)(U?P)(\d|T) +")
_REPEAT = re.compile(r"^[A-Z]*(\d+)x(\d+)$")
_PREDICATES = ("P", "UP")
_ALL = 7  # P0 to P6

_interned: dict[tuple[str, int], Register] = {}


def register(space: str, index: int) -> Register:
    """The one object for a register: there are few, and instructions are many."""
    key = (space, index)
    found = _interned.get(key)
    if found is None:
        found = _interned[key] = Register(space, index)
    return found


@dataclass(frozen=True, slots=True)
class Effects:
    """What the operands say."""

    defs: tuple[Register, ...]
    uses: tuple[Use, ...]
    memory: Memory | None


def split_guard(text: str) -> tuple[Guard | None, bool, str]:
    """The guard, whether it is never true (`@!PT`), and the text after it."""
    match = _GUARD.match(text)
    if match is None:
        return None, False, text
    rest = text[match.end() :]
    if match[3] == "T":
        return None, match[1] == "!", rest
    return Guard(register(match[2], int(match[3])), bool(match[1])), False, rest


class _Reading:
    """Collects the registers of one instruction, each once."""

    def __init__(self) -> None:
        self.defs: dict[Register, None] = {}
        self.uses: dict[tuple[Register, Role], None] = {}

    def write(self, space: str, index: int, width: int) -> None:
        for i in range(index, index + width):
            self.defs[register(space, i)] = None

    def read(self, space: str, index: int, width: int, role: Role) -> None:
        for i in range(index, index + width):
            self.uses[register(space, i), role] = None


def effects_of(form: Form, text: str) -> Effects:
    """Read the operands (all after the opcode, up to `;` or a comment)."""
    operands = [part.strip() for part in text.split(",")] if text else []
    if not form.known:
        return Effects((), (), None)
    reading = _Reading()
    size = _bytes(form)
    written = _written(form, operands)
    widths = _widths(form, operands, size, written)
    plain = 0  # operands that are registers or values, predicates not counted
    for place, operand in enumerate(operands):
        if "[" in operand:
            _address(reading, form, operand, place)
            if not operand.startswith("c"):
                continue
            plain += 1
            continue
        if operand in ("PR", "UPR"):
            for index in _masked(operands):
                if place < written:
                    reading.write(operand[:-1], index, 1)
                else:
                    reading.read(operand[:-1], index, 1, Role.DATA)
            plain += 1
            continue
        match = _REGISTER.match(operand)
        if match is None:
            plain += 1
            continue
        space = match[1]
        predicate = space in _PREDICATES
        width = 1
        if not predicate:
            width = widths[plain] if plain < len(widths) else 1
            plain += 1
        if match[2] in ("Z", "T"):
            continue
        index = int(match[2])
        if place < written:
            reading.write(space, index, width)
        else:
            reading.read(space, index, width, Role.PREDICATE if predicate else Role.DATA)
    if form.base == "BREAK":
        for held, _ in list(reading.uses):
            reading.write(held.space, held.index, 1)
    return Effects(
        tuple(reading.defs), tuple(Use(held, role) for held, role in reading.uses), _memory(form, operands, size)
    )


def _space(operand: str) -> str | None:
    match = _REGISTER.match(operand)
    if match is not None:
        return match[1]
    return operand[:-1] if operand in ("PR", "UPR") else None


def _written(form: Form, operands: list[str]) -> int:
    """How many leading operands are written."""
    rule = form.writes
    if rule == "none" or not operands:
        return 0
    if rule == "memory":
        return next((i for i, operand in enumerate(operands) if "[" in operand), 1)
    if rule == "two":
        return 2
    if rule == "vote":
        return 2 if _space(operands[0]) in ("R", "UR") else 1
    if rule == "match":
        return 2 if _space(operands[0]) in _PREDICATES else 1
    if rule == "carry":
        place = 0
        while place < len(operands) and _space(operands[place]) in _PREDICATES:
            place += 1
        place += 1  # the register
        while place < len(operands) and _space(operands[place]) in _PREDICATES and operands[place][0] != "!":
            place += 1
        return place
    return 1


def _bytes(form: Form) -> int | None:
    """Width of a lane's access, from the modifiers."""
    if form.memory is None:
        return None
    size = 4
    for modifier in form.modifiers:
        if modifier in ("U8", "S8"):
            size = 1
        elif modifier in ("U16", "S16"):
            size = 2
        elif modifier in ("64", "F64", "U64", "S64"):
            size = 8
        elif modifier == "128":
            size = 16
        elif modifier == "256":
            size = 32
        elif match := _REPEAT.match(modifier):
            size = int(match[1]) * int(match[2]) // 8
    if form.base in ("LDSM", "STSM"):
        size = 4 * int(form.modifiers[-1]) if form.modifiers[-1] in ("2", "4") else 4
    return size


def _widths(form: Form, operands: list[str], size: int | None, written: int) -> tuple[int, ...]:
    """Registers of each operand that isn't an address or a predicate."""
    if form.kind == "tensor":
        if form.pipe == "wgmma":
            group = group_widths(form.base, form.modifiers)
            if group is None:
                return ()
            d, a = group
            return (d, a, d) if _space(operands[1]) == "R" else (d, d)
        return matrix_widths(form.base, form.modifiers) or ()
    if form.pipe == "tex":
        return _texture(form, operands, written)
    if size is not None and form.kind in ("load", "store", "atomic"):
        return (max(1, size // 4),) * len(operands) if size <= 16 or form.kind != "load" else (4,) * len(operands)
    return form.widths


DIMENSIONS = {"1D": 1, "2D": 2, "3D": 3, "CUBE": 3, "ARRAY_1D": 2, "ARRAY_2D": 3, "ARRAY_3D": 4, "ARRAY_CUBE": 4}


def _texture(form: Form, operands: list[str], written: int) -> tuple[int, ...]:
    """Of a mask's values the first two go to the second operand, the others to the first; coordinates by dimension."""
    coordinates = next((DIMENSIONS[part] for part in (*operands, *form.modifiers) if part in DIMENSIONS), 2)
    if form.base.startswith("SU"):
        size = max(1, {"64": 8, "128": 16}.get(form.modifiers[-2] if len(form.modifiers) > 1 else "", 4) // 4)
        return (size,) * len(operands)
    mask = operands[-1]
    values = int(mask, 16).bit_count() if mask.startswith("0x") else 4
    sources = [2 if _space(operand) == "UR" else max(1, coordinates - 2) for operand in operands[3:]]
    return (max(1, values - 2), min(2, values), min(2, coordinates), *sources)  # a handle in UR has 64 bits


def _masked(operands: list[str]) -> list[int]:
    """The predicates that the mask at the end of P2R and R2P picks."""
    mask = int(operands[-1], 16) if operands[-1].startswith("0x") else (1 << _ALL) - 1
    return [index for index in range(_ALL) if mask >> index & 1]


def _address(reading: _Reading, form: Form, operand: str, place: int) -> None:
    """Registers in brackets: `[R2.64+UR4+0x10]`, `desc[UR4][R2.64]`, `c[0x0][R2]`, `gdesc[UR8]`."""
    prefix = operand[: operand.index("[")].lstrip("-~!|+")
    groups = _GROUPS.findall(operand)
    for number, group in enumerate(groups):
        described = prefix in ("desc", "cx") and number == 0
        for space, index, suffixes in _IN_ADDRESS.findall(group):
            if index == "Z":
                continue
            if described:
                width = 2
            elif prefix == "gdesc":
                width = 4  # the descriptors of A and B, also where A is in registers
            elif prefix and prefix != "desc":
                width = 1  # an index into constants, tensor memory or an instruction descriptor
            else:
                width = _address_width(form, space, suffixes, place)
            reading.read(space, int(index), width, Role.ADDRESS)


def _address_width(form: Form, space: str, suffixes: str, place: int) -> int:
    if form.pipe == "tma":
        return _tensor_map_width(form, place)
    if form.pipe == "tex":
        return next((DIMENSIONS[part] for part in form.modifiers if part in DIMENSIONS), 1)
    wide = form.base in ("QSPC", "CCTL") or (form.memory is not None and form.memory["space"] in ("global", "generic"))
    if (form.base == "LDGSTS" and place == 0) or form.base in ("SYNCS", "ARRIVES"):
        wide = False
    if space == "UR":
        return 2 if wide else 1
    if ".64" in suffixes:
        return 2
    if ".U32" in suffixes or not wide:
        return 1
    return 2 if "E" in form.modifiers else 1  # extended: a 64-bit address, also where no .64 says so


def _tensor_map_width(form: Form, place: int) -> int:
    """Uniform registers of TMA's brackets: the shared address (and mbarrier) with the coordinates, or a pointer."""
    if form.base == "UBLKCP":
        return 2
    if place > 0:
        return 2
    dimensions = next((int(part[0]) for part in form.modifiers if len(part) == 2 and part[1] == "D"), 0)
    return dimensions + (2 if form.base == "UTMALDG" else 1)


def hidden_descriptor(form: Form, operands: str, low: int, high: int) -> tuple[Use, ...]:
    """The descriptor of an sm_8x global access: in the encoding (a pair UR), not in the text, which sm_90's shows."""
    if form.memory is None or form.memory["space"] not in ("global", "generic") or ".64" not in operands:
        return ()
    index = low >> 32 & 63 if form.base in ("LDG", "LD") else high & 63
    if index == 63:
        return ()
    return Use(register("UR", index), Role.ADDRESS), Use(register("UR", index + 1), Role.ADDRESS)


def _memory(form: Form, operands: list[str], size: int | None) -> Memory | None:
    if form.memory is None:
        return None
    space, direction = form.memory["space"], Direction(form.memory["direction"])
    target = form.memory.get("target")
    if form.base == "UBLKCP" and form.modifiers[:2] == ("G", "S"):
        space, target = "shared", "global"
    slot = None
    if space == "local":
        address = next((operand for operand in operands if operand.startswith("[")), "")
        if address == "[R1]":
            slot = ("R1", 0)
        elif address.startswith("[R1+") and (match := _OFFSET.search(address)) and address.count("+") == 1:
            slot = ("R1", int(match[2], 16) * (-1 if match[1] else 1))
    asynchronous = direction is Direction.COPY
    return Memory(space, direction, size if form.pipe != "tma" else None, asynchronous, target, slot)
