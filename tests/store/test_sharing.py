"""Several strop processes on one store: nobody loses a trial, nobody takes another's run."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from strop.errors import LostRun, StoreBusy
from strop.store import Request, Trial, faults, open_store

Requests = Callable[..., Request]
Trials = Callable[..., Trial]
FOLDER = Path(__file__).parent

WRITE = """
import sys
sys.path.insert(0, {folder!r})
from conftest import make_request, make_trial
from strop.store import open_store
sys.stdin.readline()  # all start at once, on a store that isn't there yet
with open_store() as store, store.open_run(make_request({request})) as work:
    print(work.origin, work.id, len(work.trials), flush=True)
    sys.stdin.readline()
    for number in range(1, {count} + 1):
        work.record(make_trial(number))
    assert work.warning is None, work.warning
    {end}
"""


def start(*, request: str = "", count: int = 100, end: str = "work.finish({})") -> subprocess.Popen[str]:
    script = WRITE.format(folder=str(FOLDER), request=request, count=count, end=end)
    return subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def go(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()


def said(process: subprocess.Popen[str]) -> tuple[str, str, int]:
    assert process.stdout
    origin, run_id, trials = process.stdout.readline().split()
    return origin, run_id, int(trials)


def ended(processes: list[subprocess.Popen[str]]) -> bool:
    for process in processes:
        process.communicate()
    return all(process.returncode == 0 for process in processes)


def test_processes_make_one_store_and_write_at_once() -> None:
    processes = [start(request=f"sizes='m={number}'") for number in range(3)]
    go(processes)
    assert [said(process)[0] for process in processes] == ["new"] * 3
    go(processes)
    assert ended(processes)
    with open_store() as store:
        runs = store.runs()
        assert [(run.status, run.trials) for run in runs] == [("finished", 100)] * 3
        assert all([one.seq for one in store.trials(run.id)] == list(range(1, 101)) for run in runs)
        assert store._database.rows("PRAGMA integrity_check") == [("ok",)]


def test_equal_requests_at_once_are_runs_of_their_own() -> None:
    processes = [start(count=20) for _ in range(2)]
    go(processes)
    told = [said(process) for process in processes]
    assert [origin for origin, _, _ in told] == ["new", "new"]
    assert told[0][1] != told[1][1]
    go(processes)
    assert ended(processes)


def test_only_one_of_two_goes_on_with_a_dead_run() -> None:
    dead = start(count=5, end="sys.stdin.readline()")
    go([dead])
    _, run_id, _ = said(dead)
    go([dead])
    with open_store() as store:
        deadline = time.monotonic() + 60
        while store.run(run_id).trials < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
    dead.kill()
    dead.communicate()
    processes = [start(count=3) for _ in range(2)]
    go(processes)
    told = sorted(said(process) for process in processes)
    assert [origin for origin, _, _ in told] == ["new", "resumed"]
    assert told[1][1:] == (run_id, 5)
    go(processes)
    assert ended(processes)
    with open_store() as store:
        assert sorted(run.trials for run in store.runs()) == [3, 8]


def test_readers_do_not_wait_for_a_writer(request_for: Requests, trial: Trials) -> None:
    with open_store() as store, store.open_run(request_for()) as work:
        work.record(trial(1))
        with store._database.transaction() as connection:
            connection.execute("UPDATE run SET title = 'unfinished'")
            with open_store(read_only=True) as reader:
                assert [one.trial for one in reader.trials(work.id)] == [trial(1)]


def test_a_long_lock_is_survived_and_made_up_for(request_for: Requests, trial: Trials) -> None:
    with open_store() as store, open_store() as other, store.open_run(request_for()) as work:
        store._database.row("PRAGMA busy_timeout = 20")
        with other._database.transaction():
            work.record(trial(1))
        assert isinstance(work.warning, StoreBusy)
        work.record(trial(2))
        assert work.warning is None
        assert [one.trial for one in store.trials(work.id)] == [trial(1), trial(2)]


def test_a_run_that_was_pruned_under_its_owner_is_said(request_for: Requests, trial: Trials) -> None:
    with open_store() as store, store.open_run(request_for()) as work:
        work.record(trial(1))
        with store._database.transaction() as connection:
            connection.execute("DELETE FROM run")
        work.record(trial(2))
        assert isinstance(work.warning, LostRun)
        assert not work.finish({})
        assert store.runs() == []


def test_a_run_that_another_took_over_is_left_to_it(request_for: Requests, trial: Trials) -> None:
    with open_store() as store, store.open_run(request_for()) as work:
        work.record(trial(1))
        with store._database.transaction() as connection:
            connection.execute("UPDATE run SET owner = 'boot ns 1 1 other'")
        work.record(trial(2))
        assert isinstance(work.warning, LostRun)
        work.finish({"sentence": "mine"})
        assert store.result(work.id) is None
        assert [one.trial for one in store.trials(work.id)] == [trial(1)]


def test_the_wait_for_a_lock_is_what_the_message_says() -> None:
    with open_store() as store:
        assert store._database.row("PRAGMA busy_timeout") == (faults.BUSY_S * 1000,)
