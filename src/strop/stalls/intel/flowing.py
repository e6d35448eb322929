"""Where control goes, and which parts of a kernel's code are functions that it calls."""

from __future__ import annotations

from collections.abc import Sequence

from strop.stalls.instruction import Control, Flow
from strop.stalls.intel.disassemble import Row
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.operands import sources

# `goto if else while break cont halt` name where the lanes that leave wait for the others (JIP) and where these go on
# (UIP). The thread as a whole goes to either, or on: all are targets, and all of them may fall through, but for a
# `goto` of every lane. `join` and `endif` jump on where no lane is left: none of those is on its way through them.
MAY_FALL = ("if", "else", "while", "break", "cont", "halt", "brd", "brc")

GOES = ("illegal", "sync", "ret", "call", "calla", "goto", "jmpi")


def targets(node: Node) -> tuple[int, ...]:
    """The targets of an instruction as offsets in the code."""
    found = [each["target"] for each in sources(node) if each["kind"] == "LB" and isinstance(each["target"], int)]
    return tuple(dict.fromkeys(found))


def starts(rows: Sequence[Row]) -> list[int]:
    """Where functions begin in a kernel's code: at its start, and wherever a call goes."""
    pcs = {row.pc for row in rows}
    called = {
        target for row in rows if row.node is not None and row.node["op"] == "call" for target in targets(row.node)
    }
    return sorted({0} | (called & pcs))


def may_go(node: Node) -> bool:
    """Tell whether `control` may say anything of an instruction."""
    op = node["op"]
    return op in GOES or op in MAY_FALL or "EOT" in (node.get("opts") or ())


def control(node: Node, *, function: tuple[int, int], names: dict[int, str]) -> Control | None:
    """Where control goes, with targets as offsets in the `function` (its first and last offset in the code)."""
    op = str(node["op"])
    if "EOT" in (node.get("opts") or ()) or op == "illegal":
        return Control(Flow.EXIT)
    if op == "sync":
        return Control(Flow.BARRIER) if node["subop"] in ("bar", "host") else None
    if op == "ret":
        return Control(Flow.RETURN)
    if op in ("call", "calla"):
        where = targets(node)
        return Control(Flow.CALL, tuple(names.get(each, f"{each:#x}") for each in where) if where else None)
    if op not in MAY_FALL and op not in ("goto", "jmpi"):
        return None
    start, end = function
    inside = tuple(each - start for each in targets(node) if start <= each < end)
    has_predicate = bool(node.get("pred"))
    if not inside:
        return Control(Flow.BRANCH, None, True) if op in ("jmpi", "brc", "brd") else None
    return Control(Flow.BRANCH, inside, op in MAY_FALL or has_predicate)
