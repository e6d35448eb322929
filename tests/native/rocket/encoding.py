"""RISC-V instruction encodings (unprivileged ISA manual) and a minimal ELF64 writer: tests need no assembler."""

from __future__ import annotations

import struct

LOAD, LOAD_FLOAT, FENCE, OP_IMM, AUIPC, OP_IMM_32, STORE, STORE_FLOAT = 0x03, 0x07, 0x0F, 0x13, 0x17, 0x1B, 0x23, 0x27
AMO, OP, LUI, OP_32, OP_FLOAT, BRANCH, JALR, JAL, SYSTEM, CUSTOM_3 = (
    0x2F,
    0x33,
    0x37,
    0x3B,
    0x53,
    0x63,
    0x67,
    0x6F,
    0x73,
    0x7B,
)
ECALL, EBREAK, MRET, WFI, FENCE_I, FENCE_ALL, NOP = (
    0x00000073,
    0x00100073,
    0x30200073,
    0x10500073,
    0x0000100F,
    0x0FF0000F,
    0x00000013,
)


def r_type(opcode: int, rd: int, funct3: int, rs1: int, rs2: int, funct7: int) -> int:
    return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | funct7 << 25


def i_type(opcode: int, rd: int, funct3: int, rs1: int, imm: int) -> int:
    return opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (imm & 0xFFF) << 20


def s_type(opcode: int, funct3: int, rs1: int, rs2: int, imm: int) -> int:
    return opcode | (imm & 31) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7F) << 25


def u_type(opcode: int, rd: int, imm: int) -> int:
    """`imm` is the value's upper 20 bits."""
    return opcode | rd << 7 | (imm & 0xFFFFF) << 12


def branch(funct3: int, rs1: int, rs2: int, offset: int) -> int:
    word = BRANCH | funct3 << 12 | rs1 << 15 | rs2 << 20
    word |= (offset >> 11 & 1) << 7 | (offset >> 1 & 15) << 8 | (offset >> 5 & 63) << 25 | (offset >> 12 & 1) << 31
    return word


def jal(rd: int, offset: int) -> int:
    word = JAL | rd << 7 | (offset >> 12 & 255) << 12 | (offset >> 11 & 1) << 20
    return word | (offset >> 1 & 1023) << 21 | (offset >> 20 & 1) << 31


def addi(rd: int, rs1: int, imm: int) -> int:
    return i_type(OP_IMM, rd, 0, rs1, imm)


def load_constant(rd: int, value: int) -> list[int]:
    """Any 64-bit value in at most eight instructions."""
    value &= (1 << 64) - 1
    signed = value - (1 << 64) if value >> 63 else value
    if -2048 <= signed < 2048:
        return [addi(rd, 0, signed)]
    if -(1 << 31) <= signed < (1 << 31) - 2048:
        low = (signed & 0xFFF) - ((signed & 0x800) << 1)
        return [u_type(LUI, rd, (signed - low) >> 12), i_type(OP_IMM_32, rd, 0, rd, low)]
    low = (signed & 0xFFF) - ((signed & 0x800) << 1)
    return [*load_constant(rd, (signed - low) >> 12), i_type(OP_IMM, rd, 1, rd, 12), addi(rd, rd, low)]


def words(*instructions: int) -> bytes:
    """Instructions to bytes; one whose two lowest bits aren't both set takes two bytes."""
    return b"".join(struct.pack("<I" if word & 3 == 3 else "<H", word) for word in instructions)


def elf(
    segments: list[tuple[int, bytes, int]], *, entry: int, symbols: dict[str, int] | None = None, zeros: int = 0
) -> bytes:
    """A static RISC-V executable of (address, bytes, flags: 4 read, 2 write, 1 execute); `zeros` follow the last."""
    symbols = symbols or {}
    offset = (64 + 56 * len(segments) + 4095) & ~4095
    headers, body = b"", b""
    for i, (address, data, flags) in enumerate(segments):
        at = offset + len(body)
        padding = (address - at) % 4096
        body += bytes(padding)
        size = len(data) + (zeros if i == len(segments) - 1 else 0)
        headers += struct.pack("<IIQQQQQQ", 1, flags, at + padding, address, address, len(data), size, 4096)
        body += data
    names = b"\0"
    table = bytes(24)
    for name, value in symbols.items():
        table += struct.pack("<IBBHQQ", len(names), 0x11, 0, 0xFFF1, value, 8)
        names += name.encode() + b"\0"
    table_at = offset + len(body)
    names_at = table_at + len(table)
    sections_at = names_at + len(names)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, table_at, len(table), 2, 1, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, names_at, len(names), 0, 0, 1, 0)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 243, 1, entry, 64, sections_at, 5, 64, 56, len(segments), 64, 3, 0)
    return (header + headers).ljust(offset, b"\0") + body + table + names + sections
