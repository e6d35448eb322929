"""What may be pending when an instruction waits: data flow over the whole graph, to a fixpoint.

Per resource the state is what may be pending on it, from youngest to oldest: position d holds the producers that, on
some path, were followed by exactly d more on that resource; those as old as the largest count that any wait of the
function names are one set (no wait tells them apart, so nothing is lost by that). At a merge positions align from the
young end and unite. All of this distributes over paths: the result equals that of walking all of them
(`bruteforce.py`).

Operations that leave a resource out of order make "at most k" say nothing of any single one: while such may be pending,
a wait for k > 0 may wait for each and rids the state of none. Those paths are kept apart from the ordered ones.

A call drains everything (compilers wait before it: the callee uses the same scoreboards and counters), unless the
callee is known not to touch a resource.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from strop.stalls.flow.cfg import Graph
from strop.stalls.instruction import Flow, Function, Instruction, Wait, When

CALLER = -1  # a producer before the function began
DEEPEST = 64  # no vendor's wait names a larger count
# An operation of an in-order pipe (Intel) that is followed by more than that on its pipe is over: 11 on float and int,
# 15 on long, 18 on math (intel-graphics-compiler, visa/LocalScheduler/SWSB_G4IR.h). Waits name at most 7, and stand for
# what is farther back, too.
VIEW_DEPTH = 18
NONE: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait and what it may wait for: producers (indices of instructions, `CALLER`), ascending, each with its when."""

    wait: Wait
    producers: tuple[tuple[int, When], ...]


Key = tuple[str, When | None]
Young = tuple[frozenset[int], ...]
# Whether a path without out-of-order operations leads here, what may be pending on the others, the positions, and the
# old ones. Of a resource that is only ever drained whole: one set. Large sets are bits, small ones sets.
Ordered = tuple[bool, int, Young, int]
State = list["int | Ordered"]
# kind, key, number, and k or a mask; see _compile
Event = tuple[int, int, int, int]
PEND, PEND_UNORDERED, WAIT, RELEASE, DRAIN = range(5)


