"""What a wait is for: each producer that it may wait for is needed in some way, or in none (over-synchronised)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.pending import CALLER, VIEW_DEPTH, Pending, is_view
from strop.stalls.instruction import Flow, Instruction, Wait, When

# Barriers in memory: what completes on them may have been issued by other threads, on ways that never lead here.
BETWEEN_THREADS = "mbarrier"


class Need(StrEnum):
    """Why an instruction must wait for a producer."""

    RAW = "raw"  # it reads the result
    RAW_LATER = "raw_later"  # the result is read later
    WAW = "waw"  # it, or something later, writes the same register
    WAR = "war"  # it, or something later, writes what the producer still reads
    ORDER = "order"  # memory: no result, but others look at what it wrote, or write what it reads; or a mode is set
    GROUP = "group"  # it closes a group that the producer is a member of: no time is lost by that
    CALL = "call"  # it calls or returns: scoreboards and registers are handed over with nothing pending
    CALLER = "caller"  # whatever the caller left pending
    SPURIOUS = "spurious"  # none is found: the resource is shared, or the count too small


@dataclass(frozen=True, slots=True)
class Edge:
    """Instruction `consumer` may wait on `wait` for `producer`; `via` closed the group that the producer is in."""

    consumer: int
    producer: int
    wait: Wait
    when: When
    need: Need
    via: int | None = None


def closes(instruction: Instruction) -> bool:
    """Tell whether an instruction only closes a group of asynchronous operations."""
    return any(name == "closes" for name, _ in instruction.notes)


def orders(instruction: Instruction) -> bool:
    """Tell whether nothing else may be under way with an instruction: it sets a mode, or reads a clock."""
    return any(name == "orders" for name, _ in instruction.notes)


class Needs:
    """Classifies waits on demand; nothing is computed twice."""

    def __init__(self, pending: Pending, definitions: Definitions) -> None:
        self.pending, self.definitions = pending, definitions
        self.graph = pending.graph
        self.code = self.graph.function.instructions
        self._written_later: list[int] | None = None
        self._elsewhere: dict[str, list[tuple[int, When]]] = {}
        for index, one in enumerate(self.code):
            for pend in one.pends:
                if pend.resource.startswith(BETWEEN_THREADS):
                    self._elsewhere.setdefault(pend.resource, []).append((index, pend.when))

    def members(self, closer: int) -> tuple[tuple[int, When], ...]:
        """Return the operations in the group that an instruction closes."""
        return tuple(
            one for waited in self.pending.waits.get(closer, ()) for one in waited.producers if one[0] != CALLER
        )

    def edges(self, consumers: Iterable[int]) -> dict[int, tuple[Edge, ...]]:
        """Return the edges of each of some instructions that wait."""
        consumers = [consumer for consumer in consumers if consumer in self.pending.waits]
        asked: dict[int, set[int]] = {}
        for consumer in consumers:
            wanted = asked.setdefault(consumer, set())
            for waited in self.pending.waits[consumer]:
                for producer, when in waited.producers:
                    if when is When.RESULT and producer != CALLER:
                        wanted.add(producer)
                        if closes(self.code[producer]):
                            wanted.update(member for member, _ in self.members(producer))
        needed = self.definitions.needed_after(asked)
        return {consumer: tuple(self._edges_of(consumer, needed)) for consumer in consumers}

    def _edges_of(self, consumer: int, needed: set[tuple[int, int]]) -> Iterable[Edge]:
        closing = closes(self.code[consumer])
        for waited in self.pending.waits[consumer]:
            if not waited.producers and waited.wait.resource.startswith(BETWEEN_THREADS):
                for producer, when in self._elsewhere.get(waited.wait.resource, ()):
                    yield Edge(consumer, producer, waited.wait, when, Need.ORDER)
            for producer, when in waited.producers:
                if producer == CALLER:
                    yield Edge(consumer, producer, waited.wait, when, Need.CALLER)
                elif closing and waited.wait.resource == dict(self.code[consumer].notes).get("closes"):
                    yield Edge(consumer, producer, waited.wait, when, Need.GROUP)
                elif closes(self.code[producer]) and when is When.RESULT:
                    if self._is_raw(consumer, producer) or self.code[producer].defs:
                        yield Edge(consumer, producer, waited.wait, when, self._need(consumer, producer, when, needed))
                    for member, _ in self.members(producer):
                        need = self._need(consumer, member, When.RESULT, needed)
                        yield Edge(consumer, member, waited.wait, when, need, producer)
                else:
                    need = self._need(consumer, producer, when, needed)
                    yield Edge(consumer, producer, waited.wait, when, need)

    def _is_raw(self, consumer: int, producer: int) -> bool:
        return any(producer in read.definitions for read in self.definitions.by_piece[consumer])

    def _need(self, consumer: int, producer: int, when: When, needed: set[tuple[int, int]]) -> Need:
        need = self._by_registers(consumer, producer, when, needed)
        if need is not Need.SPURIOUS:
            return need
        control = self.code[consumer].control
        if control is not None and control.flow in (Flow.CALL, Flow.RETURN):
            return Need.CALL
        if orders(self.code[consumer]) or orders(self.code[producer]):
            return Need.ORDER
        if any(is_view(pend.resource) for pend in self.code[producer].pends) and self._overwrites(consumer, producer):
            return Need.WAR  # pipes read their operands at different times
        return need

    def _served(self, wait: int) -> int:
        """Return the instruction that a wait is for: itself, or the next one that does anything but wait."""
        for index in range(wait, self.graph.ends[self.graph.block_of[wait]]):
            if self.code[index].kind != "wait":
                return index
        return wait

    def _overwrites(self, consumer: int, producer: int) -> bool:
        written, _ = self.definitions.numbers(self._served(consumer))
        return not set(written).isdisjoint(self.definitions.numbers(producer)[1])

    def repeats(self, consumer: int, wait: Wait) -> bool:
        """Tell whether a wait for which nothing is pending names a dependence that an earlier wait has covered.

        Looked for in the block: the last operations on the resource, and registers that both use and one writes.
        """
        if orders(self.code[consumer]):
            return True
        served = self._served(consumer)
        written, read = (set(numbers) for numbers in self.definitions.numbers(served))
        left = VIEW_DEPTH if is_view(wait.resource) else 1
        for index in range(consumer - 1, self.graph.starts[self.graph.block_of[consumer]] - 1, -1):
            before = self.code[index]
            if not any(pend.resource == wait.resource and wait.when in (None, pend.when) for pend in before.pends):
                continue
            results, operands = self.definitions.numbers(index)
            if not (read | written).isdisjoint(results) or not written.isdisjoint(operands) or orders(before):
                return True
            left -= 1
            if not left:
                break
        return False

    def _by_registers(self, consumer: int, producer: int, when: When, needed: set[tuple[int, int]]) -> Need:
        written, read = self.definitions.numbers(producer)
        if when is When.RESULT:
            if self._is_raw(consumer, producer):
                return Need.RAW
            if (consumer, producer) in needed:
                return Need.RAW_LATER
            if not self.code[producer].defs:
                return Need.ORDER
            return Need.WAW if self._is_written_from(consumer, written) else Need.SPURIOUS
        if self._is_written_from(consumer, read):
            return Need.WAR
        return Need.SPURIOUS if self.code[producer].defs else Need.ORDER

    def _is_written_from(self, index: int, registers: tuple[int, ...]) -> bool:
        """Tell whether an instruction, or one that it may lead to, writes any of some registers."""
        graph = self.definitions.graph
        if self._written_later is None:
            self._written_later = self.definitions.written_later()
        block = graph.block_of[index]
        later = self._written_later[block]
        if any(later >> register & 1 for register in registers):
            return True
        wanted = set(registers)
        return any(not wanted.isdisjoint(self.definitions.numbers(each)[0]) for each in range(index, graph.ends[block]))

    def served(self, wait: int) -> frozenset[int]:
        """Return the producers that a wait is for right here.

        They are those that the waiting instruction reads or, where it only waits, those that the instructions up to the
        next wait on the same resources (or the block's end) read.
        """
        graph, code = self.definitions.graph, self.code
        found = {producer for read in self.definitions.by_piece[wait] for producer in read.definitions}
        if code[wait].defs or code[wait].memory is not None:
            return frozenset(found)
        resources = {one.resource for one in code[wait].waits}
        for index in range(wait + 1, graph.ends[graph.block_of[wait]]):
            if any(one.resource in resources for one in code[index].waits):
                break
            found.update(producer for read in self.definitions.by_piece[index] for producer in read.definitions)
        return frozenset(found)
