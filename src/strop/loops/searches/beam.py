"""Beam: from each state go on from its best few successors, depth first or breadth first."""

from __future__ import annotations

import heapq
from typing import Any

from strop.loops.environment import STEPS
from strop.loops.searches.base import Exploration, LoopSearch
from strop.loops.searches.steps import State, steps


class Beam(LoopSearch):
    """Each state's successors are ranked by what they cost; the best `width` of them are gone on from, ten steps deep.

    `first="breadth"`: layer by layer, the best states of a layer first. `first="depth"`: to the end of the best path
    first, then along the paths that deviate from the best successor once, twice, and so on: a plain depth-first search
    spends its budget in the first corner (and the released code ranked by the action's name).
    """

    def __init__(self, *arguments: Any, width: int = 2, first: str = "depth", **options: Any) -> None:
        self.width, self.first = width, first
        super().__init__(*arguments, **options)

    def explore(self) -> Exploration:
        walk = steps(self.problem.contraction, literal=not self.completes)
        start = walk.start()
        (rated,) = yield [start.proposal]
        seen = {start.key}
        order = 0
        waiting: list[tuple[tuple[float, float], int, int, int, State]] = [((0.0, rated.cost), order, 0, 0, start)]
        while waiting:
            _, _, depth, deviations, state = heapq.heappop(waiting)
            states = [other for other in walk.next(state) if other.key not in seen]
            seen |= {other.key for other in states}
            if not states:
                continue
            results = yield [other.proposal for other in states]
            ranked = sorted(zip(states, results, strict=True), key=lambda pair: pair[1].cost)
            for rank, (other, result) in enumerate(ranked[: self.width]):
                if depth + 1 < STEPS:
                    order += 1
                    off = deviations + rank
                    key = (depth + 1.0, result.cost) if self.first == "breadth" else (float(off), -(depth + 1.0))
                    heapq.heappush(waiting, (key, order, depth + 1, off, other))
