"""Operands as text: split, modifiers apart, and the registers that each names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from strop.stalls.instruction import Register

PIECE = re.compile(r"(?<![\w.:])(v|a|s|ttmp)(?:\[(\d{1,4})(?::(\d{1,4}))?\]|(\d{1,4}))(?:\.([lh]))?(?![\w\[])")
NAMED = re.compile(
    r"(?<![\w.])(?:src_)?(vcc|exec|flat_scratch|xnack_mask|tba|tma|m0|scc|vccz|execz|lds_direct)(_lo|_hi)?(?!\w)"
)
IMMEDIATE = re.compile(r"^-?(?:0x[0-9a-f]+|\d{1,20})$")
PAIRS = ("vcc", "exec", "flat_scratch", "xnack_mask", "tba", "tma")
MOST_REGISTERS = 64  # of one operand

VCC: tuple[Register, ...] = (Register("vcc", 0), Register("vcc", 1))
EXEC: tuple[Register, ...] = (Register("exec", 0), Register("exec", 1))
SCC = Register("scc")
M0 = Register("m0")


@dataclass(frozen=True, slots=True)
class Text:
    """An instruction's text taken apart: operands by comma, and the modifiers after the last."""

    opcode: str
    operands: tuple[str, ...]
    modifiers: tuple[str, ...]

    def modifier(self, name: str) -> str | None:
        """The value of `name:value`, "" for a bare word, None where it isn't there."""
        for each in self.modifiers:
            if each == name:
                return ""
            if each.startswith(name + ":"):
                return each[len(name) + 1 :]
        return None


@lru_cache(maxsize=65536)
def split(text: str) -> Text:
    """An instruction's text taken apart.

    >>> split("global_load_dword v3, v[0:1], off offset:16 glc")
    Text(opcode='global_load_dword', operands=('v3', 'v[0:1]', 'off'), modifiers=('offset:16', 'glc'))
    >>> split("image_load v[0:3], [v4, v5], s[0:7] dmask:0xf").operands
    ('v[0:3]', '[v4, v5]', 's[0:7]')
    """
    opcode, _, rest = text.partition(" ")
    operands: list[str] = []
    modifiers: tuple[str, ...] = ()
    for operand in _by_comma(rest.strip()):
        words = _by_blank(operand)
        if words:
            operands.append(words[0])
            modifiers += tuple(words[1:])
    return Text(opcode, tuple(operands), modifiers)


def _by_comma(text: str) -> list[str]:
    if not text:
        return []
    if "(" not in text and "[" not in text:
        return [each.strip() for each in text.split(",")]
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


def _by_blank(text: str) -> list[str]:
    if "[" not in text and "(" not in text:
        return text.split()
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == " " and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [part for part in [*parts, text[start:]] if part]


def number(text: str) -> int:
    """A number as LLVM writes it: decimal, or 0x and hexadecimal digits. Raises ValueError.

    >>> number("-16"), number("0x1f"), number("08")
    (-16, 31, 8)
    """
    return int(text, 16 if "0x" in text else 10)


@lru_cache(maxsize=65536)
def registers(operand: str) -> tuple[Register, ...]:
    """The registers of 32 bits that an operand names, in order.

    >>> [str(each) for each in registers("-v[2:3]")], [str(each) for each in registers("vcc_lo")], registers("0.5")
    (['v2', 'v3'], ['vcc0'], ())
    """
    found: list[Register] = []
    for match in PIECE.finditer(operand):
        space, first, last, single, _ = match.groups()
        low = int(first if single is None else single)
        high = int(last) if last is not None else low
        found += [Register(space, index) for index in range(low, min(high, low + MOST_REGISTERS - 1) + 1)]
    for match in NAMED.finditer(operand):
        name, half = match.groups()
        name = {"vccz": "vcc", "execz": "exec", "lds_direct": "m0"}.get(name, name)
        if name not in PAIRS:
            found.append(Register(name))
        elif half is None:
            found += [Register(name, 0), Register(name, 1)]
        else:
            found.append(Register(name, int(half == "_hi")))
    return tuple(found)


def is_half(operand: str) -> bool:
    """Whether an operand names one half of a vector register, `v3.l` or `v3.h`."""
    return operand.endswith((".l", ".h"))
