"""Which CPUs a service measures on: two strop processes at once should not share one."""

from __future__ import annotations

import contextlib
import socket
import sys
import weakref

from strop.bench.machine import affinity
from strop.bench.pinning import timing_cpus


class Claim:
    """``count`` CPUs to measure on, held until released, or until this process ends.

    Free ones are taken first, in the order of :func:`timing_cpus`. Where too few are free, all are taken as if nobody
    else were there: a shared CPU gives noisy samples, which is better than none.
    """

    def __init__(self, count: int) -> None:
        self._held: list[socket.socket] = []
        weakref.finalize(self, _release, self._held)
        order = timing_cpus(len(affinity()))
        free: list[int] = []
        for cpu in order:
            if len(free) == count:
                break
            if (held := _mark(cpu)) is not None:
                self._held.append(held)
                free.append(cpu)
        if len(free) < min(count, len(order)):
            self.release()
            free = list(order[:count])
        self.cpus = tuple(free)

    def release(self) -> None:
        """Let others have them."""
        _release(self._held)


def _release(marks: list[socket.socket]) -> None:
    for mark in marks:
        mark.close()
    marks.clear()


def _mark(cpu: int) -> socket.socket | None:
    """A mark that one process at a time can hold; ``None`` where another has it, or the system knows no such thing.

    It is a name of Linux's abstract sockets: no file is left behind, and the kernel forgets it when its owner dies.
    """
    if sys.platform != "linux":
        return None
    mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    with contextlib.suppress(OSError):
        mark.bind(f"\0strop measures on CPU {cpu}")
        return mark
    mark.close()
    return None
