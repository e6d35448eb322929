"""Measurements and their order statistics."""

from __future__ import annotations

import json
import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.values.measurement import Measurement


def test_seconds_and_cycles() -> None:
    timed = Measurement(samples=(3.0, 1.0, 2.0))
    assert (timed.best, timed.median, timed.seconds, timed.cycles) == (1.0, 2.0, 2.0, None)
    counted = Measurement(samples=(300.0, 100.0), unit="cycles")
    assert (counted.cycles, counted.seconds) == (200.0, None)


@pytest.mark.parametrize(
    ("count", "expected"),
    # the ranks of the binomial tables for a 95% interval of the median
    [(1, (1, 1)), (5, (1, 5)), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (20, (6, 15)), (50, (18, 33)), (100, (40, 61))],
)
def test_interval_ranks(count: int, expected: tuple[int, int]) -> None:
    samples = [float(number) for number in range(1, count + 1)]
    random.Random(0).shuffle(samples)
    assert Measurement(samples=tuple(samples)).interval == expected


def test_interval_covers_as_often_as_it_says() -> None:
    source = random.Random(1)
    hits = 0
    for _ in range(1000):
        low, high = Measurement(samples=tuple(source.random() for _ in range(25))).interval
        hits += low <= 0.5 <= high
    assert 940 <= hits <= 985


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=1200))
def test_interval_holds_the_median(samples: list[float]) -> None:
    measurement = Measurement(samples=tuple(samples))
    low, high = measurement.interval
    assert min(samples) <= low <= median(samples) <= high <= max(samples)


def test_ties() -> None:
    a = Measurement(samples=(1.0, 1.1, 1.2))
    assert a.ties(Measurement(samples=(1.15, 1.3)))
    assert not a.ties(Measurement(samples=(1.3, 1.4)))


def test_comparable() -> None:
    a = Measurement(samples=(1.0,), protocol="1", machine="m")
    assert a.comparable(Measurement(samples=(2.0,), protocol="1", machine="m"))
    assert not a.comparable(Measurement(samples=(2.0,), protocol="2", machine="m"))


def test_json_round_trips() -> None:
    a = Measurement(samples=(0.1, 0.2), protocol="3", machine="cpu")
    value = json.loads(json.dumps(a.to_json()))
    assert Measurement.from_json(value) == a
    assert value["median"] == pytest.approx(0.15)


@pytest.mark.parametrize("samples", [(), (float("nan"),), (-1.0,), (float("inf"),)])
def test_impossible_samples(samples: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="sample"):
        Measurement(samples=samples)


def test_impossible_unit() -> None:
    with pytest.raises(ValueError, match="unit"):
        Measurement(samples=(1.0,), unit="ms")
