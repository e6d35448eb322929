"""What every loop search must do, as a pytest suite for the writers of plug-ins.

Subclass `SearchConformance`, say how your search is made, and run pytest:

    from strop.testing import SearchConformance

    class TestRowSweep(SearchConformance):
        def make(self, problem, *, seed, space):
            return RowSweep(problem, seed=seed, space=space)

No machine code is run: candidates "cost" what the machine model says of them, so that a run can be repeated exactly.
The promises are those of `strop.values.search.Search`; strop's own searches pass the suite as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, ClassVar

from strop.loops.machine import Machine
from strop.loops.model import predict
from strop.loops.moves import Move, replay
from strop.loops.nest import Nest
from strop.loops.problem import LoopProblem
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from strop.values.measurement import Measurement
from strop.values.search import Candidate, Outcome, Search
from strop.values.verdict import Verdict


def problem(text: str, isa: str, threads: int = 1, **sizes: Any) -> LoopProblem:
    """A problem with arrays in C order."""
    contraction = Contraction.parse(text, **sizes)
    return LoopProblem(contraction, Layout.default(contraction), isa, threads)


PROBLEMS = (
    problem("mk,kn->mn", "avx512", m=33, k=20, n=97),
    problem("c h+r w+s, o c r s -> o h w", "avx2", c=3, h=5, w=20, r=3, s=3, o=8),
    problem("km,k->m", "avx2", k=40, m=17, dtype="float64"),
)
"""A ragged matmul, a convolution, a transposed matrix-vector product."""
EMPTY = problem(",->", "avx512")
"""A contraction without loops: there is one nest, so that every search must soon be done."""


class SearchConformance:
    """The suite. `most` bounds how many candidates a test draws; `spaces` are those that the search offers."""

    most: ClassVar[int] = 24
    spaces: ClassVar[tuple[str, ...]] = ("full", "literal")
    problems: ClassVar[tuple[LoopProblem, ...]] = PROBLEMS

    def make(self, problem: LoopProblem, *, seed: int, space: str) -> Search:
        """A new search. To be overridden."""
        raise NotImplementedError

    def cases(self) -> Iterator[tuple[LoopProblem, str]]:
        """Problems and spaces that each test goes through."""
        for one in self.problems:
            for space in self.spaces:
                yield one, space

    # The protocol -----------------------------------------------------------------------------------------------------

    def test_it_has_the_protocol_s_methods(self) -> None:
        for one, space in self.cases():
            assert isinstance(self.make(one, seed=0, space=space), Search)

    def test_candidates_are_legal_schedules_for_the_problem(self) -> None:
        for one, space in self.cases():
            for candidate in self._drawn(one, space):
                nest_of(candidate, one)
                assert candidate.id == Candidate.of(json.loads(json.dumps(candidate.payload))).id

    def test_no_candidate_comes_twice(self) -> None:
        for one, space in self.cases():
            drawn = self._drawn(one, space)
            assert len({candidate.id for candidate in drawn}) == len(drawn)

    def test_something_is_proposed(self) -> None:
        for one, space in self.cases():
            assert self._drawn(one, space)

    def test_ask_gives_no_more_than_asked_for(self) -> None:
        for one, space in self.cases():
            search = self.make(one, seed=1, space=space)
            for n in (1, 3, 1, 5):
                asked = search.ask(n)
                assert len(asked) <= n
                tell_all(search, asked, one)

    def test_plans_and_parents_are_said(self) -> None:
        for one, space in self.cases():
            ids: set[str] = set()
            for candidate in self._drawn(one, space):
                assert candidate.parent is None or candidate.parent in ids
                assert candidate.plan.strip()
                ids.add(candidate.id)

    # Ends -------------------------------------------------------------------------------------------------------------

    def test_it_ends_where_there_is_one_nest_and_stays_done(self) -> None:
        search = self.make(EMPTY, seed=0, space=self.spaces[0])
        drawn: list[Candidate] = []
        while asked := search.ask(4):
            drawn += asked
            assert len(drawn) <= 50, "a contraction without loops has no 50 schedules worth measuring"
            tell_all(search, asked, EMPTY)
        assert all(search.ask(n) == [] for n in (1, 8, 1))

    def test_waiting_for_outcomes_is_said_by_a_short_answer(self) -> None:
        """Without any outcome a search may go on or wait; it must not repeat itself, nor fail."""
        for one, space in self.cases():
            search = self.make(one, seed=0, space=space)
            drawn: list[Candidate] = []
            while len(drawn) < self.most and (asked := search.ask(4)):
                drawn += asked
            assert len({candidate.id for candidate in drawn}) == len(drawn) > 0

    # Outcomes ---------------------------------------------------------------------------------------------------------

    def test_every_verdict_is_an_answer(self) -> None:
        for one, space in self.cases():
            search = self.make(one, seed=2, space=space)
            verdicts = list(Verdict)
            told = 0
            while told < self.most and (asked := search.ask(5)):
                for candidate in asked:
                    verdict = verdicts[told % len(verdicts)]
                    told += 1
                    if verdict is Verdict.OK:
                        search.tell(candidate, outcome(candidate, one))
                    else:
                        search.tell(candidate, Outcome(verdict, None, "as the test wants it"))

    def test_outcomes_may_come_late_and_in_any_order(self) -> None:
        for one, space in self.cases():
            search = self.make(one, seed=3, space=space)
            outstanding: list[Candidate] = []
            drawn: list[Candidate] = []
            for _ in range(self.most):
                asked = search.ask(3)
                drawn += asked
                outstanding = [*asked, *outstanding]
                if not outstanding:
                    break
                tell_all(search, outstanding[::2], one)
                outstanding = outstanding[1::2]
            assert len({candidate.id for candidate in drawn}) == len(drawn)

    def test_candidates_of_others_do_no_harm(self) -> None:
        for one, space in self.cases():
            search = self.make(one, seed=0, space=space)
            search.tell(Candidate.of({"schedule": []}), Outcome(Verdict.OK, Measurement(samples=(1e-6,))))
            search.tell(Candidate.of({"source": "int main() {}"}), Outcome(Verdict.CRASH, None, "not ours"))
            asked = search.ask(4)
            tell_all(search, asked, one)
            tell_all(search, asked, one, scale=2.0)  # a second outcome replaces the first
            search.ask(4)

    # Determinism and state --------------------------------------------------------------------------------------------

    def test_equal_calls_give_equal_candidates(self) -> None:
        for one, space in self.cases():
            first, second = (self._ids(self._drawn(one, space, seed=7)) for _ in range(2))
            assert first == second

    def test_a_restored_search_goes_on_as_the_first_would(self) -> None:
        for one, space in self.cases():
            for cut in (0, 1, self.most // 2):
                search = self.make(one, seed=5, space=space)
                self._draw(search, one, cut)
                state = json.loads(json.dumps(search.state(), allow_nan=False))
                restored = self.make(one, seed=5, space=space)
                restored.restore(state)
                expected = self._ids(self._draw(search, one, self.most - cut))
                assert self._ids(self._draw(restored, one, self.most - cut)) == expected

    def test_what_was_lost_is_asked_for_again(self) -> None:
        for one, space in self.cases():
            search = self.make(one, seed=5, space=space)
            self._draw(search, one, 3)
            lost = search.ask(4)
            tell_all(search, lost[1:2], one)
            restored = self.make(one, seed=5, space=space)
            restored.restore(json.loads(json.dumps(search.state(), allow_nan=False)))
            again = self._ids(self._draw(restored, one, self.most))
            assert set(again) >= {candidate.id for candidate in (*lost[:1], *lost[2:])}
            assert not lost[1:2] or lost[1].id not in again

    def test_taking_the_state_changes_nothing(self) -> None:
        for one, space in self.cases():
            plain, watched = (self.make(one, seed=6, space=space) for _ in range(2))
            for _ in range(4):
                asked, same = plain.ask(3), watched.ask(3)
                assert self._ids(asked) == self._ids(same)
                assert watched.state() == watched.state()
                tell_all(plain, asked, one)
                tell_all(watched, same, one)

    def test_the_best_is_kept(self) -> None:
        """For searches that tell it: `best` is the cheapest candidate that came out right, and its cost."""
        for one, space in self.cases():
            search: Any = self.make(one, seed=0, space=space)
            if not hasattr(type(search), "best"):
                return
            costs = {candidate.id: outcome(candidate, one).cost for candidate in self._draw(search, one, self.most)}
            found, cost = search.best
            assert cost == costs[found.id] == min(costs.values())

    # Drawing ----------------------------------------------------------------------------------------------------------

    def _drawn(self, one: LoopProblem, space: str, seed: int = 0) -> list[Candidate]:
        return self._draw(self.make(one, seed=seed, space=space), one, self.most)

    def _draw(self, search: Search, one: LoopProblem, most: int) -> list[Candidate]:
        """Up to `most` candidates, each told of before more are asked for."""
        drawn: list[Candidate] = []
        while len(drawn) < most:
            asked = search.ask(min(4, most - len(drawn)))
            if not asked:
                break
            drawn += asked
            tell_all(search, asked, one)
        return drawn

    @staticmethod
    def _ids(candidates: list[Candidate]) -> list[str]:
        return [candidate.id for candidate in candidates]


def nest_of(candidate: Candidate, one: LoopProblem) -> Nest:
    """The nest of a candidate. Raises BadSchedule and IllegalMove where its payload is no legal schedule."""
    moves = json.loads(json.dumps(candidate.payload["schedule"], allow_nan=False))
    return replay(one.contraction, [Move.from_json(move) for move in moves])


def outcome(candidate: Candidate, one: LoopProblem, scale: float = 1.0) -> Outcome:
    """What the machine model says of a candidate, as a measurement: an `ok` one, in seconds at 1 GHz."""
    machine = Machine.of("", 0, 0, one.isa)
    cycles = predict(nest_of(candidate, one), one.layout, machine, one.threads).cycles * scale
    assert math.isfinite(cycles)
    return Outcome(Verdict.OK, Measurement(samples=(cycles * 1e-9,), protocol="model", machine="model"))


def tell_all(search: Search, candidates: list[Candidate], one: LoopProblem, scale: float = 1.0) -> None:
    """Tell of candidates in the opposite order of asking."""
    for candidate in reversed(candidates):
        search.tell(candidate, outcome(candidate, one, scale))
