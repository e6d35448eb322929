"""Local: starts from the model's best plans and changes one thing at a time."""

from __future__ import annotations

import math
import random

from strop.loops.accesses import accesses
from strop.loops.model import predict
from strop.loops.plan import Plan
from strop.loops.searches.analytic import FEW, Planner
from strop.loops.searches.base import Exploration, Proposal
from strop.loops.searches.neighbours import neighbours

BATCH = 12
"""Neighbours of the best plan proposed at once."""
HOPELESS = 1.5
"""Neighbours that the model thinks this much slower than the plan are left for last."""
JITTER = 0.03
"""How far, relatively, the model's ranking is shaken: it is no more exact, and a seed should matter."""


class Local(Planner):
    """Best first: of the plans measured, the fastest one's neighbours come next, the model's favourites first.

    When all neighbours of a plan are known, the next fastest plan's turn comes, so that a plateau is crossed.
    """

    def explore(self) -> Exploration:
        rng = random.Random(self.seed)
        plans = self.best_plans()
        if not plans:
            yield [self.start]
            return
        rated: dict[Plan, tuple[float, str]] = {}
        waiting: dict[Plan, list[tuple[Plan, Proposal]]] = {}
        batch = [(plan, self.proposal(plan)) for plan in plans[:FEW]]
        proposed = {plan for plan, _ in batch}
        while batch:
            results = yield [proposal for _, proposal in batch]
            for (plan, _), result in zip(batch, results, strict=True):
                rated[plan] = (result.cost, result.id)
            batch = []
            for plan in sorted(rated, key=lambda plan: rated[plan][0]):
                if plan not in waiting:
                    waiting[plan] = self._neighbours(plan, rated[plan][1], rng)
                fresh = [pair for pair in waiting[plan] if pair[0] not in proposed]
                batch, waiting[plan] = fresh[:BATCH], fresh[BATCH:]
                proposed |= {other for other, _ in batch}
                if batch:
                    break

    def _neighbours(self, plan: Plan, parent: str, rng: random.Random) -> list[tuple[Plan, Proposal]]:
        """A plan's neighbours, the most promising first."""
        contraction, layout = self.problem.contraction, self.problem.layout
        facts = accesses(contraction, layout, self.machine)
        ranked = []
        here = predict(self.proposal(plan).nest, layout, self.machine, self.problem.threads).cycles
        for other, why in neighbours(plan, contraction, facts):
            proposal = self.proposal(other, parent=parent, why=why)
            cycles = predict(proposal.nest, layout, self.machine, self.problem.threads).cycles
            if math.isfinite(cycles):
                late = cycles > HOPELESS * here
                ranked.append((late, cycles * rng.uniform(1 - JITTER, 1 + JITTER), len(ranked), (other, proposal)))
        return [pair for *_, pair in sorted(ranked, key=lambda each: each[:3])]
