"""The measuring worker: compiles, checks and times kernels for its parent, which may kill it at any moment.

Started as ``python -m strop.bench.worker LIFELINE [FOLDER]``, with commands on standard input and reports on standard
output (:mod:`strop.bench.frames`). It imports the native module and a little of the standard library, nothing else:
it must be there in some 30 ms. It decides nothing either; :mod:`strop.bench.service` does.

Commands and the reports that answer them; ``job`` is a number that the parent gave, a spec the positional arguments
of ``_native.compile``:

    (start)                                        ready VERSION, or broken REASON and the end
    problem EVALUATOR THREADS CPUS REFERENCE       prepared
    evaluate [(job, spec)] PASSES                  running, checked, failed, timing, chosen, reference, samples; done
    keep [(job, spec)]                             running, checked, failed; done
    time [job] ROUNDS SAMPLE_S                     times
    peak ISA DTYPE SECONDS                         peak FLOPS

    running job                 it compiled and is about to run
    checked job SECONDS         its result is right; how long compiling and checking took
    failed job VERDICT DETAIL   the end of this job
    timing SECONDS              from here on kernels run interleaved, for about so long; none can be blamed alone
    chosen job                  this kernel is the reference from now on
    reference SAMPLES           what the reference took during the batch; comes before the batch's samples
    samples job SAMPLES         seconds per call; the end of this job
    times [SAMPLES]             for each job, one sample a round
"""

from __future__ import annotations

import os
import sys
from time import perf_counter

from strop.bench import frames

TYPE_CHECKING = False  # `typing` would cost a tenth of the start-up
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Pass = tuple[int, float, float, float, float]  # strop.bench.protocol.Pass.plain()

HOPELESS, HOPELESS_S = 10.0, 0.02  # slower than another by this factor, and not for what the comparing takes

HOOK = "STROP_WORKER_HOOK"
"""A variable that names a module whose ``wrap(native)`` replaces the native module: how tests inject faults."""


class Worker:
    """Holds one problem at a time; each public method is a command."""

    def __init__(self, native: Any, report: Callable[[object], None]) -> None:
        self.native = native
        self.report = report
        self.illegal = getattr(native, "SpecError", ValueError)
        self.evaluator: Any = None
        self.threads = 1
        self.reference: Any = None
        self.incumbent = float("inf")  # seconds of the fastest kernel of this problem so far
        self.kept: dict[int, Any] = {}

    def problem(self, evaluator: Sequence[Any], threads: int, cpus: Sequence[int], reference: Any) -> None:
        """Take up a problem: operands, the right result, and the kernel that every batch is compared with."""
        if cpus and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cpus)
        self.threads = threads
        self.kept.clear()
        self.incumbent = float("inf")
        self.evaluator = self.native.Evaluator(*evaluator)
        self.reference = None
        if reference is not None:
            kernel = self.native.compile(*reference)
            right, *_ = self.evaluator.check(kernel, threads)
            self.reference = kernel if right else None
        self.report(("prepared",))

    def evaluate(self, jobs: Sequence[tuple[int, Any]], passes: Sequence[Pass]) -> None:
        """Check a batch one by one, then time those that are right, interleaved."""
        checked = {job: right for job, spec in jobs if (right := self._checked(job, spec)) is not None}
        if checked:
            self._measure(checked, passes)
        self.report(("done",))

    def keep(self, jobs: Sequence[tuple[int, Any]]) -> None:
        """Check the jobs and hold those that are right for ``time``."""
        self.kept = {job: right[0] for job, spec in jobs if (right := self._checked(job, spec)) is not None}
        self.report(("done",))

    def time(self, jobs: Sequence[int], rounds: int, sample_s: float) -> None:
        """Time kept jobs, interleaved."""
        self.report(("times", self._rounds([self.kept[job] for job in jobs], rounds, sample_s)))

    def peak(self, isa: str, dtype: str, seconds: float) -> None:
        """Probe what the vector unit of one core can do on registers alone, in operations per second."""
        self.report(("peak", self.native.peak_probe(isa, dtype, seconds)))

    def _checked(self, job: int, spec: Sequence[Any]) -> Any:
        """The compiled kernel and how long its check took, or ``None`` with the failure reported."""
        began = perf_counter()
        try:
            kernel = self.native.compile(*spec)
        except self.illegal as error:
            return self.report(("failed", job, "illegal", str(error)))
        except MemoryError:
            return self.report(("failed", job, "limit", "no memory for the kernel's code"))
        except Exception as error:
            return self.report(("failed", job, "compile_error", f"{type(error).__name__}: {error}"))
        self.report(("running", job))
        compiled = perf_counter()
        try:
            right, worst, detail, inputs_unchanged, fences_whole = self.evaluator.check(kernel, self.threads)
        except MemoryError:
            return self.report(("failed", job, "limit", "no memory for the kernel's scratch space"))
        if not inputs_unchanged:
            return self.report(("failed", job, "input_changed", detail or "an input changed"))
        if not fences_whole:
            return self.report(("failed", job, "wrong_result", f"it wrote outside its result. {detail}".rstrip()))
        if not right:
            return self.report(("failed", job, "wrong_result", f"{worst:.3g} times the allowed error: {detail}"))
        ended = perf_counter()
        self.report(("checked", job, ended - began))
        return kernel, ended - compiled

    def _measure(self, checked: dict[int, tuple[Any, float]], passes: Sequence[Pass]) -> None:
        """Time kernels in passes (:class:`strop.bench.protocol.Pass`) for as long as they are worth it.

        The first pass is a look: its samples stand only where no other follows. A kernel whose check alone, a slow one,
        took many times as long as another's gets none: that time is its sample.
        """
        fastest_s = min(self.incumbent, *(seconds for _, seconds in checked.values()))
        hopeless_s = max(HOPELESS_S, HOPELESS * fastest_s)
        kernels = {job: kernel for job, (kernel, _) in checked.items()}
        samples = {job: [seconds] if seconds > hopeless_s else [] for job, (_, seconds) in checked.items()}
        reference: list[float] = []
        for number, (rounds, sample_s, within, spread, most_s) in enumerate(passes):
            limit = within * self.incumbent if number else 0.0
            jobs = [job for job, had in samples.items() if not had or (had[0] <= limit and _spread(had) >= spread)]
            if not jobs:
                break
            with_reference = number > 0 and self.reference is not None
            timed = [kernels[job] for job in jobs]
            # a warm-up and two calls at least, the first time one more
            round_s = sum(max(sample_s, 4 * (samples[job] or [checked[job][1]])[0]) for job in jobs)
            rounds = max(1, int(min(rounds, most_s * len(jobs) / round_s)))
            self.report(("timing", rounds * round_s))
            rows = self._rounds([self.reference, *timed] if with_reference else timed, rounds, sample_s)
            if with_reference:
                reference += rows.pop(0)
            for job, row in zip(jobs, rows, strict=True):
                had = row if number == 1 else samples[job] + row
                had.sort()
                samples[job] = had
                self.incumbent = min(self.incumbent, had[0])
            if self.reference is None:
                fastest = min(samples, key=lambda job: samples[job][0])
                self.reference = kernels[fastest]
                self.report(("chosen", fastest))
        self.report(("reference", reference))
        for job, had in samples.items():
            self.report(("samples", job, had))

    def _rounds(self, kernels: Sequence[Any], rounds: int, sample_s: float) -> list[list[float]]:
        rows: list[list[float]] = self.evaluator.time(kernels, rounds, sample_s, self.threads, True)
        return rows


