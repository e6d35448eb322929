"""The conformance suite finds what it is there to find: each broken search below fails its test."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from strop.errors import IllegalMove
from strop.loops import searches
from strop.loops.moves import Split
from strop.loops.problem import LoopProblem
from strop.testing import SearchConformance
from strop.values.search import Candidate, Outcome, Search
from strop.values.verdict import Verdict


class Broken:
    """The local search with one thing wrong."""

    calls = itertools.count()

    def __init__(self, problem: LoopProblem, fault: str, *, seed: int, space: str) -> None:
        self.search: Any = searches.make("local", problem, seed=seed, space=space)
        self.fault, self.problem = fault, problem
        self.first: list[Candidate] = []

    def ask(self, n: int) -> list[Candidate]:
        if self.fault == "endless":
            return [Candidate.of({"schedule": [], "n": next(self.calls)}, plan="again")]
        asked: list[Candidate] = self.search.ask(n + 1 if self.fault == "greedy" else n)
        self.first = self.first or asked
        if self.fault == "repeats" and not asked[1:]:
            return self.first[:1]
        if self.fault == "illegal" and self.problem.contraction.axes:
            move = Split(f"{self.problem.contraction.axes[0]}.0", 10**6)
            return [Candidate.of({"schedule": [move.to_json()]}, plan="too long")]
        if self.fault == "random" and next(self.calls) % 2:
            return asked[::-1]
        return asked

    def tell(self, candidate: Candidate, outcome: Outcome) -> None:
        if self.fault == "only-ok" and outcome.verdict is not Verdict.OK:
            raise ValueError("it failed")
        if self.fault == "own-only" and candidate not in self.first:
            raise KeyError(candidate.id)
        self.search.tell(candidate, outcome)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.search.state()
        return {"sent": {}, "heard": {}} if self.fault == "forgetful" else state

    def restore(self, state: dict[str, Any]) -> None:
        if self.fault != "restores-nothing":
            self.search.restore(state)

    @property
    def best(self) -> Any:
        found, cost = self.search.best
        return found, 2 * cost if self.fault == "wrong-best" else cost


@pytest.mark.parametrize(
    ("fault", "test", "error"),
    [
        ("illegal", "test_candidates_are_legal_schedules_for_the_problem", IllegalMove),
        ("repeats", "test_no_candidate_comes_twice", AssertionError),
        ("greedy", "test_ask_gives_no_more_than_asked_for", AssertionError),
        ("endless", "test_it_ends_where_there_is_one_nest_and_stays_done", AssertionError),
        ("only-ok", "test_every_verdict_is_an_answer", ValueError),
        ("own-only", "test_candidates_of_others_do_no_harm", KeyError),
        ("random", "test_equal_calls_give_equal_candidates", AssertionError),
        ("forgetful", "test_a_restored_search_goes_on_as_the_first_would", AssertionError),
        ("restores-nothing", "test_what_was_lost_is_asked_for_again", AssertionError),
        ("wrong-best", "test_the_best_is_kept", AssertionError),
    ],
)
def test_a_broken_search_is_found_out(fault: str, test: str, error: type[Exception]) -> None:
    class Suite(SearchConformance):
        def make(self, problem: LoopProblem, *, seed: int, space: str) -> Search:
            return Broken(problem, fault, seed=seed, space=space)

    with pytest.raises(error):
        getattr(Suite(), test)()


def test_the_search_without_a_fault_passes() -> None:
    class Suite(SearchConformance):
        def make(self, problem: LoopProblem, *, seed: int, space: str) -> Search:
            return Broken(problem, "none", seed=seed, space=space)

    Suite().test_no_candidate_comes_twice()
    Suite().test_the_best_is_kept()
