"""Interleaved timing, with a clock of its own."""

from __future__ import annotations

import gc

import pytest

from strop.bench import interleave
from strop.bench.interleave import calls_for, interleaved


class Clock:
    """Time passes only in calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.log = 0.0, ""
        monkeypatch.setattr(interleave.time, "perf_counter", lambda: self.now_s)
        monkeypatch.setattr(interleave.time, "perf_counter_ns", lambda: int(self.now_s * 1e9))
        monkeypatch.setattr(interleave.time, "sleep", lambda _: self.note("."))

    def note(self, name: str, seconds: float = 0.0) -> None:
        self.now_s += seconds
        if not self.log.endswith(name):
            self.log += name


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_samples_are_seconds_per_call_and_the_order_rotates(clock: Clock) -> None:
    calls = {"a": lambda: clock.note("a", 1e-5), "b": lambda: clock.note("b", 2e-5), "c": lambda: clock.note("c", 1e-3)}
    samples = interleaved(calls, rounds=4)
    assert samples["a"] == pytest.approx([1e-5] * 4, rel=1e-3)
    assert samples["c"] == pytest.approx([1e-3] * 4, rel=1e-3)
    assert clock.log == "abc" + "abc" + "bca" + "cab" + "abc"  # once to find the counts, then four rounds


def test_a_sample_is_long_enough_even_when_calls_speed_up(clock: Clock) -> None:
    cost = iter([0.01] * 2)
    samples = interleaved({"a": lambda: clock.note("a", next(cost, 1e-5))}, rounds=3, sample_s=0.002)
    assert samples["a"] == pytest.approx([1e-5] * 3, rel=1e-3)


def test_time_ends_it_but_not_before_two_rounds(clock: Clock) -> None:
    samples = interleaved({"a": lambda: clock.note("a", 1.0)}, rounds=50, seconds=0.5)
    assert len(samples["a"]) == 2


def test_threads_get_time_to_settle(clock: Clock) -> None:
    interleaved({"a": lambda: clock.note("a", 1.0)}, rounds=2, settle_s=0.03)
    assert clock.log == "a.a.a"


def test_count_of_calls(clock: Clock) -> None:
    assert calls_for(lambda: clock.note("a", 1e-6), 0.002) >= 2000
    assert calls_for(lambda: clock.note("a", 1.0), 0.002) == 1


def test_collection_is_off_inside_and_on_again(clock: Clock) -> None:
    def call() -> None:
        assert not gc.isenabled() or not clock.log
        clock.note("a", 0.1)

    call()
    with pytest.raises(ZeroDivisionError):
        interleaved({"a": lambda: clock.note("a", 0.1) or (1 / 0 if clock.now_s > 0.5 else None)}, rounds=9)
    assert gc.isenabled()
