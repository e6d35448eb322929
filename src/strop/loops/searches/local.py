"""Local: starts from the model's best plans and changes one thing at a time."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from strop.loops.accesses import accesses
from strop.loops.model import predict
from strop.loops.plan import Plan
from strop.loops.searches.analytic import FEW, Planner
from strop.loops.searches.base import Exploration, Proposal
from strop.loops.searches.neighbours import neighbours

BATCH = 12
"""Neighbours of the best plan proposed at once."""
CHUNK = 2 * BATCH
"""Neighbours that the model ranks at once; half of them wait."""
HOPELESS = 1.5
"""Neighbours that the model thinks this much slower than the plan are left for last."""


@dataclass(slots=True)
class _Centre:
    """A measured plan whose neighbours are tried."""

    cost: float
    number: int
    id: str
    plan: Plan
    cycles: float
    unranked: list[tuple[Plan, str]] | None = None
    waiting: list[tuple[float, Plan, Proposal]] = field(default_factory=list)
    """With what the model says of each."""


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
        centres: list[_Centre] = []
        known: set[Hashable] = set()
        batch = self._new([self._settled(plan) for plan in plans[:FEW]], known)
        while batch:
            results = yield [proposal for _, proposal in batch]
            for (plan, proposal), result in zip(batch, results, strict=True):
                centres.append(_Centre(result.cost, len(centres), result.id, plan, self._cycles(proposal)))
            batch = []
            for centre in sorted(centres, key=lambda each: (each.cost, each.number)):
                batch = self._next(centre, known, rng)
                if batch:
                    break

    def _settled(self, plan: Plan) -> tuple[Plan, Proposal]:
        """The plan with the packs that `complete` recommends for it: its neighbours needn't ask again."""
        proposal = self.proposal(plan)
        packs = tuple(sorted(name for loop in proposal.nest.loops for name in loop.pack))
        return replace(plan, packs=packs), proposal

    def _next(self, centre: _Centre, known: set[Hashable], rng: random.Random) -> list[tuple[Plan, Proposal]]:
        """The next batch of a plan's neighbours; none when all are known."""
        if centre.unranked is None:
            contraction = self.problem.contraction
            facts = accesses(contraction, self.problem.layout, self.machine)
            centre.unranked = list(neighbours(centre.plan, contraction, facts))
            rng.shuffle(centre.unranked)
        while centre.unranked and len(centre.waiting) < BATCH:
            chunk, centre.unranked = centre.unranked[:CHUNK], centre.unranked[CHUNK:]
            made = [(plan, self.proposal(plan, parent=centre.id, why=why)) for plan, why in chunk]
            centre.waiting += [(self._cycles(proposal), plan, proposal) for plan, proposal in self._new(made, known)]
        centre.waiting.sort(key=lambda each: (each[0] > HOPELESS * centre.cycles, each[0]))
        batch, centre.waiting = centre.waiting[:BATCH], centre.waiting[BATCH:]
        return [(plan, proposal) for _, plan, proposal in batch]

    def _new(self, pairs: list[tuple[Plan, Proposal]], known: set[Hashable]) -> list[tuple[Plan, Proposal]]:
        """Those whose nests aren't known yet; now they are."""
        new = []
        for plan, proposal in pairs:
            if proposal.nest.key not in known:
                known.add(proposal.nest.key)
                new.append((plan, proposal))
        return new

    def _cycles(self, proposal: Proposal) -> float:
        return predict(proposal.nest, self.problem.layout, self.machine, self.problem.threads).cycles
