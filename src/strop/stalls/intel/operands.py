"""What an instruction reads and writes, to the byte: regions, flags, accumulators, message payloads.

Registers are dwords of the register file (`r`, `acc`, `a`), bytes of the flag registers (`f`), and whole ones of the
rest. Where a function uses parts of a dword by themselves, they are registers of their own (`r+1` is its second byte
and so on): a write to one half of a dword doesn't end the other half's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from strop.stalls.instruction import Guard, Register, Role, Use
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.payload import address_bytes, is_plain_scatter
from strop.stalls.intel.swsb import Generation

GRF_BYTES = {Generation.XE_HPG: 32, Generation.XE_HPC: 64}
TYPE_BYTES = {
    **dict.fromkeys(("ub", "b", "bf8", "hf8"), 1),
    **dict.fromkeys(("uw", "w", "hf", "bf"), 2),
    **dict.fromkeys(("ud", "d", "f", "tf32", "v", "uv", "vf"), 4),
    **dict.fromkeys(("uq", "q", "df"), 8),
}
FILES = ("r", "acc", "a")  # spaces counted in dwords
FILE_BYTES = 1 << 16  # more than any of them has (512 registers of 64 bytes)
WHOLE = 15  # all four bytes of a dword
SELECTS = ("sel", "csel")  # their predicate chooses, it doesn't switch off
READS_ACC = ("mac", "mach", "macl")
WRITES_ACC = ("addc", "subb", "mach")
BITS_A_FLAG_BYTE = 8
# Control, state, stack pointer, instruction pointer, timestamp, channel enable, notification, debug: no pipe follows
# these, so compilers put `A@1` before their use and after it (visa/LocalScheduler/SWSB_G4IR.cpp).
SPECIAL = ("cr", "sr", "sp", "ip", "tm", "ce", "n", "dbg")


class Extent(NamedTuple):
    """Bytes of a register file: `lanes` values of `width` bytes from `start` on.

    `columns` of them are in a row, `step` values apart; rows begin `rows` values apart. What it covers is worked out
    once for each extent: code has far fewer of these than of operands.
    """

    space: str
    start: int
    columns: int
    rows: int
    lanes: int
    step: int
    width: int


@dataclass(frozen=True, slots=True)
class Operands:
    """Extents written and read, flags and other registers whole, and the guard."""

    written: tuple[Extent, ...] = ()
    read: tuple[tuple[Extent, Role], ...] = ()
    defs: tuple[Register, ...] = ()
    uses: tuple[Use, ...] = ()
    guard: Guard | None = None
    indirect: bool = False
    special: str = ""  # a register of the thread's own state that it reads or writes


class Sources:
    """What source operands came to, by their JSON (an object that lives as long as this) and what they are read by."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, str, int, str | None, int], _Source] = {}


class _Source(NamedTuple):
    read: tuple[tuple[Extent, Role], ...]
    uses: tuple[Use, ...]
    indirect: bool
    special: str


def decode(node: Node, generation: Generation, sources: Sources | None = None) -> Operands:
    """The operands of one instruction's JSON. Raises KeyError, TypeError, ValueError where it isn't such.

    `sources` keeps what its source operands came to: instructions share them.
    """
    made = _Reader(node, generation, sources)
    made.destination()
    made.sources()
    made.implicit()
    return made.result()


