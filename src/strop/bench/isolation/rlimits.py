"""Puts :class:`~strop.bench.isolation.limits.Limits` on this process, as rlimits.

Standard library only, and no dataclasses: the launcher starts once for each foreign run.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Mapping

LOCKED_BYTES = 64 * 1024  # memory that can't be swapped out: what Linux gave everyone for decades
NAMESPACED_COUNTS = (5, 14)  # from this Linux on, each user namespace counts its own processes


def apply(limits: Mapping[str, float]) -> None:
    """Set everything but the count of processes. ``limits`` has the fields of ``Limits``."""
    spent = resource.getrusage(resource.RUSAGE_SELF)  # the launcher's own start isn't the program's
    cpu = math.ceil(limits["cpu_s"] + spent.ru_utime + spent.ru_stime)
    _set("CPU", cpu, cpu + 1)  # SIGXCPU, a second later SIGKILL
    _set("AS", int(limits["memory_bytes"]))
    _set("FSIZE", int(limits["file_bytes"]))
    _set("NOFILE", int(limits["open_files"]))
    _set("CORE", 0)
    _set("MEMLOCK", LOCKED_BYTES)
    _set("MSGQUEUE", 0)


def apply_processes(processes: int, *, others: int) -> None:
    """Let this user have ``processes`` more than the ``others`` that already run. Root is exempt from it."""
    _set("NPROC", processes + others)


def others_of_user(*, own_user: bool, namespace: bool, tasks_of_user: int) -> int:
    """How many tasks count against the limit before the program starts any of its own.

    ``own_user``: the program runs as a user that nobody else is; ``namespace``: in a user namespace, where bubblewrap's
    own first process counts too; ``tasks_of_user``: what the caller's user runs outside.
    """
    if own_user:
        return 0
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdigit())
    return 1 if namespace and release >= NAMESPACED_COUNTS else tasks_of_user


def _set(name: str, soft: int, hard: int | None = None) -> None:
    which = getattr(resource, f"RLIMIT_{name}", None)
    if which is None:
        return  # not on this system
    most = resource.getrlimit(which)[1]
    ceiling = soft if hard is None else hard
    if most != resource.RLIM_INFINITY:
        soft, ceiling = min(soft, most), min(ceiling, most)
    resource.setrlimit(which, (soft, ceiling))
