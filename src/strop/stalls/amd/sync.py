"""Waits and pending operations: counters of each generation as `Wait` and `Pend` (`tables/counters.toml`).

`s_delay_alu` is a hint and waits for nothing; dependences through VALU, SALU and MFMA results are kept by the hardware,
with no instruction that waits, so their producers pend on nothing. An exception are the dependency counters that
`s_waitcnt_depctr` and `s_wait_alu` name: where a function waits for one, its setters pend on it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from strop.stalls.amd.operands import Decoded
from strop.stalls.amd.registers import number
from strop.stalls.instruction import Instruction, Pend, Use, Wait, When

TABLE = {"gfx9": "gfx9", "gfx90a": "gfx9", "gfx940": "gfx9", "gfx10": "gfx10", "gfx11": "gfx10"}
TABLE |= {"gfx12": "gfx12", "gfx1250": "gfx12"}
WAITS = {"gfx9": "gfx9", "gfx90a": "gfx9", "gfx940": "gfx9", "gfx10": "gfx10", "gfx11": "gfx11"}
WAITS |= {"gfx12": "gfx12", "gfx1250": "gfx12"}
DEPENDENCY = ("va_vdst", "va_sdst", "va_ssrc", "va_vcc", "vm_vsrc", "sa_sdst")
# s_wait_event and hold_cnt name no operation of this wave that a slice could blame.
MAY_WAIT = ("s_wait", "lds_", "ds_direct", "ds_param", "v_interp")  # the last have a wait as a modifier
IGNORED = ("hold_cnt",)
NAMED = re.compile(r"(?:depctr_)?(\w+)\((\d{1,9})\)")
NUMBER = re.compile(r"(?:^|[ ,])(-?(?:0x[0-9a-fA-F]+|\d{1,20}))(?: <.*)?$")
SCALAR_SPACES = ("s", "vcc", "ttmp")


@dataclass(frozen=True, slots=True)
class _Field:
    counter: str
    pieces: tuple[tuple[int, int], ...]

    def value(self, immediate: int) -> tuple[int, int]:
        """The field's value and its greatest, which waits for nothing."""
        value = shift = 0
        for low, bits in self.pieces:
            value |= (immediate >> low & (1 << bits) - 1) << shift
            shift += bits
        return value, (1 << shift) - 1


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("strop.stalls.amd").joinpath("tables/counters.toml").read_text("utf-8"))


@cache
def _pends(event: str, family: str) -> tuple[Pend, ...]:
    found = []
    for name in _table()[TABLE[family]].get(event, ()):
        when = When.OPERANDS_READ if name.endswith("!") else When.RESULT
        found.append(Pend(name.rstrip("~!"), when, "~" not in name))
    if family == "gfx1250" and ("load" in event or "store" in event or "atomic" in event or event == "smem"):
        found.append(Pend("xcnt", When.OPERANDS_READ, event != "smem"))
    return tuple(found)


@cache
def _fields(opcode: str, family: str) -> tuple[_Field, ...]:
    table = _table()["waits"].get(opcode, {}).get(WAITS[family], {})
    return tuple(_Field(name, tuple((low, bits) for low, bits in pieces)) for name, pieces in table.items())


@cache
def counters(family: str) -> tuple[str, ...]:
    """Every counter of a family that memory operations and messages increment."""
    names = {pend.resource for event in _table()[TABLE[family]] for pend in _pends(event, family)}
    return tuple(sorted(names))


def is_wait(opcode: str, family: str) -> bool:
    """Whether an opcode is a wait whose fields are known for the family."""
    return opcode == "s_wait_idle" or bool(_fields(opcode, family))