def _spread(ordered: Sequence[float]) -> float:
    """How far the median lies above the best, as a fraction."""
    return ordered[len(ordered) // 2] / ordered[0] - 1 if ordered[0] else 0.0


def main() -> None:
    """Serve until standard input ends."""
    inbox, outbox = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # a stray print must not look like a report
    settle(int(sys.argv[1]))

    def report(message: object) -> None:
        frames.write(outbox, message)

    try:
        native = load(sys.argv[2:])
    except ImportError as error:
        return report(("broken", str(error)))
    worker = Worker(native, report)
    report(("ready", native.version()))
    commands = {name: getattr(worker, name) for name in ("problem", "evaluate", "keep", "time", "peak")}
    while True:
        try:
            name, *arguments = frames.read(inbox)
        except EOFError:
            return None
        commands[name](*arguments)


def load(folders: Sequence[str]) -> Any:
    """The native module, which an editable install may keep apart from the package, in one of ``folders``."""
    from importlib import import_module

    import strop

    strop.__path__.extend(folders)
    native = import_module("strop._native")
    hook = os.environ.get(HOOK)
    return import_module(hook).wrap(native) if hook else native


def settle(lifeline: int) -> None:
    """Make this process one that dies with its parent, leaves no core and gains no rights."""
    import _signal as signal  # type: ignore[import-not-found]  # what `signal` wraps in enums, 4 ms sooner
    import gc

    gc.disable()  # a collection would land in somebody's sample; nothing here makes cycles
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    if sys.platform != "linux":
        return
    import fcntl
    import resource

    # The kernel kills us when the parent's end of the pipe closes, busy or not. PR_SET_PDEATHSIG would do it as well
    # when merely the thread ends that started us.
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)
    try:
        if os.read(lifeline, 1) == b"":  # it had closed before we asked for the signal
            os._exit(0)
    except BlockingIOError:
        pass
    # 0 would still wake a crash collector behind a pipe; 1 is refused there too (core(5), fs/coredump.c)
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    try:
        from strop.bench.isolation.linux import PR_SET_NO_NEW_PRIVS, prctl

        prctl(PR_SET_NO_NEW_PRIVS, 1)
    except OSError:
        pass  # a kernel that lacks it; this code is our own generator's


if __name__ == "__main__":
    main()
