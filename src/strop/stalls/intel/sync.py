"""What an instruction waits for and leaves pending: the scoreboard field, made into resources.

Tokens: `$n` is pending from the instruction that takes it until its result is written (RESULT) and until its operands
are read (OPERANDS_READ); taking a token that is still in use waits for it. In-order pipes: `float@ int@ long@ math@`;
`I@2` waits until at most one is pending on `int@`. `A@2` waits so on each pipe by itself: it doesn't count the
instructions of all pipes together (in compiled code, where the two readings differ, the dependence is at the distance
in its own pipe).
"""

from __future__ import annotations

from functools import cache

from strop.stalls.instruction import Pend, Wait, When
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.operands import sources
from strop.stalls.intel.sends import is_barrier_signal, is_send
from strop.stalls.intel.swsb import Generation, Pipe, Swsb, Token, Unit

TOKENS = {Generation.XE_HPG: 16, Generation.XE_HPC: 32}
BARRIER = "barrier"
RESOURCES = {
    Pipe.FLOAT: "float@",
    Pipe.INT: "int@",
    Pipe.LONG: "long@",
    Pipe.MATH: "math@",
}
PIPES = {
    Generation.XE_HPG: ("float@", "int@", "long@"),
    Generation.XE_HPC: ("float@", "int@", "long@", "math@"),
}
FLOATS = ("f", "hf", "bf", "tf32", "bf8", "hf8")
NO_PIPE = ("sync", "nop", "wait", "illegal")
BRANCHES = ("brc", "brd", "break", "cont", "else", "endif", "goto", "halt", "if", "jmpi", "join", "while")


def unit(node: Node) -> Unit:
    """The kind of instruction, as far as the scoreboard field asks."""
    if is_send(node):
        return Unit.SEND
    op = node["op"]
    return Unit.DPAS if op in ("dpas", "dpasw") else Unit.MATH if op == "math" else Unit.OTHER


def pipe(node: Node, generation: Generation) -> Pipe | None:
    """The in-order pipe that counts an instruction, None for those that no distance counts."""
    op = node["op"]
    if is_send(node) or op in NO_PIPE or op in BRANCHES or op in ("dpas", "dpasw"):
        return None
    if op == "math":
        return Pipe.MATH if generation is Generation.XE_HPC else None
    written = str((node.get("dst") or {}).get("type"))
    if generation is Generation.XE_HPG:
        # Without 64-bit units in the others, whatever touches 64 bits goes through the long pipe.
        types = [written, *(str(each.get("type")) for each in sources(node))]
        if any(each in ("df", "q", "uq") for each in types):
            return Pipe.LONG
    elif written == "df":
        return Pipe.LONG
    return Pipe.FLOAT if written in FLOATS else Pipe.INT


def waits(said: Swsb, node: Node, generation: Generation) -> tuple[Wait, ...]:
    """What the instruction waits for before it issues."""
    found: list[Wait] = []
    if said.distance:
        found += [Wait(pipe, said.distance - 1) for pipe in _counted(said.pipe, node, generation)]
    if said.token is not None:
        when = {Token.SET: None, Token.DST: When.RESULT, Token.SRC: When.OPERANDS_READ}[said.use]
        found.append(Wait(f"${said.token}", 0, when))
    if node["op"] == "sync":
        found += _masked(node, generation)
    return tuple(found)


def _counted(named: Pipe, node: Node, generation: Generation) -> tuple[str, ...]:
    if named is Pipe.ALL:
        return PIPES[generation]
    if named is not Pipe.INFERRED:
        return (RESOURCES[named],)
    own = pipe(node, generation)
    if own is None:  # DPAS, and math on Xe-HPG: the pipe that made their operands, by type
        types = [str(each.get("type")) for each in sources(node)]
        if not types:
            return PIPES[generation]
        own = Pipe.LONG if "df" in types else Pipe.FLOAT if any(each in FLOATS for each in types) else Pipe.INT
    return (RESOURCES[own],)


def _masked(node: Node, generation: Generation) -> list[Wait]:
    if node["subop"] == "bar":
        return [Wait(BARRIER)]
    if node["subop"] not in ("allrd", "allwr"):
        return []
    when = When.OPERANDS_READ if node["subop"] == "allrd" else When.RESULT
    mask = (1 << TOKENS[generation]) - 1
    for operand in sources(node):
        if operand["kind"] == "IM":
            mask &= int(str(operand["value"]), 0)
    return [Wait(f"${token}", 0, when) for token in range(TOKENS[generation]) if mask >> token & 1]


def pends(said: Swsb, node: Node, generation: Generation) -> tuple[Pend, ...]:
    """What the instruction leaves pending."""
    found: list[Pend] = []
    if said.token is not None and said.use is Token.SET:
        found += _of_token(said.token)
    if is_barrier_signal(node):
        found.append(Pend(BARRIER, in_order=False))
    counted = pipe(node, generation)
    if counted is not None:
        found.append(Pend(RESOURCES[counted]))
    return tuple(found)


@cache
def _of_token(token: int) -> tuple[Pend, ...]:
    return Pend(f"${token}", When.RESULT, False), Pend(f"${token}", When.OPERANDS_READ, False)
