"""The comparison with NumPy: timed once, kept with its run, recalled with a stored answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy
import pytest

import strop
from strop.bench.numpy_peer import NumpyComparison
from strop.errors import PeerFailed
from strop.loops import comparison
from strop.loops.comparison import against_numpy
from strop.store.store import open_store
from tests.loops.findings import compared

ASKED: dict[str, Any] = {"m": 12, "k": 8, "n": 20, "threads": 1, "budget": "4evals"}


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stand in for the timing; the list has an entry each time."""
    calls: list[Any] = []

    def stand_in(contraction: Any, tuned: Any, **options: Any) -> NumpyComparison:
        calls.append(strop.load(tuned).schedule)
        return replace(compared(1.5), numpy=numpy.__version__)

    monkeypatch.setattr(comparison, "time_against_numpy", stand_in)
    return calls


def test_it_is_timed_once(timed: list[Any]) -> None:
    tuned = strop.tune("mk,kn->mn", **ASKED)
    first = against_numpy(tuned)
    assert timed == [tuned.schedule]
    again = strop.tune("mk,kn->mn", **ASKED)
    assert again.findings.from_store
    assert against_numpy(again) == first
    assert len(timed) == 1


def test_measured_anew_is_compared_anew(timed: list[Any]) -> None:
    against_numpy(strop.tune("mk,kn->mn", **ASKED))
    against_numpy(strop.tune("mk,kn->mn", **ASKED, fresh=True))
    assert len(timed) == 2


def test_another_numpy_is_timed(timed: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    against_numpy(strop.tune("mk,kn->mn", **ASKED))
    monkeypatch.setattr(comparison, "installed_numpy", lambda: "99.0")
    against_numpy(strop.tune("mk,kn->mn", **ASKED))
    assert len(timed) == 2


def test_what_is_damaged_is_timed(timed: list[Any]) -> None:
    tuned = strop.tune("mk,kn->mn", **ASKED)
    assert tuned.findings.run_id
    with open_store() as store:
        store.attach(tuned.findings.run_id, comparison.NAME, json.dumps({"ours_s": []}).encode())
    against_numpy(strop.tune("mk,kn->mn", **ASKED))
    assert len(timed) == 1


def test_a_run_that_is_gone_keeps_nothing(timed: list[Any]) -> None:
    tuned = strop.tune("mk,kn->mn", **ASKED)
    with open_store() as store:
        store.delete([str(tuned.findings.run_id)])
    assert against_numpy(tuned).speedup_median == pytest.approx(1.5, rel=0.01)


def test_nothing_measured_is_not_compared(timed: list[Any]) -> None:
    with pytest.raises(PeerFailed, match="no measured time"):
        against_numpy(strop.tune("mk,kn->mn", m=0, k=3, n=4))
    assert not timed


def test_it_goes_through_json() -> None:
    value = compared(1.5)
    assert NumpyComparison.from_json(json.loads(json.dumps(value.to_json()))) == value
    assert not value.tie
    assert compared(1.0, spread=0.3).tie
