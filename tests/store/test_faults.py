"""What can be wrong with a store: each fault is one sentence with the way out, and no result is lost to it."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strop.errors import CorruptStore, FullStore, NewerStore, ReadOnlyStore, StropError
from strop.store import UNSAVED, Request, Store, Trial, open_store

Requests = Callable[..., Request]
Trials = Callable[..., Trial]
FILE = "store.sqlite"


def filled(home: Path, request: Request, trials: list[Trial]) -> str:
    with open_store(home) as store, store.open_run(request) as work:
        work.record_many(trials)
        work.finish({"sentence": "77 µs"})
    return work.id


def one_line(error: StropError, *words: str) -> None:
    text = str(error)
    assert "\n" not in text
    assert all(word in text for word in words), text


@pytest.mark.parametrize("content", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000, b"x" * 600])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database(own_home: Path, content: bytes, read_only: bool) -> None:
    (own_home / FILE).write_bytes(content)
    with pytest.raises(CorruptStore) as caught:
        open_store(read_only=read_only)
    one_line(caught.value, str(own_home / FILE), "strop runs prune --reset", "STROP_HOME", "--home")
    assert (own_home / FILE).read_bytes() == content


def test_a_database_of_another_program(own_home: Path) -> None:
    connection = sqlite3.connect(own_home / FILE)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.close()
    with pytest.raises(CorruptStore, match="another program"):
        open_store()


def test_an_empty_file_becomes_a_store(own_home: Path, request_for: Requests) -> None:
    (own_home / FILE).touch()
    assert filled(own_home, request_for(), [])


def test_damage_inside_the_file_is_found_when_it_is_read(own_home: Path, request_for: Requests, trial: Trials) -> None:
    run_id = filled(own_home, request_for(), [trial(number) for number in range(1, 500)])
    content = bytearray((own_home / FILE).read_bytes())
    content[4096 * 20 :] = b"\x5a" * (len(content) - 4096 * 20)
    (own_home / FILE).write_bytes(content)
    with open_store() as store, pytest.raises(CorruptStore, match="prune --reset"):
        list(store.trials(run_id))


def test_damage_during_a_run_does_not_stop_it(own_home: Path, request_for: Requests, trial: Trials) -> None:
    with open_store() as store, store.open_run(request_for()) as work:
        work.record(trial(1))
        store._database.row("PRAGMA wal_checkpoint(TRUNCATE)")
        (own_home / FILE).write_bytes(b"\x5a" * (own_home / FILE).stat().st_size)
        store._database.connection.execute("PRAGMA shrink_memory")  # so that the next write reads the file
        work.record(trial(2))
        assert not work.finish({})
        assert isinstance(work.warning, CorruptStore)


def test_setting_a_damaged_store_aside(own_home: Path, request_for: Requests) -> None:
    (own_home / FILE).write_bytes(b"garbage" * 1000)
    aside = Store.set_aside(own_home)
    assert aside is not None
    assert aside.read_bytes() == b"garbage" * 1000
    assert filled(own_home, request_for(), [])
    again = Store.set_aside(own_home)
    assert again not in (None, aside)
    assert Store.set_aside(own_home) is None


def test_a_store_of_a_newer_strop(own_home: Path, request_for: Requests) -> None:
    filled(own_home, request_for(), [])
    connection = sqlite3.connect(own_home / FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for read_only in (False, True):
        with pytest.raises(NewerStore) as caught:
            open_store(read_only=read_only)
        one_line(caught.value, "99", "pip install -U strop", "STROP_HOME")


def test_the_directory_is_made_for_its_user_alone(tmp_path: Path, request_for: Requests) -> None:
    home = tmp_path / "a" / "b"
    filled(home, request_for(), [])
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


@pytest.mark.parametrize("existing", [True, False])
def test_a_read_only_directory(
    open_directory: Path, unprivileged: Any, request_for: Requests, trial: Trials, existing: bool
) -> None:
    if existing:
        filled(open_directory, request_for(), [trial(1)])
    open_directory.chmod(0o555)
    with unprivileged():
        with pytest.raises(ReadOnlyStore) as caught:
            open_store(open_directory)
        one_line(caught.value, str(open_directory), "no permission", "STROP_HOME")
        assert isinstance(caught.value, UNSAVED)
        with Store.in_memory(caught.value) as store:  # how tune goes on
            assert store.warning is not None
            assert "without saving" in store.warning
            assert "STROP_HOME" in store.warning
            answered = store.open_run(request_for())
            assert answered.origin == ("answered" if existing else "new")
            with store.open_run(request_for(), fresh=True) as work:
                work.record(trial(2))
                assert work.finish({"sentence": "fresh"})
            assert store.open_run(request_for()).answer == {"sentence": "fresh"}
        with open_store(open_directory, read_only=True) as store:
            assert [run.status for run in store.runs()] == (["finished"] if existing else [])
    assert sorted(path.name for path in open_directory.iterdir()) == ([FILE] if existing else [])


def test_a_read_only_file(open_directory: Path, unprivileged: Any, request_for: Requests) -> None:
    filled(open_directory, request_for(), [])
    open_directory.chmod(0o777)
    (open_directory / FILE).chmod(0o444)
    with unprivileged(), pytest.raises(ReadOnlyStore, match="no permission"):
        open_store(open_directory)


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/strop")):
        with pytest.raises(ReadOnlyStore) as caught:
            open_store(home)
        one_line(caught.value, str(home), "--home")
        assert Store.in_memory(caught.value).runs() == []


def test_a_directory_in_the_place_of_the_file(own_home: Path) -> None:
    (own_home / FILE).mkdir()
    with pytest.raises(ReadOnlyStore, match="it is a directory"):
        open_store()


def test_the_disk_fills_up_and_is_freed(own_home: Path, request_for: Requests, trial: Trials) -> None:
    trials = [trial(number) for number in range(1, 301)]
    with open_store() as store, store.open_run(request_for()) as work:
        work.record_many(trials[:10])
        (pages,) = store._database.row("PRAGMA page_count")
        store._database.row(f"PRAGMA max_page_count = {pages + 2}")
        for one in trials[10:200]:
            work.record(one)
        assert isinstance(work.warning, FullStore)
        one_line(work.warning, str(own_home / FILE), "strop runs prune", "STROP_HOME")
        stored = [one.trial for one in store.trials(work.id)]
        assert 10 <= len(stored) < 200
        assert stored == trials[: len(stored)]
        store._database.row("PRAGMA max_page_count = 100000")
        work.record_many(trials[200:])
        assert work.warning is None
        assert work.finish({})
        assert [one.trial for one in store.trials(work.id)] == trials


def test_a_disk_that_stays_full_does_not_stop_the_run(request_for: Requests, trial: Trials) -> None:
    with open_store() as store:
        with store.open_run(request_for()) as work:
            (pages,) = store._database.row("PRAGMA page_count")
            store._database.row(f"PRAGMA max_page_count = {pages}")
            work.record_many([trial(number) for number in range(500)])
            assert not work.finish({"sentence": "77 µs"})
            assert isinstance(work.warning, FullStore)
        store._database.row("PRAGMA max_page_count = 100000")
        assert [run.trials for run in store.runs()] == [0]


def test_a_disk_that_is_full_when_the_run_begins(own_home: Path, request_for: Requests, trial: Trials) -> None:
    run_id = filled(own_home, request_for(), [trial(1)])
    with open_store() as store:
        (pages,) = store._database.row("PRAGMA page_count")
        store._database.row(f"PRAGMA max_page_count = {pages}")
        with store.open_run(request_for(sizes="m=64" * 5000)) as work:  # a request that needs more pages
            assert store.warning is not None
            assert "without saving. The disk of the store" in store.warning
            work.record(trial(1))
            assert work.finish({"sentence": "77 µs"})
        assert store.open_run(request_for()).id == run_id  # what was stored is still known
    with open_store() as store:
        assert [run.id for run in store.runs()] == [run_id]


def test_a_new_store_on_a_full_disk(tmp_path: Path) -> None:
    """A limit on the size of files, which SQLite reports as a failed write: no half-made store stays in the way."""
    script = (
        "import resource, signal, sqlite3, sys\nfrom pathlib import Path\nfrom strop.store import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n"
        "try: open_store(Path(sys.argv[1]))\nexcept UNSAVED as error: print(Store.in_memory(error).warning)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Going on without saving. The store {tmp_path / FILE} can't be written")
    with open_store(tmp_path) as store:
        assert store.runs() == []


def test_ctrl_c_inside_a_transaction_undoes_it(request_for: Requests, trial: Trials) -> None:
    def interrupted() -> None:
        with store._database.transaction() as connection:
            connection.execute("DELETE FROM candidate")
            raise KeyboardInterrupt

    with open_store() as store, store.open_run(request_for()) as work:
        work.record(trial(1))
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert not store._database.connection.in_transaction
        assert [one.trial for one in store.trials(work.id)] == [trial(1)]


def test_a_mistake_of_strops_own_is_not_dressed_up() -> None:
    with open_store() as store, pytest.raises(sqlite3.IntegrityError):
        store._database.row("INSERT INTO blob VALUES (NULL, 'text')")
