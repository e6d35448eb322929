"""Which definitions reach which uses: registers, and stack slots that are named exactly.

An instruction that always takes effect kills what its register held; one under a guard may not, so both reach on. Only
registers that are still wanted are followed (liveness first), each through the blocks where it is: the cost is that of
the edges that a value really crosses. A spill's slot is a register like any other, written by the store and read by the
reload.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.pieces import Pieces
from strop.stalls.instruction import Register, Role

NONE: frozenset[int] = frozenset()


class Read(NamedTuple):
    """A use: the register, what for, and the instructions whose definitions may reach it (none: live at entry)."""

    register: Register
    role: Role
    definitions: tuple[int, ...]


class Definitions:
    """`by_piece[i]`: what instruction i reads and what reaches it, each piece once, its first register named.

    `reads[i]` says the same of each register. Registers are told apart as far as the function does (`pieces.py`).
    """

    def __init__(self, graph: Graph, pieces: Pieces | None = None) -> None:
        self.graph = graph
        self._pieces = Pieces(graph.function.instructions) if pieces is None else pieces
        self._defs, self._reads = self._pieces.written, self._pieces.read
        self._guarded = bytearray([instruction.guard is not None for instruction in graph.function.instructions])
        self.by_piece = self._solve()

    def _solve(self) -> list[tuple[Read, ...]]:
        self._summarise()
        self._live_out = self._liveness()
        self._live_in = [
            self._exposed[block] | (live & ~self._killed[block]) for block, live in enumerate(self._live_out)
        ]
        self._arriving = self._propagate()
        return self._resolve()

    def _summarise(self) -> None:
        """Per block: registers read before they are surely written, those surely written, and what leaves it."""
        self._exposed: list[int] = []
        self._killed: list[int] = []
        self._leaving: list[dict[int, frozenset[int]]] = []
        for start, end in zip(self.graph.starts, self.graph.ends, strict=True):
            exposed = killed = 0
            leaving: dict[int, frozenset[int]] = {}
            for index in range(start, end):
                for register, _ in self._reads[index]:
                    if not killed >> register & 1:
                        exposed |= 1 << register
                this = frozenset((index,))
                guarded = self._guarded[index]
                for register in self._defs[index]:
                    if guarded:
                        leaving[register] = leaving.get(register, NONE) | this
                    else:
                        leaving[register] = this
                        killed |= 1 << register
            self._exposed.append(exposed)
            self._killed.append(killed)
            self._leaving.append(leaving)

    def _liveness(self) -> list[int]:
        graph = self.graph
        live_in, live_out = [0] * len(graph.order), [0] * len(graph.order)
        queued = bytearray(b"\1") * len(graph.order)
        stack = list(graph.order)
        while stack:
            block = stack.pop()
            queued[block] = 0
            out = 0
            for successor in graph.successors[block]:
                out |= live_in[successor]
            live_out[block] = out
            into = self._exposed[block] | (out & ~self._killed[block])
            if into != live_in[block]:
                live_in[block] = into
                for predecessor in graph.predecessors[block]:
                    if not queued[predecessor]:
                        queued[predecessor] = 1
                        stack.append(predecessor)
        return live_out

    def _propagate(self) -> list[dict[int, frozenset[int]]]:
        """Return, per block, the definitions that arrive of each register that is live there."""
        graph = self.graph
        arriving: list[dict[int, frozenset[int]]] = [{} for _ in graph.order]
        changed: list[set[int]] = [set() for _ in graph.order]
        stack: list[int] = []

        def send(block: int, register: int, sites: frozenset[int]) -> None:
            for successor in graph.successors[block]:
                if self._live_in[successor] >> register & 1:
                    there = arriving[successor].get(register, NONE)
                    if not sites <= there:
                        arriving[successor][register] = there | sites if there else sites
                        if not changed[successor]:
                            stack.append(successor)
                        changed[successor].add(register)

        for block in reversed(graph.order):
            for register, sites in self._leaving[block].items():
                if self._live_out[block] >> register & 1:
                    send(block, register, sites)
        stack.sort(key=lambda block: graph.position[block], reverse=True)
        while stack:
            block = stack.pop()
            registers, changed[block] = changed[block], set()
            through = self._live_out[block] & ~self._killed[block]
            for register in registers:
                if through >> register & 1:
                    send(block, register, arriving[block][register])
        return arriving

    def _resolve(self) -> list[tuple[Read, ...]]:
        registers = self._firsts()
        reads: list[tuple[Read, ...]] = [()] * len(self._reads)
        for block, (start, end) in enumerate(zip(self.graph.starts, self.graph.ends, strict=True)):
            arriving = self._arriving[block]
            now: dict[int, tuple[int, ...]] = {}  # ascending
            for index in range(start, end):
                here = []
                for piece, role in self._reads[index]:
                    sites = now.get(piece)
                    if sites is None:
                        sites = now[piece] = tuple(sorted(arriving.get(piece, NONE)))
                    here.append(Read(registers[piece], role, sites))
                reads[index] = tuple(here)
                if self._guarded[index]:
                    for piece in self._defs[index]:
                        before = now.get(piece, arriving.get(piece, NONE))
                        now[piece] = tuple(sorted({*before, index}))
                else:
                    now.update(dict.fromkeys(self._defs[index], (index,)))
        return reads

    def _firsts(self) -> list[Register]:
        """The first register of each piece."""
        return [self._pieces.registers[number] for number in self._pieces.first]

    def _write_at(self, index: int, now: dict[int, frozenset[int]]) -> None:
        this = frozenset((index,))
        guarded = self._guarded[index]
        for register in self._defs[index]:
            now[register] = now.get(register, NONE) | this if guarded else this

    # -- questions -----------------------------------------------------------------------------------------------

    @cached_property
    def reads(self) -> list[tuple[Read, ...]]:
        """What each instruction reads, register by register."""
        pieces, found = self._pieces, []
        for index, (numbers, roles) in enumerate(pieces.reads):
            sites = {key: read.definitions for key, read in zip(self._reads[index], self.by_piece[index], strict=True)}
            found.append(
                tuple(
                    Read(pieces.registers[number], role, sites[pieces.of[number], role])
                    for number, role in zip(numbers, roles, strict=True)
                )
            )
        return found

    @cached_property
    def readers(self) -> list[list[int]]:
        """The instructions that each one's results may reach, ascending."""
        readers: list[list[int]] = [[] for _ in self.by_piece]
        for consumer, reads in enumerate(self.by_piece):
            for producer in dict.fromkeys(producer for read in reads for producer in read.definitions):
                readers[producer].append(consumer)
        return readers

    def dependences(self) -> Iterator[tuple[int, int, Register]]:
        """Yield every (producer, consumer, register): a definition that may reach a use."""
        for consumer, reads in enumerate(self.reads):
            for each in reads:
                for producer in each.definitions:
                    yield producer, consumer, each.register

    def needed_after(self, asked: Mapping[int, Iterable[int]]) -> set[tuple[int, int]]:
        """Return those (instruction, producer) of the asked where a result of the producer still has a use to come.

        That is: its definition reaches the instruction, and some way leads on from there to a use, with no other
        definition in between.
        """
        needed: set[tuple[int, int]] = set()
        for block in sorted({self.graph.block_of[index] for index in asked}):
            start, end = self.graph.starts[block], self.graph.ends[block]
            live, live_after = self._live_out[block], {}
            for index in range(end - 1, start - 1, -1):
                live_after[index] = live
                if not self._guarded[index]:
                    for register in self._defs[index]:
                        live &= ~(1 << register)
                for register, _ in self._reads[index]:
                    live |= 1 << register
            now = dict(self._arriving[block])
            for index in range(start, end):
                for producer in asked.get(index, ()):
                    if producer >= 0 and any(
                        live_after[index] >> register & 1 and producer in now.get(register, NONE)
                        for register in self._defs[producer]
                    ):
                        needed.add((index, producer))
                self._write_at(index, now)
        return needed

    def written_later(self) -> list[int]:
        """Return, per block, the pieces (as bits by number) that some way from the block's end writes."""
        graph = self.graph
        own = [0] * len(graph.order)
        for block, (start, end) in enumerate(zip(graph.starts, graph.ends, strict=True)):
            for index in range(start, end):
                for register in self._defs[index]:
                    own[block] |= 1 << register
        later = [0] * len(graph.order)
        stack = list(graph.order)
        queued = bytearray(b"\1") * len(graph.order)
        while stack:
            block = stack.pop()
            queued[block] = 0
            out = 0
            for successor in graph.successors[block]:
                out |= own[successor] | later[successor]
            if out != later[block]:
                later[block] = out
                for predecessor in graph.predecessors[block]:
                    if not queued[predecessor]:
                        queued[predecessor] = 1
                        stack.append(predecessor)
        return later

    def numbers(self, index: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the numbers of the pieces that an instruction writes, and of those that it reads."""
        return self._defs[index], tuple([piece for piece, _ in self._reads[index]])

    def space(self, piece: int) -> str:
        """Return the space that a piece's registers are in."""
        return self._pieces.registers[self._pieces.first[piece]].space
