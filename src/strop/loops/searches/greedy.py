"""Greedy: takes the best step, looking one or two ahead, and crosses plateaus."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

from strop.loops.searches.base import Exploration, LoopSearch, Proposal, Rated
from strop.loops.searches.steps import State, steps

BETTER = 0.99
"""A state is better if it costs less than this share of the best: less is noise."""
PLATEAU = 48
"""States of a plateau looked around from before it is given up."""

Asking: TypeAlias = Generator[Sequence[Proposal], list[Rated], Any]


class Greedy(LoopSearch):
    """Looks at all states up to `depth` steps on and takes the first step towards the best, while that is better.

    Where none is better, it goes on from states as good as this one, the nearest first (in the published environment
    moving the cursor changes nothing, and the released code stopped there).
    """

    def __init__(self, *arguments: Any, depth: int = 1, **options: Any) -> None:
        self.depth = depth
        super().__init__(*arguments, **options)

    def explore(self) -> Exploration:
        costs: dict[Hashable, float] = {}
        walk = steps(self.problem.contraction, literal=not self.completes)
        here = walk.start()
        yield from self._rate([here], costs)
        while True:
            found = yield from self._ahead(walk, [here], costs, self.depth)
            best = min(found, key=lambda path: costs[path[-1].key], default=None)
            if best is not None and costs[best[-1].key] < BETTER * costs[here.key]:
                here = best[0]
                if costs[here.key] > BETTER * costs[best[-1].key]:
                    here = best[-1]  # the first step alone may be worse: the path is known, so it is walked
                continue
            there = yield from self._across(walk, here, costs)
            if there is None:
                return
            here = there

    def _ahead(self, walk: Any, starts: Iterable[State], costs: dict[Hashable, float], depth: int) -> Asking:
        """Paths to all states within `depth` steps, each rated."""
        paths: list[tuple[State, ...]] = []
        layer: list[tuple[State, ...]] = [(start,) for start in starts]
        seen = {start.key for start in starts}
        for _ in range(depth):
            following = []
            # The most promising first: should the budget end here, the best of them have been measured.
            for path in sorted(layer, key=lambda path: costs[path[-1].key]):
                states = [state for state in walk.next(path[-1]) if state.key not in seen]
                seen |= {state.key for state in states}
                yield from self._rate(states, costs)
                following += [(*path, state) for state in states]
            layer = following
            paths += [path[1:] for path in layer]
        return paths

    def _across(self, walk: Any, here: State, costs: dict[Hashable, float]) -> Asking:
        """The first better state found going on from states as good as this one, or None."""
        plateau, seen, at = [here], {here.key}, 0
        while at < len(plateau) and at < PLATEAU:
            states = [state for state in walk.next(plateau[at]) if state.key not in seen]
            seen |= {state.key for state in states}
            yield from self._rate(states, costs)
            best = min(states, key=lambda state: costs[state.key], default=None)
            if best is not None and costs[best.key] < BETTER * costs[here.key]:
                return best
            plateau += [state for state in states if costs[state.key] <= costs[here.key] / BETTER]
            at += 1
        return None

    def _rate(self, states: Sequence[State], costs: dict[Hashable, float]) -> Asking:
        """Have the states measured that weren't."""
        new = [state for state in states if state.key not in costs]
        if new:
            rated = yield [state.proposal for state in new]
            costs.update((state.key, each.cost) for state, each in zip(new, rated, strict=True))
