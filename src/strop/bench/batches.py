"""What is under way in a worker, and who is to blame when it is lost."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from strop.bench.protocol import Pass
from strop.values.verdict import Verdict

Spec = tuple[Any, ...]
"""The positional arguments of ``_native.compile``: tuples, numbers and words only."""


class Result(NamedTuple):
    """What became of a candidate.

    ``samples`` are seconds per call, ascending, scaled by the drift since the first batch; empty unless the verdict is
    ``ok``, ``noisy`` or ``implausible``.
    """

    id: str
    verdict: Verdict
    samples: tuple[float, ...]
    detail: str


@dataclass(slots=True, eq=False)
class Job:
    """A candidate on its way; ``number`` is its name between service and worker."""

    number: int
    id: str
    spec: Spec
    running: bool = False  # it compiled
    checked: bool = False
    spared: bool = False  # in flight once when the worker was killed from outside


@dataclass(slots=True, eq=False)
class Batch:
    """Jobs that were sent together, to be timed against each other."""

    jobs: dict[int, Job]  # those without a result
    passes: tuple[Pass, ...] | None  # None: to be kept for a final
    second_look: bool = False
    scale: float = 1.0
    expected_s: float | None = None  # set while its kernels are timed together


class Lost(Exception):
    """The worker is gone, amid a candidate (or several) or before it had taken up the problem."""

    def __init__(self, verdict: Verdict, detail: str, *, by_signal: int | None = None, started: bool = True) -> None:
        super().__init__(detail)
        self.verdict, self.detail = verdict, detail
        self.by_signal, self.started = by_signal, started


def culprit_of(jobs: Sequence[Job]) -> Job | None:
    """The job that was in flight; ``None`` where several were: they are checked in turn, then timed together."""
    unchecked = [job for job in jobs if not job.checked]
    if unchecked:
        return unchecked[0]
    return jobs[0] if len(jobs) == 1 else None


def blamed(job: Job, lost: Lost) -> Result:
    """What becomes of the job that took the worker down."""
    if lost.by_signal == signal.SIGKILL:
        return Result(job.id, Verdict.LIMIT, (), "the process was killed from outside twice; is memory short?")
    if lost.verdict is Verdict.RUN_TIMEOUT and not job.running:
        return Result(job.id, Verdict.COMPILE_TIMEOUT, (), lost.detail)
    when = "timed" if job.checked else "first run" if job.running else "compiled"
    return Result(job.id, lost.verdict, (), f"{lost.detail}, while being {when}")
