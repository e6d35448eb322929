"""The final: a few candidates timed against each other in paired rounds until the first is told from the second."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from strop.bench import protocol
from strop.bench.protocol import Finals
from strop.bench.service import Result, Service, Spec
from strop.values.verdict import Verdict

ATTEMPTS = 3  # a kernel that passed its check and yet takes the worker down, time and again, is rare enough


@dataclass(frozen=True, slots=True)
class Final:
    """The outcome: those that failed come last, with their verdicts.

    Samples are plain seconds per call, in the order taken and paired: sample i of each was taken in round i. ``ratio``
    is how many times as long as the first the second takes, (low, median, high), or ``None`` without a second; ``tie``
    says that neither is shown to be faster.
    """

    ranked: tuple[Result, ...]
    tie: bool
    ratio: tuple[float, float, float] | None


def final(
    service: Service, candidates: Iterable[tuple[str, Spec]], *, seconds: float, parameters: Finals | None = None
) -> Final:
    """Race candidates for up to ``seconds``; the clearly slower drop out on the way.

    Each is compiled and checked again first, which the seconds don't count. Raises WorkerLost and NativeMissing.
    """
    parameters = parameters or Finals()
    left = list(candidates)
    failed: list[Result] = []
    for _ in range(ATTEMPTS):
        kept = service.keep(left)
        failed += [result for _, result in kept if result.verdict is not Verdict.OK]
        runners = {number: result.id for number, result in kept if result.verdict is Verdict.OK}
        finish = _run(service, list(runners), seconds, parameters)
        if finish is not None:
            return _outcome(runners, finish, failed)
        alone = {id: next(service.evaluate([(id, spec)])) for id, spec in left if id in runners.values()}
        failed += [result for result in alone.values() if result.verdict is not Verdict.OK]
        left = [(id, spec) for id, spec in left if id in alone and alone[id].verdict is Verdict.OK]
    lost = [Result(id, Verdict.CRASH, (), f"the final took the worker down {ATTEMPTS} times") for id, _ in left]
    return Final((*lost, *failed), tie=False, ratio=None)


def _run(
    service: Service, numbers: Sequence[int], seconds: float, parameters: Finals
) -> list[tuple[int, list[float]]] | None:
    """Kept candidates with their samples, fastest first; ``None`` where the worker was lost."""
    rows: dict[int, list[float]] = {number: [] for number in numbers}
    running = list(numbers)
    dropped: list[int] = []  # the slowest first
    deadline = time.monotonic() + seconds
    done = 0
    while running:
        costs = [max(parameters.sample_s, median(rows[number]) if done else service.slowest_s) for number in running]
        round_s = sum(costs)
        left_s = deadline - time.monotonic()
        count = max(1, min(parameters.rounds, parameters.most - done, int(left_s / round_s))) if done else 1
        new = service.rounds(running, rounds=count, sample_s=parameters.sample_s, expected_s=count * round_s)
        if new is None:
            return None
        for number, samples in zip(running, new, strict=True):
            rows[number] += samples
        done += count
        running.sort(key=lambda number: median(rows[number]))
        if done >= parameters.least:
            slower = [number for number in running[1:] if protocol.ratio(rows[running[0]], rows[number])[0] > 1]
            told = len(running) < 2 or running[1] in slower or protocol.decided(rows[running[0]], rows[running[1]])
            if told:
                break
            running = [number for number in running if number not in slower]
            dropped += reversed(slower)
        if done >= parameters.most or time.monotonic() >= deadline:
            break
    return [(number, rows[number]) for number in (*running, *reversed(dropped))]


def _outcome(runners: dict[int, str], finish: Sequence[tuple[int, list[float]]], failed: Sequence[Result]) -> Final:
    ranked = [Result(runners[number], Verdict.OK, tuple(samples), "") for number, samples in finish]
    first_two = [result.samples for result in ranked[:2]]
    both = len(first_two) == 2
    return Final(
        (*ranked, *failed),
        tie=both and protocol.tie(*first_two),
        ratio=protocol.ratio(*first_two) if both else None,
    )
