"""Whatever a candidate does, the service gives it a verdict and goes on: real crashes, real hangs, real kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strop.bench import process
from strop.bench.process import WorkerProcess
from strop.bench.protocol import Finals, Pass
from strop.bench.race import final
from strop.bench.service import Result, Service
from strop.errors import NativeMissing, WorkerLost
from strop.testing.faults import fault
from strop.values.verdict import Verdict

pytest.importorskip("strop._native")

GOOD = fault("takes:1e-4")
LIMIT_S = 0.15


@pytest.fixture(autouse=True)
def faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_WORKER_HOOK", "strop.testing.faults")


@pytest.fixture
def service() -> Iterator[Service]:
    with Service(("fault",), isa="portable", least_limit_s=LIMIT_S) as service:
        yield service


def state(pid: int) -> str:
    """The letter of the process's state, proc(5); empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    return state(pid) not in ("", "Z")


def stop(pid: int) -> None:
    """Stop a process, and wait until it stands."""
    os.kill(pid, signal.SIGSTOP)
    while state(pid) != "T":
        time.sleep(0.001)


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def worker_of(service: Service) -> WorkerProcess:
    assert service._worker is not None
    return service._worker


def verdicts(service: Service, *kinds: str) -> dict[str, Verdict]:
    return {result.id: result.verdict for result in service.evaluate([(kind, fault(kind)) for kind in kinds])}