class _Reader:
    def __init__(self, node: Node, generation: Generation, sources: Sources | None) -> None:
        # What a message reads depends on other operands of it.
        self.known = sources.known if sources is not None and not str(node["op"]).startswith("send") else None
        self.node, self.generation, self.grf = node, generation, GRF_BYTES[generation]
        self.op, self.lanes = str(node["op"]), int(node["es"] or 1)
        self.written: list[Extent] = []
        self.read: list[tuple[Extent, Role]] = []
        self.defs: list[Register] = []
        self.uses: list[Use] = []
        self.indirect = False
        self.special = ""
        self.is_dpas = self.op == "dpas"
        depth, _, repeat = str(node["subop"] or "").partition("x") if self.is_dpas else ("", "", "")
        self.depth, self.repeat = int(depth or 8), int(repeat or 8)

    def result(self) -> Operands:
        flags = self._flags()
        guard = None
        predicate = self.node.get("pred")
        if predicate and flags:
            if self.op not in SELECTS:
                guard = Guard(flags[0], bool(predicate.get("inv")))
            self.uses += [Use(flag, Role.PREDICATE) for flag in flags]
        modifier = self.node.get("fm")
        if modifier and flags and self.op not in SELECTS:  # of those, it makes a minimum or maximum
            self.defs += flags
        return Operands(
            tuple(self.written),
            tuple(self.read),
            tuple(self.defs),
            tuple(self.uses),
            guard,
            self.indirect,
            self.special,
        )

    def _flags(self) -> list[Register]:
        """The bytes of the flag register that the lanes stand for."""
        flag = self.node.get("freg")
        if not flag or flag["rn"] != "f":
            return []
        first = 4 * flag["r"] + 2 * flag["sr"] + int(self.node.get("eo") or 0) // BITS_A_FLAG_BYTE
        return [Register("f", first + each) for each in range(max(1, self.lanes // BITS_A_FLAG_BYTE))]

    def destination(self) -> None:
        operand = self.node.get("dst")
        if not operand:
            return
        kind = operand["kind"]
        if kind == "RI":
            self._address(operand)
            return
        register = operand["reg"]
        if register["rn"] == "null":
            return
        if kind == "DA":
            self.written += self._payload(register, operand["len"])
        elif self.is_dpas:
            self.written += self._block(register, self.lanes * self.repeat * _width(operand))
        else:
            step = (operand.get("rgn") or {}).get("Hz") or 1
            lanes = 2 if self.op in ("call", "calla", "brc") else self.lanes
            extents, others = self._region(register, lanes, 0, lanes, int(step), _width(operand))
            self.written += extents
            self.defs += others
            if _mme(operand) is not None:
                self.defs.append(Register("mme", _mme(operand) or 0))

    def sources(self) -> None:
        known = self.known
        for place, operand in enumerate(self.node.get("srcs") or ()):
            kind = operand["kind"]
            if kind in ("IM", "LB"):
                continue
            if known is None or kind in ("AD", "DA"):
                self._operand(place, operand)
                continue
            key = id(operand), self.op, self.lanes, self.node["subop"], place if self.is_dpas else 0
            found = known.get(key)
            if found is None:
                found = known[key] = self._apart(place, operand)
            self.read += found.read
            self.uses += found.uses
            self.indirect = self.indirect or found.indirect
            self.special = found.special or self.special

    def _apart(self, place: int, operand: Node) -> _Source:
        """What one operand comes to by itself."""
        alone = _Reader(self.node, self.generation, None)
        alone._operand(place, operand)
        return _Source(tuple(alone.read), tuple(alone.uses), alone.indirect, alone.special)

    def _operand(self, place: int, operand: Node) -> None:
        kind = operand["kind"]
        if kind == "RI":
            self._address(operand)
        elif kind == "AD":
            where = operand["addr"]
            self._reads(self._addresses(where["reg"], where["len"]), Role.ADDRESS)
            offset = (operand.get("surf") or {}).get("offset")
            if isinstance(offset, dict):
                self._plain(offset, Role.ADDRESS)
        elif kind == "DA":
            if place == 0:
                self._reads(self._addresses(operand["reg"], operand["len"]), Role.ADDRESS)
            else:
                self._reads(self._data(operand["reg"], operand["len"]), Role.DATA)
        elif self.op.startswith("send"):
            self._plain(operand["reg"], Role.ADDRESS)
        elif self.is_dpas:
            sizes = (
                self.lanes * self.repeat * _width(operand),
                self.depth * self.lanes * 4,
                self.depth * self.repeat * 4,
            )
            if operand["reg"]["rn"] == "r":
                self._reads(self._block(operand["reg"], sizes[min(place, 2)]), Role.DATA)
        else:
            self._source(operand)

    def _source(self, operand: Node) -> None:
        register = operand["reg"]
        if register["rn"] == "null":
            return
        if self.op in ("ret", "brc", "brd", "jmpi", "calla"):
            extents, others = self._region(register, 2, 0, 2, 1, 4)
            self._reads(extents, Role.ADDRESS)
            self.uses += [Use(each, Role.ADDRESS) for each in others]
            return
        region = operand.get("rgn") or {}
        rows, columns, step = (region.get(name) for name in ("Vt", "Wi", "Hz"))
        width = _width(operand)
        if _mme(operand) is not None or (rows is None and columns is None and step is None):
            rows, columns, step = 1, 1, 0  # contiguous
            if _mme(operand) is not None:
                self.uses.append(Use(Register("mme", _mme(operand) or 0)))
        extents, others = self._region(
            register, max(1, int(columns or 1)), int(rows or 0), self.lanes, int(step or 0), width
        )
        self._reads(extents, Role.DATA)
        self.uses += [Use(each) for each in others]

    def implicit(self) -> None:
        if self.op not in READS_ACC and self.op not in WRITES_ACC and "AccWrEn" not in (self.node.get("opts") or ()):
            return
        width = max(4, _width(self.node["dst"]) if self.node.get("dst") else 4)
        lanes = _contiguous("acc", 0, self.lanes * width // 4)
        explicit = any(extent.space == "acc" for extent, _ in self.read)
        if self.op in READS_ACC and not explicit:
            self._reads(lanes, Role.IMPLICIT)
        if self.op in WRITES_ACC or "AccWrEn" in (self.node.get("opts") or ()):
            self.written += lanes

    def _reads(self, extents: Iterable[Extent], role: Role) -> None:
        self.read += [(extent, role) for extent in extents]

    def _plain(self, register: Node, role: Role) -> None:
        """A descriptor's register: one dword."""
        extents, others = self._region(register, 1, 0, 1, 1, 4)
        self._reads(extents, role)
        self.uses += [Use(each, role) for each in others]

    def _address(self, operand: Node) -> None:
        """Registers named by an address register: which, is known only when it runs."""
        self.indirect = True
        register = operand["areg"]
        extents, _ = self._region(register, 1, 0, 1, 1, 2)
        self._reads(extents, Role.ADDRESS)

    def _payload(self, register: Node, length: int) -> list[Extent]:
        if register["rn"] == "null" or length is None:
            return []
        count = length if length >= 0 else 1  # a descriptor in a register: at least one
        return self._block(register, count * self.grf)

    def _addresses(self, register: Node, length: int) -> list[Extent]:
        whole, size = self._payload(register, length), address_bytes(self.node, self.lanes)
        if not whole or size is None or size >= whole[0].lanes * 4:
            return whole
        return self._block(register, size)

    def _data(self, register: Node, length: int) -> list[Extent]:
        whole = self._payload(register, length)
        if not whole or not is_plain_scatter(self.node) or 4 * self.lanes >= self.grf:
            return whole
        # One register for each component: of each, the lanes that there are.
        first, step = whole[0].start // 4, self.grf // 4
        return [
            each
            for component in range(whole[0].lanes // step)
            for each in _contiguous(whole[0].space, first + component * step, self.lanes)
        ]

    def _block(self, register: Node, size: int) -> list[Extent]:
        return _contiguous(register["rn"], register["r"] * self.grf // 4, (size + 3) // 4)

    def _region(
        self, register: Node, columns: int, rows: int, lanes: int, step: int, width: int
    ) -> tuple[list[Extent], list[Register]]:
        """A region's extent, or the whole registers that it stands for."""
        name = register["rn"]
        start = register["sr"] * width
        if name == "f":
            size = max(1, width * (1 if lanes == 1 else lanes))
            first = 4 * register["r"] + register["sr"] * width
            return [], [Register("f", first + each) for each in range(min(size, 16))]
        if name in SPECIAL:
            self.special = f"{name}{register['r']}"
        if name not in FILES:
            return [], [Register(name, register["r"])]
        if name != "a":
            start += register["r"] * self.grf
        _check(start)
        return [Extent(name, start, columns, rows, lanes, step, width)], []


def _check(start: int) -> None:
    if not 0 <= start < FILE_BYTES:
        raise ValueError(start)


def _contiguous(space: str, first: int, dwords: int) -> list[Extent]:
    _check(4 * first)
    return [Extent(space, 4 * first, 1, 1, dwords, 0, 4)] if dwords > 0 else []


@lru_cache(maxsize=65536)
def _dwords(extent: Extent) -> tuple[tuple[int, int], ...]:
    """The dwords of an extent, in order, and which of the four bytes of each."""
    _, start, columns, rows, lanes, step, width = extent
    if (columns, rows, step, width) == (1, 1, 0, 4) and not start % 4:
        return tuple((start // 4 + lane, WHOLE) for lane in range(lanes))
    found: dict[int, int] = {}
    ones = (1 << width) - 1
    for lane in range(lanes):
        row, column = divmod(lane, columns)
        at = start + (row * rows + column * step) * width
        mask, dword = ones << at % 4, at // 4
        while mask:
            found[dword] = found.get(dword, 0) | mask & WHOLE
            mask >>= 4
            dword += 1
        if rows == 0 and step == 0:
            break
    return tuple(sorted(found.items()))


def _width(operand: Node) -> int:
    return TYPE_BYTES.get(str(operand.get("type")), 4)


def _mme(operand: Node) -> int | None:
    said = operand.get("mme")
    return int(said[3:]) if isinstance(said, str) and said.startswith("mme") else None


class Splits:
    """Which dwords a function uses in parts, where these begin, and so which registers its operands are."""

    def __init__(self, all_of_them: Iterable[Operands]) -> None:
        every = {extent for one in all_of_them for extent in (*one.written, *(each for each, _ in one.read))}
        starts: dict[tuple[str, int], int] = {}
        for extent in every:
            for dword, parts in _parted(extent):
                starts[extent.space, dword] = starts.get((extent.space, dword), 0) | parts
        parted: dict[str, int] = {}  # the dwords with parts, as bits
        for space, dword in starts:
            parted[space] = parted.get(space, 0) | 1 << dword
        self._parts: dict[Extent, tuple[Register, ...]] = {
            extent: tuple(_registers(extent, starts))
            for extent in every
            if _covered(extent) & parted.get(extent.space, 0)
        }
        self._uses: dict[tuple[Extent, Role], tuple[Use, ...]] = {}

    def defs(self, operands: Operands) -> tuple[Register, ...]:
        """What the instruction writes, once each."""
        if len(operands.written) == 1 and not operands.defs:
            return self._written(operands.written[0])
        found = [register for extent in operands.written for register in self._written(extent)]
        return tuple(dict.fromkeys((*found, *operands.defs)))

    def _written(self, extent: Extent) -> tuple[Register, ...]:
        return self._parts.get(extent) or _whole(extent)

    def uses(self, operands: Operands) -> tuple[Use, ...]:
        """What the instruction reads, once for each role."""
        parts = self._parts
        if not parts or not any(extent in parts for extent, _ in operands.read):
            return _whole_uses(operands.read, operands.uses)
        return _together(operands.read, operands.uses, [self._read(*each) for each in dict.fromkeys(operands.read)])

    def _read(self, extent: Extent, role: Role) -> tuple[Use, ...]:
        if extent not in self._parts:
            return _whole_use(extent, role)
        found = self._uses.get((extent, role))
        if found is None:
            found = self._uses[extent, role] = tuple(Use(register, role) for register in self._parts[extent])
        return found


def _together(
    read: Sequence[tuple[Extent, Role]], others: tuple[Use, ...], parts: Sequence[tuple[Use, ...]]
) -> tuple[Use, ...]:
    """The uses of several extents and others, once each."""
    found = tuple(chain.from_iterable(parts))
    if _are_apart(read):
        return (*found, *dict.fromkeys(others)) if others else found
    return tuple(dict.fromkeys((*found, *others)))


def _are_apart(read: Sequence[tuple[Extent, Role]]) -> bool:
    """Whether no two different extents have a dword in common, and none is read for two purposes."""
    seen: dict[str, int] = {}
    for extent, _ in dict.fromkeys(read):
        covered, before = _covered(extent), seen.get(extent.space, 0)
        if covered & before:
            return False
        seen[extent.space] = before | covered
    return True


@lru_cache(maxsize=65536)
def _covered(extent: Extent) -> int:
    """The dwords of an extent, as bits."""
    _, start, columns, rows, lanes, step, width = extent
    if (columns, rows, step, width) == (1, 1, 0, 4) and not start % 4:
        return (1 << lanes) - 1 << start // 4
    return sum(1 << dword for dword, _ in _dwords(extent))


@lru_cache(maxsize=65536)
def _parted(extent: Extent) -> tuple[tuple[int, int], ...]:
    """The dwords of which an extent covers a part, and the bytes at which parts of it begin, as bits."""
    return tuple((dword, (mask ^ mask << 1) & 0b1110) for dword, mask in _dwords(extent) if mask != WHOLE)


# Most extents are of whole dwords that nothing in their function cuts: what these are is the same everywhere.


@lru_cache(maxsize=65536)
def _whole(extent: Extent) -> tuple[Register, ...]:
    return tuple([_register(extent.space, dword) for dword, _ in _dwords(extent)])


@lru_cache(maxsize=65536)
def _whole_use(extent: Extent, role: Role) -> tuple[Use, ...]:
    return tuple([Use(register, role) for register in _whole(extent)])


@lru_cache(maxsize=65536)
def _whole_uses(read: tuple[tuple[Extent, Role], ...], others: tuple[Use, ...]) -> tuple[Use, ...]:
    return _together(read, others, [_whole_use(*each) for each in dict.fromkeys(read)])


def _registers(extent: Extent, starts: Mapping[tuple[str, int], int]) -> Iterator[Register]:
    space = extent.space
    for dword, mask in _dwords(extent):
        if mask & 1:
            yield _register(space, dword)
        parts = starts.get((space, dword), 0)
        if parts:
            for part in (1, 2, 3):
                if parts >> part & 1 and mask >> part & 1:
                    yield _register(f"{space}+{part}", dword)


@lru_cache(maxsize=65536)
def _register(space: str, index: int) -> Register:
    return Register(space, index)


def sources(node: Node) -> Sequence[Node]:
    """The source operands, none for an instruction without."""
    return node.get("srcs") or ()
