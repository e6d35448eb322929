"""Which definitions reach which uses: registers, and stack slots that are named exactly.

An instruction that always takes effect kills what its register held; one under a guard may not, so both reach on. Only
registers that are still wanted are followed (liveness first), each through the blocks where it is: the cost is that of
the edges that a value really crosses. A spill's slot is a register like any other, written by the store and read by the
reload.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from strop.stalls.flow.cfg import Graph
from strop.stalls.instruction import Direction, Instruction, Register, Role

NONE: frozenset[int] = frozenset()
SLOT = "slot:"  # the space of stack slots; the index is the offset in words of 4 bytes


@dataclass(frozen=True, slots=True)
class Read:
    """A use: the register, what for, and the instructions whose definitions may reach it (none: live at entry)."""

    register: Register
    role: Role
    definitions: tuple[int, ...]


def slot_words(instruction: Instruction) -> tuple[Register, ...]:
    """Return the stack words that an access with a known slot covers."""
    memory = instruction.memory
    if memory is None or memory.slot is None:
        return ()
    base, offset = memory.slot
    return tuple(Register(SLOT + base, (offset + at) // 4) for at in range(0, max(memory.width_bytes or 4, 1), 4))


def written(instruction: Instruction) -> tuple[Register, ...]:
    """Return everything an instruction writes: registers, and the stack slot of a spill."""
    memory = instruction.memory
    if memory is not None and memory.slot is not None and memory.direction is not Direction.LOAD:
        return (*instruction.defs, *slot_words(instruction))
    return instruction.defs


def read(instruction: Instruction) -> tuple[tuple[Register, Role], ...]:
    """Return everything an instruction reads, once each: registers, the guard, and the stack slot of a reload."""
    uses = {(use.register.space, use.register.index): (use.register, use.role) for use in instruction.uses}
    guard, memory = instruction.guard, instruction.memory
    if guard is not None:
        uses.setdefault((guard.register.space, guard.register.index), (guard.register, Role.PREDICATE))
    if memory is not None and memory.slot is not None and memory.direction is not Direction.STORE:
        for word in slot_words(instruction):
            uses[word.space, word.index] = (word, Role.DATA)
    return tuple(uses.values())


class Definitions:
    """`reads[i]`: each use of instruction i and what reaches it; `uses[p]`: the (consumer, register) of p's results."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._number()
        self._summarise()
        self._live_out = self._liveness()
        self._live_in = [
            self._exposed[block] | (live & ~self._killed[block]) for block, live in enumerate(self._live_out)
        ]
        self._arriving = self._propagate()
        self.reads: list[tuple[Read, ...]] = [()] * len(graph.function.instructions)
        self.uses: list[list[tuple[int, Register]]] = [[] for _ in graph.function.instructions]
        self._resolve()

    def _number(self) -> None:
        numbers: dict[tuple[str, int], int] = {}
        self.registers: list[Register] = []

        def number(register: Register) -> int:
            key = (register.space, register.index)
            found = numbers.get(key)
            if found is None:
                found = numbers[key] = len(numbers)
                self.registers.append(register)
            return found

        self._defs: list[tuple[int, ...]] = []
        self._reads: list[tuple[tuple[int, Role], ...]] = []
        self._guarded = bytearray()
        for instruction in self.graph.function.instructions:
            self._defs.append(tuple(number(register) for register in written(instruction)))
            self._reads.append(tuple((number(register), role) for register, role in read(instruction)))
            self._guarded.append(instruction.guard is not None)

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

    def _resolve(self) -> None:
        for block, (start, end) in enumerate(zip(self.graph.starts, self.graph.ends, strict=True)):
            now = dict(self._arriving[block])
            for index in range(start, end):
                self._read_at(index, now)
                self._write_at(index, now)

    def _read_at(self, index: int, now: Mapping[int, frozenset[int]]) -> None:
        found = []
        for number, role in self._reads[index]:
            sites = now.get(number, NONE)
            register = self.registers[number]
            definitions = tuple(sites) if len(sites) < 2 else tuple(sorted(sites))
            found.append(Read(register, role, definitions))
            for site in definitions:
                self.uses[site].append((index, register))
        self.reads[index] = tuple(found)

    def _write_at(self, index: int, now: dict[int, frozenset[int]]) -> None:
        this = frozenset((index,))
        guarded = self._guarded[index]
        for register in self._defs[index]:
            now[register] = now.get(register, NONE) | this if guarded else this

    # -- questions -----------------------------------------------------------------------------------------------

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
        """Return, per block, the registers (as bits by number) that some way from the block's end writes."""
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
        """Return the numbers of the registers that an instruction writes, and of those that it reads."""
        return self._defs[index], tuple(number for number, _ in self._reads[index])
