"""Analytic: the plans that the machine model thinks best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strop.loops.complete import plans, realise
from strop.loops.moves import apply
from strop.loops.plan import Plan
from strop.loops.searches.base import Exploration, LoopSearch, Proposal

FEW = 8


class Planner(LoopSearch):
    """A search over plans. In the space `literal` a plan is only its blocks, tile and order."""

    def best_plans(self) -> list[Plan]:
        """The plans of the order as written, the model's best first; none where there is nothing to plan."""
        nest = self.start.nest
        if not nest.loops or 0 in dict(nest.contraction.sizes).values() or self.problem.isa == "portable":
            return []
        return [each.plan for each in plans(nest, self.problem.layout, self.machine)]

    def proposal(self, plan: Plan, *, parent: str | None = None, why: str = "") -> Proposal:
        """A plan as a proposal."""
        nest = self.start.nest
        if self.completes:
            moves = realise(plan, nest, self.problem.layout, self.machine, self.problem.threads)
        else:
            moves = bare(plan).moves(nest)  # distinct plans may be one bare plan
        for move in moves:
            nest = apply(nest, move)
        return Proposal(nest, moves, why or said(plan), parent, whole=True)


class Analytic(Planner):
    """Proposes what `complete` makes of the order as written, then the plans that the model ranks next, all at once."""

    def __init__(self, *arguments: Any, few: int = FEW, **options: Any) -> None:
        self.few = few
        super().__init__(*arguments, **options)

    def explore(self) -> Exploration:
        proposals = [self.proposal(plan) for plan in self.best_plans()]
        yield (proposals or [self.start])[: self.few]


def bare(plan: Plan) -> Plan:
    """The plan without covers and without a word on how loops run."""
    return replace(plan, pieces=(), rows=(), balanced=False, unroll=None, accumulators=None, packs=None, prefetches=())


def said(plan: Plan) -> str:
    """A plan in words.

    >>> said(Plan(tile=(("m", 6), ("n", 64)), order=("n", "m", "k")))
    'tile m6 n64, order n m k'
    """
    tile = " ".join(f"{axis}{size}" for axis, size in plan.tile)
    words = [f"tile {tile}", f"order {' '.join(plan.order)}"]
    if plan.pieces:
        words.append(f"{plan.vector} as {'+'.join(map(str, plan.pieces))}")
    words += [f"{axis} in blocks of {size}" for axis, size in plan.blocks]
    if plan.packs:
        words.append(f"packs {' '.join(plan.packs)}")
    return ", ".join(words)
