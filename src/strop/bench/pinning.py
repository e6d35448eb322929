"""Holds threads on CPUs while something is timed, so that the scheduler's moves don't show in the samples."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from strop.bench.machine import affinity, core_of

# Read by the libraries when they load, so they work only in the environment of a new process.
THREAD_VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"),
)
# A site sets these for old builds of OpenBLAS; a current NumPy picks a slower kernel with them.
SLOWS_NUMPY = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def timing_cpus(count: int) -> tuple[int, ...]:
    """``count`` of the CPUs this process may use, on different cores as far as there are any.

    Fewer where fewer are allowed. The first CPU takes most interrupts and comes last.
    """
    allowed = affinity()
    allowed = (*allowed[1:], *allowed[:1])
    seen: set[tuple[int, ...]] = set()
    firsts: list[int] = []
    seconds: list[int] = []
    for cpu in allowed:
        core = core_of(cpu)
        (seconds if core in seen else firsts).append(cpu)
        seen.add(core)
    return tuple([*firsts, *seconds][: max(1, count)])


@contextlib.contextmanager
def pinned(cpus: int | Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Pin every thread of this process to ``cpus`` (a count: that many of :func:`timing_cpus`); restores each after.

    Yields the CPUs, or ``()`` where the system can't pin or refuses: the timing then goes on unpinned. Threads that
    start inside inherit the CPUs of the thread that started them, and keep them.
    """
    chosen = timing_cpus(cpus) if isinstance(cpus, int) else tuple(cpus)
    if not hasattr(os, "sched_setaffinity"):
        yield ()
        return
    before: dict[int, set[int]] = {}
    try:
        for thread in _threads():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                held = os.sched_getaffinity(thread)
                os.sched_setaffinity(thread, chosen)
                before[thread] = held
    except (OSError, ValueError):
        chosen = ()
    try:
        yield chosen
    finally:
        for thread, held in before.items():
            with contextlib.suppress(OSError):
                os.sched_setaffinity(thread, held)


def peer_environment(threads: int, environment: dict[str, str] | None = None) -> dict[str, str]:
    """The environment for a process whose numeric libraries shall use ``threads`` threads, and their best kernels."""
    kept = {k: v for k, v in (os.environ if environment is None else environment).items() if k not in SLOWS_NUMPY}
    return {**kept, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


def _threads() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:
        return [0]  # this thread
