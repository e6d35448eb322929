"""Values that pass through shared memory: what a load may read that another instruction stored before a barrier.

Addresses are rarely known, so a store is a candidate for the loads after the next barrier it meets, and for those after
the second (double buffers); beyond that it counts as overwritten. Stack slots are known exactly and are registers to
`definitions.py`.
"""

from __future__ import annotations

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.pending import bits
from strop.stalls.instruction import Direction, Flow, Instruction

SHARED = "shared"
Epochs = tuple[int, int, int]  # stored since the last barrier, before it, before the one before


def stores_shared(instruction: Instruction) -> bool:
    """Tell whether an instruction writes shared memory."""
    memory = instruction.memory
    if memory is None:
        return False
    if memory.direction is Direction.COPY:
        return memory.target == SHARED
    return memory.space == SHARED and memory.direction is not Direction.LOAD


def loads_shared(instruction: Instruction) -> bool:
    """Tell whether an instruction reads shared memory into registers."""
    memory = instruction.memory
    return memory is not None and memory.space == SHARED and memory.direction is Direction.LOAD


def is_barrier(instruction: Instruction) -> bool:
    """Tell whether an instruction makes what was stored visible to others."""
    control = instruction.control
    return control is not None and control.flow is Flow.BARRIER


class SharedMemory:
    """The stores and copies that each shared load may read from, of the nearest epoch only."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        code = graph.function.instructions
        self._stores = [index for index, one in enumerate(code) if stores_shared(one)]
        self._sources: dict[int, int] = {}
        if not self._stores:
            return
        number = {index: place for place, index in enumerate(self._stores)}
        self._events: list[list[tuple[int, int]]] = []  # per block: (instruction, store's number; −1 barrier; −2 load)
        for start, end in zip(graph.starts, graph.ends, strict=True):
            events = []
            for index in range(start, end):
                if index in number:
                    events.append((index, number[index]))
                elif is_barrier(code[index]):
                    events.append((index, -1))
                elif loads_shared(code[index]):
                    events.append((index, -2))
            self._events.append(events)
        self._flow()

    def _flow(self) -> None:
        graph = self.graph
        before: list[Epochs] = [(0, 0, 0)] * len(graph.order)
        stack = list(reversed(graph.order))
        queued = bytearray(b"\1") * len(graph.order)
        while stack:
            block = stack.pop()
            queued[block] = 0
            after = self._through(before[block], block)
            for successor in graph.successors[block]:
                known = before[successor]
                merged = (known[0] | after[0], known[1] | after[1], known[2] | after[2])
                if merged != known:
                    before[successor] = merged
                    if not queued[successor]:
                        queued[successor] = 1
                        stack.append(successor)
        for block in range(len(graph.order)):
            self._through(before[block], block, note=True)

    def _through(self, state: Epochs, block: int, *, note: bool = False) -> Epochs:
        fresh, one, two = state
        for index, what in self._events[block]:
            if what >= 0:
                fresh |= 1 << what
            elif what == -1:
                fresh, one, two = 0, fresh, one
            elif note:
                self._sources[index] = one or two or fresh
        return fresh, one, two

    def sources(self, load: int) -> tuple[int, ...]:
        """Return the instructions whose values a load may read."""
        return tuple(self._stores[place] for place in bits(self._sources.get(load, 0)))
