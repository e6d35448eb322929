"""Backward slices: from a stalled instruction to what it waits for, and what that in turn was made from.

A `Slicer` holds one function's flow and answers from memory: each instruction's way up is found once, so many slices of
one function cost no more than its edges. Unsampled instructions are links like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.memory import SharedMemory, loads_shared
from strop.stalls.flow.native_definitions import definitions
from strop.stalls.flow.needs import Edge, Needs, closes
from strop.stalls.flow.operands import SLOT
from strop.stalls.flow.pending import Pending
from strop.stalls.instruction import Direction, Function, Instruction, Role

DEEPEST_CHAIN = 8
FARTHEST = 64  # steps followed to tell a circle
MASKS = ("exec",)  # registers that say which lanes take part: as a predicate does, of every vector instruction


class LinkKind(StrEnum):
    """How a value comes from a producer."""

    DATA = "data"
    ADDRESS = "address"
    PREDICATE = "predicate"
    SPILL = "spill"  # through a stack slot
    SHARED = "shared"  # through shared memory and a barrier
    GROUP = "group"  # a member of an asynchronous group


class Link(NamedTuple):
    """A value's way from `producer`."""

    producer: int
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class Above:
    """The way up from an instruction: how many loads it leads through, its first step, whether it closes a circle."""

    loads: int
    first: Link | None
    recurrent: bool


_KINDS = {
    Role.DATA: LinkKind.DATA,
    Role.IMPLICIT: LinkKind.DATA,
    Role.ADDRESS: LinkKind.ADDRESS,
    Role.PREDICATE: LinkKind.PREDICATE,
}


def _kind(space: str, role: Role) -> LinkKind:
    """How a value comes that an instruction reads from a register, or from a slot of the stack."""
    if space.startswith(SLOT):
        return LinkKind.SPILL
    return LinkKind.PREDICATE if role is Role.IMPLICIT and space in MASKS else _KINDS[role]


