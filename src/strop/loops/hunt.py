"""A run: a search proposes, the service measures, the store journals, the finalists race."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from strop.bench import protocol
from strop.bench.race import final
from strop.bench.service import Result, Service
from strop.errors import IllegalMove, NothingMeasured
from strop.loops import results, searches
from strop.loops.kernel import completed
from strop.loops.lower import lower
from strop.loops.moves import Move, Schedule, replay
from strop.loops.nest import Nest
from strop.loops.question import Question
from strop.loops.target import fingerprint
from strop.loops.tuned import Finalist, Findings, Trial, Tuned
from strop.store.handle import RunHandle
from strop.store.record import Trial as StoredTrial
from strop.values.measurement import Measurement
from strop.values.search import Candidate, Outcome, Search
from strop.values.verdict import Verdict

BATCH = 24
"""Candidates timed against each other at once: enough to share a reference, few enough to learn from soon."""

FINAL_SHARE = 0.3
"""The part of a run's time that the race of the finalists may take."""

USUAL_ALIGNMENT = 16
"""What allocators promise: arrays that nobody has shown yet, the result above all, are measured no worse placed."""

CHECK_SEED = 1
"""Seed of the operands that candidates are checked on."""


class Observer(Protocol):
    """Who watches a run: the live table. Called from the thread that runs the search."""

    def started(self, question: Question, spent_s: float) -> None:
        """The search begins, or goes on after `spent_s` seconds."""

    def peak(self, gflops: float) -> None:
        """What registers alone allow here is known."""

    def trial(self, trial: Trial, best: Trial | None) -> None:
        """A candidate ended."""

    def racing(self, finalists: int) -> None:
        """The search is over; the finalists are measured against each other."""

    def interrupted(self, best: Tuned | None) -> None:
        """Ctrl-C: the best so far, if there is one. The KeyboardInterrupt goes on."""


@dataclass(slots=True)
class Progress:
    """What a run knows so far."""

    question: Question
    began: float = field(default_factory=time.monotonic)
    spent_before: float = 0.0
    trace: list[Trial] = field(default_factory=list)
    schedules: dict[str, Schedule] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    best: Trial | None = None
    peak_gflops: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds that this run has been worked on."""
        return self.spent_before + time.monotonic() - self.began

    def note(self, candidate: Candidate, schedule: Schedule, summary: str, outcome: Outcome) -> Trial:
        """Add a candidate that ended; the trial."""
        seconds = outcome.measurement.median if outcome.measurement and outcome.verdict is Verdict.OK else None
        flops = self.question.problem.contraction.flops
        if seconds is not None and (self.best is None or seconds < (self.best.measured_s or math.inf)):
            gflops: float | None = flops / seconds / 1e9
        else:
            gflops = self.best.best_gflops if self.best else None
        trial = Trial(self.seconds, candidate.id, summary, outcome.verdict.value, seconds, gflops)
        if seconds is not None and (self.best is None or seconds < (self.best.measured_s or math.inf)):
            self.best = trial
        self.trace.append(trial)
        self.schedules[candidate.id] = schedule
        self.outcomes[candidate.id] = outcome
        return trial

    def recall(self, stored: StoredTrial) -> None:
        """Add a trial that the run had journalled before."""
        schedule = tuple(Move.from_json(move) for move in stored.candidate.payload["schedule"])
        summary = replay(self.question.problem.contraction, schedule).summary
        self.note(stored.candidate, schedule, summary, stored.outcome)

    @property
    def verdicts(self) -> dict[str, int]:
        """How many candidates ended with each verdict, the most frequent first."""
        return dict(Counter(trial.verdict for trial in self.trace).most_common())

    def finalists(self, most: int) -> list[str]:
        """Ids of the fastest candidates, the fastest first; the far slower aren't worth a race."""
        right = [(trial.measured_s, trial.id) for trial in self.trace if trial.measured_s is not None]
        right.sort()
        return [id for seconds, id in right[:most] if seconds <= 1.25 * right[0][0]]


