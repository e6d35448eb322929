"""LEO's own rule as a baseline: published weights and pruning, as the artifact's code does them, on a right decode.

From reference/leo.md, sections 2 and 3: edges from the definitions that reach each sampled instruction, one
synchronisation edge more for each wait (to the nearest earlier setter in address order; AMD's counters by number), an
edge of either sort once a pair, pruned by opcode, barrier and latency; blame by distance × issue count × match.

What is kept of its ways: only sampled instructions have edges, unsampled producers count one issued cycle, paths look
at no redefinition. What isn't: wrong bit positions and barrier numbers, unknown branches, missing registers, and path
walks without end (`MOST_PATHS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from strop.stalls.candidates import latency_of
from strop.stalls.flow.pending import is_view
from strop.stalls.instruction import Direction, Flow, Function, Instruction, Role, Wait, When
from strop.stalls.profiles.profile import Count, Reason
from strop.stalls.samples import Attribution, Blame, Part, Samples, apportion
from strop.stalls.slice import Slicer

PERIOD = 1 << 20  # cycles that a sample stands for; an unsampled producer counts one cycle
MOST_PATHS = 64
MOST_STEPS = 4096

_EXECUTION = frozenset({Reason.FIXED_LATENCY, Reason.DEPENDENCY, Reason.SHARED_MEMORY})
_MEMORY = frozenset({Reason.GLOBAL_MEMORY, Reason.MEMORY})
_SYNC = frozenset({Reason.SYNC, Reason.BARRIER})


class Category(StrEnum):
    """What an edge is matched with in the breakdown of the consumer's stalls."""

    MEMORY = "memory"
    EXECUTION = "execution"
    SYNC = "sync"


@dataclass(slots=True)
class _Edge:
    producer: int
    consumer: int
    category: Category
    from_sync: bool
    registers: bool  # a general register is common to both
    distance: float = 1.0
    paths: list[int] = field(default_factory=list)


def leo(function: Function, samples: Samples, slicer: Slicer | None = None) -> Blame:
    """Blame as LEO does. Figures: single-dependency coverage over sampled instructions, before and after pruning."""
    return _Leo(slicer or Slicer(function), samples).blame()


