"""The CPU quota that a container or a service manager put on this process, from cgroup version 1 or 2.

A container that may use 1.5 CPUs still sees all of the host's; the quota is in a file of the control group, or of any
group above it, whichever is lowest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class _Mount:
    """A mounted control group tree: where, which of its groups is at the top, and its controllers (none: version 2)."""

    place: Path
    top: str
    controllers: frozenset[str]


def cpu_quota(*, root: Path = Path("/")) -> float | None:
    """How many CPUs' worth of time this process may use per unit of time, ``None`` without a quota.

    ``root`` is where /proc and /sys lie, for tests.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        mounts = list(_mounts((root / "proc/self/mountinfo").read_text(), root))
    except OSError:
        return None
    quotas = []
    for line in groups:
        _, _, rest = line.partition(":")
        names, _, group = rest.partition(":")
        controllers = frozenset(names.split(",")) - {""}
        if controllers and "cpu" not in controllers:
            continue
        for mount in mounts:
            if (not controllers and not mount.controllers) or controllers & mount.controllers & {"cpu"}:
                quotas += [q for folder in _upwards(mount, group) if (q := _quota(folder)) is not None]
    return min(quotas, default=None)


def _mounts(mountinfo: str, root: Path) -> Iterator[_Mount]:
    """The control group trees in /proc/self/mountinfo (proc_pid_mountinfo(5))."""
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        place = root / fields[4].lstrip("/")
        if kind[0] == "cgroup2":
            yield _Mount(place, fields[3], frozenset())
        elif kind[0] == "cgroup":
            yield _Mount(place, fields[3], frozenset(kind[-1].split(",")))


def _upwards(mount: _Mount, group: str) -> Iterator[Path]:
    """The folder of the group and of each above it, as far as they are mounted."""
    if mount.top != "/":  # a container shown its own group only
        group = group.removeprefix(mount.top) if group.startswith(mount.top) else "/"
    folder = mount.place / group.lstrip("/")
    while True:
        yield folder
        if folder == mount.place or mount.place not in folder.parents:
            return
        folder = folder.parent


def _quota(folder: Path) -> float | None:
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        share = float("inf" if quota == "max" else quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None
    return share if 0 < share < float("inf") else None
