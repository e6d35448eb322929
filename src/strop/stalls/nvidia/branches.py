"""Where control goes after an instruction: branches, calls, returns, barriers."""

from __future__ import annotations

import re
from collections.abc import Callable

from strop.stalls.instruction import Control, Flow
from strop.stalls.nvidia.opcodes import Form

_LABEL = re.compile(r"`\(([^)]*)\)")
_NUMBER = re.compile(r"(?:^|[ ,])(-?0x[0-9a-f]+)\s*$")
_TABLE = re.compile(r'"BRANCH_TARGETS ([^"]*)"')
_CONDITIONAL = frozenset({"DIV", "CONV", "ANY", "ALL"})
_BARRIERS = frozenset({"SYNC", "RED", "SCAN"})

Resolve = Callable[[str | int], int | str | None]


def control_of(form: Form, text: str, comment: str, guarded: bool, resolve: Resolve) -> Control | None:
    """The control of an instruction, None where it just falls through.

    `text` holds the operands, `comment` what nvdisasm writes in `(*…*)`; `resolve` turns a label or an offset in the
    section into an offset in the function or, elsewhere, a function's name.
    """
    base = form.base
    if base in ("BRA", "JMP"):
        # a predicate or uniform predicate among the operands also decides
        return Control(
            Flow.BRANCH, _targets(text, resolve), guarded or "," in text or bool({"DIV", "CONV"} & {*form.modifiers})
        )
    if base in ("BRX", "BRXU", "JMX", "JMXU"):
        table = _TABLE.search(comment)
        targets = None
        if table is not None:
            found = [resolve(label.strip()) for label in table[1].split(",")]
            targets = (
                tuple(dict.fromkeys(target for target in found if target is not None)) if None not in found else None
            )
        return Control(Flow.BRANCH, targets, guarded)
    if base == "WARPSYNC" and "COLLECTIVE" in form.modifiers:
        return Control(Flow.BRANCH, _targets(text, resolve), True)
    if base == "CALL":
        # with a register the callee is known only at run time, and the label is the function that it is relative to
        indirect = re.match(r"^U?R\d", text) is not None
        return Control(Flow.CALL, None if indirect else _targets(text, resolve), guarded)
    if base == "RET":
        return Control(Flow.RETURN, (), guarded)
    if base in ("EXIT", "KILL"):
        return Control(Flow.EXIT, (), guarded)
    if (base == "BAR" and _BARRIERS & {*form.modifiers}) or base == "UCGABAR_WAIT":
        return Control(Flow.BARRIER, (), False)
    return None


def _targets(text: str, resolve: Resolve) -> tuple[int | str, ...] | None:
    label = _LABEL.search(text)
    if label is not None:
        target = resolve(label[1])
    else:
        number = _NUMBER.search(text)
        target = resolve(int(number[1], 16)) if number else None
    return None if target is None else (target,)
