"""Where control goes: branches by their encoding, calls by the constants that s_getpc and additions make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from strop.stalls.amd.operands import Decoded
from strop.stalls.amd.registers import IMMEDIATE, number, registers
from strop.stalls.instruction import Control, Flow, Register

MASK32, MASK64 = (1 << 32) - 1, (1 << 64) - 1
# Where a function's return address lies when it starts and, unless it was moved, when it returns.
RETURN_ADDRESS = ("s30", "s31")


class Constants:
    """The scalar registers whose value is a known address, along straight-line code.

    A call is `s_getpc_b64`, an addition of the distance in two halves, `s_swappc_b64`; a far one loads the address from
    the GOT. The pair is set in one block, so that values are forgotten at every label.
    """

    def __init__(self, got: Mapping[int, int]) -> None:
        self.got = got
        self.values: dict[Register, int] = {}
        self.carry: int | None = None

    def forget(self, clobbered: frozenset[Register] | None = None) -> None:
        """Control comes from elsewhere: from a callee that writes only `clobbered`, or (None) from anywhere."""
        self.values = {} if clobbered is None else {k: v for k, v in self.values.items() if k not in clobbered}
        self.carry = None

    def pair(self, operand: str) -> int | None:
        """The 64-bit value of an operand, None where it isn't known."""
        named = registers(operand)
        if len(named) != 2 or any(each not in self.values for each in named):
            return None
        return self.values[named[0]] | self.values[named[1]] << 32

    def _word(self, operand: str) -> int | None:
        if IMMEDIATE.match(operand):
            return number(operand) & MASK32
        named = registers(operand)
        return self.values.get(named[0]) if len(named) == 1 else None

    def step(self, decoded: Decoded, following: int) -> None:
        """Follow one instruction; `following` is the address after it."""
        opcode, operands = decoded.text.opcode, decoded.text.operands
        target = registers(operands[0]) if operands else ()  # none where it is null
        made: dict[Register, int] = {}
        carry = None
        if opcode in ("s_getpc_b64", "s_get_pc_i64"):
            made = self._set(target, following)
        elif opcode in ("s_add_u32", "s_add_co_u32", "s_addc_u32", "s_add_co_ci_u32") and len(operands) == 3:
            left, right = self._word(operands[1]), self._word(operands[2])
            extra = self.carry if opcode in ("s_addc_u32", "s_add_co_ci_u32") else 0
            if left is not None and right is not None and extra is not None:
                total = left + right + extra
                made, carry = dict.fromkeys(target[:1], total & MASK32), total >> 32
        elif opcode == "s_add_nc_u64" and len(operands) == 3:
            base = self.pair(operands[1])
            if base is not None and IMMEDIATE.match(operands[2]):
                made = self._set(target, base + number(operands[2]) & MASK64)
        elif opcode == "s_sext_i32_i16" and len(operands) == 2:  # gfx12 clears what s_getpc_b64 leaves above 48 bits
            word = self._word(operands[1])
            if word is not None:
                made = dict.fromkeys(target[:1], ((word & 0xFFFF ^ 0x8000) - 0x8000) & MASK32)
        elif opcode in ("s_mov_b64", "s_mov_b32") and len(operands) == 2:
            source = registers(operands[1])
            if len(source) == len(target) and all(each in self.values for each in source):
                made = {to: self.values[each] for to, each in zip(target, source, strict=True)}
        elif opcode in ("s_load_dwordx2", "s_load_b64") and len(operands) >= 3:
            base = self.pair(operands[1])
            if base is not None and IMMEDIATE.match(operands[2]):
                held = self.got.get(base + number(operands[2]))
                made = self._set(target, held) if held is not None else {}
        if any(register.space == "scc" for register in decoded.defs):
            self.carry = carry
        for register in decoded.defs:
            self.values.pop(register, None)
        self.values.update(made)

    def _set(self, named: tuple[Register, ...], value: int) -> dict[Register, int]:
        return {named[0]: value & MASK32, named[1]: value >> 32 & MASK32} if len(named) == 2 else {}


def target_of(word: int, pc: int) -> int:
    """Where a branch goes: the low 16 bits are words from the instruction after it.

    >>> hex(target_of(0xBF85FFDC, 0x124))
    '0x98'
    """
    return pc + 4 + 4 * ((word & 0xFFFF ^ 0x8000) - 0x8000)


def control(
    decoded: Decoded,
    *,
    word: int,
    pc: int,
    address: int,
    size: int,
    is_kernel: bool,
    constants: Constants,
    names: Mapping[int, str],
) -> Control | None:
    """What an instruction does to control. `address` and `size` are the function's, `names` functions by address."""
    flow = decoded.made.flow if decoded.made else ""
    if not flow:
        return None
    if flow == "exit":
        return Control(Flow.EXIT)
    if flow == "barrier":
        return Control(Flow.BARRIER)
    if flow in ("branch", "conditional"):
        target = target_of(word, pc)
        conditional = flow == "conditional"
        if 0 <= target < size:
            return Control(Flow.BRANCH, (target,), conditional)
        return Control(Flow.BRANCH, None, conditional)  # out of its function: code that's damaged, or hand-written
    if flow == "indirect":
        return Control(Flow.BRANCH, None, True)
    if flow == "call":
        name = names.get(address + target_of(word, pc))
        return Control(Flow.CALL, (name,) if name else None)
    known = constants.pair(decoded.text.operands[-1]) if decoded.text.operands else None
    if flow == "swap pc":
        name = names.get(known) if known is not None else None
        return Control(Flow.CALL, (name,) if name else None)
    if known is not None and 0 <= known - address < size:
        return Control(Flow.BRANCH, (known - address,))  # a branch too far for 16 bits
    if known is not None and known in names:
        return Control(Flow.RETURN)  # a tail call: the callee returns to this function's caller
    return Control(Flow.BRANCH, None) if is_kernel else Control(Flow.RETURN)


def starts(decoded: Sequence[Decoded], pcs: Sequence[int], words: Sequence[int]) -> set[int]:
    """Offsets that branches of a function go to."""
    found = set()
    for each, pc, word in zip(decoded, pcs, words, strict=True):
        if each.made and each.made.flow in ("branch", "conditional"):
            found.add(target_of(word, pc))
    return found