def waits(decoded: Decoded, word: int, family: str) -> tuple[Wait, ...]:
    """What an instruction waits for; `word` is its first 32 bits.

    >>> from strop.stalls.amd.operands import decode
    >>> [(w.resource, w.pending) for w in waits(decode("s_waitcnt vmcnt(17)", "gfx942", 64), 0xBF8C4F71, "gfx940")]
    [('vmcnt', 17)]
    """
    opcode = decoded.text.opcode
    if not opcode.startswith(MAY_WAIT):
        return ()
    if opcode == "s_wait_idle":
        return tuple(Wait(name) for name in counters(family))
    found = []
    for field in _fields(opcode, family):
        value, most = field.value(word & 0xFFFF)
        # A counter of its own waits for any count that it can hold; only packed fields have a value for "don't wait".
        alone = len(_fields(opcode, family)) == 1
        if (value < most or alone) and field.counter not in IGNORED:
            found.append(Wait(field.counter, value))
    for modifier, counter, most in (
        ("wait_exp", "expcnt", 7),
        ("wait_vdst", "va_vdst", 15),
        ("wait_va_vdst", "va_vdst", 15),
        ("wait_vm_vsrc", "vm_vsrc", 1),
    ):
        said = decoded.text.modifier(modifier)
        if said and said.isdecimal() and len(said) < 5 and int(said) < most:
            found.append(Wait(counter, int(said)))
    return tuple(found)


def immediate(text: str, family: str) -> int:
    """The 16-bit field of an instruction of which only the text is there: a wait's counts, a branch's distance.

    >>> hex(immediate("s_waitcnt vmcnt(17) lgkmcnt(0)", "gfx940")), immediate("s_cbranch_scc0 65521", "gfx940")
    ('0x4071', 65521)
    """
    opcode, _, rest = text.partition(" ")
    fields = _fields(opcode, family)
    named = {name: int(count) for name, count in NAMED.findall(rest)}
    if fields and named:
        word = 0
        for field in fields:
            left = named.get(field.counter, (1 << sum(bits for _, bits in field.pieces)) - 1)
            for low, bits in field.pieces:
                word |= (left & (1 << bits) - 1) << low
                left >>= bits
        return word
    found = NUMBER.search(rest)
    return number(found[1]) & 0xFFFF if found and opcode.startswith("s_") else 0


def pends(decoded: Decoded, family: str) -> tuple[Pend, ...]:
    """The counters that an instruction is pending on."""
    return _pends(decoded.event, family) if decoded.event else ()


def dependency_pends(decoded: Decoded, waited: Iterable[str]) -> tuple[Pend, ...]:
    """The dependency counters of gfx10 and later that an instruction is pending on, of those in `waited`."""
    made, found = decoded.made, []
    if made is None:
        return ()
    vector = made.pipe in ("valu", "trans", "wmma")
    written, read = {register.space for register in decoded.defs}, decoded.uses
    for name in waited:
        if (
            (name == "va_vdst" and vector and "v" in written)
            or (name == "va_sdst" and vector and written & {"s", "ttmp"})
            or (name == "va_vcc" and vector and "vcc" in written)
            or (name == "sa_sdst" and made.pipe == "salu" and written & {"s", "vcc", "exec", "m0", "ttmp"})
        ):
            found.append(Pend(name))
        elif (name == "va_ssrc" and vector and _reads(read, SCALAR_SPACES)) or (
            name == "vm_vsrc" and made.pipe in ("vmem", "lds", "export") and _reads(read, ("v",))
        ):
            found.append(Pend(name, When.OPERANDS_READ))
    return tuple(found)


def _reads(uses: tuple[Use, ...], spaces: tuple[str, ...]) -> bool:
    return any(use.register.space in spaces for use in uses)


def with_one_kind(code: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """On expcnt, let exports be pending until their result where parameters are read from LDS as well (gfx11 on).

    An export holds the counter until its operands are read, a parameter until it is there. A count spans both, so they
    have to be of one kind for an order to be seen; a shader reads its parameters before it exports.
    """
    if not any(pend.resource == "expcnt" and pend.when is When.RESULT for each in code for pend in each.pends):
        return tuple(code)
    made = []
    for each in code:
        if any(pend.resource == "expcnt" and pend.when is When.OPERANDS_READ for pend in each.pends):
            pends = (Pend("expcnt", When.RESULT, False) if pend.resource == "expcnt" else pend for pend in each.pends)
            each = replace(each, pends=tuple(pends))
        made.append(each)
    return tuple(made)
