"""The other half of the hazard check: is a register written only when nobody uses what it held any more?

An operation that takes long reads its operands late, and writes its result later still. Whoever writes one of these
registers in between has to wait: for the operands to be read (WAR), or for the result to be there (WAW).

Messages to one shared function (Intel: those with a note `message`, by their pipe) read their operands in the order of
issue. So one of them may overwrite what an earlier one reads, and whoever waits for a later one to have read has waited
for the earlier ones (`WARDepRequired` in intel-graphics-compiler, visa/LocalScheduler/SWSB_G4IR.cpp).
"""

from __future__ import annotations

from dataclasses import dataclass

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.pending import Pending
from strop.stalls.instruction import Instruction, When


@dataclass(frozen=True, slots=True)
class Overwrites:
    """`checked` pairs of an operation and a writer of its registers; `early` ones as (operation, writer, hazard)."""

    checked: int
    early: tuple[tuple[int, int, When], ...]


def overwrites(pending: Pending, definitions: Definitions) -> Overwrites:
    """Check a function whose flow is known. Only registers count whose operations leave them pending on a resource."""
    checked = 0
    early: list[tuple[int, int, When]] = []
    for when in When:
        asked = _pairs(definitions, when)
        checked += sum(len(operations) for operations in asked.values())
        for writer, operation in sorted(pending.unfinished(asked, when)):
            if when is When.RESULT or _is_reached(pending.graph, operation, writer):
                early.append((operation, writer, when))
    return Overwrites(checked, tuple(early))


def _pairs(definitions: Definitions, when: When) -> dict[int, set[int]]:
    """Who writes what: each writer with the operations that use the same registers, on whatever way."""
    code = definitions.graph.function.instructions
    users: dict[int, set[int]] = {}
    for index, instruction in enumerate(code):
        if not instruction.variable or not any(pend.when is when for pend in instruction.pends):
            continue
        written, read = definitions.numbers(index)
        for register in written if when is When.RESULT else read:
            # A message's address registers are read as it issues, its payload later.
            if when is When.RESULT or not _function(instruction) or definitions.space(register)[0] == "r":
                users.setdefault(register, set()).add(index)
    asked: dict[int, set[int]] = {}
    for writer, instruction in enumerate(code):
        found = {user for register in definitions.numbers(writer)[0] for user in users.get(register, ())} - {writer}
        if when is When.OPERANDS_READ and _function(instruction):
            found = {user for user in found if _function(code[user]) != _function(instruction)}
        if found:
            asked[writer] = found
    return asked


def _function(instruction: Instruction) -> str:
    """The shared function that a message goes to, empty for what isn't a message."""
    return instruction.pipe if any(name == "message" for name, _ in instruction.notes) else ""


def _is_reached(graph: Graph, operation: int, writer: int) -> bool:
    """Whether some way leads from a message to a writer with no wait for a later message to the same function."""
    code, function = graph.function.instructions, _function(graph.function.instructions[operation])
    if not function:
        return True
    stack: list[tuple[int, frozenset[str]]] = [(after, frozenset()) for after in _after(graph, operation)]
    seen = set(stack)
    while stack:
        index, later = stack.pop()  # `later`: resources that the last to pend on is a later message
        instruction = code[index]
        if any(wait.resource in later for wait in instruction.waits):
            continue
        if index == writer:
            return True
        pends = {pend.resource for pend in instruction.pends}
        later = later | pends if _function(instruction) == function else later - pends
        for successor in _after(graph, index):
            if (successor, later) not in seen:
                seen.add((successor, later))
                stack.append((successor, later))
    return False


def _after(graph: Graph, index: int) -> list[int]:
    block = graph.block_of[index]
    if index + 1 < graph.ends[block]:
        return [index + 1]
    return [graph.starts[each] for each in graph.successors[block] if graph.starts[each] < graph.ends[each]]
