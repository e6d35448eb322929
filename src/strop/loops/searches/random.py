"""Random: legal walks from the order as written."""

from __future__ import annotations

import random

from strop.loops.environment import STEPS
from strop.loops.searches.base import Exploration, LoopSearch, Proposal
from strop.loops.searches.steps import steps

BATCH = 8
FRUITLESS = 300
"""Walks in a row that lead nowhere new before the search is done."""


class Random(LoopSearch):
    """Random walks of up to ten legal steps, the order as written first; where each ends is proposed."""

    def explore(self) -> Exploration:
        rng = random.Random(self.seed)
        walk = steps(self.problem.contraction, literal=not self.completes)
        start = walk.start()
        yield [start.proposal]
        seen = {start.proposal.nest.key}
        fruitless = 0
        while fruitless < FRUITLESS:
            batch: list[Proposal] = []
            while len(batch) < BATCH and fruitless < FRUITLESS:
                state = start
                for _ in range(rng.randint(1, STEPS)):
                    following = walk.one(state, rng)
                    if following is None:
                        break
                    state = following
                fruitless += 1
                if state.proposal.nest.key not in seen:
                    seen.add(state.proposal.nest.key)
                    batch.append(state.proposal)
                    fruitless = 0
            if batch:
                yield batch
