"""The machine that measurements are taken on: its CPU, caches and limits, and a fingerprint of what decides speed."""

from __future__ import annotations

import functools
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strop.bench.cgroup import cpu_quota
from strop.values.canonical import digest

# Flags of /proc/cpuinfo that change what code can be generated or how fast it runs; the rest is noise.
FEATURES = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"),
)
CPUS = "sys/devices/system/cpu"


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache as a CPU sees it; ``shared_by`` counts the logical CPUs that share it."""

    level: int
    kind: str  # data, instruction or unified
    size_bytes: int
    line_bytes: int
    ways: int
    shared_by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the machine is. ``quota`` is in CPUs (``None``: no limit), ``affinity`` lists the CPUs allowed.

    ``quota`` and ``affinity`` belong to this process, not to the hardware, and aren't part of the fingerprint; nor is
    the kernel: an update doesn't make old measurements wrong.
    """

    cpu: str
    architecture: str
    identity: str  # vendor, family, model, stepping
    features: tuple[str, ...]
    caches: tuple[Cache, ...]
    cores: int
    logical_cpus: int
    virtual: bool
    kernel: str
    memory_bytes: int | None
    governor: str | None
    quota: float | None
    affinity: tuple[int, ...]

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that agree exactly where timings may be compared."""
        caches = [asdict(cache) for cache in self.caches]
        decides = [self.cpu, self.architecture, self.identity, list(self.features), caches, self.virtual]
        return digest(decides)[:16]

    @property
    def usable_cpus(self) -> int:
        """How many threads are worth starting: allowed CPUs, no more than the quota's whole ones, at least 1."""
        whole = len(self.affinity) if self.quota is None else int(self.quota)
        return max(1, min(len(self.affinity), whole))

    def data_cache(self, level: int) -> Cache | None:
        """The cache of this level that holds data, ``None`` where the system doesn't say."""
        return next((c for c in self.caches if c.level == level and c.kind != "instruction"), None)

    def to_json(self) -> dict[str, Any]:
        """All fields, and the fingerprint."""
        return {
            **asdict(self),
            "affinity": list(self.affinity),
            "features": list(self.features),
            "caches": [asdict(cache) for cache in self.caches],
            "usable_cpus": self.usable_cpus,
            "fingerprint": self.fingerprint,
        }


def machine(*, root: Path = Path("/")) -> Machine:
    """This machine now. What can't change is read once; quota and affinity each time."""
    return Machine(**_hardware(root), quota=cpu_quota(root=root), affinity=affinity())


def usable_cpus() -> int:
    """How many CPUs this process may use, by affinity and by the control group's quota; at least 1."""
    allowed, quota = len(affinity()), cpu_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def affinity() -> tuple[int, ...]:
    """The logical CPUs that this process may run on, in order."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def cpu_list(text: str) -> tuple[int, ...]:
    """The numbers in the kernel's way to write sets of CPUs.

    >>> cpu_list("0-2,8")
    (0, 1, 2, 8)
    """
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    return tuple(numbers)


def core_of(cpu: int, *, root: Path = Path("/")) -> tuple[int, ...]:
    """The logical CPUs that share this one's core, itself included."""
    text = _line(root / CPUS / f"cpu{cpu}/topology/thread_siblings_list")
    return cpu_list(text) if text else (cpu,)


@functools.cache
def _hardware(root: Path) -> Mapping[str, Any]:
    words = _cpuinfo(root)
    flags = (words.get("flags") or words.get("Features") or "").split()
    present = cpu_list(_line(root / CPUS / "online") or "") or tuple(range(os.cpu_count() or 1))
    identity = "-".join(
        words.get(names[0]) or words.get(names[1], "")
        for names in (
            ("vendor_id", "CPU implementer"),
            ("cpu family", "CPU architecture"),
            ("model", "CPU part"),
            ("stepping", "CPU revision"),
        )
    )
    return {
        "cpu": " ".join((words.get("model name") or platform.processor() or platform.machine()).split()),
        "architecture": platform.machine(),
        "identity": identity.strip("-"),
        "features": tuple(name for name in FEATURES if name in flags),
        "caches": tuple(_caches(root, present[0])),
        "cores": len({core_of(cpu, root=root) for cpu in present}),
        "logical_cpus": len(present),
        "virtual": "hypervisor" in flags,
        "kernel": f"{platform.system()} {platform.release()}",
        "memory_bytes": _memory(root),
        "governor": _line(root / CPUS / "cpu0/cpufreq/scaling_governor"),
    }


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first CPU's rows of /proc/cpuinfo; empty elsewhere than on Linux."""
    try:
        text = (root / "proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return {}
    rows = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in rows}


def _caches(root: Path, cpu: int) -> Iterator[Cache]:
    for folder in sorted((root / CPUS / f"cpu{cpu}/cache").glob("index*")):
        try:
            yield Cache(
                level=int(_line(folder / "level") or 0),
                kind=(_line(folder / "type") or "").lower(),
                size_bytes=_bytes(_line(folder / "size") or "0"),
                line_bytes=int(_line(folder / "coherency_line_size") or 0),
                ways=int(_line(folder / "ways_of_associativity") or 0),
                shared_by=max(1, len(cpu_list(_line(folder / "shared_cpu_list") or ""))),
            )
        except ValueError:
            continue  # a virtual machine may leave a file empty or odd


def _memory(root: Path) -> int | None:
    try:
        text = (root / "proc/meminfo").read_text()
    except OSError:
        return None
    found = re.search(r"^MemTotal:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def _bytes(text: str) -> int:
    number, unit = text.rstrip("KMG"), text[-1:]
    return int(number) * {"K": 2**10, "M": 2**20, "G": 2**30}.get(unit, 1)


def _line(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
