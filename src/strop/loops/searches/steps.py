"""The steps that greedy, beam and random searches take: from one state to the next.

In the space `literal` a state is one of the published environment; in `full` it is a nest, and the steps are moves
without a cursor.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from strop.loops.environment import Environment
from strop.loops.moves import Accumulators, Merge, Move, Reorder, Split, Swap, Unroll, Vectorize, legal
from strop.loops.nest import Nest
from strop.loops.searches.base import Proposal
from strop.values.contraction import Contraction

FACTORS = (2, 3, 4, 5, 6, 8, 9, 12, 14, 16, 24, 32, 48, 64, 96, 128, 256, 512)
UNROLLS = (2, 4, 8)
ACCUMULATORS = (2, 4, 8)
MOST_LOOPS = 12


@dataclass(frozen=True, slots=True)
class State:
    """A place in the search: what is measured there, and what tells it from other places."""

    proposal: Proposal
    key: Hashable
    cursor: int = 0


class Steps(Protocol):
    """What leads from state to state."""

    def start(self) -> State:
        """The order as written."""
        ...

    def next(self, state: State) -> list[State]:
        """All states one step on, in a fixed order."""
        ...

    def one(self, state: State, rng: random.Random) -> State | None:
        """A random state one step on; None where there is none."""
        ...


def steps(contraction: Contraction, *, literal: bool) -> Steps:
    """The steps of a space."""
    return CursorSteps(contraction) if literal else MoveSteps(contraction)


class CursorSteps:
    """The seven actions of the published environment."""

    def __init__(self, contraction: Contraction) -> None:
        self.contraction = contraction

    def start(self) -> State:
        return self._state(Environment.start(self.contraction), "the order as written")

    def next(self, state: State) -> list[State]:
        here = self._environment(state)
        return [self._state(here.act(action), action) for action in here.actions]

    def one(self, state: State, rng: random.Random) -> State | None:
        here = self._environment(state)
        actions = here.actions
        if not actions:
            return None
        action = rng.choice(actions)
        return self._state(here.act(action), action)

    def _environment(self, state: State) -> Environment:
        return Environment(state.proposal.nest, state.cursor, state.proposal.schedule)

    def _state(self, here: Environment, action: str) -> State:
        return State(Proposal(here.nest, here.schedule, action), (here.nest.key, here.cursor), here.cursor)


class MoveSteps:
    """Splits by many factors, exchanges of neighbours, vectorisation, merges, unrolling, accumulators."""

    def __init__(self, contraction: Contraction) -> None:
        self.contraction = contraction

    def start(self) -> State:
        nest = Nest.default(self.contraction)
        return State(Proposal(nest, (), "the order as written"), nest.key)

    def next(self, state: State) -> list[State]:
        nest = state.proposal.nest
        return [self._state(state, move) for move in self._moves(nest) if legal(nest, move) is None]

    def one(self, state: State, rng: random.Random) -> State | None:
        nest = state.proposal.nest
        for _ in range(32):
            move = self._random(nest, rng)
            if move is not None and legal(nest, move) is None:
                return self._state(state, move)
        return None

    def _state(self, state: State, move: Move) -> State:
        nest = move.changed(state.proposal.nest)
        return State(Proposal(nest, (*state.proposal.schedule, move), repr(move)), nest.key)

    def _moves(self, nest: Nest) -> Iterator[Move]:
        names = nest.names
        for first, second in pairwise(names):
            yield Swap(first, second)
        for at, name in enumerate(names):
            trips = nest.trips(at)
            if len(names) < MOST_LOOPS:
                for factor in FACTORS:
                    if factor < trips:
                        yield Split(name, factor)
            if at < len(names) - 1:
                yield Vectorize(name)
            yield Merge(name)
            if not nest.is_output(at):
                for factor in UNROLLS:
                    if nest.loops[at].unroll != factor:
                        yield Unroll(name, factor)
        for count in ACCUMULATORS:
            if nest.accumulators != count:
                yield Accumulators(count)

    def _random(self, nest: Nest, rng: random.Random) -> Move | None:
        names = nest.names
        if not names:
            return None
        name = rng.choice(names)
        kinds = ("split", "swap", "order", "vector", "merge", "unroll", "accumulators")
        kind = rng.choices(kinds, (6, 3, 2, 1, 1, 1, 1))
        match kind[0]:
            case "split":
                return Split(name, rng.choice(FACTORS)) if len(names) < MOST_LOOPS else None
            case "swap":
                return Swap(name, rng.choice(names))
            case "order":
                return Reorder(_shuffled(nest, rng))
            case "vector":
                return Vectorize(name)
            case "merge":
                return Merge(name)
            case "unroll":
                return Unroll(name, rng.choice(UNROLLS))
            case _:
                return Accumulators(rng.choice(ACCUMULATORS))


def _shuffled(nest: Nest, rng: random.Random) -> tuple[str, ...]:
    """A random order of the loops in which those of each axis keep theirs."""
    places = list(range(len(nest.loops)))
    rng.shuffle(places)
    names = {
        axis: iter([name for name in nest.names if name.rpartition(".")[0] == axis]) for axis in nest.contraction.axes
    }
    return tuple(next(names[nest.loops[place].axis]) for place in places)