def bits(mask: int) -> Iterator[int]:
    """Yield the set bits of a mask, ascending.

    >>> list(bits(0b10110))
    [1, 2, 4]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def is_view(resource: str) -> bool:
    """Tell whether a resource is a view of one order of issue, such as `float@` beside `int@`.

    An operation pends on several views, and is over when a wait on any of them says so.
    """
    return resource.endswith("@")


class Pending:
    """The fixpoint. `waits` has, of each instruction that waits, what each of its waits may wait for."""

    def __init__(self, graph: Graph, *, callees: Mapping[str, frozenset[str] | None] | None = None) -> None:
        self.graph = graph
        self._callees = callees or {}
        self._number(graph.function)
        self._events = [self._compile(index, code) for index, code in enumerate(graph.function.instructions)]
        self._by_block = [
            [(index, self._events[index]) for index in range(start, end) if self._events[index]]
            for start, end in zip(graph.starts, graph.ends, strict=True)
        ]
        self._before = self._fixpoint()
        self.waits = self._collect()

    # -- numbering -----------------------------------------------------------------------------------------------

    def _number(self, function: Function) -> None:
        """Give keys (resources, or halves of them by when) and the elements that pend on each their numbers."""
        deepest: dict[str, int] = {}
        split: set[str] = set()
        tracked: set[str] = set()
        # By identity: decoders make waits and pends once and use them often.
        for waits in {id(code.waits): code.waits for code in function.instructions}.values():
            for wait in waits:
                deepest[wait.resource] = max(deepest.get(wait.resource, 0), min(wait.pending, DEEPEST))
                tracked.add(wait.resource)
                if wait.when is not None:
                    split.add(wait.resource)
        for pends in {id(one.pends): one.pends for one in function.instructions if one.variable and one.defs}.values():
            tracked.update(pend.resource for pend in pends)
        self._keys: dict[Key, int] = {}
        self._waited: dict[Key, tuple[int, ...]] = {}
        self._depth: list[int] = []
        self._names: list[str] = []
        for resource in sorted(tracked):
            for when in (When.RESULT, When.OPERANDS_READ) if resource in split else (None,):
                self._keys[resource, when] = len(self._depth)
                self._depth.append(VIEW_DEPTH if is_view(resource) else deepest.get(resource, 0))
                self._names.append(resource)
        self._elements: list[list[tuple[int, When]]] = [[] for _ in self._depth]
        self._of_producer: dict[int, list[tuple[int, int]]] = {}  # instruction -> its (key, element)
        self._in_order: dict[int, list[bool]] = {}  # of the same
        self._of_waits: dict[int, tuple[Event, ...]] = {}  # waits, by identity
        if not function.is_kernel:
            for elements in self._elements:
                elements.append((CALLER, When.RESULT))
        whens: list[set[When]] = [set() for _ in self._depth]
        known: dict[int, list[tuple[int, When, bool]]] = {}  # pends: those on a key
        for index, code in enumerate(function.instructions):
            pends = code.pends
            if not pends:
                continue
            on = known.get(id(pends))
            if on is None:
                keyed = [(self._key(pend.resource, pend.when), pend) for pend in pends]
                on = known[id(pends)] = [(key, pend.when, pend.in_order) for key, pend in keyed if key is not None]
                for key, when, _ in on:
                    whens[key].add(when)
            if on:
                found = self._of_producer[index] = []
                self._in_order[index] = [in_order for _, _, in_order in on]
                for key, when, _ in on:
                    elements = self._elements[key]
                    found.append((key, len(elements)))
                    elements.append((index, when))
        self._single = [
            [frozenset((number,)) for number in range(len(elements))] if depth else []
            for elements, depth in zip(self._elements, self._depth, strict=True)
        ]
        # Results and read operands on one counter leave it in no common order.
        self._mixed_kinds = [len(kinds) > 1 for kinds in whens]
        self._is_view = [is_view(name) for name in self._names]

    def _key(self, resource: str, when: When | None) -> int | None:
        return self._keys.get((resource, None), self._keys.get((resource, when)))

    def _compile(self, index: int, code: Instruction) -> tuple[Event, ...]:
        """Return what an instruction does to the state, in order: its waits, a call's drain, what it leaves pending."""
        waits = self._of_waits.get(id(code.waits))
        if waits is None:
            waits = self._of_waits[id(code.waits)] = self._waiting(code.waits)
        called = code.control is not None and code.control.flow is Flow.CALL
        pending = self._of_producer.get(index)
        if pending is None and not called:
            return waits
        events = [*waits]
        if called:
            untouched = self._untouched(code)
            events.extend((DRAIN, key, 0, 0) for key, resource in enumerate(self._names) if resource not in untouched)
        for (key, element), in_order in zip(pending or (), self._in_order.get(index, ()), strict=True):
            unordered = self._depth[key] > 0 and (not in_order or self._mixed_kinds[key])
            events.append((PEND_UNORDERED if unordered else PEND, key, element, 0))
        return tuple(events)

    def _waiting(self, waits: tuple[Wait, ...]) -> tuple[Event, ...]:
        """Return what an instruction's waits do to the state."""
        events: list[Event] = []
        for number, wait in enumerate(waits):
            which = wait.resource, wait.when
            keys = self._waited.get(which)
            if keys is None:
                keys = self._waited[which] = self._keys_of(wait)
            events.extend((WAIT, key, number, wait.pending) for key in keys)
            read = self._keys.get((wait.resource, When.OPERANDS_READ)) if wait.when is When.RESULT else None
            if wait.pending == 0 and read is not None:
                events.append((RELEASE, read, number, 0))
        return tuple(events)

    def _keys_of(self, wait: Wait) -> tuple[int, ...]:
        """Return what a wait waits on."""
        return tuple(
            self._keys[wait.resource, when]
            for when in (None, When.RESULT, When.OPERANDS_READ)
            if (wait.resource, when) in self._keys and (when is None or wait.when in (None, when))
        )

    def _untouched(self, call: Instruction) -> frozenset[str]:
        """Return the tracked resources that a call leaves as they are."""
        touched: set[str] = set()
        targets = call.control.targets if call.control else None
        if targets is None or not targets:
            return frozenset()
        for target in targets:
            effect = self._callees.get(target) if isinstance(target, str) else None
            if effect is None:
                return frozenset()
            touched |= effect
        return frozenset(self._names) - touched

    # -- the flow ------------------------------------------------------------------------------------------------

    def _empty(self) -> State:
        return [(True, 0, (NONE,) * depth, 0) if depth else 0 for depth in self._depth]

    def _fixpoint(self) -> list[State | None]:
        graph = self.graph
        before: list[State | None] = [None] * len(graph.order)
        both_read = self._release_masks()
        self._both_read = both_read
        for entry in graph.entries:
            before[entry] = self._empty()
        if before and not graph.function.is_kernel:
            # The caller's, element 0 of each, is older than all.
            before[0] = [(True, 0, (NONE,) * depth, 1) if depth else 1 for depth in self._depth]
        queue = [graph.position[entry] for entry in graph.entries]
        heapq.heapify(queue)
        queued = bytearray(len(graph.order))
        for place in queue:
            queued[graph.order[place]] = 1
        while queue:
            block = graph.order[heapq.heappop(queue)]
            queued[block] = 0
            state = before[block]
            assert state is not None
            after = state.copy()
            for _, events in self._by_block[block]:
                self._step(after, events)
            for successor in graph.successors[block]:
                known = before[successor]
                merged = after.copy() if known is None else _merge(known, after)
                if merged is not known:
                    before[successor] = merged
                    if not queued[successor]:
                        queued[successor] = 1
                        heapq.heappush(queue, graph.position[successor])
        return before

    def _release_masks(self) -> dict[int, int]:
        """Return, per key of operands read, the elements whose instructions also pend their result on that resource.

        Whoever waited for the result waited for the operands.
        """
        masks: dict[int, int] = {}
        for (resource, when), key in self._keys.items():
            if when is When.OPERANDS_READ:
                results = {index for index, _ in self._elements[self._keys[resource, When.RESULT]]}
                masks[key] = sum(
                    1 << element for element, (index, _) in enumerate(self._elements[key]) if index in results
                )
        return masks

    def _step(
        self, state: State, events: tuple[Event, ...], drained: list[tuple[int, int, int, Young]] | None = None
    ) -> None:
        """Advance over one instruction; `drained` gets each wait's number, key, and two sets: what it may wait for."""
        for kind, key, number, count in events:
            held = state[key]
            if isinstance(held, int):
                if kind == PEND:
                    state[key] = held | (1 << number)
                elif kind == WAIT:
                    if drained is not None:
                        drained.append((number, key, held, ()))
                    state[key] = 0
                elif kind == RELEASE:
                    state[key] = held & ~self._both_read[key]
                else:
                    state[key] = 0
                continue
            ordered, mixed, young, old = held
            if kind == PEND:
                if mixed:
                    mixed |= 1 << number
                if ordered:
                    if young[-1] and not self._is_view[key]:
                        old |= _mask(young[-1:])
                    young = (self._single[key][number], *young[:-1])
                state[key] = ordered, mixed, young, old
            elif kind == PEND_UNORDERED:
                state[key] = False, mixed | _mask(young) | old | (1 << number), (NONE,) * len(young), 0
            elif kind == WAIT:
                taken = mixed | old
                if drained is not None:
                    drained.append((number, key, taken, young[count:]))
                gone = young[count:]
                if count == 0:
                    state[key] = True, 0, (NONE,) * len(young), 0
                else:
                    state[key] = ordered, mixed, young[:count] + (NONE,) * len(gone), 0
                if self._is_view[key]:
                    self._forget(state, key, gone)
            elif kind == RELEASE:
                keep = self._both_read[key]
                rest = tuple(frozenset(one for one in where if not keep >> one & 1) for where in young)
                state[key] = ordered, mixed & ~keep, rest, old & ~keep
            else:
                state[key] = True, 0, (NONE,) * len(young), 0

    def _forget(self, state: State, key: int, gone: Young) -> None:
        """Take what one view's wait shows to be over on all paths out of the other views."""
        over = NONE.union(*gone)
        if not over:
            return
        held = state[key]
        assert not isinstance(held, int)
        for element in over.difference(*held[2]):
            producer = self._elements[key][element][0]
            for other, number in self._of_producer.get(producer, ()):
                there = state[other]
                if other == key or not self._is_view[other] or isinstance(there, int):
                    continue
                ordered, mixed, young, old = there
                if any(number in where for where in young):
                    state[other] = ordered, mixed, tuple(where - {number} for where in young), old

    def _collect(self) -> dict[int, tuple[Waited, ...]]:
        waits: dict[int, tuple[Waited, ...]] = {}
        code = self.graph.function.instructions
        for block, before in enumerate(self._before):
            if before is None:
                continue
            state = before.copy()
            for index, events in self._by_block[block]:
                if not code[index].waits:
                    self._step(state, events)
                    continue
                drained: list[tuple[int, int, int, Young]] = []
                self._step(state, events, drained)
                found: list[set[tuple[int, When]]] = [set() for _ in code[index].waits]
                for number, key, mask, young in drained:
                    elements = self._elements[key]
                    if mask:
                        found[number].update([elements[element] for element in bits(mask)])
                    if young:
                        found[number].update([elements[element] for where in young for element in where])
                waits[index] = tuple(
                    [
                        Waited(wait, tuple(sorted(producers)))
                        for wait, producers in zip(code[index].waits, found, strict=True)
                    ]
                )
        return waits

    # -- questions -----------------------------------------------------------------------------------------------

    def unfinished(self, asked: Mapping[int, Iterable[int]], when: When = When.RESULT) -> set[tuple[int, int]]:
        """Return those (consumer, producer) of the asked whose result may be pending still when the consumer issues.

        Finished means off every resource that its result was pending on; of views, off any one. With the other `when`,
        it is the producer's operands that may not have been read yet.
        """
        open_pairs: set[tuple[int, int]] = set()
        for block, before in enumerate(self._before):
            if before is None:
                continue
            state = before.copy()
            for index in range(self.graph.starts[block], self.graph.ends[block]):
                events = self._events[index]
                wanted = asked.get(index, ())
                if wanted:
                    waits = tuple(event for event in events if event[0] in (WAIT, RELEASE))
                    if waits:
                        self._step(state, waits)
                        events = tuple(event for event in events if event[0] not in (WAIT, RELEASE))
                    open_pairs.update((index, producer) for producer in wanted if self._is_open(state, producer, when))
                if events:
                    self._step(state, events)
        return open_pairs

    def _is_open(self, state: State, producer: int, when: When) -> bool:
        on_views: list[bool] = []
        for key, element in self._of_producer.get(producer, ()):
            if self._elements[key][element][1] is not when:
                continue
            held, bit = state[key], 1 << element
            if isinstance(held, int):
                there = bool(held & bit)
            else:
                there = bool((held[1] | held[3]) & bit) or any(element in where for where in held[2])
            if self._is_view[key]:
                on_views.append(there)
            elif there:
                return True
        return bool(on_views) and all(on_views)


