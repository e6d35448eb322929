"""The reference for small functions: walk every path, one instruction at a time, and note what is seen.

Nothing here merges states: a state is what one path made it (lists of pending operations, the last writer of each
register). Paths that agree in all of it are walked on once, which makes the walk finite: of the operations on a
resource that are older than any wait's count only the set is kept. Exponential all the same; for tests.

What a wait means is said here a second time, in the plainest way; `pending.py` and `definitions.py` must agree with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.operands import read, written
from strop.stalls.flow.pending import CALLER, DEEPEST, VIEW_DEPTH, is_view
from strop.stalls.instruction import Flow, Instruction, Register, When

Operation = tuple[int, When, bool]  # producer, when it leaves, whether in order of issue
Line = tuple[tuple[Operation, ...], frozenset[Operation]]  # the youngest first; and the set of those behind
Place = tuple[str, When | None]
NOBODY = -2


class TooManyStatesError(Exception):
    """The function is too large for walking all of its paths."""


@dataclass
class Walked:
    """What all paths showed: what each wait waited for, what reached each use, what was read unfinished."""

    waits: dict[tuple[int, int], set[tuple[int, When]]] = field(default_factory=dict)
    reads: dict[tuple[int, Register], set[int]] = field(default_factory=dict)
    unfinished: set[tuple[int, int, Register]] = field(default_factory=set)


class _State(NamedTuple):
    """`lines` in the order of the walk's places, `writers` in that of its registers (`NOBODY`: not written)."""

    at: int
    lines: tuple[Line, ...]
    writers: tuple[int, ...]


def walk(graph: Graph, *, callees: Mapping[str, frozenset[str] | None] | None = None, limit: int = 200_000) -> Walked:
    """Walk all paths of a function. `limit` is how many states to visit at most before giving up."""
    return _Walk(graph, callees or {}, limit).walked


