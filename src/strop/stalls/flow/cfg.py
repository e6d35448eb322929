"""The control-flow graph of one function: blocks, edges, calls, loops.

Divergence constructs need no edges of their own: they fall through, and the branches that they guard are branches. A
guarded branch, exit or return may also fall through. A branch whose targets the decoder doesn't know goes, to be on
the safe side, to every block (through one hub, so that edges stay linear), and is reported in `Graph.unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from strop.stalls.instruction import Flow, Function, Instruction

ENDS = frozenset({Flow.BRANCH, Flow.CALL, Flow.RETURN, Flow.EXIT})


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its header and all its blocks, ascending; `depth` counts the loops it lies in, itself too."""

    header: int
    blocks: tuple[int, ...]
    depth: int


class Graph:
    """Blocks are numbered in order of address; `starts[b]` to `ends[b]` (exclusive) are its instructions' indices.

    `successors` and `predecessors` name blocks. `entries` are the function's first block and blocks that nothing seems
    to lead to (reached only by ways the decoder doesn't see). A hub, if there is one, is the last block, and empty.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        code = function.instructions
        self.index_of = {instruction.pc: index for index, instruction in enumerate(code)}
        self.unknown: list[int] = []  # instructions that branch, or call, to nobody knows where
        self.outside: list[int] = []  # branches to where no instruction of the function begins
        self.starts, self.ends = self._cut(code)
        self.block_of = [0] * len(code)
        for block, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            for index in range(start, end):
                self.block_of[index] = block
        self.hub: int | None = None
        self.successors = self._edges(code)
        self.predecessors: list[list[int]] = [[] for _ in self.successors]
        for block, successors in enumerate(self.successors):
            for successor in successors:
                self.predecessors[successor].append(block)
        self.entries, self.order = self._order()
        self.position = [0] * len(self.order)
        for place, block in enumerate(self.order):
            self.position[block] = place

    def __len__(self) -> int:
        return len(self.starts)

    def _cut(self, code: tuple[Instruction, ...]) -> tuple[list[int], list[int]]:
        leaders = {0} if code else set()
        for index, instruction in enumerate(code):
            control = instruction.control
            if control is None or control.flow not in ENDS:
                continue
            leaders.add(index + 1)
            if control.flow is Flow.BRANCH:
                for target in control.targets or ():
                    place = self.index_of.get(target) if isinstance(target, int) else None
                    if place is None:
                        self.outside.append(index)
                    else:
                        leaders.add(place)
        leaders.discard(len(code))
        starts = sorted(leaders)
        return starts, [*starts[1:], len(code)] if starts else []

    def _edges(self, code: tuple[Instruction, ...]) -> list[list[int]]:
        edges: list[list[int]] = []
        to_hub: list[int] = []
        for block, end in enumerate(self.ends):
            last = code[end - 1]
            control = last.control
            falls = control is None or control.flow not in ENDS or control.flow is Flow.CALL
            successors: list[int] = []
            if control is not None and control.flow in ENDS:
                falls = falls or control.conditional or last.guard is not None
                if control.targets is None and control.flow in (Flow.BRANCH, Flow.CALL):
                    self.unknown.append(end - 1)
                    if control.flow is Flow.BRANCH:
                        to_hub.append(block)
                elif control.flow is Flow.BRANCH:
                    for target in control.targets or ():
                        place = self.index_of.get(target) if isinstance(target, int) else None
                        if place is not None:
                            successors.append(self.block_of[place])
            if falls and end < len(code):
                successors.append(block + 1)
            edges.append(list(dict.fromkeys(successors)))
        if to_hub:
            self.hub = len(edges)
            for block in to_hub:
                edges[block].append(self.hub)
            edges.append(list(range(self.hub)))
            self.starts.append(len(code))
            self.ends.append(len(code))
        return edges

    def _order(self) -> tuple[list[int], list[int]]:
        """Return the entries, and all blocks in reverse postorder from them."""
        count = len(self.successors)
        postorder: list[int] = []
        seen = bytearray(count)
        entries: list[int] = []
        unled = [block for block in range(1, count) if not self.predecessors[block]]
        for root in [0, *unled, *range(count)] if count else []:
            if seen[root]:
                continue
            entries.append(root)
            seen[root] = 1
            stack = [(root, iter(self.successors[root]))]
            while stack:
                block, successors = stack[-1]
                for successor in successors:
                    if not seen[successor]:
                        seen[successor] = 1
                        stack.append((successor, iter(self.successors[successor])))
                        break
                else:
                    postorder.append(block)
                    stack.pop()
        return entries, postorder[::-1]

    def instructions(self, block: int) -> Iterator[tuple[int, Instruction]]:
        """Yield the index and the instruction of each of a block's."""
        code = self.function.instructions
        for index in range(self.starts[block], self.ends[block]):
            yield index, code[index]

    @cached_property
    def dominators(self) -> list[int]:
        """The immediate dominator of each block (an entry's is itself; several entries: −1 stands above them).

        Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
        """
        position, roots = self.position, set(self.entries)
        unset = -2
        dominator = [unset] * len(self.order)
        for root in roots:
            dominator[root] = -1

        def common(left: int, right: int) -> int:
            while left != right:
                if left == -1 or right == -1:
                    return -1
                if position[left] > position[right]:
                    left = dominator[left]
                else:
                    right = dominator[right]
            return left

        changed = True
        while changed:
            changed = False
            for block in self.order:
                if block in roots:
                    continue
                found = unset
                for predecessor in self.predecessors[block]:
                    if dominator[predecessor] != unset:
                        found = predecessor if found == unset else common(found, predecessor)
                if found != dominator[block]:
                    dominator[block] = found
                    changed = True
        return dominator

    def dominates(self, upper: int, lower: int) -> bool:
        """Tell whether every way to `lower` leads through `upper`."""
        while lower not in (upper, -1):
            lower = self.dominators[lower]
        return lower == upper

    @cached_property
    def back_edges(self) -> tuple[tuple[int, int], ...]:
        """The edges that close a natural loop, as (tail, header)."""
        return tuple(
            (tail, header)
            for tail in self.order
            for header in self.successors[tail]
            if self.position[header] <= self.position[tail] and self.dominates(header, tail)
        )

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The natural loops, one a header, outer before inner."""
        bodies: dict[int, set[int]] = {}
        for tail, header in self.back_edges:
            body = bodies.setdefault(header, {header})
            stack = [tail]
            while stack:
                block = stack.pop()
                if block not in body:
                    body.add(block)
                    stack.extend(self.predecessors[block])
        ranked = sorted(bodies, key=lambda header: (-len(bodies[header]), header))
        depth = dict.fromkeys(range(len(self.order)), 0)
        loops = []
        for header in ranked:
            for block in bodies[header]:
                depth[block] += 1
            loops.append(Loop(header, tuple(sorted(bodies[header])), depth[header]))
        return tuple(loops)

    @cached_property
    def depth(self) -> list[int]:
        """How many loops each block lies in."""
        depth = [0] * len(self.order)
        for loop in self.loops:
            for block in loop.blocks:
                depth[block] += 1
        return depth
