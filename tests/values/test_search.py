"""Candidates, outcomes, runs, verdicts."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from strop.values.budget import Budget
from strop.values.canonical import canonical, digest
from strop.values.measurement import Measurement
from strop.values.run import Run
from strop.values.search import Candidate, Outcome, Search
from strop.values.verdict import Verdict

CONTRACT = (
    "ok illegal compile_error compile_timeout crash run_timeout limit wrong_result input_changed nondeterministic "
    "no_work implausible noisy not_run"
)


def test_the_verdicts_are_the_contract_s() -> None:
    assert [str(verdict) for verdict in Verdict] == CONTRACT.split()


def test_candidates_are_their_content() -> None:
    a = Candidate.of({"moves": [1, 2]}, parent=None, plan="as written")
    b = Candidate.of({"moves": [1, 2]}, parent=a.id, plan="swapped twice")
    assert a == b
    assert hash(a) == hash(b)
    assert a != Candidate.of({"moves": [2, 1]})
    assert Candidate.from_json(json.loads(json.dumps(b.to_json()))).parent == a.id
    with pytest.raises(FrozenInstanceError):
        a.plan = ""  # type: ignore[misc]


def test_cost() -> None:
    timed = Measurement(samples=(1.0, 3.0))
    assert Outcome(Verdict.OK, timed).cost == 2.0
    assert Outcome(Verdict.WRONG_RESULT, timed).cost == math.inf
    assert Outcome(Verdict.CRASH).cost == math.inf


@pytest.mark.parametrize("outcome", [Outcome(Verdict.OK, Measurement(samples=(1.0,)), "fine"), Outcome(Verdict.LIMIT)])
def test_outcome_json(outcome: Outcome) -> None:
    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome


def test_a_search_is_known_by_its_methods() -> None:
    class Two:
        def ask(self, n: int) -> list[Candidate]:
            return []

        def tell(self, candidate: Candidate, outcome: Outcome) -> None: ...

        def state(self) -> dict[str, Any]:
            return {}

        def restore(self, state: dict[str, Any]) -> None: ...

    assert isinstance(Two(), Search)
    assert not isinstance(object(), Search)


RUN = Run(
    verb="tune",
    problem={"contraction": "mk,kn->mn"},
    target={"isa": "avx2"},
    search="local",
    budget=Budget.parse("6s"),
    seed=3,
    options={"space": "full"},
)


def test_runs_are_known_by_their_id() -> None:
    again = Run.from_json(json.loads(json.dumps(RUN.to_json())))
    assert again == RUN
    assert again.id == RUN.id
    for change in ({"seed": 4}, {"search": "random"}, {"budget": Budget.parse("7s")}, {"options": {}}):
        other = replace(RUN, **change)  # type: ignore[arg-type]
        assert other != RUN
        assert other.question == RUN.question
    assert replace(RUN, target={"isa": "avx512"}).question != RUN.question


def test_canonical_json() -> None:
    assert canonical({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="JSON"):
        canonical(float("nan"))
