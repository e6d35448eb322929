"""Local: starts from the model's best plans and changes one thing at a time."""

from __future__ import annotations

import random
from collections.abc import Hashable

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
        rated: list[tuple[float, int, str, Plan]] = []
        waiting: dict[int, list[tuple[Plan, Proposal]]] = {}
        known: set[Hashable] = set()
        batch = self._new([(plan, self.proposal(plan)) for plan in plans], known)[:FEW]
        while batch:
            known |= {proposal.nest.key for _, proposal in batch}
            results = yield [proposal for _, proposal in batch]
            for (plan, _), result in zip(batch, results, strict=True):
                rated.append((result.cost, len(rated), result.id, plan))
            batch = []
            for _, number, id, plan in sorted(rated, key=lambda each: each[:2]):
                if number not in waiting:
                    waiting[number] = self._neighbours(plan, id, rng)
                fresh = self._new(waiting[number], known)
                batch, waiting[number] = fresh[:BATCH], fresh[BATCH:]
                if batch:
                    break

    def _new(self, pairs: list[tuple[Plan, Proposal]], known: set[Hashable]) -> list[tuple[Plan, Proposal]]:
        """Those whose nests aren't known, one of each nest."""
        new: dict[Hashable, tuple[Plan, Proposal]] = {}
        for plan, proposal in pairs:
            if proposal.nest.key not in known:
                new.setdefault(proposal.nest.key, (plan, proposal))
        return list(new.values())

    def _neighbours(self, plan: Plan, parent: str, rng: random.Random) -> list[tuple[Plan, Proposal]]:
        """A plan's neighbours, the most promising first."""
        contraction, layout = self.problem.contraction, self.problem.layout
        facts = accesses(contraction, layout, self.machine)
        here = predict(self.proposal(plan).nest, layout, self.machine, self.problem.threads).cycles
        ranked: list[tuple[bool, float, int, tuple[Plan, Proposal]]] = []
        for other, why in neighbours(plan, contraction, facts):
            proposal = self.proposal(other, parent=parent, why=why)
            cycles = predict(proposal.nest, layout, self.machine, self.problem.threads).cycles
            shaken = cycles * rng.uniform(1 - JITTER, 1 + JITTER)
            ranked.append((cycles > HOPELESS * here, shaken, len(ranked), (other, proposal)))
        return [pair for *_, pair in sorted(ranked, key=lambda each: each[:3])]
