"""How often each branch of a program is taken, so that a run enters its loops and leaves them again.

Found in the graph of steps: a branch with one way out of its loop goes round so many trips and then out; one outside
loops goes where most loops are; one whose ways both stay in the loop, and that ends none, takes both in turn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache

from tests.planted.program import Program, Step

Ways = tuple[int, int]  # numbers of the steps when not taken and when taken


def outcomes(program: Program, trips: int, inner: int, *, rng: random.Random) -> dict[int, tuple[int, ...]]:
    """Return the runs of taken and not taken of each conditional branch (`machine.Settings.branches`).

    `trips` is how often an outermost loop goes round, `inner` how often one inside it.
    """
    steps = program.steps
    graph, loops = _known(program)
    found: dict[int, tuple[int, ...]] = {}
    for number, step in enumerate(steps):
        if step.conditional and step.targets and len(graph[number]) == 2:
            found[step.address] = _outcome(number, graph, loops, (trips, inner), rng)
    return found


def hottest(program: Program) -> frozenset[int]:
    """Return the addresses of the steps inside loops."""
    return frozenset(program.steps[number].address for number in _known(program)[1])


@lru_cache(maxsize=256)
def _known(program: Program) -> tuple[list[tuple[int, ...]], dict[int, int]]:
    """Return the graph of steps, and the loop of each step that is in one."""
    places = {step.address: number for number, step in enumerate(program.steps)}
    graph = [_successors(program, number, places) for number in range(len(program.steps))]
    return graph, _components(graph, range(len(graph)))


def _outcome(
    number: int, graph: Sequence[tuple[int, ...]], loops: Mapping[int, int], rounds: tuple[int, int], rng: random.Random
) -> tuple[int, ...]:
    on, away = graph[number]
    here = loops.get(number)
    if here is None:
        # Once through: to where there are more loops.
        return (1, 0) if len(_within(graph, away, loops)) > len(_within(graph, on, loops)) else (0, 1)
    inside = [way for way in (on, away) if loops.get(way) == here]
    if len(inside) == 1:
        return _round(rounds[0], stays=inside[0] == away)
    # Both ways stay: an inner loop's end, if without the branch's own loop one way doesn't come back here.
    body = {each for each in loops if loops[each] == here}
    head = min(body)
    back = [_reaches(graph, way, number, body - {head}) for way in (on, away)]
    if back[0] != back[1]:
        return _round(rounds[1], stays=back[1])
    return (rng.randint(1, 3), rng.randint(1, 3))


def _round(trips: int, *, stays: bool) -> tuple[int, ...]:
    """Stay in the loop `trips - 1` times, then leave; `stays` says that taking the branch stays."""
    return (trips - 1, 1) if stays else (0, trips - 1, 1, 0)


def _successors(program: Program, number: int, places: Mapping[int, int]) -> tuple[int, ...]:
    step: Step = program.steps[number]
    if step.exits and not step.conditional:
        return ()
    away = tuple(places[target] for target in step.targets if target in places)
    if away and not step.conditional:
        return away
    on = (number + 1,) if number + 1 < len(program.steps) else ()
    return on + away


def _components(graph: Sequence[tuple[int, ...]], nodes: Sequence[int]) -> dict[int, int]:
    """Return the strongly connected component of each step in one that is a loop (Kosaraju)."""
    order: list[int] = []
    seen: set[int] = set()
    for start in nodes:
        stack = [(start, 0)] if start not in seen else []
        seen.add(start)
        while stack:
            at, child = stack.pop()
            if child < len(graph[at]):
                stack.append((at, child + 1))
                if graph[at][child] not in seen:
                    seen.add(graph[at][child])
                    stack.append((graph[at][child], 0))
            else:
                order.append(at)
    before: list[list[int]] = [[] for _ in graph]
    for at, ways in enumerate(graph):
        for way in ways:
            before[way].append(at)
    found: dict[int, int] = {}
    for root in reversed(order):
        work = [root] if root not in found else []
        while work:
            at = work.pop()
            if at not in found:
                found[at] = root
                work += before[at]
    sizes: dict[int, int] = {}
    for root in found.values():
        sizes[root] = sizes.get(root, 0) + 1
    return {at: root for at, root in found.items() if sizes[root] > 1 or at in graph[at]}


def _within(graph: Sequence[tuple[int, ...]], start: int, wanted: Mapping[int, int]) -> set[int]:
    """Return those of `wanted` that `start` reaches."""
    seen, work = {start}, [start]
    while work:
        for way in graph[work.pop()]:
            if way not in seen:
                seen.add(way)
                work.append(way)
    return seen & wanted.keys()


def _reaches(graph: Sequence[tuple[int, ...]], start: int, goal: int, inside: set[int]) -> bool:
    seen, work = {start}, [start]
    while work:
        at = work.pop()
        if at == goal:
            return True
        if at in inside:
            fresh = [way for way in graph[at] if way not in seen]
            seen.update(fresh)
            work += fresh
    return False