class _Walk:
    def __init__(self, graph: Graph, callees: Mapping[str, frozenset[str] | None], limit: int) -> None:
        self.graph, self.callees, self.function = graph, callees, graph.function
        self.walked = Walked()
        code = self.function.instructions
        waits = [wait for instruction in code for wait in instruction.waits]
        self.split = {wait.resource for wait in waits if wait.when is not None}
        self.known = {wait.resource for wait in waits} | {
            pend.resource for one in code if one.variable and one.defs for pend in one.pends
        }
        self.deepest = {
            resource: max((min(wait.pending, DEEPEST) for wait in waits if wait.resource == resource), default=0)
            for resource in self.known
        }
        kinds = {(pend.resource, pend.when) for one in code for pend in one.pends}
        self.no_common_order = {
            resource
            for resource in self.known - self.split
            if (resource, When.RESULT) in kinds and (resource, When.OPERANDS_READ) in kinds
        }
        self.places: list[Place] = [
            (resource, when)
            for resource in sorted(self.known)
            for when in ((When.RESULT, When.OPERANDS_READ) if resource in self.split else (None,))
        ]
        touched = {each for one in code for each in (*written(one), *(register for register, _ in read(one)))}
        self.numbers = {register: number for number, register in enumerate(sorted(touched))}
        nothing: Line = ((), frozenset())
        caller: Line = ((), frozenset({(CALLER, When.RESULT, True)}))
        stack = []
        for entry in graph.entries:
            first = caller if entry == 0 and not self.function.is_kernel else nothing
            if code:
                unwritten = (NOBODY,) * len(self.numbers)
                stack.append(_State(graph.starts[entry], (first,) * len(self.places), unwritten))
        seen = set(stack)
        while stack:
            for state in self._step(stack.pop()):
                if state not in seen:
                    if len(seen) >= limit:
                        raise TooManyStatesError
                    seen.add(state)
                    stack.append(state)

    def _step(self, state: _State) -> list[_State]:
        index = state.at
        code = self.function.instructions[index]
        lines = dict(zip(self.places, state.lines, strict=True))
        writers = state.writers
        for number, wait in enumerate(code.waits):
            seen = self.walked.waits.setdefault((index, number), set())
            for place in list(lines):
                if place[0] == wait.resource and (place[1] is None or wait.when in (None, place[1])):
                    seen.update(self._wait(lines, place, wait.pending))
            if wait.when is When.RESULT and wait.pending == 0:
                self._release(lines, wait.resource)
        for register, _ in read(code):
            reached = self.walked.reads.setdefault((index, register), set())
            writer = writers[self.numbers[register]]
            if writer != NOBODY:
                reached.add(writer)
                if self._is_pending(lines, writer):
                    self.walked.unfinished.add((index, writer, register))
        if code.control is not None and code.control.flow is Flow.CALL:
            for place in lines:
                if not self._untouched(code, place[0]):
                    lines[place] = ((), frozenset())
        for pend in code.pends:
            for place in ((pend.resource, None), (pend.resource, pend.when)):
                if place in lines:
                    in_order = pend.in_order and pend.resource not in self.no_common_order
                    lines[place] = self._append(lines[place], (index, pend.when, in_order), place[0])
        outcomes = [writers]
        if written(code):
            mine = list(writers)
            for register in written(code):
                mine[self.numbers[register]] = index
            outcomes = [tuple(mine)] if code.guard is None else [tuple(mine), writers]
        return [
            _State(successor, tuple(lines.values()), one)
            for successor in self._successors(index, code)
            for one in outcomes
        ]

    def _append(self, line: Line, operation: Operation, resource: str) -> Line:
        young, old = (operation, *line[0]), line[1]
        if is_view(resource):
            return young[:VIEW_DEPTH], old
        keep = self.deepest[resource]
        return young[:keep], old | frozenset(young[keep:])

    def _wait(self, lines: dict[Place, Line], place: Place, count: int) -> set[tuple[int, When]]:
        young, old = lines[place]
        every = (*young, *old)
        if count and not all(in_order for _, _, in_order in every):
            return {(producer, when) for producer, when, _ in every}
        lines[place] = (young[:count], frozenset())
        gone = {(producer, when) for producer, when, _ in (*young[count:], *old)}
        left = {producer for producer, _, _ in young[:count]}
        if is_view(place[0]):
            for other, (there, behind) in list(lines.items()):
                if other != place and is_view(other[0]):
                    over = {producer for producer, _ in gone} - left
                    lines[other] = (tuple(one for one in there if one[0] not in over), behind)
        return gone

    def _release(self, lines: dict[Place, Line], resource: str) -> None:
        """Whoever waited for all results on a resource waited for the operands of those operations too."""
        place = (resource, When.OPERANDS_READ)
        if place not in lines:
            return
        with_result = {CALLER} | {
            index
            for index, code in enumerate(self.function.instructions)
            if any(pend.resource == resource and pend.when is When.RESULT for pend in code.pends)
        }
        young, old = lines[place]
        lines[place] = (
            tuple(one for one in young if one[0] not in with_result),
            frozenset(one for one in old if one[0] not in with_result),
        )

    def _is_pending(self, lines: Mapping[Place, Line], producer: int) -> bool:
        pends = {
            pend.resource for pend in self.function.instructions[producer].pends if pend.when is When.RESULT
        } & self.known
        on = {
            resource: any(
                one[0] == producer and one[1] is When.RESULT
                for place, (young, old) in lines.items()
                if place[0] == resource
                for one in (*young, *old)
            )
            for resource in pends
        }
        views = [there for resource, there in on.items() if is_view(resource)]
        return (bool(views) and all(views)) or any(there for resource, there in on.items() if not is_view(resource))

    def _untouched(self, call: Instruction, resource: str) -> bool:
        targets = call.control.targets if call.control else None
        if not targets:
            return False
        effects = [self.callees.get(target) if isinstance(target, str) else None for target in targets]
        return all(effect is not None and resource not in effect for effect in effects)

    def _successors(self, index: int, code: Instruction) -> list[int]:
        successors: list[int] = []
        falls = True
        control = code.control
        if control is not None and control.flow in (Flow.BRANCH, Flow.RETURN, Flow.EXIT):
            falls = control.conditional or code.guard is not None
            if control.flow is Flow.BRANCH and control.targets is None:
                successors += [start for start in self.graph.starts if start < len(self.function.instructions)]
            elif control.flow is Flow.BRANCH:
                pcs = {one.pc: place for place, one in enumerate(self.function.instructions)}
                successors += [pcs[to] for to in control.targets or () if isinstance(to, int) and to in pcs]
        if falls and index + 1 < len(self.function.instructions):
            successors.append(index + 1)
        return list(dict.fromkeys(successors))
