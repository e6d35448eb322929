"""Who owns a stall: of the producers that one wait drains, the last to return; with what the tables don't know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strop.stalls.candidates import Candidate
from strop.stalls.distance import Distance
from strop.stalls.instruction import Latency

SHARPNESS = 0.15  # latencies of one kind scatter by about this part of themselves
LEAST_SCATTER = 4.0  # cycles
GONE = Distance(1e9, 1e9, 1 << 30)  # no way back was found: issued long ago


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a stall that a candidate owns, by the tables' middle, and between their bounds.

    `exposed` are the cycles of its latency that were left when the consumer came, least and most.
    """

    middle: float
    low: float
    high: float
    exposed: tuple[float, float]


def middle(latency: Latency) -> float:
    """Return the middle of a latency's bounds, in ratio: they often lie a decade apart."""
    return math.sqrt(max(latency.low, 1) * max(latency.high, 1))


def shares(
    candidates: Sequence[Candidate],
    distances: Mapping[int, Distance],
    paths: Sequence[float],
    stall_cycles: float | None,
) -> list[Share]:
    """Share a stall among candidates.

    `paths`: how often the way from each candidate is taken, of all times that the wait is reached. `stall_cycles`: how
    long one execution stalled, where the samples say so: a producer that can't take that long is the less likely.
    Latencies are varied between their bounds, those of a kind together (the bounds are the tables'), one kind at a time
    and all at once.
    """
    if not candidates:
        return []
    away = [distances.get(one.producer, GONE) for one in candidates]
    if len(candidates) == 1:
        return [Share(1.0, 1.0, 1.0, _exposed(candidates[0].latency, away[0]))]
    cycles = [(float(one.latency.low), middle(one.latency), float(one.latency.high)) for one in candidates]
    base = [
        one.match * path * _feasible(one.latency, distance, stall_cycles)
        for one, path, distance in zip(candidates, paths, away, strict=True)
    ]
    kinds = sorted({one.kind for one in candidates})
    elapsed = [distance.elapsed for distance in away]
    middles = [middle for _, middle, _ in cycles]
    scenarios = [_weigh(middles, elapsed, base), _weigh(middles, [distance.issuing for distance in away], base)]
    for bound in (0, 2):
        for varied in [{kind} for kind in kinds] + ([set(kinds)] if len(kinds) > 1 else []):
            latencies = [
                three[bound if one.kind in varied else 1] for one, three in zip(candidates, cycles, strict=True)
            ]
            scenarios.append(_weigh(latencies, elapsed, base))
    return [
        Share(middle=several[0], low=min(several), high=max(several), exposed=_exposed(one.latency, distance))
        for one, distance, several in zip(candidates, away, zip(*scenarios, strict=True), strict=True)
    ]


def _exposed(latency: Latency, distance: Distance) -> tuple[float, float]:
    return max(0.0, latency.low - distance.elapsed), max(0.0, latency.high - distance.issuing)


def _feasible(latency: Latency, distance: Distance, stall_cycles: float | None) -> float:
    if stall_cycles is None or distance is GONE:
        return 1.0
    took = distance.elapsed + stall_cycles
    if took > 1.5 * latency.high:
        return math.sqrt(1.5 * latency.high / took)
    if took < 0.5 * latency.low:
        return math.sqrt(max(took, 1.0) / (0.5 * latency.low))
    return 1.0


def _weigh(latencies: Sequence[float], away: Sequence[float], base: Sequence[float]) -> list[float]:
    left = [latency - cycles for latency, cycles in zip(latencies, away, strict=True)]
    last = max(left)
    scatter = max(LEAST_SCATTER, SHARPNESS * abs(last))
    weights = [
        weight * math.exp(max((mine - last) / scatter, -60.0)) if mine > 0 or last <= 0 else 0.0
        for mine, weight in zip(left, base, strict=True)
    ]
    whole = sum(weights)
    if whole <= 0:
        return [1 / len(weights)] * len(weights)
    return [weight / whole for weight in weights]