FAILURES = {
    "illegal": (Verdict.ILLEGAL, "an illegal fault"),
    "no-memory": (Verdict.LIMIT, "no memory"),
    "crash-compiling": (Verdict.CRASH, "SIGSEGV, while being compiled"),
    "hang-compiling": (Verdict.COMPILE_TIMEOUT, "no end within"),
    "crash": (Verdict.CRASH, "SIGSEGV, while being first run"),
    "hang": (Verdict.RUN_TIMEOUT, "no end within"),
    "exit": (Verdict.CRASH, "code 3"),
    "wrong": (Verdict.WRONG_RESULT, "7.5 times the allowed error"),
    "changes-input": (Verdict.INPUT_CHANGED, "an input changed"),
    "writes-outside": (Verdict.WRONG_RESULT, "outside its result"),
    "crash-timed": (Verdict.CRASH, "SIGSEGV, while being timed"),
    "hang-timed": (Verdict.RUN_TIMEOUT, "while being timed"),
    "killed": (Verdict.LIMIT, "killed from outside"),
    "prints": (Verdict.OK, ""),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_is_a_verdict_and_the_others_are_measured(service: Service, kind: str) -> None:
    batch = [("before", GOOD), ("it", fault(kind)), ("after", GOOD)]
    results = {result.id: result for result in service.evaluate(batch)}
    verdict, detail = FAILURES[kind]
    assert results["it"].verdict is verdict
    assert detail in results["it"].detail
    assert [results[id].verdict for id in ("before", "after")] == [Verdict.OK, Verdict.OK]
    assert len(results["before"].samples) > 5
    assert len(results) == 3


def test_a_hang_that_uses_no_processor_ends_too(monkeypatch: pytest.MonkeyPatch, service: Service) -> None:
    monkeypatch.setattr(process, "STARVED", 2.0)
    assert verdicts(service, "sleep", "takes:1e-4") == {"sleep": Verdict.RUN_TIMEOUT, "takes:1e-4": Verdict.OK}


def test_every_candidate_gets_one_result_whatever_the_mixture(service: Service) -> None:
    kinds = ["takes:1e-4", "crash", "takes:2e-4", "crash-timed", "wrong", "exit", "takes:3e-4", "crash", "illegal"]
    results = list(service.evaluate((str(i), fault(kind)) for i, kind in enumerate(kinds)))
    assert sorted(int(result.id) for result in results) == list(range(len(kinds)))
    assert sum(result.verdict is Verdict.OK for result in results) == 3
    assert service.restarts >= 4


def test_results_come_before_their_batch_is_over(service: Service) -> None:
    results = service.evaluate([("wrong", fault("wrong")), ("hang", fault("hang"))])
    began = time.monotonic()
    assert next(results).id == "wrong"
    first = time.monotonic() - began
    assert next(results).id == "hang"
    assert time.monotonic() - began - first > LIMIT_S * 0.8, "the first came while the second hung"


def test_several_batches_may_be_under_way_and_survive_a_crash_in_the_first(service: Service) -> None:
    service.submit([("a", fault("crash")), ("b", GOOD)])
    service.submit([("c", GOOD)])
    service.submit([("d", fault("exit")), ("e", GOOD)])
    results = {result.id: result.verdict for result in service.results()}
    crash, ok = Verdict.CRASH, Verdict.OK
    assert results == {"a": crash, "b": ok, "c": ok, "d": crash, "e": ok}
    assert list(service.results()) == []


def test_a_worker_killed_from_outside_costs_no_candidate(service: Service) -> None:
    list(service.evaluate([("warm", GOOD)]))
    pid = worker_of(service).pid
    stop(pid)  # or it might be done with all of them before the kill
    service.submit([(str(i), GOOD) for i in range(200)])
    os.kill(pid, signal.SIGKILL)
    results = list(service.results())
    assert [result.verdict for result in results] == [Verdict.OK] * 200
    assert service.restarts == 1


def test_a_stopped_worker_is_not_taken_for_a_hang(service: Service) -> None:
    list(service.evaluate([("warm", GOOD)]))
    pid = worker_of(service).pid
    stop(pid)
    timer = threading.Timer(3 * LIMIT_S, os.kill, (pid, signal.SIGCONT))
    timer.start()
    assert [result.verdict for result in service.evaluate([("a", GOOD)])] == [Verdict.OK]
    timer.join()
    assert service.restarts == 0


def test_drift_is_taken_out(service: Service) -> None:
    passes = [Pass(1, 0.0), Pass(4, 1e-4)]
    reference = fault("takes:1e-4")
    (first,) = service.evaluate([("reference", reference)], passes=passes)
    service._level = 0.8e-4  # as if the machine had been faster then
    (second,) = service.evaluate([("a", fault("takes:3e-4"))], passes=passes)
    assert first.samples == pytest.approx([1e-4] * 4)
    assert second.samples == pytest.approx([2.4e-4] * 4)


def test_the_slow_get_fewer_rounds_and_the_scattered_more(service: Service) -> None:
    kinds = ["takes:1e-4", "takes:1.2e-4", "takes:4e-4", "takes:9e-2", "takes:1e-4,1.3e-4,1.3e-4"]
    counts = {result.id: len(result.samples) for result in service.evaluate([(kind, fault(kind)) for kind in kinds])}
    assert counts["takes:9e-2"] == 1, "a look is enough"
    assert counts["takes:4e-4"] < counts["takes:1e-4"] == counts["takes:1.2e-4"] < counts["takes:1e-4,1.3e-4,1.3e-4"]


def test_noise_gets_a_second_look_and_then_a_verdict(service: Service) -> None:
    noisy, good = service.evaluate([("noisy", fault("takes:1e-4,9e-4,9e-4,9e-4")), ("good", GOOD)])
    if noisy.id == "good":
        noisy, good = good, noisy
    assert (good.verdict, noisy.verdict) == (Verdict.OK, Verdict.NOISY)
    assert noisy.samples


def test_faster_than_the_peak_is_implausible() -> None:
    with Service(("fault",), isa="portable", flops=1e9) as service:
        service._peak = 1e11
        results = {r.id: r for r in service.evaluate([("fair", fault("takes:2e-2")), ("magic", fault("takes:1e-5"))])}
    assert results["fair"].verdict is Verdict.OK
    assert results["magic"].verdict is Verdict.IMPLAUSIBLE
    assert "peak" in results["magic"].detail


# The final ------------------------------------------------------------------------------------------------------------


def raced(service: Service, *kinds: str, **options: Any) -> tuple[list[Result], bool]:
    outcome = final(service, [(kind, fault(kind)) for kind in kinds], seconds=1, **options)
    return list(outcome.ranked), outcome.tie


def test_the_final_ranks_and_says_by_how_much(service: Service) -> None:
    kinds = [f"takes:{seconds}" for seconds in (3e-4, 1e-4, 1.1e-4)]
    outcome = final(service, [(kind, fault(kind)) for kind in kinds], seconds=1)
    assert [result.id for result in outcome.ranked] == ["takes:0.0001", "takes:0.00011", "takes:0.0003"]
    assert not outcome.tie
    assert outcome.ratio == pytest.approx((1.1, 1.1, 1.1))


def test_a_winner_within_noise_of_the_next_is_a_tie(service: Service) -> None:
    ranked, tie = raced(service, "takes:1e-4,1.2e-4", "takes:1.2e-4,1e-4", "takes:5e-4", parameters=Finals(most=48))
    assert tie
    assert ranked[-1].id == "takes:5e-4"
    first, second, third = (len(result.samples) for result in ranked)
    assert first == second == 48 > third, "the slow one dropped out"


def test_the_final_survives_a_finalist_that_crashes_or_errs(service: Service) -> None:
    ranked, _ = raced(service, "takes:2e-4", "crash", "wrong", "crash-timed", "takes:1e-4")
    assert [result.id for result in ranked[:2]] == ["takes:1e-4", "takes:2e-4"]
    assert {result.id: result.verdict for result in ranked[2:]} == {
        "crash": Verdict.CRASH,
        "wrong": Verdict.WRONG_RESULT,
        "crash-timed": Verdict.CRASH,
    }


def test_a_final_of_one_and_of_none(service: Service) -> None:
    alone = final(service, [("a", GOOD)], seconds=1)
    assert (len(alone.ranked), alone.tie, alone.ratio) == (1, False, None)
    nobody = final(service, [("a", fault("wrong"))], seconds=1)
    assert [result.verdict for result in nobody.ranked] == [Verdict.WRONG_RESULT]
    assert final(service, [], seconds=1).ranked == ()


def test_the_final_ends_when_its_time_is_up(service: Service) -> None:
    began = time.monotonic()
    outcome = final(service, [("a", fault("takes:1e-4,2e-4")), ("b", fault("takes:2e-4,1e-4"))], seconds=0)
    assert time.monotonic() - began < 5
    assert outcome.tie


# Processes ------------------------------------------------------------------------------------------------------------


def test_closing_leaves_no_process() -> None:
    with Service(("fault",), isa="portable") as service:
        list(service.evaluate([("a", GOOD)]))
        pid = worker_of(service).pid
        assert alive(pid)
    assert not alive(pid)
    service.close()
    assert verdicts(service, "takes:1e-4") == {"takes:1e-4": Verdict.OK}, "it may be used again"
    service.close()


def test_a_forgotten_service_leaves_no_process() -> None:
    service = Service(("fault",), isa="portable")
    list(service.evaluate([("a", GOOD)]))
    pid = worker_of(service).pid
    del service
    assert gone_within(pid, 1)


def test_a_caller_that_stops_listening_leaves_no_stale_results(service: Service) -> None:
    results = service.evaluate([("a", fault("wrong")), ("b", GOOD)])
    next(results)
    results.close()
    assert verdicts(service, "takes:1e-4") == {"takes:1e-4": Verdict.OK}


def test_the_prestarted_worker_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_spare", None)
    process.prestart()
    spare = process._spare
    assert spare is not None
    process.prestart()
    assert process._spare is spare, "one is enough"
    with Service(("fault",), isa="portable") as service:
        assert [result.verdict for result in service.evaluate([("a", GOOD)])] == [Verdict.OK]
        assert worker_of(service) is spare
    assert process._spare is None


def run_parent(body: str, **options: Any) -> subprocess.Popen[str]:
    """A Python of its own with a service that hangs in a candidate, once it has printed the worker's process id."""
    script = f"""
        from strop.bench.service import Service
        from strop.testing.faults import fault
        service = Service(("fault",), isa="portable", least_limit_s=60)
        list(service.evaluate([("a", fault("takes:1e-4"))]))
        print(service._worker.pid, flush=True)
        {body}
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True, **options
    )


def test_a_hanging_worker_dies_with_its_killed_parent() -> None:
    with run_parent('list(service.evaluate([("b", fault("hang"))]))') as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.1)
        assert alive(pid)
        parent.kill()
    assert gone_within(pid, 2)


def test_ctrl_c_ends_the_worker_and_reaches_the_caller() -> None:
    body = 'list(service.evaluate([("b", fault("hang"))]))'
    with run_parent(body, stderr=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        pid = int(parent.stdout.readline())
        time.sleep(0.1)
        parent.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in parent.stderr.read()
    assert not alive(pid)


def test_a_fork_of_the_parent_leaves_the_worker_alone() -> None:
    body = """import os, sys
        child = os.fork()
        if not child:
            sys.exit(0)  # runs the exit handlers, as a careless child does
        os.waitpid(child, 0)
        print([r.verdict.value for r in service.evaluate([("c", fault("takes:1e-4"))])], service.restarts, flush=True)
    """
    with run_parent(body) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        assert parent.stdout.readline().strip() == "['ok'] 0"


def test_the_worker_ignores_the_interrupt(service: Service) -> None:
    list(service.evaluate([("a", GOOD)]))
    os.kill(worker_of(service).pid, signal.SIGINT)
    assert verdicts(service, "takes:1e-4") == {"takes:1e-4": Verdict.OK}
    assert service.restarts == 0


def test_the_worker_runs_where_it_is_told_leaves_no_core_and_gains_no_rights(service: Service) -> None:
    list(service.evaluate([("a", GOOD)]))
    status = Path(f"/proc/{worker_of(service).pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1"
    assert fields["Cpus_allowed_list"] == ",".join(map(str, sorted(service.cpus)))
    limits = Path(f"/proc/{worker_of(service).pid}/limits").read_text()
    (core,) = [line.split()[4] for line in limits.splitlines() if line.startswith("Max core file size")]
    assert core == "1"


def test_the_worker_loads_next_to_nothing() -> None:
    light = {
        "strop",
        "strop.bench",
        "strop.bench.frames",
        "strop.bench.worker",
        "strop._native",
        "strop.bench.isolation",
    }
    script = "import sys, strop.bench.worker as w; w.load([]); print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(process.__file__).parents[2])}
    environment.pop("STROP_WORKER_HOOK")
    run = subprocess.run(
        [sys.executable, "-S", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert {name for name in loaded if name.startswith("strop")} <= light
    assert not loaded & {"numpy", "click", "json", "pickle", "typing", "dataclasses", "re", "enum", "subprocess"}


def test_a_problem_that_no_worker_survives_is_an_error_with_its_words() -> None:
    with Service(("no such type",), isa="portable") as service, pytest.raises(WorkerLost, match="3 times in a row"):
        list(service.evaluate([("a", GOOD)]))


def test_a_native_module_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_WORKER_HOOK", "no.such.module")
    with Service(("fault",), isa="portable") as service, pytest.raises(NativeMissing, match=r"no\.such|'no'"):
        list(service.evaluate([("a", GOOD)]))


def test_a_missing_native_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "find_spec", lambda _: None)
    with pytest.raises(NativeMissing):
        Service(("fault",), isa="portable").start()
