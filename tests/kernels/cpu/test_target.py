"""The processor as a target: what is measured, what is not believed, and what its evidence says."""

from __future__ import annotations

import platform

import pytest

from strop.bench import timed_foreign
from strop.bench.isolation import layers
from strop.bench.machine import affinity
from strop.errors import BadSandbox
from strop.kernels.judge import judge_code
from strop.kernels.registry import problem
from strop.kernels.targets.cpu import probes, run
from strop.kernels.targets.cpu import target as cpu
from strop.kernels.targets.cpu.probes import Probes
from strop.kernels.targets.target import Planned, Trial, target
from strop.values.verdict import Verdict

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="kernels run natively on Linux")

ROWSUM = problem("cpu/rowsum-64x256")
BELIEVED = (Verdict.OK, Verdict.NOISY)  # a machine may be busy
THREADS = """
int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);
static volatile int stop;
static void *spin(void *unused) {
  while (!stop) {
  }
  return unused;
}
static int started;
void solution(const float X[M][N], float Y[M]) {
  unsigned long thread;
  if (!started++) pthread_create(&thread, 0, spin, 0);
  for (volatile long i = 0; i < 200000000; i++) {
  }
}
"""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LIMIT_S", 5.0)
    monkeypatch.setattr(run, "MOST_S", 0.3)


def test_the_evidence_says_what_was_done() -> None:
    found = judge_code(ROWSUM, ROWSUM.start_code, target("cpu"))
    assert found.verdict in BELIEVED, found.reason
    said = found.evidence
    assert {"session", "limits", "no-new-privs", "seccomp", "seccomp allow-list"} <= set(said["sandbox"])
    assert said["calls_checked"] > len(said["trials"])
    assert said["batch_overhead_s"] > 0
    assert said["baselines"]["numpy"]["speedup"] > 0
    assert said["baselines"]["gcc" if "gcc" in said["toolchain"] else "clang"]["seconds"] > 0
    assert set(said["probes"]) == set(probes.SOURCES)


def test_without_a_sandbox_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    less = layers.Sandbox(layers.ALWAYS, {"no-new-privs": "switched off"}, {})
    monkeypatch.setattr(layers, "probe", lambda: less)
    monkeypatch.setattr(timed_foreign, "probe", lambda: less)
    with pytest.raises(BadSandbox, match="switched off"):
        judge_code(ROWSUM, ROWSUM.start_code, target("cpu"))


def test_without_a_sandbox_the_result_is_unverified() -> None:
    found = judge_code(ROWSUM, ROWSUM.start_code, target("cpu"), sandbox="none")
    assert found.verdict in BELIEVED, found.reason
    assert not found.verified
    assert "seccomp" not in found.evidence["sandbox"]


def test_threads_show_in_the_processor_time() -> None:
    """Where no filter refuses them: more processor time than one thread can have."""
    if len(affinity()) < 2:
        pytest.skip("one processor: threads take turns")
    found = judge_code(ROWSUM, THREADS, target("cpu"), sandbox="none")
    assert found.verdict is Verdict.ILLEGAL, found.reason
    assert "processor time" in found.reason


def test_faster_than_the_machine_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Probes(
        peak_flops=1e5, read_rate=1e5, write_rate=1e5, highest_read_rate=1e5, highest_write_rate=1e5
    )  # a machine of 1980
    monkeypatch.setattr(cpu, "probes", lambda: slow)
    asked = []

    def again() -> Probes:
        asked.append(1)
        return slow

    monkeypatch.setattr(cpu, "again", again)
    found = judge_code(ROWSUM, ROWSUM.start_code, target("cpu"))
    assert found.verdict is Verdict.IMPLAUSIBLE, found.reason
    assert found.evidence["measured_again"]
    assert asked == [1]
    assert found.measurement is None


def test_probes_are_kept_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Probes(peak_flops=1.0, read_rate=2.0, write_rate=3.0, highest_read_rate=4.0, highest_write_rate=5.0)
    probes._write(kept)
    monkeypatch.setattr(probes, "measure", lambda: pytest.fail("measured again"))
    assert probes._read() == kept
    better = Probes(peak_flops=2.0, read_rate=1.0, write_rate=3.0, highest_read_rate=4.0, highest_write_rate=5.0)
    assert kept.best(better).peak_flops == 2.0
    assert kept.best(better).read_rate == 2.0
    probes._file().write_text("no JSON")
    assert probes._read() is None


def test_the_same_inputs_lie_elsewhere_in_each_batch() -> None:
    built = cpu.TARGET.build(ROWSUM, ROWSUM.start_code, sandbox="auto")
    bench = run.Bench(ROWSUM, built.executable, sandbox="auto")
    try:
        (trial,) = run.Draws(ROWSUM).take(1)
        same = [Trial(planned=Planned(family="dense"), seed=0, inputs=trial.inputs)] * 4
        places = {tuple(map(tuple, bench._lay(same, 1))) for _ in range(8)}
        assert len(places) == 8
        assert all(each % run.ALIGNMENT == 0 for rows in places for row in rows for each in row)
    finally:
        bench.close()


def test_inputs_are_never_drawn_twice() -> None:
    draws = run.Draws(ROWSUM)
    seeds = [trial.seed for _ in range(4) for trial in draws.take(16)]
    assert len(set(seeds)) == 64
    assert run.Draws(ROWSUM).seed != draws.seed
