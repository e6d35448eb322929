"""Budgets and efforts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import BadBudget, BadEffort
from strop.values.budget import Budget
from strop.values.effort import EFFORTS, QUICK, STANDARD, THOROUGH, Effort


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("50ms", Budget(seconds=0.05)),
        ("6s", Budget(seconds=6.0)),
        ("10m", Budget(seconds=600.0)),
        ("1h", Budget(seconds=3600.0)),
        ("0.1s", Budget(seconds=0.1)),
        ("200evals", Budget(evaluations=200)),
        ("50ktok", Budget(tokens=50_000)),
        ("1.5ktok", Budget(tokens=1500)),
        ("7tok", Budget(tokens=7)),
        ("2usd", Budget(usd=2.0)),
        ("6s,200evals", Budget(seconds=6.0, evaluations=200)),
        (" 6 s , 2.50usd ", Budget(seconds=6.0, usd=2.5)),
        ("0s", Budget(seconds=0.0)),
        ("0evals", Budget(evaluations=0)),
    ],
)
def test_parse(text: str, budget: Budget) -> None:
    assert Budget.parse(text) == budget
    assert Budget.parse(budget.text) == budget
    assert Budget.parse(budget) is budget


@pytest.mark.parametrize(
    "text",
    ["", "6", "s", "6x", "-1s", "1e3s", "inf s", "nans", "6s,", "6s;2usd", "6s,50ms", "0.5evals", "1.5tok", "6S", "٣s"],
)
def test_bad_text(text: str) -> None:
    with pytest.raises(BadBudget) as caught:
        Budget.parse(text)
    assert "--budget" in caught.value.fix
    assert "budget='" in caught.value.fix


def test_no_text() -> None:
    with pytest.raises(BadBudget, match="int"):
        Budget.parse(6)  # type: ignore[arg-type]


def test_empty() -> None:
    assert Budget.parse("0evals").empty
    assert Budget.parse("0s,5evals").empty
    assert not Budget.parse("5evals").empty
    assert not Budget().empty


positive = st.one_of(st.none(), st.integers(0, 10**9))


@given(
    st.builds(
        Budget,
        seconds=st.one_of(st.none(), st.floats(0, 1e9)),
        evaluations=positive,
        tokens=positive,
        usd=st.one_of(st.none(), st.floats(0, 1e6)),
    )
)
def test_round_trips(budget: Budget) -> None:
    if budget != Budget():
        assert Budget.parse(budget.text) == budget
    assert Budget.from_json(json.loads(json.dumps(budget.to_json()))) == budget


def test_efforts_are_ordered() -> None:
    assert list(EFFORTS.values()) == [QUICK, STANDARD, THOROUGH]
    assert THOROUGH.answers(QUICK)
    assert STANDARD.answers(STANDARD)
    assert not QUICK.answers(STANDARD)
    assert Effort.of("quick") is QUICK
    assert Effort.of(QUICK) is QUICK


def test_a_budget_overrides_the_limits() -> None:
    assert STANDARD.limits() == Budget(seconds=0.8)
    assert STANDARD.limits(Budget.parse("5evals")) == Budget(evaluations=5)


def test_bad_effort() -> None:
    with pytest.raises(BadEffort, match="'fast'"):
        Effort.of("fast")
