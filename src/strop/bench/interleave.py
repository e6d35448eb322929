"""Times callables against each other in one run: a sample of each in every round, so that drift falls on all alike."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

SAMPLE_S = 0.002  # shorter samples show the clock and the loop
WARM_SHARE = 8  # before each sample one call in so many, to bring code and operands back into the caches
LEAST_ROUNDS = 2

Key = TypeVar("Key", bound=Hashable)


def interleaved(
    callables: Mapping[Key, Callable[[], object]],
    *,
    rounds: int = 40,
    seconds: float = 1.0,
    sample_s: float = SAMPLE_S,
    settle_s: float = 0.0,
) -> dict[Key, tuple[float, ...]]:
    """Seconds per call of each, one sample a round, in the order taken.

    A sample is a loop of calls that takes ``sample_s`` at least; the order rotates by one each round. It ends after
    ``rounds``, or after ``seconds`` (but at least two rounds). ``settle_s`` passes before each sample: the spinning
    threads of the one before need it to go to sleep.
    """
    names = list(callables)
    counts = {name: calls_for(callables[name], sample_s) for name in names}
    samples: dict[Key, list[float]] = {name: [] for name in names}
    collecting = gc.isenabled()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        for turn in range(rounds):
            if turn >= LEAST_ROUNDS and time.perf_counter() >= end:
                break
            first = turn % len(names)
            for name in names[first:] + names[:first]:
                if settle_s:
                    time.sleep(settle_s)
                seconds_per_call, counts[name] = _sample(callables[name], counts[name], sample_s)
                samples[name].append(seconds_per_call)
    finally:
        if collecting:
            gc.enable()
    return {name: tuple(taken) for name, taken in samples.items()}


def calls_for(run: Callable[[], object], sample_s: float = SAMPLE_S) -> int:
    """How many calls fill a sample, found by timing; warms up along the way."""
    calls, taken = 1, timed(run, 1)
    while taken < sample_s:
        # A little more than what's missing, but no more than eightfold: the first call is often the slowest.
        calls = max(calls + 1, min(calls * 8, int(calls * sample_s / max(taken, 1e-9) * 1.1)))
        taken = timed(run, calls)
    return calls


def timed(run: Callable[[], object], calls: int) -> float:
    """Seconds that so many calls take together."""
    clock = time.perf_counter_ns
    begin = clock()
    for _ in itertools.repeat(None, calls):
        run()
    return (clock() - begin) / 1e9


def _sample(run: Callable[[], object], calls: int, sample_s: float) -> tuple[float, int]:
    """Seconds per call, and the count of calls to use next time."""
    timed(run, max(1, calls // WARM_SHARE))
    while True:
        taken = timed(run, calls)
        if taken >= sample_s:
            return taken / calls, calls
        calls = int(calls * 1.3) + 1
