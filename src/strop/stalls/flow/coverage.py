"""A check of the decoders that needs no GPU: do the compiler's own waits cover the dependences that are found?

Whoever decodes a wait mask, a count or a register wrongly breaks this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.needs import Need, Needs, closes
from strop.stalls.flow.pending import Pending, is_view
from strop.stalls.instruction import Function, Register, Wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Dependences through producers of variable latency, and the waits.

    `uncovered` has (producer, consumer, register) where the result may be pending when it is read. `ordered` of the
    dependences need no wait: the unit itself forwards the result. `unexplained` has (instruction, wait) for which no
    dependence is found; `idle` of these wait where nothing can be pending. So do `repeated` of the explained waits:
    they name a dependence, but an earlier wait has covered it.
    """

    dependences: int
    covered: int
    ordered: int
    uncovered: tuple[tuple[int, int, Register], ...]
    waits: int
    explained_waits: int
    repeated: int
    unexplained: tuple[tuple[int, Wait], ...]
    idle: int

    @property
    def share(self) -> float:
        """The share of the dependences that are covered."""
        return self.covered / self.dependences if self.dependences else 1.0

    @property
    def explained_share(self) -> float:
        """The share of the waits that a dependence explains."""
        return self.explained_waits / self.waits if self.waits else 1.0


def coverage(function: Function, *, callees: Mapping[str, frozenset[str] | None] | None = None) -> Coverage:
    """Check one function."""
    graph = Graph(function)
    return covered_by(Pending(graph, callees=callees), Definitions(graph))


def covered_by(pending: Pending, definitions: Definitions) -> Coverage:
    """Check a function whose flow is known."""
    code = pending.graph.function.instructions
    needs = Needs(pending, definitions)
    closers: dict[int, list[int]] = {}  # member of a group -> what closes it
    for index, instruction in enumerate(code):
        if closes(instruction):
            for member, _ in needs.members(index):
                if member != index:
                    closers.setdefault(member, []).append(index)
    triples = [
        (producer, consumer, register)
        for producer, consumer, register in definitions.dependences()
        if code[producer].variable and register in code[producer].defs
    ]
    asked: dict[int, set[int]] = {}
    for producer, consumer, _ in triples:
        asked.setdefault(consumer, set()).update((producer, *closers.get(producer, ())))
    open_pairs = pending.unfinished(asked)
    ordered, uncovered = 0, []
    for producer, consumer, register in triples:
        if _forwards(code[producer].notes, code[consumer].notes):
            ordered += 1
        elif not code[producer].pends or any(
            (consumer, one) in open_pairs for one in (producer, *closers.get(producer, ()))
        ):
            uncovered.append((producer, consumer, register))
    waits = explained = repeated = idle = 0
    unexplained = []
    for index, edges in needs.edges(pending.waits).items():
        needed = {id(edge.wait) for edge in edges if edge.need is not Need.SPURIOUS}
        waited = pending.waits[index]
        taken = {pend.resource for pend in code[index].pends}
        for group in _together(code[index].waits):
            something = any(waited[number].producers for number in group)
            if not something and waited[group[0]].wait.resource in taken:
                continue  # a token taken anew that is free: nobody asked for a wait
            waits += 1
            if any(id(waited[number].wait) in needed for number in group):
                explained += 1
            elif not something and any(needs.repeats(index, waited[number].wait) for number in group):
                explained += 1
                repeated += 1
            else:
                unexplained.append((index, waited[group[0]].wait))
                idle += not something
    return Coverage(
        dependences=len(triples),
        covered=len(triples) - len(uncovered),
        ordered=ordered,
        uncovered=tuple(uncovered),
        waits=waits,
        explained_waits=explained,
        repeated=repeated,
        unexplained=tuple(unexplained),
        idle=idle,
    )


def _together(waits: tuple[Wait, ...]) -> list[list[int]]:
    """Return the numbers of an instruction's waits; those on views of one order are one wait for all pipes."""
    views = [number for number, wait in enumerate(waits) if is_view(wait.resource)]
    others = [[number] for number, wait in enumerate(waits) if not is_view(wait.resource)]
    return [*others, views] if views else others


def _forwards(producer: tuple[tuple[str, str], ...], consumer: tuple[tuple[str, str], ...]) -> bool:
    """Tell whether the unit that ran the producer hands its result to the consumer without a wait."""
    return any(note in consumer for note in producer if note[0] == "forwards")
