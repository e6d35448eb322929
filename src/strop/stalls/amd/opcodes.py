"""Which class an opcode is of: `tables/opcodes.toml`, looked up by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

ENCODING = re.compile(r"_(?:e32|e64|sdwa|dpp|e64_dpp|e32_dpp|dpp8|e64_dpp8|gfx\d+|nosdst|vi)$")
# A word at an opcode's end that says a type, a width, a part of a register or a count.
TYPE = re.compile(
    r"^(?:(?:b|f|i|u|bf|fp|xf|iu)\d+(?:f\d+)?|iu\d|1k|f8f6f4|\d+x\d+x\d+\w*|\d+b|dword(?:x\d+)?|[us]?(?:byte|short)|d16|hi"
    r"|format|x|xy|xyz|xyzw|x2|d2|rtz|lds|flt|int|uint)$"
)
# Atomics end in their operation as well.
OPERATION = re.compile(
    r"^(?:add|sub|rsub|csub|inc|dec|swap|cmpswap|and|or|xor|smin|smax|umin|umax|min|max|fmin|fmax|fcmpswap|pk|num|cond"
    r"|clamp)$"
)


@dataclass(frozen=True, slots=True)
class OpcodeClass:
    """What opcodes of a class do: see the head of the table."""

    form: str
    kind: str
    pipe: str
    effects: tuple[str, ...] = ()
    flow: str = ""
    event: str = ""


@cache
def _tables() -> tuple[Mapping[str, OpcodeClass], tuple[tuple[str, OpcodeClass], ...]]:
    """Classes by opcode without types, and by the beginning of an opcode."""
    text = files("strop.stalls.amd").joinpath("tables/opcodes.toml").read_text("utf-8")
    by_word: dict[str, OpcodeClass] = {}
    by_start: list[tuple[str, OpcodeClass]] = []
    for entry in tomllib.loads(text)["class"]:
        made = OpcodeClass(
            form=entry["form"],
            kind=entry["kind"],
            pipe=entry["pipe"],
            effects=tuple(entry.get("effects", ())),
            flow=entry.get("flow", ""),
            event=entry.get("event", ""),
        )
        for word in entry["words"].split():
            by_word[entry["prefix"] + word] = made
            if entry.get("any_suffix"):
                by_start.append((entry["prefix"] + word + "_", made))
    return by_word, tuple(by_start)


def plain(opcode: str) -> str:
    """The opcode without its encoding's suffix.

    >>> plain("v_lshlrev_b32_sdwa"), plain("v_add_f32_e64_dpp")
    ('v_lshlrev_b32', 'v_add_f32')
    """
    while (shorter := ENCODING.sub("", opcode)) != opcode:
        opcode = shorter
    return opcode


@cache
def classify(opcode: str) -> OpcodeClass | None:
    """The class of an opcode, None where no table has it.

    >>> classify("v_mul_hi_u32_e64").kind, classify("s_and_b64").effects, classify("v_frobnicate_f32")
    ('int', ('scc w',), None)
    """
    by_word, by_start = _tables()
    name = plain(opcode)
    kind_of = types(name)
    atomic = "atomic" in name
    while True:
        found = by_word.get(name)
        if found is not None:
            return _typed(found, kind_of)
        head, _, last = name.rpartition("_")
        if not head or not (TYPE.match(last) or (atomic and OPERATION.match(last))):
            break
        name = head
    return next((made for start, made in by_start if opcode.startswith(start)), None)


def types(opcode: str) -> tuple[str, ...]:
    """The type words in an opcode, in order.

    >>> types("v_cvt_f32_f16_e32")
    ('f32', 'f16')
    """
    return tuple(re.findall(r"(?<=_)(?:f|bf|fp|b|i|u|iu|xf)\d+(?=_|$)", plain(opcode)))


def _typed(found: OpcodeClass, words: tuple[str, ...]) -> OpcodeClass:
    if found.kind != "by type":
        return found
    if any(word in ("f16", "bf16") for word in words):
        kind = "half"
    elif "f64" in words:
        kind = "double"
    else:
        kind = "float" if any(word.startswith("f") for word in words) else "int"
    return OpcodeClass(found.form, kind, found.pipe, found.effects, found.flow, found.event)