def hunt(question: Question, handle: RunHandle, *, observer: Observer | None, warnings: Iterable[str] = ()) -> Tuned:
    """Search until the budget, the search or the user ends it; the winner, measured carefully and stored.

    Raises NothingMeasured when no candidate came out right, and the KeyboardInterrupt of a user who has seen enough,
    after the best so far is stored.
    """
    if question.budget.seconds == 0 or question.budget.evaluations == 0:
        return modelled(question, handle, warnings)
    problem = question.problem
    with service_for(question) as service:
        service.start()  # gets ready while the search does
        named = "search" in question.explicit
        search = searches.make(question.search, problem, seed=question.seed, space=question.space, plugins=named)
        progress = Progress(question, spent_before=handle.spent_s)
        for stored in handle.trials:
            progress.recall(stored)
        handle.feed(search)
        try:
            if observer is not None:
                observer.started(question, progress.spent_before)
            explore(progress, search, service, handle, observer)
            if progress.best is None:
                raise fruitless(handle, progress.verdicts)
            if observer is not None:
                observer.racing(len(progress.finalists(question.effort.finalists)))
            findings, winner = decide(progress, service, handle)
            service.retire()
        except KeyboardInterrupt:
            best = provisional(progress, handle)
            if observer is not None:
                observer.interrupted(best)
            raise
    tuned = results.tuned(question, progress.schedules[winner], findings, run_id=handle.id)
    handle.attach("trace", results.trace_bytes(tuned.trace))
    handle.finish(results.to_json(tuned))
    return results.with_warnings(tuned, warnings, handle.warning)


def explore(progress: Progress, search: Search, service: Service, handle: RunHandle, observer: Observer | None) -> None:
    """Ask, measure, tell and journal, batch by batch, within the budget."""
    budget = progress.question.budget
    seconds = math.inf if budget.seconds is None else budget.seconds * (1 - FINAL_SHARE)
    most = math.inf if budget.evaluations is None else budget.evaluations
    size = 8  # small at first: the best of a few is soon known, and the search learns from it
    # However short the time, something is tried: on a slow or busy machine starting alone may take a quick run's.
    while not progress.trace or (progress.seconds < seconds and len(progress.trace) < most):
        batch_began = time.monotonic()
        asked = search.ask(int(min(size, most - len(progress.trace))))
        if not asked:
            return
        ended = list(evaluate(asked, progress, service))
        if progress.peak_gflops is None:
            progress.peak_gflops = service.peak() / 1e9
            if observer is not None:
                observer.peak(progress.peak_gflops)
        for candidate, schedule, summary, outcome in ended:
            trial = progress.note(candidate, schedule, summary, outcome)
            search.tell(candidate, outcome)
            if observer is not None:
                observer.trial(trial, progress.best)
        trials = [StoredTrial(candidate=candidate, outcome=outcome) for candidate, _, _, outcome in ended]
        handle.record_many(trials, state=search.state)
        took, left = time.monotonic() - batch_began, seconds - progress.seconds
        if left < took / 2:  # thinking of a batch takes its time too: another one would end late
            return
        size = int(max(1, min(BATCH, left * len(asked) / took)))


def evaluate(
    asked: list[Candidate], progress: Progress, service: Service
) -> Iterable[tuple[Candidate, Schedule, str, Outcome]]:
    """Measure candidates; each with its schedule, its nest in words and its outcome, as they become known."""
    problem = progress.question.problem
    known: dict[str, tuple[Candidate, Schedule, str]] = {}
    specs = []
    for candidate in asked:
        schedule: Schedule = ()
        try:
            schedule = tuple(Move.from_json(move) for move in candidate.payload["schedule"])
            nest = replay(problem.contraction, schedule)
        except IllegalMove as problem_found:
            yield candidate, schedule, "", Outcome(Verdict.ILLEGAL, None, str(problem_found))
            continue
        known[candidate.id] = (candidate, schedule, nest.summary)
        specs.append((candidate.id, lower(nest, problem.layout, problem.isa)))
    for result in service.evaluate(specs):
        yield (*known[result.id], outcome_of(result))


def outcome_of(result: Result) -> Outcome:
    """A service's result as an outcome."""
    return Outcome(result.verdict, measurement_of(result) if result.samples else None, result.detail)


def measurement_of(result: Result) -> Measurement:
    """The samples of a result, with the machine that took them."""
    return protocol.measurement(result.samples, machine=fingerprint())


