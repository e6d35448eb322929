"""The machine's description, from made-up /proc and /sys trees and from this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from strop.bench import machine as module
from strop.bench.cgroup import cpu_quota
from strop.bench.machine import Cache, cpu_list, machine, usable_cpus

V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "32 31 0:29 {top} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return root


def cgroup(group: str, mount: str) -> dict[str, str]:
    return {"proc/self/cgroup": group, "proc/self/mountinfo": mount}


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({**cgroup("0::/", V2_MOUNT), "sys/fs/cgroup/cpu.max": "150000 100000"}, 1.5),
        ({**cgroup("0::/a/b", V2_MOUNT), "sys/fs/cgroup/a/b/cpu.max": "max 100000"}, None),
        (
            {
                **cgroup("0::/a/b", V2_MOUNT),
                "sys/fs/cgroup/a/cpu.max": "50000 100000",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000",
            },
            0.5,
        ),
        (
            {
                **cgroup("4:cpu,cpuacct:/x\n2:memory:/y", V1_MOUNT.format(top="/")),
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "300000",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            3.0,
        ),
        (
            {
                **cgroup("4:cpu,cpuacct:/docker/abc", V1_MOUNT.format(top="/docker/abc")),
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            2.0,
        ),
        (
            {
                **cgroup("4:cpu,cpuacct:/", V1_MOUNT.format(top="/")),
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            },
            None,
        ),
        ({**cgroup("0::/", V2_MOUNT), "sys/fs/cgroup/cpu.max": "nonsense"}, None),
    ],
)
def test_quota(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    assert cpu_quota(root=tree(tmp_path, files)) == quota


@pytest.mark.parametrize(("quota", "cpus"), [(None, 4), (0.5, 1), (1.5, 1), (3.0, 3), (64.0, 4)])
def test_usable_cpus(monkeypatch: pytest.MonkeyPatch, quota: float | None, cpus: int) -> None:
    monkeypatch.setattr(module, "affinity", lambda: (0, 1, 4, 5))
    monkeypatch.setattr(module, "cpu_quota", lambda **_: quota)
    assert usable_cpus() == machine().usable_cpus == cpus


def test_usable_cpus_follows_the_affinity() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no affinity on this system")
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)


CACHE = "sys/devices/system/cpu/cpu0/cache/index"
XEON = {
    "proc/cpuinfo": "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 106\nmodel name : Intel(R)  Xeon(R) CPU\n"
    "stepping : 6\nflags : fpu avx2 fma avx512f hypervisor\n\nprocessor : 1\nmodel name : another",
    "proc/meminfo": "MemTotal:       2048 kB",
    "sys/devices/system/cpu/online": "0-3",
    **{f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list": f"{n % 2},{n % 2 + 2}" for n in range(4)},
    f"{CACHE}0/level": "1",
    f"{CACHE}0/type": "Data",
    f"{CACHE}0/size": "48K",
    f"{CACHE}0/ways_of_associativity": "12",
    f"{CACHE}0/coherency_line_size": "64",
    f"{CACHE}0/shared_cpu_list": "0,2",
    f"{CACHE}1/level": "2",
    f"{CACHE}1/type": "Unified",
    f"{CACHE}1/size": "1280K",
    f"{CACHE}1/shared_cpu_list": "0,2",
    f"{CACHE}2/level": "odd",
}


def test_a_server(tmp_path: Path) -> None:
    found = machine(root=tree(tmp_path, XEON))
    assert found.cpu == "Intel(R) Xeon(R) CPU"
    assert found.identity == "GenuineIntel-6-106-6"
    assert found.features == ("fma", "avx2", "avx512f")
    assert (found.cores, found.logical_cpus, found.virtual, found.memory_bytes) == (2, 4, True, 2**21)
    assert found.data_cache(1) == Cache(1, "data", 48 * 1024, 64, 12, 2)
    assert found.data_cache(2) == Cache(2, "unified", 1280 * 1024, 0, 0, 2)
    assert found.data_cache(3) is None


def test_a_system_that_says_nothing(tmp_path: Path) -> None:
    found = machine(root=tmp_path)
    assert found.cpu
    assert found.logical_cpus >= 1
    assert found.caches == ()


def test_fingerprint_is_of_what_decides_speed(tmp_path: Path) -> None:
    one = machine(root=tree(tmp_path / "a", XEON))
    same = machine(root=tree(tmp_path / "b", XEON | cgroup("0::/", V2_MOUNT) | {"sys/fs/cgroup/cpu.max": "1 1"}))
    other = machine(root=tree(tmp_path / "c", XEON | {f"{CACHE}0/size": "32K"}))
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_this_machine_as_json() -> None:
    shown = json.loads(json.dumps(machine().to_json(), allow_nan=False))
    assert shown["usable_cpus"] == usable_cpus()
    assert len(shown["fingerprint"]) == 16


def test_cpu_list_of_nothing() -> None:
    assert cpu_list("\n") == ()
