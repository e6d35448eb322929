"""Two services measure on two CPUs, where there are two."""

from __future__ import annotations

import subprocess
import sys

import pytest

from strop.bench import claims
from strop.bench.claims import Claim
from strop.bench.machine import affinity

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests measure at the same time: this one uses CPUs that no machine has."""
    monkeypatch.setattr(claims, "affinity", lambda: (9001, 9002, 9003))
    monkeypatch.setattr(claims, "timing_cpus", lambda count: (9002, 9003, 9001)[:count])


def test_what_is_held_is_not_given_again_until_it_is_released() -> None:
    first, second = Claim(1), Claim(2)
    assert (first.cpus, second.cpus) == ((9002,), (9003, 9001))
    first.release()
    third = Claim(1)
    assert third.cpus == (9002,)
    third.release()
    second.release()


def test_where_too_few_are_free_they_are_shared() -> None:
    first = Claim(2)
    second = Claim(2)
    assert first.cpus == second.cpus == (9002, 9003)
    third = Claim(1)
    assert third.cpus == (9001,), "the second holds none"
    for claim in (first, second, third):
        claim.release()


def test_fewer_than_asked_for_where_fewer_are_allowed() -> None:
    claim = Claim(7)
    assert claim.cpus == (9002, 9003, 9001)
    claim.release()


def test_a_killed_process_holds_nothing() -> None:
    script = """
import sys
from strop.bench import claims
claims.affinity = lambda: (9001,)
claims.timing_cpus = lambda count: (9001,)
claim = claims.Claim(1)
print(len(claim._held), flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == b"1"
        other.kill()
    claim = Claim(3)
    assert set(claim.cpus) == {9001, 9002, 9003}
    assert len(claim._held) == 3
    claim.release()


def test_real_cpus_are_those_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    claim = Claim(1)
    assert len(claim.cpus) == 1
    assert set(claim.cpus) <= set(affinity())
    claim.release()
