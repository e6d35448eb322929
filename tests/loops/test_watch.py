"""What is seen while a search runs."""

from __future__ import annotations

import strop
from strop.loops.tuned import Trial, Tuned
from strop.loops.watch import Watch


class Written(Watch):
    """Keeps what was said after each event."""

    def __init__(self) -> None:
        super().__init__(live=False)
        self.said: list[str] = []

    def _update(self, *, now: bool = False) -> None:
        self.said.append("\n".join(self.lines()))


def test_a_search_is_followed_from_start_to_end() -> None:
    watch = Written()
    tuned: Tuned = strop.tune("mk,kn->mn", m=30, k=20, n=40, threads=1, budget="9evals", _observer=watch)  # type: ignore[call-arg]
    first, *_, last = watch.said
    assert "mk,kn->mn m=30 k=20 n=40" in first
    assert "best    –" in first
    assert watch.trials == len(tuned.trace) == 9
    assert "9 candidates" in last
    assert "of peak" in last
    assert "finalist" in last
    assert "━" in last


def test_a_stored_answer_shows_nothing() -> None:
    strop.tune("mk,kn->mn", m=30, k=20, n=40, threads=1, budget="4evals")
    watch = Written()
    strop.tune("mk,kn->mn", m=30, k=20, n=40, threads=1, budget="4evals", _observer=watch)  # type: ignore[call-arg]
    assert not watch.said


def test_failures_are_counted_and_shown() -> None:
    watch = Written()

    class Question:
        title = "mk,kn->mn"
        search = "local"

        class problem:
            isa, threads = "avx2", 1

        class effort:
            name = "standard"

        class budget:
            seconds, evaluations = 2.0, None

    watch.started(Question(), 1.0)  # type: ignore[arg-type]
    watch.peak(100.0)
    good = Trial(0.1, "a", "n16 m6 k", "ok", 1e-5, 50.0)
    watch.trial(good, good)
    watch.trial(Trial(0.2, "b", "n32 m6 k", "crash", None, 50.0), good)
    assert "n32 m6 k: crash" in watch.said[-1]
    assert "1 ok, 1 crash" in watch.said[-1]
    assert "50% of peak" in watch.said[-1]
    assert "of 2 s" in watch.said[-1]
    watch.trial(Trial(0.2, "c", "k n m", "ok", 3e-5, 50.0), good)
    assert "k n m: 30.0 µs, 3.00× the best" in watch.said[-1]
