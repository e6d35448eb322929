"""What a person sees while a search runs: the best so far, the rate, the share of the peak, what is tried."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from strop.report.live import Live, bar
from strop.report.units import counted, digits, percent, seconds, times

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from strop.loops.question import Question
    from strop.loops.tuned import Trial, Tuned

LABEL = 8


class Watch:
    """An observer of `tune`. Use it in a `with` block; without `live` it only remembers.

    `best` is the best so far of an interrupted search, and `trials` counts what ended.
    """

    def __init__(self, *, live: bool) -> None:
        self.best: Tuned | None = None
        self.trials = 0
        self._live = Live(lambda: list(self.lines())) if live else None
        self._question: Question | None = None
        self._began = 0.0
        self._spent_s = 0.0
        self._peak: float | None = None
        self._leader: Trial | None = None
        self._last: Trial | None = None
        self._verdicts: Counter[str] = Counter()
        self._racing = 0

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    # What `tune` tells ------------------------------------------------------------------------------------------------

    def started(self, question: Question, spent_s: float) -> None:
        """The search begins, or goes on after `spent_s` seconds."""
        self._question, self._spent_s, self._began = question, spent_s, time.monotonic()
        self._update(now=True)

    def peak(self, gflops: float) -> None:
        """What registers alone allow here is known."""
        self._peak = gflops

    def trial(self, trial: Trial, best: Trial | None) -> None:
        """A candidate ended."""
        self.trials += 1
        self._verdicts[trial.verdict] += 1
        self._last, self._leader = trial, best
        self._update()

    def racing(self, finalists: int) -> None:
        """The search is over; the finalists are measured against each other."""
        self._racing = finalists
        self._update(now=True)

    def interrupted(self, best: Tuned | None) -> None:
        """Ctrl-C: the best so far, if there is one."""
        self.best = best

    # What is shown ----------------------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The table."""
        question = self._question
        if question is None:
            return
        problem = question.problem
        how = f"{problem.isa}, {counted(problem.threads, 'thread')}, {question.effort.name} effort"
        yield f"{'tuning':{LABEL}}{question.title}"
        yield f"{'':{LABEL}}{how}, search {question.search}"
        yield f"{'best':{LABEL}}{self._best()}"
        yield f"{'tried':{LABEL}}{self._tried()}"
        yield f"{'now':{LABEL}}{self._now()}"
        yield f"{'time':{LABEL}}{self._time(question)}"

    def _best(self) -> str:
        leader = self._leader
        if leader is None or leader.measured_s is None:
            return "–"
        gflops = leader.best_gflops or 0.0
        share = f"{bar(gflops / self._peak)} {percent(gflops / self._peak)} of peak, " if self._peak else ""
        return f"{share}{seconds(leader.measured_s)}, {digits(gflops)} GFLOP/s, schedule {leader.summary}"

    def _tried(self) -> str:
        elapsed = time.monotonic() - self._began
        rate = f", {self.trials / elapsed:,.0f} a second" if self.trials and elapsed > 0.2 else ""
        counts = ", ".join(f"{count:,} {verdict}" for verdict, count in self._verdicts.most_common())
        return f"{counted(self.trials, 'candidate')}{rate}{f': {counts}' if counts else ''}"

    def _now(self) -> str:
        if self._racing:
            return f"measuring {counted(self._racing, 'finalist')} against each other"
        last, leader = self._last, self._leader
        if last is None:
            return "starting"
        if last.measured_s is None or leader is None or leader.measured_s is None:
            return f"{last.summary or 'a schedule'}: {last.verdict}"
        slower = last.measured_s / leader.measured_s
        return f"{last.summary}: {seconds(last.measured_s)}" + (f", {times(slower)} the best" if slower > 1 else "")

    def _time(self, question: Question) -> str:
        spent = self._spent_s + time.monotonic() - self._began
        most = question.budget.seconds
        if most:
            return f"{bar(spent / most)} {spent:.1f} of {most:g} s"
        limit = question.budget.evaluations
        return f"{spent:.1f} s" + (f", {bar(self.trials / limit)} of {counted(limit, 'candidate')}" if limit else "")

    def _update(self, *, now: bool = False) -> None:
        if self._live is not None:
            self._live.update(now=now)
