"""Registers that no instruction tells apart are one piece; any instruction that does cuts it."""

from __future__ import annotations

from strop.stalls.flow.operands import read, written
from strop.stalls.flow.pieces import Pieces
from strop.stalls.instruction import Direction as To
from strop.stalls.instruction import Guard, Instruction, Memory, Register, Role, Use


def one(
    defs: range | tuple[()] = (),
    uses: range | tuple[()] = (),
    *,
    role: Role = Role.DATA,
    guard: Guard | None = None,
    memory: Memory | None = None,
) -> Instruction:
    made = [Register("r", index) for index in defs], [Use(Register("r", index), role) for index in uses]
    return Instruction(
        pc=0, size=16, opcode="x", text="x", defs=tuple(made[0]), uses=tuple(made[1]), guard=guard, memory=memory
    )


def pieces(*code: Instruction) -> list[set[str]]:
    found = Pieces(code)
    return [
        {str(register) for register, of in zip(found.registers, found.of, strict=True) if of == piece}
        for piece in range(len(found))
    ]


def test_registers_always_used_together_are_one_piece() -> None:
    assert pieces(one(range(4)), one(uses=range(4))) == [{"r0", "r1", "r2", "r3"}]


def test_an_operand_that_takes_a_part_cuts() -> None:
    assert pieces(one(range(4)), one(uses=range(2))) == [{"r0", "r1"}, {"r2", "r3"}]
    assert pieces(one(range(4)), one(range(1, 3))) == [{"r0", "r3"}, {"r1", "r2"}]


def test_what_is_read_for_different_purposes_is_told_apart() -> None:
    code = Instruction(
        pc=0, size=16, opcode="x", text="x", uses=(Use(Register("r", 0)), Use(Register("r", 1), Role.ADDRESS))
    )
    assert pieces(one(range(2)), code) == [{"r0"}, {"r1"}]


def test_a_piece_lies_in_one_space() -> None:
    code = Instruction(pc=0, size=16, opcode="x", text="x", defs=(Register("v", 0), Register("vcc")))
    assert pieces(code) == [{"v0"}, {"vcc0"}]


def test_written_and_read_say_what_the_operands_are() -> None:
    slot = Memory("local", To.STORE, 8, slot=("r1", 16))
    code = [
        one(range(4), range(2, 8), guard=Guard(Register("p", 0))),
        one(uses=range(4, 8), memory=slot),
        one(range(8, 10), range(4, 5), role=Role.ADDRESS, memory=Memory("local", To.LOAD, 8, slot=("r1", 16))),
        one(uses=range(4), guard=Guard(Register("r", 2))),
    ]
    found = Pieces(code)
    inside: dict[int, set[Register]] = {}
    for register, piece in zip(found.registers, found.of, strict=True):
        inside.setdefault(piece, set()).add(register)
    for instruction, writes, reads in zip(code, found.written, found.read, strict=True):
        assert set().union(*(inside[piece] for piece in writes)) == set(written(instruction))
        assert {(register, role) for piece, role in reads for register in inside[piece]} == set(read(instruction))
