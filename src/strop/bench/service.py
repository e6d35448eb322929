"""The measuring service: many candidates of one problem, through a worker that may crash or hang.

    with Service(evaluator, isa="avx2", flops=contraction.flops) as service:
        for id, verdict, samples, detail in service.evaluate([("a", lower(nest, layout, "avx2")), ...]):
            ...
        outcome = race.final(service, [("a", spec), ("b", other)], seconds=0.1)

The worker compiles, checks and times; this side holds the clock that ends it. Whatever a candidate does, it gets a
verdict, a new worker takes the others, and the caller notices nothing but the time it took.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from strop.bench import protocol
from strop.bench.batches import Batch, Job, Lost, Result, Spec, blamed, culprit_of
from strop.bench.claims import Claim
from strop.bench.process import Died, WorkerProcess, give_spare, take_spare
from strop.bench.protocol import QUICK, Pass
from strop.errors import NativeMissing, WorkerLost
from strop.values.verdict import Verdict

__all__ = ["Result", "Service", "Spec"]

PATIENCE = 20.0  # times the slowest candidate so far, or the time that the worker announced
START_S = 30.0  # until a worker has taken up its problem, and then some for a large one's reference result
STARTS = 3  # failures in a row
PROBE_S = 0.003


class Service:
    """Evaluates candidates of one problem. Used by one thread at a time; a context manager that ends the worker.

    ``evaluator`` holds the positional arguments of ``_native.Evaluator``. ``flops`` are the operations of one call and
    ``isa`` the instruction set whose peak bounds them: what is faster is ``implausible``; 0 switches that off.
    ``reference`` is the spec that every batch is compared with to see drift; without it, the fastest of the first
    batch. ``estimate_s`` is what a call of the slowest schedule may take, ``least_limit_s`` what any candidate may.
    ``cpus`` are those to run on, by default as many as there are threads, on which no other strop measures.
    """

    def __init__(
        self,
        evaluator: Spec,
        *,
        isa: str,
        threads: int = 1,
        flops: float = 0.0,
        reference: Spec | None = None,
        estimate_s: float = 0.0,
        least_limit_s: float = 0.5,
        cpus: Sequence[int] | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._isa = isa
        self._threads = threads
        self._flops = flops
        self._reference = reference
        self._least_limit_s = least_limit_s + estimate_s
        self._prepare_limit_s = START_S + 1000 * estimate_s
        self._fixed_cpus = None if cpus is None else tuple(cpus)
        self._claim: Claim | None = None
        self._worker: WorkerProcess | None = None
        self._prepared = False
        self._failures = 0
        self._level: float | None = None
        self._peak: float | None = None
        self._numbers = 0
        self._batches: deque[Batch] = deque()
        self.slowest_s = 0.0
        """What compiling and checking took for the slowest candidate that was right."""
        self.restarts = 0
        """How often the worker was replaced."""

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the worker, or take the one that ``prestart`` started, and hand it the problem. Doesn't wait."""
        if self._worker is None:
            self._prepared = False
            try:
                self._worker = take_spare() or WorkerProcess()
            except OSError as error:
                raise WorkerLost(times=1, reason=error) from None
            self._worker.send(("problem", self._evaluator, self._threads, self.cpus, self._reference))
            if self._flops and self._peak is None:
                self._probe(self._worker)

    def close(self) -> None:
        """Kill the worker and forget what has no result yet. A later call starts a new one."""
        if self._worker is not None:
            self._worker.kill()
        self._leave()

    def retire(self) -> None:
        """Keep an idle worker for the next service in this process; end one that is amid something."""
        if self._worker is None or self._batches or not self._prepared or (self._flops and self._peak is None):
            return self.close()
        give_spare(self._worker)
        self._leave()

    def _leave(self) -> None:
        self._worker = None
        if self._claim is not None:
            self._claim.release()
            self._claim = None
        self._batches.clear()

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs that the worker runs on."""
        if self._fixed_cpus is not None:
            return self._fixed_cpus
        if self._claim is None:
            self._claim = Claim(self._threads)
        return self._claim.cpus

    def evaluate(self, candidates: Iterable[tuple[str, Spec]], *, passes: Sequence[Pass] = QUICK) -> Iterator[Result]:
        """Submit a batch, 16 to 32 is a good size, and yield each result as soon as it is known.

        Raises WorkerLost and NativeMissing.
        """
        self.submit(candidates, passes=passes)
        return self.results()

    def submit(self, candidates: Iterable[tuple[str, Spec]], *, passes: Sequence[Pass] = QUICK) -> None:
        """Send a batch without waiting; ``results`` yields what became of it.

        Several may be under way, so that the worker is busy while the next batch is being thought of.
        """
        self._send(self._jobs(candidates), tuple(passes))

    def results(self) -> Iterator[Result]:
        """Yield the results of all that was submitted, until nothing is under way."""
        try:
            while self._batches:
                yield from self._advance(self._batches[0])
        except BaseException:
            self.close()  # the worker is amid a batch that nobody will ask for
            raise

    def peak(self) -> float:
        """Operations per second that the registers of this problem's processors allow. With nothing under way."""
        self.start()
        assert self._worker is not None
        if self._peak is None:
            if not self._flops:
                self._probe(self._worker)
            self._receive(self._least_limit_s, "peak")
        assert self._peak is not None
        return self._peak

    # For a race: candidates that stay in the worker -------------------------------------------------------------------

    def keep(self, candidates: Iterable[tuple[str, Spec]]) -> list[tuple[int, Result]]:
        """Check candidates and hold those that are right (verdict ok) in the worker, for ``rounds`` to call by number.

        Replaces what was kept before. The results have no samples.
        """
        jobs = self._jobs(candidates)
        self._send(jobs, None)
        failed = {result.id: result for result in self.results()}
        return [(job.number, failed.get(job.id) or Result(job.id, Verdict.OK, (), "")) for job in jobs]

    def rounds(
        self, numbers: Sequence[int], *, rounds: int, sample_s: float, expected_s: float
    ) -> list[list[float]] | None:
        """Time what is kept, interleaved: for each its seconds per call, round by round.

        ``None`` where one of them took the worker down; what was kept is gone then.
        """
        assert self._worker is not None
        self._worker.send(("time", list(numbers), rounds, sample_s))
        try:
            _, rows = self._receive(self._least_limit_s + PATIENCE * expected_s, "times")
        except Lost:
            self.restarts += 1
            return None
        return [list(row) for row in rows]

    # Sending ----------------------------------------------------------------------------------------------------------

    def _jobs(self, candidates: Iterable[tuple[str, Spec]]) -> list[Job]:
        first = self._numbers
        jobs = [Job(number, id, spec) for number, (id, spec) in enumerate(candidates, first)]
        self._numbers += len(jobs)
        return jobs

    def _send(self, jobs: Sequence[Job], passes: tuple[Pass, ...] | None, *, second_look: bool = False) -> None:
        if jobs:
            self.start()
            batch = Batch({job.number: job for job in jobs}, passes, second_look)
            self._batches.append(batch)
            self._tell(batch)

    def _tell(self, batch: Batch) -> None:
        assert self._worker is not None
        jobs = [(job.number, job.spec) for job in batch.jobs.values()]
        if batch.passes is None:
            self._worker.send(("keep", jobs))
        else:
            self._worker.send(("evaluate", jobs, [each.plain() for each in batch.passes]))

    def _probe(self, worker: WorkerProcess) -> None:
        worker.send(("peak", self._isa, self._evaluator[0], PROBE_S))

    # Receiving --------------------------------------------------------------------------------------------------------

    def _advance(self, batch: Batch) -> Iterator[Result]:
        """Take one report, which is of the batch at the front, and yield what it settles."""
        try:
            report = self._receive(self._limit(batch))
        except Lost as lost:
            self._batches.popleft()
            yield from self._recover(batch, lost)
            return
        match report:
            case ("running", number):
                batch.jobs[number].running = True
            case ("checked", number, seconds):
                batch.jobs[number].checked = True
                self.slowest_s = max(self.slowest_s, seconds)
            case ("failed", number, verdict, detail):
                yield Result(batch.jobs.pop(number).id, Verdict(verdict), (), detail)
            case ("timing", seconds):
                batch.expected_s = seconds
            case ("chosen", number):
                self._reference = batch.jobs[number].spec
            case ("reference", samples):
                batch.scale = self._drift(samples)
            case ("samples", number, samples):
                yield from self._judge(batch, batch.jobs.pop(number), samples)
            case ("done",):
                self._batches.popleft()

    def _judge(self, batch: Batch, job: Job, samples: Sequence[float]) -> Iterator[Result]:
        """Yield the result, or nothing where the candidate deserves a second look."""
        verdict, detail = Verdict.OK, ""
        if protocol.implausible(samples, flops=self._flops, peak_flops=self._peak):
            rate = self._flops / min(samples)
            verdict, detail = Verdict.IMPLAUSIBLE, f"{rate:.4g} FLOP/s, where the peak is {self._peak:.4g}"
        elif protocol.noisy(samples):
            verdict, detail = Verdict.NOISY, f"from {min(samples):.3g} to {max(samples):.3g} s in one batch"
        if verdict is Verdict.OK or batch.second_look:
            yield Result(job.id, verdict, tuple(sample * batch.scale for sample in samples), detail)
            return
        assert self._worker is not None
        self._probe(self._worker)  # the first probe may have met the machine in a slow moment
        self._send([Job(job.number, job.id, job.spec)], batch.passes, second_look=True)

    def _drift(self, samples: Sequence[float]) -> float:
        if not samples:
            return 1.0
        now = protocol.level(samples)
        if self._level is None:
            self._level = now
        return protocol.drift(self._level, now)

    def _limit(self, batch: Batch) -> float:
        """Seconds without a report after which the worker is taken to hang."""
        if batch.expected_s is not None:
            return self._least_limit_s + PATIENCE * batch.expected_s
        return max(self._least_limit_s, PATIENCE * self.slowest_s)

    def _receive(self, limit_s: float, kind: str | None = None) -> Any:
        """The next report about a batch, or of one kind. Raises Lost with the worker already killed."""
        assert self._worker is not None
        while True:
            limit = limit_s if self._prepared else self._prepare_limit_s
            try:
                report = self._worker.receive_within(limit, threads=self._threads)
            except Died as died:
                raise self._lost(Lost(Verdict.CRASH, str(died), by_signal=died.signal)) from None
            if report is None:
                raise self._lost(Lost(Verdict.RUN_TIMEOUT, f"no end within {limit:.2g} s"))
            match report:
                case ("ready", *_):
                    pass
                case ("broken", reason):
                    raise NativeMissing(reason=reason)
                case ("prepared",):
                    self._prepared, self._failures = True, 0
                case ("peak", flops):
                    self._peak = max(self._peak or 0.0, flops * self._threads)
            if report[0] == kind or (kind is None and report[0] not in ("ready", "prepared", "peak")):
                return report

    # When the worker is lost ------------------------------------------------------------------------------------------

    def _lost(self, lost: Lost) -> Lost:
        """Clear away the worker. Raises WorkerLost where too many in a row never came to their problem."""
        assert self._worker is not None
        words = self._worker.words()
        self._worker.kill()
        self._worker = None
        if not self._prepared:
            lost.started = False
            self._reference = None  # it may be what took the worker down
            self._failures += 1
            if self._failures >= STARTS:
                raise WorkerLost(times=STARTS, reason=(words or lost.detail).splitlines()[-1], words=words)
        return lost

    def _recover(self, batch: Batch, lost: Lost) -> Iterator[Result]:
        """Yield the result of the candidate to blame, start anew, and send again what has no result."""
        self.restarts += 1
        left = list(batch.jobs.values())
        groups = [left]
        if lost.started:
            culprit = culprit_of(left)
            if culprit is None:
                groups = [[job] for job in left]  # they ran interleaved: alone, the culprit will show
            elif lost.by_signal == signal.SIGKILL and not culprit.spared:
                culprit.spared = True  # no kernel of ours sends that: a person, or the system out of memory
            else:
                left.remove(culprit)
                yield blamed(culprit, lost)
        again = [Batch({job.number: job for job in jobs}, batch.passes, batch.second_look) for jobs in groups if jobs]
        self._batches.extendleft(reversed(again))
        if not self._batches:
            return
        self.start()
        for each in self._batches:
            each.expected_s = None
            for job in each.jobs.values():
                job.running = job.checked = False
            self._tell(each)