def decide(progress: Progress, service: Service, handle: RunHandle) -> tuple[Findings, str]:
    """Race the finalists, interleaved; what was found and the winner's id."""
    question = progress.question
    ids = progress.finalists(question.effort.finalists)
    specs = [(id, lower(nest_of(progress, id), question.problem.layout, question.problem.isa)) for id in ids]
    left = (question.budget.seconds or math.inf) - progress.seconds
    race = final(service, specs, seconds=max(0.02, min(left, question.effort.seconds * FINAL_SHARE)))
    right = [result for result in race.ranked if result.verdict is Verdict.OK]
    if not right:
        raise fruitless(handle, Counter(result.verdict.value for result in race.ranked))
    for result in right:
        handle.record_final(result.id, measurement_of(result))
    winner = right[0]
    finalists = tuple(
        Finalist(
            summary=nest_of(progress, result.id).summary,
            notes=nest_of(progress, result.id).notes,
            measurement=measurement_of(result),
            tie=result is not winner and protocol.tie(winner.samples, result.samples),
        )
        for result in right
    )
    findings = Findings(
        measurement=measurement_of(winner),
        peak_gflops=service.peak() / 1e9,
        search=question.search,
        effort=question.effort.name,
        trace=tuple(progress.trace),
        finalists=finalists,
        verdicts=progress.verdicts,
    )
    return findings, winner.id


def fruitless(handle: RunHandle, verdicts: Mapping[str, int]) -> NothingMeasured:
    """The error of a run in which nothing came out right; the run ends, and answers no later request."""
    handle.finish(None)
    return NothingMeasured(counts=said(verdicts), run=handle.id)


def nest_of(progress: Progress, id: str) -> Nest:
    """The nest of a candidate."""
    return replay(progress.question.problem.contraction, progress.schedules[id])


def service_for(question: Question) -> Service:
    """The measuring service for a problem."""
    problem = question.problem
    contraction = problem.contraction
    spec = lower(Nest.default(contraction), problem.layout, problem.isa)
    _, dtype, reduce, combine, accumulate, _, sizes, output_axis, inputs, output, extras, _, epilogue = spec
    evaluator = (
        dtype,
        reduce,
        combine,
        accumulate,
        sizes,
        output_axis,
        inputs,
        output,
        extras,
        epilogue,
        tuple(max(USUAL_ALIGNMENT, each) for each in problem.layout.alignment),
        CHECK_SEED,
    )
    slowest = contraction.points * 2e-8  # the order as written, at its worst
    return Service(
        evaluator,
        isa=problem.isa,
        threads=problem.threads,
        flops=float(contraction.flops),
        estimate_s=slowest,
    )


def measured(question: Question, schedule: Schedule, nest: Nest) -> Tuned:
    """One schedule, checked and measured as a finalist is. Raises NothingMeasured where it fails."""
    problem = question.problem
    with service_for(question) as service:
        spec = lower(nest, problem.layout, problem.isa)
        race = final(service, [("given", spec)], seconds=question.effort.seconds * FINAL_SHARE)
        (result,) = race.ranked
        if result.verdict is not Verdict.OK:
            raise NothingMeasured(counts=f"{result.verdict.value}, {result.detail}", run="list")
        findings = Findings(
            measurement=measurement_of(result), peak_gflops=service.peak() / 1e9, verdicts={result.verdict.value: 1}
        )
    return results.tuned(question, schedule, findings)


def modelled(question: Question, handle: RunHandle, warnings: Iterable[str]) -> Tuned:
    """A budget of 0: the model's schedule, unmeasured and not stored."""
    problem = question.problem
    _, schedule = completed(Nest.default(problem.contraction), problem.layout, problem.isa, problem.threads)
    handle.interrupt()
    tuned = results.tuned(question, schedule, Findings(warnings=("The budget is 0: nothing was measured.",)))
    return results.with_warnings(tuned, warnings, handle.warning)


def provisional(progress: Progress, handle: RunHandle) -> Tuned | None:
    """The best so far of an interrupted run, stored as such."""
    if progress.best is None:
        handle.interrupt()
        return None
    outcome = progress.outcomes[progress.best.id]
    findings = Findings(
        measurement=outcome.measurement,
        peak_gflops=progress.peak_gflops,
        search=progress.question.search,
        effort=progress.question.effort.name,
        trace=tuple(progress.trace),
        verdicts=progress.verdicts,
        interrupted=True,
    )
    tuned = results.tuned(progress.question, progress.schedules[progress.best.id], findings, run_id=handle.id)
    handle.interrupt(results.to_json(tuned))
    return tuned


def said(counts: Mapping[str, int]) -> str:
    """Counts of verdicts as words: `3 wrong_result, 1 crash`."""
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none was tried"
