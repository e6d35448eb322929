"""Who is working on a run: a process, told apart from a later one that got the same number.

A run whose owner is alive is never taken over; one whose owner is gone goes on with whoever asks for it next. A process
number alone cannot say that: numbers are reused, and containers that share a home each count from 1. So an owner is
named by boot, process-number namespace, number and start time, plus a few random letters for each handle.
"""

from __future__ import annotations

import os
from pathlib import Path

SILENCE_S = 60.0
"""How long an owner that can't be looked at (another container, another boot) may be silent and count as alive."""


def claim() -> str:
    """A new owner's mark for this process, as stored with a run."""
    return " ".join((boot(), namespace(), str(os.getpid()), started(os.getpid()) or "0", os.urandom(6).hex()))


def alive(mark: str | None, *, silent_s: float) -> bool:
    """Whether the owner that left ``mark`` still works, ``silent_s`` seconds after it last wrote.

    Exact where the owner ran in this boot and namespace; elsewhere an owner counts as alive for ``SILENCE_S``.
    """
    if mark is None:
        return False
    its_boot, its_namespace, pid, start, _ = mark.split(" ")
    if start != "0" and (its_boot, its_namespace) == (boot(), namespace()):
        return started(int(pid)) == start
    return silent_s < SILENCE_S


def boot() -> str:
    """The identity of this boot of the machine; ``-`` where the system doesn't tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"


def namespace() -> str:
    """The process-number namespace of this process; ``-`` where the system doesn't tell."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "-"


def started(pid: int) -> str | None:
    """When process ``pid`` started, in clock ticks since boot; ``None`` where there is no such process (or no /proc).

    A process that has ended but was not waited for (a zombie) is gone: it will never write again.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    after_name = stat[stat.rindex(b")") + 2 :].split()  # the name may hold blanks and brackets
    return None if after_name[0] in (b"Z", b"X") else after_name[19].decode()