def _mask(sets: Young) -> int:
    mask = 0
    for elements in sets:
        for element in elements:
            mask |= 1 << element
    return mask


def _merge(known: State, new: State) -> State:
    """Unite two states; return `known` itself where the new one adds nothing."""
    merged: State | None = None
    for key, (left, right) in enumerate(zip(known, new, strict=True)):
        if left is right or left == right:
            continue
        united: int | Ordered
        if isinstance(left, int) or isinstance(right, int):
            assert isinstance(left, int)
            assert isinstance(right, int)
            united = left | right
        else:
            united = (
                left[0] or right[0],
                left[1] | right[1],
                tuple(one if one is two else one | two for one, two in zip(left[2], right[2], strict=True)),
                left[3] | right[3],
            )
        if united != left:
            if merged is None:
                merged = known.copy()
            merged[key] = united
    return known if merged is None else merged


def touched_resources(functions: Iterable[Function]) -> dict[str, frozenset[str] | None]:
    """Return, per function, the resources that it or its callees pend or wait on; None where a callee is unknown."""
    own: dict[str, set[str]] = {}
    calls: dict[str, set[str] | None] = {}
    for function in functions:
        resources = own.setdefault(function.name, set())
        called: set[str] | None = calls.setdefault(function.name, set())
        for code in function.instructions:
            resources.update(pend.resource for pend in code.pends)
            resources.update(wait.resource for wait in code.waits)
            if code.control is not None and code.control.flow is Flow.CALL and called is not None:
                if code.control.targets:
                    called.update(target for target in code.control.targets if isinstance(target, str))
                if not code.control.targets or not all(isinstance(to, str) for to in code.control.targets):
                    called = calls[function.name] = None
    touched: dict[str, frozenset[str] | None] = {}
    for name in own:
        reached, stack, whole = {name}, [name], True
        while stack and whole:
            called = calls.get(stack.pop())
            if called is None:
                whole = False
                break
            for callee in called - reached:
                reached.add(callee)
                stack.append(callee)
                whole = whole and callee in own
        touched[name] = frozenset().union(*(own[each] for each in reached)) if whole else None
    return touched
