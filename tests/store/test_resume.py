"""An interrupted run goes on: with its trials, its search's state and the time it has spent."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from strop.store import Request, Trial, open_store, owner
from strop.values.search import Candidate, Outcome
from strop.values.verdict import Verdict

Requests = Callable[..., Request]
Trials = Callable[..., Trial]
JOURNAL = Path(__file__).with_name("journal_forever.py")


class Listener:
    """A search that only listens."""

    def __init__(self) -> None:
        self.state_given: dict[str, Any] | None = None
        self.told: list[Candidate] = []

    def ask(self, n: int) -> list[Candidate]:
        return []

    def tell(self, candidate: Candidate, outcome: Outcome) -> None:
        self.told.append(candidate)

    def state(self) -> dict[str, Any]:
        return {"told": len(self.told)}

    def restore(self, state: dict[str, Any]) -> None:
        self.state_given = state


def test_leaving_without_an_end_interrupts(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with suppress(KeyboardInterrupt), store.open_run(request_for()) as work:
            work.record(trial(1))
            raise KeyboardInterrupt
        assert store.run(work.id).status == "interrupted"
        with store.open_run(request_for()) as again:
            assert (again.origin, again.id, again.trials) == ("resumed", work.id, (trial(1),))
            again.record(trial(2))
            again.finish({"sentence": "done"})
        assert [one.trial for one in store.trials(work.id)] == [trial(1), trial(2)]
        assert store.open_run(request_for()).answer == {"sentence": "done"}


def test_the_best_so_far_is_kept_and_does_not_answer(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        work = store.open_run(request_for())
        work.record(trial(1))
        work.interrupt({"sentence": "so far"})
        assert store.result(work.id) == {"sentence": "so far"}
        assert store.find_answer(request_for()) is None
        assert store.open_run(request_for()).origin == "resumed"


def test_a_run_that_tried_nothing_vanishes(request_for: Requests) -> None:
    with open_store() as store:
        with store.open_run(request_for()):
            pass
        assert store.runs() == []


def test_the_state_is_restored_and_later_trials_are_told(request_for: Requests, trial: Trials) -> None:
    trials = [trial(number) for number in range(1, 6)]
    with open_store() as store:
        with store.open_run(request_for()) as work:
            work.record_many(trials[:3], state=lambda: {"told": 3})
            work.record_many(trials[3:])
        search = Listener()
        with store.open_run(request_for()) as again:
            assert again.feed(search) == 5
        assert search.state_given == {"told": 3}
        assert search.told == [trial.candidate for trial in trials[3:]]


def test_a_state_of_another_version_is_not_restored(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with store.open_run(request_for()) as work:
            work.record_many([trial(1), trial(2)], state=lambda: {"told": 2})
        with store._database.transaction() as connection:
            connection.execute("UPDATE run SET state_by = '0.0.1'")
        search = Listener()
        with store.open_run(request_for()) as again:
            again.feed(search)
            assert (search.state_given, len(search.told)) == (None, 2)
            again.record_many([trial(3)], state=lambda: {"told": 3})
        search = Listener()
        with store.open_run(request_for()) as again:  # what this version saved, it reads
            again.feed(search)
        assert (search.state_given, len(search.told)) == ({"told": 3}, 0)


def test_a_costly_state_is_saved_less_often(request_for: Requests, trial: Trials) -> None:
    calls = 0

    def state() -> dict[str, Any]:
        nonlocal calls
        calls += 1
        time.sleep(0.05)
        return {"told": calls}

    with open_store() as store, store.open_run(request_for()) as work:
        for number in range(20):
            work.record(trial(number + 1), state=state)
        assert calls == 1


def test_the_time_spent_leaves_out_the_pause(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with store.open_run(request_for()) as work:
            time.sleep(0.05)
            work.record(trial(1))
        time.sleep(0.2)
        with store.open_run(request_for()) as again:
            assert 0.05 <= again.spent_s < 0.2


def test_only_an_equal_run_goes_on(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with store.open_run(request_for()) as work:
            work.record(trial(1))
        for other in ({"effort": "thorough"}, {"search": "random"}, {"seed": 1}, {"budget": "2s"}, {"sizes": "m=1"}):
            with store.open_run(request_for(**other)) as another:
                assert another.origin == "new", other


def test_fresh_begins_anew_beside_an_unfinished_run(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with store.open_run(request_for()) as work:
            work.record(trial(1))
        with store.open_run(request_for(), fresh=True) as fresh:
            assert (fresh.origin, fresh.trials) == ("new", ())
            fresh.finish({"sentence": "fresh"})
        assert store.open_run(request_for()).answer == {"sentence": "fresh"}  # the older one has been overtaken


def test_an_interrupted_fresh_run_goes_on_instead_of_the_old_answer(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with store.open_run(request_for()) as old:
            old.record(trial(1))
            old.finish({"sentence": "old"})
        with store.open_run(request_for(), fresh=True) as fresh:
            fresh.record(trial(1))
        with store.open_run(request_for()) as again:
            assert (again.origin, again.id) == ("resumed", fresh.id)


def test_a_run_in_progress_is_not_taken_over(request_for: Requests, trial: Trials) -> None:
    with open_store() as store, open_store() as other:
        with store.open_run(request_for()) as work:
            work.record(trial(1))
            assert other.run(work.id).status == "running"
            with other.open_run(request_for()) as second:
                assert (second.origin, second.trials) == ("new", ())
                second.record(trial(1))
            assert other.delete([work.id]) == []
            work.record(trial(2))
        assert [one.seq for one in store.trials(work.id)] == [1, 2]


def test_an_owner_is_a_process_of_this_boot() -> None:
    mark = owner.claim()
    assert owner.alive(mark, silent_s=1e9)
    boot, namespace, pid, start, nonce = mark.split(" ")
    same_number_later = f"{boot} {namespace} {pid} {int(start) - 5} {nonce}"
    assert not owner.alive(same_number_later, silent_s=0)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    its = f"{boot} {namespace} {child.pid} {owner.started(child.pid)} {nonce}"
    assert owner.alive(its, silent_s=1e9)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, not yet waited for
    assert not owner.alive(its, silent_s=0)
    child.wait()
    assert not owner.alive(its, silent_s=0)


@pytest.mark.parametrize("place", ["boot", "namespace"])
def test_an_owner_elsewhere_is_alive_while_it_writes(place: str) -> None:
    boot, namespace, pid, start, nonce = owner.claim().split(" ")
    mark = f"{'x' if place == 'boot' else boot} {'x' if place == 'namespace' else namespace} {pid} {start} {nonce}"
    assert owner.alive(mark, silent_s=1)
    assert not owner.alive(mark, silent_s=owner.SILENCE_S + 1)


@pytest.mark.soak
def test_kill_9_loses_nothing_recorded(own_home: Path, soak: Any, request_for: Requests) -> None:
    """A process journals until it is killed, again and again; what it said it had recorded is there each time."""
    kills = max(5, len(soak.seeds(50)))
    random.seed(9)
    known = 0
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, str(JOURNAL)], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        assert process.stdout.readline() == f"begin {known}\n"  # the same command goes on from all that was there
        time.sleep(random.expovariate(1 / 0.05))
        process.send_signal(signal.SIGKILL)
        recorded = [int(line) for line in process.stdout if line.endswith("\n")]
        process.wait()
        process.stdout.close()
        with open_store() as store:
            (run,) = store.runs()
            assert run.status == "interrupted"
            stored = list(store.trials(run.id))
            assert store._database.rows("PRAGMA integrity_check") == [("ok",)]
        assert [one.seq for one in stored] == list(range(1, len(stored) + 1))
        assert len(stored) == run.trials
        # at most the batch in flight is there without having been reported
        assert (recorded or [known])[-1] <= len(stored) <= (recorded or [known])[-1] + 4
        assert all(one.trial.outcome.verdict is Verdict.OK for one in stored)
        known = len(stored)
    assert known > 0
