"""Pinning: all threads, and all restored."""

from __future__ import annotations

import os
import threading

import pytest

from strop.bench import pinning
from strop.bench.pinning import peer_environment, pinned, timing_cpus

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")


def test_every_thread_is_pinned_and_restored() -> None:
    before = os.sched_getaffinity(0)
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    other.start()
    try:
        with pinned(1) as cpus:
            assert len(cpus) == 1
            assert os.sched_getaffinity(0) == os.sched_getaffinity(other.native_id or 0) == set(cpus)
        assert os.sched_getaffinity(0) == os.sched_getaffinity(other.native_id or 0) == before
    finally:
        go.set()
        other.join()


def test_restored_after_an_error() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(KeyError), pinned([min(before)]):
        raise KeyError
    assert os.sched_getaffinity(0) == before


def test_cpus_that_are_not_there_leave_things_as_they_are() -> None:
    before = os.sched_getaffinity(0)
    with pinned([100_000]) as cpus:
        assert cpus == ()
        assert os.sched_getaffinity(0) == before


def test_different_cores_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinning, "affinity", lambda: (0, 1, 2, 3))
    monkeypatch.setattr(pinning, "core_of", lambda cpu: (cpu // 2 * 2, cpu // 2 * 2 + 1))
    assert timing_cpus(2) == (1, 2)
    assert timing_cpus(3) == (1, 2, 3)
    assert set(timing_cpus(9)) == {0, 1, 2, 3}


def test_environment_of_a_peer() -> None:
    made = peer_environment(3, {"PATH": "/bin", "OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "1"})
    assert made["OPENBLAS_NUM_THREADS"] == made["OMP_NUM_THREADS"] == "3"
    assert made["PATH"] == "/bin"
    assert not {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"} & made.keys()
