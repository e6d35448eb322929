"""What the loop searches share: a search is written as a generator, and this class makes ask and tell of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from strop.loops.complete import complete
from strop.loops.machine import Machine
from strop.loops.moves import Move, Schedule, apply
from strop.loops.nest import Nest
from strop.loops.problem import LoopProblem
from strop.values.search import Candidate, Outcome

SPACES = ("full", "literal")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A nest that a search wants measured, and the schedule that makes it of the default nest.

    A `whole` one says itself how its loops run, and isn't completed.
    """

    nest: Nest
    schedule: Schedule = ()
    plan: str = ""
    parent: str | None = None
    whole: bool = False

    def moved(self, *moves: Move, plan: str = "") -> Proposal:
        """This proposal with legal moves added."""
        nest = self.nest
        for move in moves:
            nest = apply(nest, move)
        return replace(self, nest=nest, schedule=(*self.schedule, *moves), plan=plan or self.plan)


@dataclass(frozen=True, slots=True)
class Rated:
    """What became of a proposal: its candidate (another proposal's where both lead to one nest) and the cost."""

    proposal: Proposal
    id: str
    cost: float


Exploration: TypeAlias = Generator[Sequence[Proposal], list[Rated], None]
"""Yields proposals in batches and is sent, for each batch, what they cost; infinity says that one failed."""


def payload(schedule: Schedule) -> dict[str, Any]:
    """The payload of a candidate: `{"schedule": [move, ...]}`."""
    return {"schedule": [move.to_json() for move in schedule]}


def schedule_of(candidate: Candidate) -> Schedule:
    """The schedule of a candidate that a loop search proposed. Raises BadSchedule."""
    return tuple(Move.from_json(move) for move in candidate.payload["schedule"])


class LoopSearch(ABC):
    """A search over nests. A subclass says in `explore` what to try and what to make of the costs.

    In the space `full` each proposal ends with `complete`, in `literal` nothing is added. Proposals that lead to a nest
    proposed before are answered from memory, so no nest is asked for twice. `explore` must be deterministic: a state
    is the costs it was sent, and `restore` runs it anew with them.
    """

    literal: ClassVar[bool] = False
    """Whether this search's nests are never completed, whatever the space."""

    def __init__(
        self, problem: LoopProblem, *, seed: int = 0, space: str = "full", machine: Machine | None = None
    ) -> None:
        self.problem = problem
        self.seed = seed
        self.space = space
        self.machine = machine or Machine.here(problem.isa)
        self._start()

    def _start(self) -> None:
        self._costs: dict[str, float] = {}
        self._sent: dict[str, float] = {}
        self._candidates: dict[str, Candidate] = {}
        self._ids: dict[Any, str] = {}
        self._exploration = self.explore()
        self._batch: list[tuple[Proposal, str]] = []
        self._waiting: list[Candidate] = []
        self._done = False
        self._started = False

    @abstractmethod
    def explore(self) -> Exploration:
        """Propose, hear, go on."""

    @property
    def start(self) -> Proposal:
        """The order as written."""
        return Proposal(Nest.default(self.problem.contraction), plan="the order as written")

    @property
    def completes(self) -> bool:
        """Whether proposals end with `complete`."""
        return self.space == "full" and not self.literal

    # The protocol -----------------------------------------------------------------------------------------------------

    def ask(self, n: int) -> list[Candidate]:
        """Up to `n` new candidates; see `strop.values.search.Search`."""
        asked: list[Candidate] = []
        while len(asked) < n and not self._done:
            if self._waiting:
                candidate = self._waiting.pop(0)
                if candidate.id not in self._costs:
                    asked.append(candidate)
            elif all(id in self._costs for _, id in self._batch):
                self._advance()
            else:
                break
        return asked

    def tell(self, candidate: Candidate, outcome: Outcome) -> None:
        """Learn what became of a candidate; see `strop.values.search.Search`."""
        self._costs[candidate.id] = outcome.cost

    @property
    def best(self) -> tuple[Candidate, float] | None:
        """The best candidate proposed so far and its cost, or None while none came out right."""
        rated = [(self._costs.get(id, math.inf), candidate) for id, candidate in self._candidates.items()]
        cost, candidate = min(rated, key=lambda pair: pair[0], default=(math.inf, None))
        return (candidate, cost) if candidate is not None and cost < math.inf else None

    def state(self) -> dict[str, Any]:
        """The costs heard, as JSON: those that `explore` was sent, and the latest of each candidate."""
        return {"sent": _to_json(self._sent), "heard": _to_json(self._costs)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that `state()` of an equal search returned."""
        self._start()
        sent = _from_json(state["sent"])
        self._costs.update(_from_json(state["heard"]))
        while not self._done and all(id in sent for _, id in self._batch):
            self._advance(sent)

    # From generator to protocol ---------------------------------------------------------------------------------------

    def _advance(self, costs: Mapping[str, float] | None = None) -> None:
        """Send the batch's costs to the exploration and take its next batch.

        A cost once sent stays what it was, so that a restored search, which sends it again, takes the same way.
        """
        known = self._costs if costs is None else costs
        for _, id in self._batch:
            self._sent.setdefault(id, known[id])
        rated = [Rated(proposal, id, self._sent[id]) for proposal, id in self._batch]
        try:
            batch = self._exploration.send(rated) if self._started else next(self._exploration)
        except StopIteration:
            self._done, self._batch = True, []
            return
        self._started = True
        self._batch = [(proposal, self._identify(proposal)) for proposal in batch]

    def _identify(self, proposal: Proposal) -> str:
        """The id of the proposal's candidate; a new one waits to be asked for."""
        nest, schedule = proposal.nest, proposal.schedule
        if self.completes and not proposal.whole:
            added = complete(nest, self.problem.layout, self.machine, self.problem.threads)
            for move in added:
                nest = apply(nest, move)
            schedule = (*schedule, *added)
        if nest.key not in self._ids:
            candidate = Candidate.of(payload(schedule), parent=proposal.parent, plan=proposal.plan)
            self._ids[nest.key] = candidate.id
            self._candidates[candidate.id] = candidate
            self._waiting.append(candidate)
        return self._ids[nest.key]


def _to_json(costs: Mapping[str, float]) -> dict[str, float | None]:
    return {id: cost if cost < math.inf else None for id, cost in costs.items()}


def _from_json(costs: Mapping[str, float | None]) -> dict[str, float]:
    return {id: math.inf if cost is None else cost for id, cost in costs.items()}