class _Leo:
    def __init__(self, slicer: Slicer, samples: Samples) -> None:
        self.slicer, self.code, self.samples = slicer, slicer.code, samples
        arch = slicer.function.arch
        self.vendor = "nvidia" if arch.startswith("sm_") else "amd" if arch.startswith("gfx") else "intel"
        self.issued = samples.issued
        self._waiting: dict[str, list[tuple[int, int]]] = {}
        self._setting: dict[str, list[int]] = {}
        for index, one in enumerate(self.code):
            for wait in one.waits:
                self._waiting.setdefault(wait.resource, []).append((index, wait.pending))
            for resource in {pend.resource for pend in one.pends if pend.when is When.RESULT}:
                self._setting.setdefault(resource, []).append(index)

    def blame(self) -> Blame:
        edges = {consumer: self._edges(consumer) for consumer in sorted(self.samples.at)}
        before = _single(edges)
        kept = {consumer: [edge for edge in several if self._survives(edge)] for consumer, several in edges.items()}
        found: list[Attribution] = []
        for consumer, several in kept.items():
            for count in self.samples.at[consumer]:
                if count.samples:
                    found += self._share(consumer, count, several)
        return Blame(tuple(found), {"single_dependency_before": before, "single_dependency_after": _single(kept)})

    # -- edges ---------------------------------------------------------------------------------------------------

    def _edges(self, consumer: int) -> list[_Edge]:
        found: dict[int, _Edge] = {}
        for read in self.slicer.definitions.by_piece[consumer]:
            for producer in read.definitions:
                general = read.role in (Role.DATA, Role.ADDRESS)
                known = found.get(producer)
                if known is None:
                    category = self._category(producer, consumer)
                    found[producer] = _Edge(producer, consumer, category, from_sync=False, registers=general)
                else:
                    known.registers = known.registers or general
        for wait in self.code[consumer].waits:
            for producer in self._setters(consumer, wait):
                found.setdefault(producer, _Edge(producer, consumer, Category.MEMORY, from_sync=True, registers=False))
        return list(found.values())

    def _setters(self, consumer: int, wait: Wait) -> list[int]:
        if is_view(wait.resource):
            return []
        above = [index for index in self._setting.get(wait.resource, ()) if index < consumer]
        if self.vendor != "amd":
            return above[-1:]
        stops = [
            index
            for index, pending in self._waiting.get(wait.resource, ())
            if index < consumer and pending <= wait.pending
        ]
        if stops:
            above = [index for index in above if index > stops[-1]]
        return above[: len(above) - wait.pending] if wait.pending else above

    def _category(self, producer: int, consumer: int) -> Category:
        if _is_sync(self.code[producer]) or _is_sync(self.code[consumer]):
            return Category.SYNC
        return Category.MEMORY if _is_load(self.code[producer]) else Category.EXECUTION

    # -- pruning -------------------------------------------------------------------------------------------------

    def _sums(self, consumer: int) -> tuple[int, int, int]:
        counts = self.samples.at[consumer]
        execution = sum(count.samples for count in counts if count.reason in _EXECUTION)
        memory = sum(count.samples for count in counts if count.reason in _MEMORY)
        total = sum(count.samples for count in counts if count.reason is not Reason.ISSUED)
        return (execution, memory, total) if execution or memory or not total else (total, total, total)

    def _survives(self, edge: _Edge) -> bool:
        execution, memory, total = self._sums(edge.consumer)
        producer, consumer = self.code[edge.producer], self.code[edge.consumer]
        if not edge.from_sync and total:
            place = producer.memory
            if place is not None and place.space == "shared":
                drop = not execution
            elif place is not None:
                drop = not memory and (self.vendor != "nvidia" or not execution)
            else:
                drop = not execution
            if drop:
                return False
        if self.vendor == "nvidia" and total:
            sets = {pend.resource for pend in producer.pends}
            if sets and sets.isdisjoint(wait.resource for wait in consumer.waits):
                return False
        if edge.from_sync:
            edge.distance = max(1.0, abs(edge.consumer - edge.producer))
            return True
        return self._reaches(edge) or not total

    def _reaches(self, edge: _Edge) -> bool:
        """Tell whether some way doesn't hide the producer's longest latency, and note the ways' lengths."""
        edge.distance = max(1.0, abs(edge.consumer - edge.producer))
        producer = self.code[edge.producer]
        if self.vendor == "intel":
            tokens = {pend.resource for pend in producer.pends if not is_view(pend.resource)}
            if not tokens:
                return True
            if edge.producer < edge.consumer:
                return any(
                    any(wait.resource in tokens for wait in one.waits)
                    or any(pend.resource in tokens for pend in one.pends)
                    for one in self.code[edge.producer + 1 : edge.consumer + 1]
                )
        longest = latency_of(producer).high
        if not edge.registers:
            if edge.producer >= edge.consumer:
                return True
            cost = sum(self._cost(index) for index in range(edge.producer + 1, edge.consumer))
            return cost < longest
        lengths = self._paths(edge, longest)
        if not lengths:
            return False
        edge.distance = max(1.0, sum(lengths) / len(lengths))
        return True

    def _cost(self, index: int) -> int:
        one = self.code[index]
        return max(1, one.issue_cycles) if self.vendor == "nvidia" or one.opcode == "s_nop" else 1

    def _paths(self, edge: _Edge, longest: int) -> list[int]:
        graph = self.slicer.graph
        read = {use.register for use in self.code[edge.consumer].uses} & set(self.code[edge.producer].defs)
        readers = set(self.slicer.definitions.readers[edge.producer]) - {edge.consumer}
        goal = graph.block_of[edge.consumer]
        home = graph.block_of[edge.producer]
        lengths: list[int] = []
        stack = [(home, edge.producer + 1, 0, 0, frozenset[int]())]
        steps = 0
        while stack and len(lengths) < MOST_PATHS and steps < MOST_STEPS:
            block, start, cost, count, seen = stack.pop()
            hidden = ended = False
            end = graph.ends[block]
            if block == goal and (edge.consumer >= start):
                end = edge.consumer
                ended = True
            for index in range(start, end):
                steps += 1
                if index in readers and read:
                    ended = True
                    break
                cost += self._cost(index)
                count += 1
                if cost >= longest:
                    hidden = True
                    break
            if hidden:
                continue
            if ended:
                lengths.append(count + 1)
                continue
            for successor in graph.successors[block]:
                if successor not in seen:
                    stack.append((successor, graph.starts[successor], cost, count, seen | {successor}))
        return lengths

    # -- blame ---------------------------------------------------------------------------------------------------

    def _share(self, consumer: int, count: Count, edges: list[_Edge]) -> list[Attribution]:
        def to(samples: int, hidden: int, part: Part, cause: int | None) -> Attribution:
            return Attribution(
                stall=consumer, reason=count.reason, part=part, samples=samples, hidden=hidden, cause=cause
            )

        if count.reason is Reason.ISSUED:
            return [to(count.samples, count.hidden, Part.ISSUED, None)]
        if not edges:
            return [to(count.samples, count.hidden, Part.SELF, consumer)]
        weights = self._weights(consumer, edges)
        samples = apportion(count.samples, weights)
        hidden = apportion(count.hidden, [float(each) for each in samples])
        return [
            to(mine, lost, Part.ATTRIBUTED, edge.producer)
            for edge, mine, lost in zip(edges, samples, hidden, strict=True)
            if mine
        ]

    def _weights(self, consumer: int, edges: list[_Edge]) -> list[float]:
        near = min(edge.distance for edge in edges)
        issues = [max(1, self.issued.get(edge.producer, 0) * PERIOD) for edge in edges]
        match = self._matches(consumer)
        return [
            near / edge.distance * (issue / sum(issues)) * match.get(edge.category, 0.0)
            for edge, issue in zip(edges, issues, strict=True)
        ]

    def _matches(self, consumer: int) -> Mapping[Category, float]:
        counts = self.samples.at[consumer]
        sums = {
            category: sum(count.samples for count in counts if count.reason in reasons)
            for category, reasons in (
                (Category.MEMORY, _MEMORY),
                (Category.EXECUTION, _EXECUTION),
                (Category.SYNC, _SYNC),
            )
        }
        whole = sum(sums.values())
        return {category: part / whole for category, part in sums.items()} if whole else dict.fromkeys(Category, 1.0)


def _is_load(instruction: Instruction) -> bool:
    return instruction.memory is not None and instruction.memory.direction is Direction.LOAD


def _is_sync(instruction: Instruction) -> bool:
    control = instruction.control
    return instruction.kind in ("barrier", "wait") or (control is not None and control.flow is Flow.BARRIER)


def _single(edges: Mapping[int, list[_Edge]]) -> float:
    """Return the share of instructions with at most one memory edge and at most one execution edge."""
    if not edges:
        return 0.0
    good = 0
    for several in edges.values():
        memory = sum(edge.category is Category.MEMORY for edge in several)
        execution = sum(edge.category is Category.EXECUTION for edge in several)
        good += memory <= 1 and execution <= 1
    return good / len(edges)
