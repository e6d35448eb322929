"""Runs of a candidate on this processor: single calls on every family of inputs, then batches by the clock."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from strop.bench.timed_foreign import CONTROL_BYTES, Batch, TimedForeign, most_calls
from strop.kernels.problem import Problem, Role
from strop.kernels.targets.target import Outcome, Planned, Refusal, Trial
from strop.values.measurement import Measurement
from strop.values.verdict import Verdict

if TYPE_CHECKING:
    import numpy as np

ALIGNMENT = 64
GUARD = 256  # bytes before and after a buffer that nobody may write
MOST_GAP = 64  # further lines of 64 bytes between buffers, drawn anew for each call
BATCH_S = 3e-3
SHORT_S = 1.5e-3  # what it comes down to on a busy machine
OVERHEADS = 20  # a batch takes at least so many times what starting and stopping it does
MOST_CALLS = 256
MOST_BYTES = 64 << 20  # of operands in a batch
LEAST_BATCHES, MOST_BATCHES = 8, 60
MOST_S = 6.0  # of this thread's time for all batches, with the drawing and checking of their inputs
PATIENCE = 4  # so many times as long by the clock on the wall: others use the machine as well
SETTLED = 0.04  # the interval of the median, as a part of it
LIMIT_S = 20.0  # of one batch
DISTURBED = 0.05  # of a batch's time during which the process didn't run
THREADS = 1.02  # processor time over wall time that a single thread can't have


Beside = Callable[[int, Sequence[Trial]], None]


@dataclass(slots=True)
class Taken:
    """The samples of one program: seconds a call, and how many batches were left out because others ran meanwhile."""

    samples: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    numbered: dict[int, float] = field(default_factory=dict)  # the samples by the number of their batch
    batch: int = 0  # calls in one

    def all(self) -> list[float]:
        """Every sample, of interrupted batches as well."""
        return self.samples + self.disturbed

    def add(self, number: int, bench: Bench, done: Batch, calls: int) -> None:
        """Add a batch."""
        lost = done.wall_s - done.cpu_s - 2 * bench.process.overhead_s
        if lost > DISTURBED * done.wall_s:
            self.disturbed.append(done.wall_s / calls)
        else:
            self.samples.append(done.wall_s / calls)
            self.numbered[number] = done.wall_s / calls

    def resize(self, bench: Bench, sample: float, number: int) -> None:
        """Choose how many calls the next batch has: by the first one, and fewer where most are interrupted."""
        if number == 0:
            self.batch = max(1, min(bench.most, round(BATCH_S / max(sample, 1e-9))))
        elif number % 4 == 0 and len(self.disturbed) > len(self.samples):
            # A busy machine: what is over within a time slice isn't interrupted.
            least = round(max(SHORT_S, OVERHEADS * bench.process.overhead_s) / max(min(self.all()), 1e-9))
            self.batch = max(1, min(self.batch, max(self.batch // 2, least)))

    def settled(self) -> bool:
        """Whether more would change little."""
        if len(self.samples) < LEAST_BATCHES:
            return False
        low, high = Measurement(samples=tuple(self.samples)).interval
        return high - low <= SETTLED * Measurement(samples=tuple(self.samples)).median


class Bench:
    """A candidate's process, with the operands of a batch in the memory that it shares."""

    def __init__(self, problem: Problem, program: bytes, *, sandbox: str) -> None:
        import numpy as np

        self.problem = problem
        each = sum(buffer.nbytes + 2 * GUARD + ALIGNMENT * (MOST_GAP + 1) for buffer in problem.buffers)
        self.most = max(1, min(MOST_CALLS, MOST_BYTES // each, most_calls(len(problem.buffers))))
        self.process = TimedForeign(
            program, buffers=len(problem.buffers), room=each * self.most + GUARD, sandbox=sandbox
        )
        self.memory = np.frombuffer(self.process.memory, np.uint8)
        self.rng = np.random.default_rng(secrets.randbits(63))

    def close(self) -> None:
        """End the process."""
        self.process.close()

    def batch(
        self, trials: Sequence[Trial], *, poison: int, stack: bool
    ) -> tuple[Batch, list[dict[str, np.ndarray[Any, Any]]], Refusal | None]:
        """Lay the operands, call the kernel on each of ``trials``, look at the guards. Raises :class:`Ended`."""
        rows = self._lay(trials, poison)
        done = self.process.batch(rows, poison=poison if stack else 0, limit_s=LIMIT_S)
        views = [dict(zip((b.name for b in self.problem.buffers), map(self._view, row, self._numbers()), strict=True))
                 for row in rows]  # fmt: skip
        return done, views, self._looked(rows, poison, done)

    def _numbers(self) -> range:
        return range(len(self.problem.buffers))

    def _view(self, offset: int, number: int) -> np.ndarray[Any, Any]:
        buffer = self.problem.buffers[number]
        return self.memory[offset : offset + buffer.nbytes].view(buffer.dtype).reshape(buffer.shape)

    def _lay(self, trials: Sequence[Trial], poison: int) -> list[list[int]]:
        """Put each call's operands at places of their own, in an order that differs from the calls'."""
        rows: list[list[int]] = [[] for _ in trials]
        at = CONTROL_BYTES
        for call in self.rng.permutation(len(trials)):
            for buffer in self.problem.buffers:
                gap = ALIGNMENT * int(self.rng.integers(0, MOST_GAP))
                begin = -(-(at + GUARD + gap) // ALIGNMENT) * ALIGNMENT
                at = begin + buffer.nbytes + GUARD
                self.memory[begin - GUARD : begin] = poison
                self.memory[begin + buffer.nbytes : at] = poison
                rows[call].append(begin)
                part = self.memory[begin : begin + buffer.nbytes]
                if buffer.role is Role.OUTPUT:
                    part[:] = poison
                else:
                    part.view(buffer.dtype).reshape(buffer.shape)[...] = trials[call].inputs[buffer.name]
        return rows

    def _looked(self, rows: Sequence[Sequence[int]], poison: int, done: Batch) -> Refusal | None:
        if done.cpu_s > THREADS * done.wall_s + 1e-3:
            what = f"{done.cpu_s:.3g} s of processor time in {done.wall_s:.3g} s: it ran on more than one processor"
            return Refusal(Verdict.ILLEGAL, what)
        for row in rows:
            for begin, buffer in zip(row, self.problem.buffers, strict=True):
                end = begin + buffer.nbytes
                for side, part in (
                    ("before", self.memory[begin - GUARD : begin]), ("beyond", self.memory[end : end + GUARD])
                ):  # fmt: skip
                    if (part != poison).any():
                        return Refusal(Verdict.ILLEGAL, f"it wrote {side} {buffer.name}")
        return None


def checks(bench: Bench, trials: Sequence[Trial]) -> Iterator[Outcome]:
    """Call a candidate once for each planned trial; `detail` has the seconds of the call."""
    for trial in trials:
        done, (views,), broken = bench.batch([trial], poison=trial.planned.poison, stack=True)
        # Copies: twins are compared when all runs are done.
        yield Outcome(
            trial=trial, buffers={name: view.copy() for name, view in views.items()}, broken=broken,
            detail={"call_s": done.wall_s},
        )  # fmt: skip


class Draws:
    """Fresh inputs of a problem's dense family, each from a seed of its own, all from one that nobody knows."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.seed, self.count = problem, secrets.randbits(63), 0

    def take(self, count: int) -> list[Trial]:
        """Draw as many inputs as asked for."""
        import numpy as np

        family, make = next(iter(self.problem.families.items()))
        trials = []
        for _ in range(count):
            self.count += 1
            own = int.from_bytes(sha256(f"{self.seed}/{self.count}".encode()).digest()[:8], "little") >> 1
            inputs: Mapping[str, Any] = make(np.random.default_rng(own))
            # `draw` from 1000 on: no planned run has one of these.
            trials.append(Trial(planned=Planned(family=family, draw=1000 + self.count), seed=own, inputs=inputs))
        return trials


def timed(
    bench: Bench,
    draws: Draws,
    taken: Taken,
    *,
    call_s: float,
    beside: Beside = lambda *_: None,
    first: int = 0,
) -> Iterator[Outcome]:
    """Time batches of fresh inputs until the samples settle; yield each call's outcome to be checked.

    The memory that outcomes show belongs to the next batch as soon as one more is asked for. `beside` is called with
    the number (from `first` on) and the inputs of each batch, now before it and now after it.
    """
    until, at_last = time.thread_time() + MOST_S, time.monotonic() + PATIENCE * MOST_S
    taken.batch = max(1, min(bench.most, round(BATCH_S / max(call_s, 1e-9))))
    for number in range(MOST_BATCHES):
        if number >= 3 and (time.thread_time() > until or time.monotonic() > at_last or taken.settled()):
            return
        trials = draws.take(taken.batch)
        poison = 1 + int(bench.rng.integers(0, 254))
        if number % 2:
            beside(first + number, trials)
        done, views, broken = bench.batch(trials, poison=poison, stack=False)
        if number:  # the first one decides how many calls the others have
            taken.add(first + number, bench, done, len(trials))
        for trial, buffers in zip(trials, views, strict=True):
            yield Outcome(trial=trial, buffers=buffers, broken=broken)
        if number and not number % 2:
            beside(first + number, trials)
        taken.resize(bench, done.wall_s / len(trials), number)
