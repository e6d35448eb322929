"""Which user foreign code runs as.

Root's processes aren't counted by RLIMIT_NPROC and own the machine's files, so under root each run gets a user id that
nobody else has. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import stat

from strop.bench.isolation.linux import PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, PR_SET_KEEPCAPS, capset, prctl

CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522

# Far from real users (up to 65533), systemd's dynamic ones and containers' ranges (systemd's UIDS-GIDS.md: to 1.9e9).
FIRST, COUNT = 2_000_000_000, 1_000_000
SMALL_FIRST, SMALL_COUNT = 50_000, 10_000  # inside a container that maps only 65536 ids

_runs = 0


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def own_user() -> int | None:
    """A user id for one run, ``None`` where this process isn't root or its container has no spare ids."""
    global _runs
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    _runs += 1
    turn = os.getpid() * 64 + _runs % 64
    if _mapped(FIRST + COUNT):
        return FIRST + turn % COUNT
    return SMALL_FIRST + turn % SMALL_COUNT if _mapped(SMALL_FIRST + SMALL_COUNT) else None


def everyone_may_read(path: str) -> bool:
    """Whether a user who owns nothing could reach and read this path."""
    path = os.path.realpath(path)
    try:
        if not os.stat(path).st_mode & stat.S_IROTH:
            return False
        while path != "/":
            path = os.path.dirname(path)
            if not os.stat(path).st_mode & stat.S_IXOTH:
                return False
    except OSError:
        return False
    return True


def become(user: int, *, read_everything: bool) -> None:
    """Turn from root into ``user``, for good and with no group.

    ``read_everything`` keeps one capability, the passing of read permissions: root's own Python may lie under /root.
    What may be read is then Landlock's matter; without Landlock it is still far less than root may do.
    """
    if read_everything:
        prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if read_everything:
        bit = 1 << CAP_DAC_READ_SEARCH
        data = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)  # effective, permitted, inheritable; then the high words
        capset(_Header(version=CAPABILITY_VERSION_3, pid=0), data)
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH)


def _mapped(user: int) -> bool:
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            ranges = [tuple(map(int, line.split())) for line in file]
    except (OSError, ValueError):
        return False
    return any(inside <= user < inside + count for inside, _, count in ranges)