class Slicer:
    """One function's flow, each part made when first asked for."""

    def __init__(self, function: Function, *, callees: Mapping[str, frozenset[str] | None] | None = None) -> None:
        self.function, self.callees = function, callees
        self.code = function.instructions
        self._above: dict[int, Above] = {}
        self._edges: dict[int, tuple[Edge, ...]] = {}
        self._links: dict[int, tuple[Link, ...]] = {}
        self._chains: dict[int, tuple[Link, ...]] = {}
        self._depths: dict[int, tuple[int, bool]] = {}
        self._kinds: dict[tuple[str, Role], LinkKind] = {}

    @cached_property
    def graph(self) -> Graph:
        """The control-flow graph."""
        return Graph(self.function)

    @cached_property
    def pending(self) -> Pending:
        """The pending sets."""
        return Pending(self.graph, callees=self.callees)

    @cached_property
    def definitions(self) -> Definitions:
        """The reaching definitions."""
        return definitions(self.graph)

    @cached_property
    def _is_load(self) -> bytes:
        """By instruction, whether it loads from memory that isn't constant."""
        return bytes([is_memory_load(instruction) for instruction in self.code])

    @cached_property
    def needs(self) -> Needs:
        """What waits are for."""
        return Needs(self.pending, self.definitions)

    @cached_property
    def shared(self) -> SharedMemory:
        """What passes through shared memory."""
        return SharedMemory(self.graph)

    def prepare(self, consumers: Iterable[int]) -> None:
        """Classify the waits of many instructions at once: cheaper than one by one."""
        new = [one for one in consumers if one not in self._edges]
        self._edges.update(dict.fromkeys(new, ()))  # those that don't wait
        self._edges.update(self.needs.edges(new))

    def edges(self, consumer: int) -> tuple[Edge, ...]:
        """Return what an instruction may wait for."""
        if consumer not in self._edges:
            self.prepare([consumer])
        return self._edges[consumer]

    def links(self, index: int) -> tuple[Link, ...]:
        """Return where what an instruction works on comes from: of loads the address, and what they load."""
        if index in self._links:
            return self._links[index]
        instruction = self.code[index]
        found: dict[tuple[int, LinkKind], None] = {}
        kinds = self._kinds
        for register, role, producers in self.definitions.by_piece[index]:
            if producers:
                which = register.space, role
                kind = kinds.get(which)
                if kind is None:
                    kind = kinds[which] = _kind(*which)
                for producer in producers:
                    found[producer, kind] = None
        if loads_shared(instruction):
            found.update(((producer, LinkKind.SHARED), None) for producer in self.shared.sources(index))
        if closes(instruction):
            found.update(((member, LinkKind.GROUP), None) for member, _ in self.needs.members(index))
        links = self._links[index] = tuple(map(Link._make, found))
        return links

    def above(self, index: int) -> Above:
        """Return the way up from an instruction with the most loads on it (itself not counted)."""
        if index in self._above:
            return self._above[index]
        open_: dict[int, list[tuple[Link, int | None, bool]]] = {}
        stack: list[tuple[int, tuple[Link, ...], int]] = [(index, self._upward(index), 0)]
        open_[index] = []
        while stack:
            here, links, at = stack.pop()
            descended = False
            while at < len(links):
                link = links[at]
                known = self._above.get(link.producer)
                if known is not None:
                    open_[here].append((link, known.loads, known.recurrent))
                elif link.producer in open_:
                    open_[here].append((link, None, True))
                else:
                    stack.append((here, links, at))
                    stack.append((link.producer, self._upward(link.producer), 0))
                    open_[link.producer] = []
                    descended = True
                    break
                at += 1
            if not descended:
                self._above[here] = self._best(open_.pop(here))
        return self._above[index]

    def _upward(self, index: int) -> tuple[Link, ...]:
        """Return the links that a chain follows: of a load not its guard, of others no predicate if data is there."""
        links = self.links(index)
        return tuple([link for link in links if link[1] is not LinkKind.PREDICATE]) or links

    def _best(self, ways: list[tuple[Link, int | None, bool]]) -> Above:
        circle, first = any(loads is None for _, loads, _ in ways), None
        is_load, most, last = self._is_load, 0, -1
        for link, loads, recurrent in ways:
            producer = link.producer
            count = (loads or 0) + is_load[producer]
            if count > DEEPEST_CHAIN:
                count = DEEPEST_CHAIN
            if count > most or (count == most and producer > last):
                most, last, first = count, producer, link
                circle = circle or recurrent
        return Above(most, first, circle)

    def chain(self, index: int) -> tuple[Link, ...]:
        """Return the steps up from an instruction, the nearest first, ending at the last load or store that matters."""
        if index in self._chains:
            return self._chains[index]
        steps: list[Link] = []
        seen = {index}
        here = index
        while len(steps) < DEEPEST_CHAIN:
            first = (self._above.get(here) or self.above(here)).first
            if first is None or first.producer in seen:
                break
            steps.append(first)
            seen.add(first.producer)
            here = first.producer
        while steps and self.code[steps[-1].producer].memory is None:
            steps.pop()
        self._chains[index] = tuple(steps)
        return self._chains[index]

    def address_depth(self, load: int) -> tuple[int, bool]:
        """Return how many loads lie on a load's address, itself included, and whether it is fed by its own result.

        Loads that run less often than it (outside its loop) don't count: their latency isn't added each time.
        """
        if load in self._depths:
            return self._depths[load]
        depth, recurrent = 1, False
        for link in self.links(load):
            if link.kind is LinkKind.ADDRESS:
                if link.producer == load:
                    recurrent = True
                    continue
                depth = max(depth, 1 + self._loads_up(link.producer, self._loop_depth(load)))
                recurrent = recurrent or self._reaches(link.producer, load)
        self._depths[load] = depth, recurrent
        return depth, recurrent

    def _loop_depth(self, index: int) -> int:
        return self.graph.depth[self.graph.block_of[index]]

    def _loads_up(self, start: int, loop_depth: int) -> int:
        """Count the loads on the way up from an instruction, itself included, that lie as deep in loops."""
        here, seen = start, {start}
        count = 0
        while len(seen) < FARTHEST:
            count += is_memory_load(self.code[here]) and self._loop_depth(here) >= loop_depth
            first = (self._above.get(here) or self.above(here)).first
            if first is None or first.producer in seen:
                break
            here = first.producer
            seen.add(here)
        return min(count, DEEPEST_CHAIN)

    def _reaches(self, start: int, goal: int) -> bool:
        """Tell whether the way up from an instruction, by the steps of chains, comes to another."""
        here = start
        seen: set[int] = set()
        while here not in seen and len(seen) < FARTHEST:
            if here == goal:
                return True
            seen.add(here)
            first = (self._above.get(here) or self.above(here)).first
            if first is None:
                return any(link.producer == goal for link in self.links(here))
            here = first.producer
        return here == goal


def is_memory_load(instruction: Instruction) -> bool:
    """Tell whether an instruction loads from memory that isn't constant (parameters and immediates are)."""
    memory = instruction.memory
    return memory is not None and memory.direction is Direction.LOAD and memory.space != "constant"
