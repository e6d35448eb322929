"""Stores of every earlier layout open, all the way from version 1."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from strop.store import Request, Trial, migrations, open_store
from strop.store.database import APPLICATION_ID

STORES = Path(__file__).with_name("stores")


def layout(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_the_steps_are_numbered_from_one_to_the_latest() -> None:
    assert [number for number, _ in migrations.steps()] == list(range(1, migrations.LATEST + 1))


@pytest.mark.parametrize("version", range(1, migrations.LATEST + 1))
@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_an_earlier_release_opens(own_home: Path, version: int, read_only: bool) -> None:
    """`stores/vN.sql` is the dump of a store that the first strop with layout N wrote."""
    connection = sqlite3.connect(own_home / "store.sqlite")
    connection.executescript((STORES / f"v{version}.sql").read_text("utf-8"))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with open_store(read_only=read_only) as store:
        finished, unfinished = sorted(store.runs(), key=lambda run: run.created)
        assert (finished.status, unfinished.status) == ("finished", "interrupted")
        assert (finished.trials, unfinished.trials) == (3, 2)
        assert store.find_answer(finished.request) == finished
        assert store.result(finished.id) == {"sentence": "77 µs"}
        assert [one.trial.outcome.verdict.value for one in store.trials(finished.id)] == ["ok", "ok", "crash"]
        assert [one.final is not None for one in store.trials(finished.id)] == [True, False, False]
        assert store.blob(finished.id, "machine") == b'{"cpu": "cpu-1"}'
        if not read_only:
            assert store.open_run(unfinished.request).origin == "resumed"
    with open_store() as store:
        new = sqlite3.connect(":memory:", isolation_level=None)
        migrations.migrate(new, migrations.steps())
        assert {row[1] for row in layout(store._database.connection)} == {row[1] for row in layout(new)}
        new.close()


def test_a_step_that_fails_leaves_the_store_as_it_was() -> None:
    steps = [*migrations.steps(), (migrations.LATEST + 1, "ALTER TABLE run ADD COLUMN mood TEXT;\nSELECT no_such;\n")]

    def migrate() -> None:
        with store._database.transaction() as connection:
            migrations.migrate(connection, steps)

    with open_store() as store:
        before = layout(store._database.connection)
        with pytest.raises(sqlite3.OperationalError, match="no_such"):
            migrate()
        assert layout(store._database.connection) == before
        assert store._database.row("PRAGMA user_version") == (migrations.LATEST,)


def test_a_step_keeps_the_rows(
    request_for: Callable[..., Request], trial: Callable[..., Trial], tmp_path: Path
) -> None:
    for file in Path(migrations.__file__).parent.glob("*.sql"):
        (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    later = migrations.LATEST + 1
    (tmp_path / f"{later:04}_mood.sql").write_text(
        "-- a comment; with a semicolon\nALTER TABLE run ADD COLUMN mood TEXT NOT NULL DEFAULT 'a;\nb';\n"
        "CREATE TRIGGER t AFTER INSERT ON blob BEGIN\n  DELETE FROM blob;\n  SELECT 1;\nEND;\n"
    )
    with open_store() as store:
        with store.open_run(request_for()) as work:
            work.record(trial(1))
        with store._database.transaction() as connection:
            migrations.migrate(connection, migrations.steps(tmp_path))
        assert store._database.rows("SELECT id, mood FROM run") == [(work.id, "a;\nb")]
        assert store._database.row("PRAGMA user_version") == (later,)
        assert [one.trial for one in store.trials(work.id)] == [trial(1)]
