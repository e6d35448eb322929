"""What an instruction reads and writes: its named registers by form, the implicit ones by its opcode's class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

from strop.stalls.amd import memory
from strop.stalls.amd.opcodes import OpcodeClass, classify, plain
from strop.stalls.amd.registers import EXEC, M0, SCC, VCC, Text, is_half, registers, split
from strop.stalls.instruction import Memory, Register, Role, Use

T = TypeVar("T")

VECTOR_PIPES = ("valu", "trans", "mfma", "wmma", "vmem", "lds", "gds", "export")


@dataclass(frozen=True, slots=True)
class Decoded:
    """An instruction's text decoded. `made` is None for an unknown opcode; `halves` are the opcodes of a dual issue."""

    text: Text
    made: OpcodeClass | None
    defs: tuple[Register, ...] = ()
    uses: tuple[Use, ...] = ()
    memory: Memory | None = None
    event: str = ""
    halves: tuple[str, ...] = ()


@lru_cache(maxsize=65536)
def decode(text: str, family: str, wave: int, scratch: frozenset[int] = frozenset()) -> Decoded:
    """Decode an instruction's text, one of llvm-objdump's.

    >>> made = decode("v_addc_co_u32_e32 v3, vcc, v3, v1, vcc", "gfx90a", 64)
    >>> [str(each) for each in made.defs], [str(use.register) for use in made.uses]
    (['v3', 'vcc0', 'vcc1'], ['v3', 'v1', 'vcc0', 'vcc1', 'exec0', 'exec1'])
    """
    if " :: " in text:
        return _dual(text, family, wave)
    apart = split(text)
    made = classify(apart.opcode)
    if made is None:
        return Decoded(apart, None)
    found = memory.access(apart, made, scratch=scratch)
    if found is None:
        defs, uses = _by_form(apart, made, family)
        found = memory.Access(defs, uses, None, made.event)
    defs, uses = _implicit(apart, made, found.defs, found.uses, wave)
    return Decoded(apart, made, _once(defs), _once(uses), found.memory, found.event or made.event)


def _dual(text: str, family: str, wave: int) -> Decoded:
    """`v_dual_x … :: v_dual_y …`: both read before either writes."""
    halves = [half.strip().replace("v_dual_", "v_", 1) for half in text.split(" :: ")]
    decoded = []
    for half in halves:
        each = decode(half, family, wave)
        if each.made is None:
            return Decoded(split(text), None)
        if plain(each.text.opcode).startswith("v_cndmask") and len(each.text.operands) < 4:
            each = replace(
                each, uses=each.uses + tuple(Use(register, Role.PREDICATE) for register in VCC[: wave // 32])
            )
        decoded.append(each)
    first = decoded[0]
    return Decoded(
        replace(split(halves[0]), opcode=text.partition(" ")[0]),
        first.made,
        _once(tuple(register for each in decoded for register in each.defs)),
        _once(tuple(use for each in decoded for use in each.uses)),
        halves=tuple(each.text.opcode for each in decoded),
    )


def _by_form(text: Text, made: OpcodeClass, family: str) -> tuple[tuple[Register, ...], tuple[Use, ...]]:
    operands = text.operands
    if made.form == "none":
        return (), ()
    if made.form == "export":  # exp mrt0 v0, v1, off, off: the target is the first word
        return (), tuple(Use(register) for each in (*operands, *text.modifiers) for register in registers(each))
    if made.form == "first":
        return registers(operands[0]) if operands else (), ()
    written = {"dst": 1, "dst2": 2, "swap": 2, "use": 0}.get(made.form, 0)
    if made.form == "cmpx":  # gfx9 writes its mask to an SGPR as well as to EXEC
        written = 1 if family.startswith("gfx9") else 0
    defs = tuple(register for each in operands[:written] for register in registers(each))
    read = operands if made.form == "swap" else operands[written:]
    uses = [Use(register) for each in read for register in registers(each)]
    if "last p" in made.effects and len(operands) > 3:
        mask = set(registers(operands[-1]))
        uses = [Use(use.register, Role.PREDICATE) if use.register in mask else use for use in uses]
    if "reads dst" in made.effects or _keeps(text, made):
        uses += [Use(register) for register in defs]
    return defs, tuple(uses)


def _keeps(text: Text, made: OpcodeClass) -> bool:
    """Whether the destination's old value shows through: DPP with lanes or rows off, SDWA, halves of registers."""
    if made.pipe not in ("valu", "trans") or not text.operands:
        return False
    if "_dpp" in text.opcode:
        masks = (text.modifier("row_mask"), text.modifier("bank_mask"))
        zeroed = text.modifier("bound_ctrl") is not None or text.modifier("dpp8") is not None
        return not zeroed or any(mask not in (None, "0xf") for mask in masks)
    if text.modifier("dst_unused") == "UNUSED_PRESERVE":
        return True
    if is_half(text.operands[0]):
        return True
    selected = text.modifier("op_sel")  # [0,0,1]: the last says that the high half is written, the low one stays
    return bool(selected and selected.endswith(",1]") and not text.opcode.startswith("v_pk_"))


def _implicit(
    text: Text, made: OpcodeClass, defs: tuple[Register, ...], uses: tuple[Use, ...], wave: int
) -> tuple[tuple[Register, ...], tuple[Use, ...]]:
    lanes = slice(0, wave // 32)
    spaces: dict[str, tuple[Register, ...]] = {"scc": (SCC,), "vcc": VCC[lanes], "exec": EXEC[lanes], "m0": (M0,)}
    for effect in made.effects:
        name, _, how = effect.partition(" ")
        named = spaces.get(name, ())
        if how == "w":
            defs += named
        elif how in ("r", "p"):
            role = Role.PREDICATE if how == "p" else Role.IMPLICIT
            uses += tuple(Use(register, role) for register in named)
    if (
        made.pipe in VECTOR_PIPES and "no exec" not in made.effects and made.form != "none"
    ) or made.event == "lds direct":
        uses += tuple(Use(register, Role.IMPLICIT) for register in EXEC[lanes])
    if made.kind == "copy" and "m0 r" not in made.effects and "lds" in text.modifiers:
        uses += (Use(M0, Role.IMPLICIT),)
    if made.form.startswith("buffer") and "lds" in text.modifiers:
        uses += (Use(M0, Role.IMPLICIT),)
    if "gds" in text.modifiers:
        uses += (Use(M0, Role.IMPLICIT),)
    return defs, uses


def _once(items: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
