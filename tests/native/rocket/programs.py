"""Random programs of RV64IMAFDC that end, for comparison with another implementation.

One ELF holds many programs. Each loads its registers from a table of its own, runs random instructions on an arena of
memory, and writes arena and registers to standard output by the `write` call; after the last comes `exit`. Code stands
where it's linked in every implementation, so that addresses in registers are equal, too.

Registers: x31 and x2 point into the arena and are never written; x30 is an address into it that precedes each atomic;
x29 counts the rounds of a loop.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.native.rocket import encoding as e

BASE = 0x10000
MEMORY_BYTES = 8 << 20
ARENA, DUMP, POOL = -256, 128, 672  # offsets from x31: read and written; where registers are stored; constants
DUMP_END = DUMP + 66 * 8
RECORD = DUMP_END - ARENA  # bytes that a program writes
FREE = [*range(1, 2), *range(3, 29)]  # integer registers that a random instruction may write, and x0

SPECIAL_64 = [
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000,
    0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0xFFF8000000000123, 0x0000000000000001,
    0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF, 0x43E0000000000000, 0xC3E0000000000000,
    0x41DFFFFFFFC00000, 0x41E0000000000000, 0x3FE0000000000000, 0x4330000000000001, 0x3CA0000000000000,
    0x37F0000000000000, 0x380FFFFFE0000000, 0x47EFFFFFF0000000, 0x36A0000000000000,
]  # fmt: skip
SPECIAL_32 = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC01234,
    0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x5F000000, 0xDF000000, 0x4F000000, 0xCF000000, 0x3F000000,
    0x4B000001, 0x33800000, 0x5F7FFFFF, 0x4EFFFFFF,
]  # fmt: skip
SPECIAL_INTEGERS = [
    0, 1, 2, 0xFF, 0x7FF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
    (1 << 64) - (1 << 31), (1 << 53) + 1,
]  # fmt: skip


@dataclass
class Dice:
    """Random numbers by `getrandbits` alone: the same programs from a seed under every Python."""

    source: random.Random

    def below(self, n: int) -> int:
        return self.source.getrandbits(32) % n

    def bits(self, n: int) -> int:
        return self.source.getrandbits(n)

    def pick(self, options: list[int]) -> int:
        return options[self.below(len(options))]

    def float64(self) -> int:
        kind = self.below(8)
        if kind < 3:
            return self.pick(SPECIAL_64)
        if kind < 6:  # near 1, or near the ends of the range; with few bits, ties
            exponent = 1023 + self.below(9) - 4 if kind < 5 else self.pick([0, 1, 2, 3, 53, 2044, 2045, 2046])
            return (
                self.bits(1) << 63 | exponent << 52 | (self.bits(52) >> self.below(53) << self.below(2)) & (1 << 52) - 1
            )
        return self.bits(64)

    def float32(self) -> int:
        kind = self.below(8)
        if kind < 3:
            return self.pick(SPECIAL_32)
        if kind < 6:
            exponent = 127 + self.below(9) - 4 if kind < 5 else self.pick([0, 1, 2, 3, 24, 252, 253, 254])
            return self.bits(1) << 31 | exponent << 23 | (self.bits(23) >> self.below(24) << self.below(2)) & 0x7FFFFF
        return self.bits(32)

    def floating(self) -> int:
        kind = self.below(16)
        if kind < 8:
            return 0xFFFFFFFF << 32 | self.float32()
        return self.float64() if kind < 15 else self.bits(64)

    def integer(self) -> int:
        kind = self.below(4)
        if kind == 0:
            return self.pick(SPECIAL_INTEGERS)
        return self.bits(64) >> self.below(64) if kind == 1 else self.bits(64)


@dataclass
class Writer:
    """One program in the making: pieces of code whose branches are closed when their targets are known."""

    dice: Dice
    code: list[bytes] = field(default_factory=list)
    at: int = 0
    open: list[tuple[int, int, Callable[[int], bytes]]] = field(default_factory=list)  # (piece, place, offset -> code)

    def put(self, *instructions: int) -> None:
        data = e.words(*instructions)
        self.code.append(data)
        self.at += len(data)

    def forward(self, make: Callable[[int], bytes], size: int) -> None:
        """A transfer of control to a later instruction: closed by `land`, at the latest at the end."""
        self.open.append((len(self.code), self.at, make))
        self.code.append(bytes(size))
        self.at += size

    def land(self, limit: int) -> None:
        """Close those that are open and reach at most `limit` bytes back."""
        for piece, place, make in self.open:
            assert self.at - place < limit
            self.code[piece] = make(self.at - place)
        self.open.clear()

    # --- registers ---------------------------------------------------------------------------------------------

    def rd(self) -> int:
        return 0 if self.dice.below(24) == 0 else self.dice.pick(FREE)

    def rs(self) -> int:
        return self.dice.below(32)

    def rf(self) -> int:
        return self.dice.below(32)

    def rm(self) -> int:
        return self.dice.pick([0, 0, 1, 2, 3, 4, 7, 7])


# --- kinds of instructions ------------------------------------------------------------------------------------------


def integer_registers(w: Writer) -> None:
    funct7, funct3s, opcode = [
        (0x00, range(8), e.OP),
        (0x20, (0, 5), e.OP),
        (0x01, range(8), e.OP),
        (0x00, (0, 1, 5), e.OP_32),
        (0x20, (0, 5), e.OP_32),
        (0x01, (0, 4, 5, 6, 7), e.OP_32),
    ][w.dice.below(6)]
    w.put(e.r_type(opcode, w.rd(), w.dice.pick(list(funct3s)), w.rs(), w.rs(), funct7))


def integer_immediate(w: Writer) -> None:
    funct3 = w.dice.below(8)
    wide = w.dice.below(3) != 0
    if funct3 in (1, 5):
        shift = w.dice.below(64 if wide else 32) | (0x400 if funct3 == 5 and w.dice.bits(1) else 0)
        w.put(e.i_type(e.OP_IMM if wide else e.OP_IMM_32, w.rd(), funct3, w.rs(), shift))
    elif funct3 == 0 and not wide:
        w.put(e.i_type(e.OP_IMM_32, w.rd(), 0, w.rs(), w.dice.bits(12)))
    else:
        w.put(e.i_type(e.OP_IMM, w.rd(), funct3, w.rs(), w.dice.bits(12)))


def upper(w: Writer) -> None:
    w.put(e.u_type(e.LUI if w.dice.bits(1) else e.AUIPC, w.rd(), w.dice.bits(20)))


def offset(w: Writer, size: int) -> int:
    place = ARENA + w.dice.below(DUMP - ARENA - size + 1)
    return place if w.dice.below(4) == 0 else place // size * size


def load(w: Writer) -> None:
    funct3 = w.dice.below(7)
    w.put(e.i_type(e.LOAD, w.rd(), funct3, 31, offset(w, 1 << (funct3 & 3))))


def store(w: Writer) -> None:
    funct3 = w.dice.below(4)
    w.put(e.s_type(e.STORE, funct3, 31, w.rs(), offset(w, 1 << funct3)))


def float_memory(w: Writer) -> None:
    wide = w.dice.bits(1)
    kind = w.dice.below(4)
    if kind == 0:
        w.put(e.s_type(e.STORE_FLOAT, 2 + wide, 31, w.rf(), offset(w, 4 << wide)))
    elif kind == 1:
        w.put(e.i_type(e.LOAD_FLOAT, w.rf(), 2 + wide, 31, offset(w, 4 << wide)))
    else:  # a fresh value: results of results are mostly NaN
        place = POOL + w.dice.below((2040 - POOL) // 8) * 8
        w.put(e.i_type(e.LOAD_FLOAT, w.rf(), 3, 31, place))


def atomic(w: Writer) -> None:
    wide = w.dice.bits(1)
    size = 4 << wide
    place = ARENA // size * size + w.dice.below((DUMP - ARENA) // size) * size
    w.put(e.addi(30, 31, place))
    ordering = w.dice.bits(2)
    kind = w.dice.below(12)
    if kind < 9:
        funct5 = [0, 1, 4, 8, 12, 16, 20, 24, 28][kind]
        w.put(e.r_type(e.AMO, w.rd(), 2 + wide, 30, w.rs(), funct5 << 2 | ordering))
        return
    w.put(e.r_type(e.AMO, w.rd(), 2 + wide, 30, 0, 2 << 2 | ordering))
    if kind == 10:
        w.put(e.s_type(e.STORE, 0, 30, w.rs(), w.dice.below(size)))  # the word may change in between
    elif kind == 11:
        w.put(e.addi(30, 31, ARENA + w.dice.below(8) * size))
    w.put(e.r_type(e.AMO, w.rd(), 2 + wide, 30, w.rs(), 3 << 2 | ordering))
    if w.dice.bits(1):
        w.put(e.r_type(e.AMO, w.rd(), 2 + wide, 30, w.rs(), 3 << 2))


def float_arithmetic(w: Writer) -> None:
    wide = w.dice.bits(1)
    kind = w.dice.below(9)
    if kind < 4:
        opcode = 0x43 + 4 * kind
        w.put(e.r_type(opcode, w.rf(), w.rm(), w.rf(), w.rf(), w.rf() << 2 | wide))
    elif kind < 8:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), w.rm(), w.rf(), w.rf(), (kind - 4) << 2 | wide))
    else:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), w.rm(), w.rf(), 0, 0x0B << 2 | wide))
    take_flags(w)


def take_flags(w: Writer) -> None:
    if w.dice.bits(1):  # flags that are up already would hide those that aren't raised
        w.put(e.i_type(e.SYSTEM, w.rd(), 5, 0, 1))


def float_other(w: Writer) -> None:
    wide = w.dice.bits(1)
    kind = w.dice.below(8)
    if kind == 0:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), w.dice.below(3), w.rf(), w.rf(), 0x04 << 2 | wide))
    elif kind == 1:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), w.dice.bits(1), w.rf(), w.rf(), 0x05 << 2 | wide))
    elif kind == 2:
        w.put(e.r_type(e.OP_FLOAT, w.rd(), w.dice.below(3), w.rf(), w.rf(), 0x14 << 2 | wide))
    elif kind == 3:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), w.rm(), w.rf(), 1 - wide, 0x08 << 2 | wide))
    elif kind == 4:
        w.put(e.r_type(e.OP_FLOAT, w.rd(), w.rm(), w.rf(), w.dice.below(4), 0x18 << 2 | wide))
    elif kind == 5:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), w.rm(), w.rs(), w.dice.below(4), 0x1A << 2 | wide))
    elif kind == 6:
        w.put(e.r_type(e.OP_FLOAT, w.rd(), w.dice.bits(1), w.rf(), 0, 0x1C << 2 | wide))
    else:
        w.put(e.r_type(e.OP_FLOAT, w.rf(), 0, w.rs(), 0, 0x1E << 2 | wide))
    take_flags(w)


def float_csr(w: Writer) -> None:
    number = 1 + w.dice.below(3)
    if number == 1:
        w.put(e.i_type(e.SYSTEM, w.rd(), w.dice.pick([1, 2, 3, 5, 6, 7]), w.rs(), 1))
    elif number == 2:  # a mode that exists: the others make instructions illegal
        w.put(e.i_type(e.SYSTEM, w.rd(), 5, w.dice.below(5), 2))
    else:
        w.put(e.i_type(e.SYSTEM, w.rd(), 2, 0, 3))


def branches(w: Writer) -> None:
    if len(w.open) >= 3:
        w.land(4096)
        return
    kind = w.dice.below(8)
    rs1, rs2 = w.rs(), w.rs()
    if kind < 5:
        funct3 = w.dice.pick([0, 1, 4, 5, 6, 7])
        w.forward(lambda by: e.words(e.branch(funct3, rs1, rs2, by)), 4)
    elif kind == 5:
        rd = w.rd()
        w.forward(lambda by: e.words(e.jal(rd, by)), 4)
    elif kind == 6:
        rd, base = w.rd(), w.dice.pick(FREE)
        w.forward(lambda by: e.words(e.u_type(e.AUIPC, base, 0), e.i_type(e.JALR, rd, 0, base, by)), 8)
    else:
        register, not_equal = w.dice.below(10), w.dice.bits(1)
        if register >= 8:
            w.forward(lambda by: e.words(compressed_jump(by)), 2)
        else:
            w.forward(lambda by: e.words(compressed_branch(not_equal, register, by)), 2)


def compressed_branch(not_equal: int, register: int, by: int) -> int:
    word = 0xC001 | not_equal << 13 | register << 7
    return (
        word | (by >> 8 & 1) << 12 | (by >> 3 & 3) << 10 | (by >> 6 & 3) << 5 | (by >> 1 & 3) << 3 | (by >> 5 & 1) << 2
    )


def compressed_jump(by: int) -> int:
    word = 0xA001 | (by >> 11 & 1) << 12 | (by >> 4 & 1) << 11 | (by >> 8 & 3) << 9 | (by >> 10 & 1) << 8
    return word | (by >> 6 & 1) << 7 | (by >> 7 & 1) << 6 | (by >> 1 & 7) << 3 | (by >> 5 & 1) << 2


def compressed(w: Writer) -> None:
    d = w.dice
    rd = d.pick(FREE)
    low, low2 = d.below(8), d.below(8)  # x8 to x15
    imm = d.bits(1) << 12 | d.bits(5) << 2
    some_imm = imm if imm else 4
    full = d.pick([1, *range(3, 29)])
    options = [
        0x0000 | (d.bits(8) | 1) << 5 | low << 2,  # addi4spn
        0x0001 | imm | rd << 7,  # addi
        0x2001 | imm | rd << 7,  # addiw
        0x4001 | imm | rd << 7,  # li
        0x6001 | some_imm | rd << 7,  # lui
        0x8001 | imm | low << 7,  # srli
        0x8401 | imm | low << 7,  # srai
        0x8801 | imm | low << 7,  # andi
        0x8C01 | low << 7 | d.bits(2) << 5 | low2 << 2,  # sub xor or and
        0x9C01 | low << 7 | d.bits(1) << 5 | low2 << 2,  # subw addw
        0x0002 | imm | rd << 7,  # slli
        0x8002 | rd << 7 | full << 2,  # mv
        0x9002 | rd << 7 | full << 2,  # add
    ]
    w.put(options[d.below(len(options))])


def compressed_memory(w: Writer) -> None:
    d = w.dice
    low, low2 = d.below(8), d.below(8)
    if d.bits(1):  # by the stack pointer, which x2 is; what is stored past the arena is overwritten by the dump
        place = d.bits(6) << 7
        scattered = d.bits(1) << 12 | d.bits(5) << 2
        options = [
            0x4002 | d.pick(FREE) << 7 | scattered,  # lwsp
            0x6002 | d.pick(FREE) << 7 | scattered,  # ldsp
            0x2002 | d.below(32) << 7 | scattered,  # fldsp
            0xC002 | place | d.below(32) << 2,  # swsp
            0xE002 | place | d.below(32) << 2,  # sdsp
            0xA002 | place | d.below(32) << 2,  # fsdsp
        ]
        w.put(options[d.below(len(options))])
        return
    w.put(e.addi(8 + low, 31, -256 + d.below(17) * 8))
    fields = d.bits(3) << 10 | low << 7 | low2 << 2
    word, doubleword = fields | d.bits(2) << 5, fields
    options = [0x4000 | word, 0x6000 | doubleword, 0x2000 | doubleword, 0xC000 | word, 0xE000 | doubleword]
    w.put([*options, 0xA000 | doubleword][d.below(6)])


def loop(w: Writer) -> None:
    """A short loop of at most nine rounds; branches within it are closed within it."""
    w.land(4096)
    w.put(e.addi(29, 0, 1 + w.dice.below(9)))
    begin = w.at
    for _ in range(1 + w.dice.below(6)):
        STRAIGHT[w.dice.below(len(STRAIGHT))](w)
    w.put(e.addi(29, 29, -1))
    w.put(e.branch(1, 29, 0, begin - w.at))


def self_modification(w: Writer) -> None:
    """Writes an instruction over the one after a fence.i, and executes it."""
    w.land(4096)
    rd, target = w.rd(), 28
    w.put(e.u_type(e.AUIPC, target, 0))
    start = w.at - 4
    new = e.i_type(e.OP_IMM, rd, w.dice.pick([0, 4, 6, 7]), w.rs(), w.dice.bits(12))
    w.put(*e.load_constant(27, new))
    place = w.at + 8 - start
    w.put(e.s_type(e.STORE, 2, target, 27, place), e.FENCE_I, e.NOP)


def fences(w: Writer) -> None:
    w.put(w.dice.pick([e.FENCE_ALL, e.FENCE_I, e.NOP, 0x0001]))


STRAIGHT: list[Callable[[Writer], None]] = [
    integer_registers, integer_registers, integer_immediate, upper, load, store, float_memory, float_memory, atomic,
    float_arithmetic, float_arithmetic, float_other, float_other, float_csr, compressed, compressed_memory,
]  # fmt: skip
KINDS = [*STRAIGHT * 3, *[branches] * 8, loop, loop, self_modification, fences]


def one_program(dice: Dice, length: int) -> bytes:
    w = Writer(dice)
    for _ in range(length):
        KINDS[dice.below(len(KINDS))](w)
        if w.open and w.at - w.open[0][1] > 180:
            w.land(4096)
    w.land(4096)
    return b"".join(w.code)


# --- the ELF --------------------------------------------------------------------------------------------------------


def loader() -> bytes:
    """x3 points to 32 floats, fcsr and the values of x4 to x28; returns by x1."""
    code = [e.i_type(e.LOAD_FLOAT, r, 3, 3, 8 * r) for r in range(32)]
    code += [e.i_type(e.LOAD, 4, 3, 3, 256), e.i_type(e.SYSTEM, 0, 1, 4, 3)]
    code += [e.i_type(e.LOAD, r, 3, 3, 264 + 8 * (r - 4)) for r in range(4, 30)]
    return e.words(*code, e.i_type(e.JALR, 0, 0, 1, 0))


SEEDS = 8 * (32 + 1 + 26)


def dumper() -> bytes:
    """Stores x1 to x29, x31, the floats and fcsr, writes arena and dump; returns by x30."""
    code = [e.s_type(e.STORE, 3, 31, r, DUMP + 8 * r) for r in [*range(30), 31]]
    code += [e.s_type(e.STORE_FLOAT, 3, 31, r, DUMP + 8 * (32 + r)) for r in range(32)]
    code += [e.i_type(e.SYSTEM, 5, 2, 0, 3), e.s_type(e.STORE, 3, 31, 5, DUMP + 8 * 64)]
    code += [e.addi(17, 0, 64), e.addi(10, 0, 1), e.addi(11, 31, ARENA), e.addi(12, 0, RECORD), e.ECALL]
    return e.words(*code, e.i_type(e.JALR, 0, 0, 30, 0))


def far(rd: int, by: int) -> list[int]:
    """rd = here + by."""
    low = (by & 0xFFF) - ((by & 0x800) << 1)
    return [e.u_type(e.AUIPC, rd, (by - low) >> 12), e.addi(rd, rd, low)]


def program_elf(seed: int, *, programs: int = 500, length: int = 40) -> bytes:
    """An ELF of `programs` random programs; it writes RECORD bytes for each and exits with 0."""
    dice = Dice(random.Random(seed))
    data = bytearray()
    for _ in range((DUMP - ARENA) // 8):
        data += struct.pack("<Q", dice.floating())
    data += bytes(POOL - DUMP)
    for _ in range((2048 - POOL) // 8):
        data += struct.pack("<Q", dice.floating())
    tables = []
    for _ in range(programs):
        values = [dice.floating() for _ in range(32)] + [dice.below(5) << 5 | dice.bits(5) * dice.bits(1)]
        values += [dice.integer() for _ in range(26)]
        tables.append(struct.pack(f"<{len(values)}Q", *values))
    bodies = [one_program(dice, length) for _ in range(programs)]
    # Layout: entry, loader, dumper, programs; then, on a page of its own, the arena, and the tables of seeds.
    load_code, dump_code = loader(), dumper()
    prologue, frame = 20, 4 + 12
    load_at = prologue
    dump_at = load_at + len(load_code)
    at = dump_at + len(dump_code)
    starts = []
    for body in bodies:
        starts.append(at)
        at += frame + len(body) + (-len(body)) % 4
    exit_at = at
    arena = (exit_at + 12 + 4095) // 4096 * 4096 - ARENA
    tables_at = arena + 2048
    code = bytearray(e.words(*far(31, arena), e.addi(2, 31, 0), e.NOP, e.jal(0, starts[0] - 16)))
    code += load_code + dump_code
    for start, body, k in zip(starts, bodies, range(programs), strict=True):
        code += e.words(*far(3, tables_at + k * SEEDS - start), e.jal(1, load_at - (start + 8)))
        code += body + e.words(*[1] * ((-len(body)) % 4 // 2))
        code += e.words(e.jal(30, dump_at - len(code)))
    code += e.words(e.addi(17, 0, 93), e.addi(10, 0, 0), e.ECALL)
    image = bytes(code).ljust(arena + ARENA, b"\0") + bytes(data) + b"".join(tables)
    return e.elf([(BASE, image, 7)], entry=BASE)
