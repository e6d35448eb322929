"""What iga64's JSON says of an instruction, where it can be meant: shapes, and numbers that the hardware has.

A listing may be cut off or damaged, and all that reads it would have to ask again: it is asked once, here.
"""

from __future__ import annotations

import re
from typing import Any

Node = dict[str, Any]

LANES = 32
REGISTERS = 512  # of a thread at most (256 on Xe-HPC), and message payloads are parts of that
SUBREGISTERS = 64  # bytes of a register
STRIDE = 64  # past every region's
OPERANDS = 8
DPAS = re.compile(r"[1-8]x[1-8]")
NUMBER = re.compile(r"-?(0x[0-9A-Fa-f]{1,16}|\d{1,20})")
LABEL = re.compile(r"L?\d{1,10}")
MATH_EXTENSION = re.compile(r"(no)?mme\d?")
FAR = 1 << 40  # bytes: more than any code


def is_sound(node: object) -> bool:
    """Whether an instruction's JSON can be read as one."""
    try:
        return (
            isinstance(node, dict)
            and are_sound_but_operands(node)
            and is_sound_operand(node["dst"], is_written=True)
            and all(is_sound_operand(each, is_written=False) for each in node.get("srcs") or ())
            and are_numbers(node)
        )
    except (KeyError, TypeError, AttributeError):
        return False


def are_sound_but_operands(node: Node) -> bool:
    """Whether all of an instruction but what its operands are can be read."""
    try:
        return _rest(node)
    except (KeyError, TypeError, AttributeError):
        return False


def is_sound_operand(operand: Any, *, is_written: bool) -> bool:
    """Whether what an instruction writes, or one of what it reads, can be read as such."""
    try:
        if is_written:
            return operand is None or _destination(operand)
        return _source(operand)
    except (KeyError, TypeError, AttributeError):
        return False


def are_numbers(node: Node) -> bool:
    """Whether the immediates of those instructions in which they mean something are whole numbers."""
    op = node["op"]
    return (op != "sync" and not op.startswith("send")) or all(map(_is_number, node.get("srcs") or ()))


def _rest(node: Node) -> bool:
    op, subop, read = node["op"], node["subop"], node.get("srcs") or ()
    flag = node.get("freg")
    if not (isinstance(op, str) and _is_text(subop) and _is_text(node.get("comment")) and len(read) <= OPERANDS):
        return False
    if not (_is_whole(node["es"] or 1, 1, LANES) and _is_whole(node.get("eo") or 0, 0, LANES)):
        return False
    if not (isinstance(node.get("pred") or {}, dict) and isinstance(node.get("fm") or {}, dict)):
        return False
    if flag and not _register(flag):
        return False
    for word in node.get("opts") or ():
        if not isinstance(word, str):
            return False
    return op != "dpas" or subop is None or DPAS.fullmatch(subop) is not None


def _destination(operand: Node) -> bool:
    kind = operand["kind"]
    where = _register(operand["areg" if kind == "RI" else "reg"])
    return where and _common(operand, kind) and (kind != "DA" or _is_length(operand["len"]))


def _source(operand: Node) -> bool:
    kind = operand["kind"]
    if not _common(operand, kind):
        return False
    if kind == "IM":
        return isinstance(operand["value"], str | int | float)
    if kind == "LB":
        return _is_label(operand["target"])
    if kind == "AD":
        where, surface = operand["addr"], operand.get("surf") or {}
        offset = surface.get("offset")
        named = _register(offset) if isinstance(offset, dict) else True
        return named and _register(where["reg"]) and _is_length(where["len"])
    return _register(operand["areg" if kind == "RI" else "reg"]) and (kind != "DA" or _is_length(operand["len"]))


def _common(operand: Node, kind: object) -> bool:
    region, extension = operand.get("rgn"), operand.get("mme")
    if not (isinstance(kind, str) and _is_text(operand.get("type"))):
        return False
    if extension is not None and MATH_EXTENSION.fullmatch(extension) is None:
        return False
    if region:
        for name in ("Vt", "Wi", "Hz"):
            if not _is_whole(region.get(name) or 0, 0, STRIDE):
                return False
    return True


def _register(register: Node) -> bool:
    number, part = register["r"], register["sr"]
    return (
        isinstance(register["rn"], str)
        and type(number) is type(part) is int
        and 0 <= number <= REGISTERS
        and 0 <= part <= SUBREGISTERS
    )


def _is_length(value: object) -> bool:
    """A payload's registers: -1 where a register says how many."""
    return value is None or _is_whole(value, -1, REGISTERS)


def _is_label(value: object) -> bool:
    return LABEL.fullmatch(value) is not None if isinstance(value, str) else _is_whole(value, -FAR, FAR)


def _is_number(operand: Node) -> bool:
    return operand["kind"] != "IM" or NUMBER.fullmatch(str(operand["value"])) is not None


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
