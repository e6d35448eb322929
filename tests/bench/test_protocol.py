"""How samples become numbers: drift, ties, when to stop, what isn't believed."""

from __future__ import annotations

import random

import pytest

from strop.bench import protocol
from strop.values.measurement import Measurement


def samples(rng: random.Random, centre: float, count: int, *, noise: float = 0.02) -> list[float]:
    """Samples as a machine gives them: a floor, a tail above it, now and then an interruption."""
    return [centre * (1 + rng.expovariate(1 / noise) + (0.5 if rng.random() < 0.03 else 0)) for _ in range(count)]


def test_the_ratio_is_that_of_paired_rounds_whatever_the_drift() -> None:
    rng = random.Random(1)
    drift = [rng.choice([1.0, 1.0, 1.3]) for _ in range(101)]
    first = [1e-5 * d * rng.uniform(1, 1.01) for d in drift]
    second = [1.02e-5 * d * rng.uniform(1, 1.01) for d in drift]
    low, middle, high = protocol.ratio(first, second)
    assert low <= middle <= high
    assert low > 1, "2% apart in every round, though each alone wanders by 30%"
    assert middle == pytest.approx(1.02, abs=0.005)
    assert not protocol.tie(first, second)


def test_equal_candidates_tie_at_the_rate_that_the_interval_promises() -> None:
    rng = random.Random(2)
    told = sum(not protocol.tie(samples(rng, 1.0, 31), samples(rng, 1.0, 31)) for _ in range(300))
    assert told <= 0.1 * 300, f"{told} of 300 equal pairs were told apart at 95%"


def test_few_rounds_show_nothing() -> None:
    assert protocol.tie([1.0] * 5, [2.0] * 5)
    assert not protocol.tie([1.0] * 6, [2.0] * 6)


def test_a_race_is_decided_by_a_difference_or_by_a_narrow_tie() -> None:
    assert protocol.decided([1.0] * 16, [1.1] * 16)
    assert protocol.decided([1.0, 1.001] * 8, [1.001, 1.0] * 8), (
        "equal to a tenth of a percent: more rounds change nothing"
    )
    assert not protocol.decided([1.0, 1.2] * 8, [1.2, 1.0] * 8), "wide open"


def test_interruptions_do_not_move_the_level_and_phases_do() -> None:
    steady = [1e-4] * 10
    assert protocol.level([*steady[:2], *[5e-4] * 8]) == protocol.level(steady)
    assert protocol.level([1.2e-4] * 10) == pytest.approx(1.2 * protocol.level(steady))


def test_a_batch_is_scaled_by_no_more_than_a_machine_drifts() -> None:
    assert protocol.drift(1e-4, 1.2e-4) == pytest.approx(1 / 1.2)
    assert protocol.drift(1.2e-4, 1e-4) == pytest.approx(1.2)
    assert protocol.drift(1e-4, 3e-4) == 1 / protocol.MOST_DRIFT, "not a machine three times as slow, but a busy one"
    assert protocol.drift(3e-4, 1e-4) == protocol.MOST_DRIFT


def test_what_is_faster_than_the_registers_allow_is_not_believed() -> None:
    took = [1e-3] * 5
    assert not protocol.implausible(took, flops=1e8, peak_flops=1e11)
    assert not protocol.implausible(took, flops=1.09e8, peak_flops=1e11), "within a turbo step"
    assert protocol.implausible(took, flops=1.11e8, peak_flops=1e11)
    assert not protocol.implausible(took, flops=1e12, peak_flops=None), "no probe, no judgement"


def test_noise_is_told_from_a_single_interruption() -> None:
    assert not protocol.noisy([1e-4] * 9 + [1e-2])
    assert protocol.noisy([1e-4] * 4 + [4e-4] * 6)


def test_a_measurement_says_how_it_was_taken() -> None:
    measured = protocol.measurement([3e-5, 1e-5, 2e-5], machine="m")
    assert measured == Measurement(samples=(3e-5, 1e-5, 2e-5), unit="s", protocol=protocol.PROTOCOL, machine="m")
    assert measured.seconds == 2e-5
    assert measured.best == 1e-5


def test_the_quick_passes_look_first_and_then_narrow() -> None:
    look, *more = protocol.QUICK
    assert (look.rounds, look.sample_s) == (1, 0.0)
    assert [each.within for each in more] == sorted((each.within for each in more), reverse=True)
    assert protocol.Pass(2, 1e-4, within=3, spread=0.1).plain() == (2, 1e-4, 3, 0.1, float("inf"))
