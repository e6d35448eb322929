"""The store of runs: what was asked before is answered, what was interrupted goes on, what ended is kept."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from strop import __version__
from strop.errors import AmbiguousRun, ReadOnlyStore, StropError, UnknownRun
from strop.store import owner
from strop.store.database import WORTH_COPYING_BYTES, Database
from strop.store.faults import UNSAVED, why_not_readable
from strop.store.handle import RunHandle
from strop.store.names import new_id
from strop.store.record import COLUMNS, RunRecord, StoredTrial, compact
from strop.store.request import Request
from strop.values.effort import EFFORTS, Effort

FILE = "store.sqlite"

_TRIALS = """
SELECT c.seq, c.hash, c.parent, c.plan, c.payload, c.verdict, c.detail, c.created, quick.value, final.value
FROM candidate AS c
LEFT JOIN measurement AS quick ON (quick.run, quick.seq, quick.kind) = (c.run, c.seq, 'quick')
LEFT JOIN measurement AS final ON (final.run, final.seq, final.kind) = (c.run, c.seq, 'final')
WHERE c.run = ? AND c.seq > ? ORDER BY c.seq LIMIT 1000
"""


def open_store(home: Path | None = None, *, read_only: bool = False) -> Store:
    """The store under ``home`` (by default that of the settings), made where it is missing.

    Raises CorruptStore and NewerStore, which need a person, or one of ``UNSAVED`` (ReadOnlyStore, FullStore,
    StoreBusy): after these the caller may go on with ``Store.in_memory(error)``. With ``read_only`` nothing is written,
    and a missing store is an empty one.
    """
    if home is None:
        from strop.settings import setting

        home = setting("home")
    path = home / FILE
    if (why := why_not_readable(path)) is not None:
        raise ReadOnlyStore(path=path, reason=why)
    if not read_only:
        return Store(Database.open(path))
    return Store(Database.open_for_reading(path) if path.exists() else Database.in_memory(path))


class Store:
    """An open store; use it in a ``with`` block, on one thread. Its methods raise the catalogue's store errors."""

    def __init__(self, database: Database, *, reason: StropError | None = None) -> None:
        self._database = database
        self._reason = reason

    @classmethod
    def in_memory(cls, reason: StropError | None = None) -> Store:
        """A store that ends with the process, for use after ``reason`` kept :func:`open_store` from opening one.

        It begins with what the unwritable store holds, where that can be read: answers are still found.
        """
        path = reason.fields.get("path") if reason else None
        try:
            if path and path.is_file() and path.stat().st_size <= WORTH_COPYING_BYTES:
                return cls(Database.open_for_reading(path).copied(), reason=reason)
        except (StropError, OSError):
            pass  # `reason` has said already what is wrong with it
        return cls(Database.in_memory(), reason=reason)

    @staticmethod
    def set_aside(home: Path) -> Path | None:
        """Move the store's file away, to a name that tells the time; the new name, or ``None`` where there is none.

        For a store that is damaged or too new: nothing is deleted. Raises ReadOnlyStore.
        """
        path = home / FILE
        if not path.exists():
            return None
        stamp = time.strftime("%Y%m%d-%H%M%S")
        aside = path.with_name(f"{FILE}.{stamp}")
        number = 2
        while aside.exists():
            aside = path.with_name(f"{FILE}.{stamp}-{number}")
            number += 1
        try:
            for part in ("-shm", "-wal", ""):  # the log belongs to the file whose name it bears
                if (beside := path.with_name(path.name + part)).exists():
                    beside.rename(aside.with_name(aside.name + part))
        except OSError as error:
            raise ReadOnlyStore(path=path, reason=error.strerror or error) from None
        return aside

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def warning(self) -> str | None:
        """What the user must hear: that nothing is saved, why, and the way out; ``None`` for a store on disk."""
        return f"Going on without saving. {self._reason}" if self._reason else None

    def open_run(self, request: Request, *, fresh: bool = False, machine: str = "") -> RunHandle:
        """Answer ``request``, go on with an equal unfinished run, or begin a new one: see the handle's ``origin``.

        With ``fresh`` a new run begins whatever is stored. A run that another living process works on is neither taken
        over nor waited for. ``machine`` is the fingerprint that ``strop runs`` shows.

        Where the store can't be written any more (the disk is full since it was opened), it goes on in memory and
        ``warning`` says so.
        """
        try:
            return self._open_run(request, fresh=fresh, machine=machine)
        except UNSAVED as error:
            if self._reason:
                raise
            memory = Store.in_memory(error)
            self.close()
            self._database, self._reason = memory._database, error
            return self._open_run(request, fresh=fresh, machine=machine)

    def find_answer(self, request: Request) -> RunRecord | None:
        """The newest finished run that answers ``request``; ``None`` where it must be measured.

        A stored result answers a request of equal or lower effort; an explicit search, budget or seed is answered only
        by an equal finished run.
        """
        found = "status = 'finished' AND result IS NOT NULL ORDER BY finished DESC LIMIT 1"
        if request.explicit:
            row = self._database.row(f"SELECT {COLUMNS} FROM run WHERE key = ? AND {found}", (request.key,))
        else:
            asked = Effort.of(request.effort)
            enough = [effort.name for effort in EFFORTS.values() if effort.answers(asked)]
            row = self._database.row(
                f"SELECT {COLUMNS} FROM run WHERE problem_key = ? AND by_effort"
                f" AND effort IN ({', '.join('?' * len(enough))}) AND {found}",
                (request.problem_key, *enough),
            )
        return RunRecord.of(row) if row else None

    def runs(self) -> list[RunRecord]:
        """All runs, the last touched first."""
        rows = self._database.rows(f"SELECT {COLUMNS} FROM run ORDER BY updated DESC, id")
        return [RunRecord.of(row) for row in rows]

    def run(self, text: str) -> RunRecord:
        """The run whose id is ``text`` or, if it is the only one, begins with it. Raises UnknownRun, AmbiguousRun."""
        row = self._database.row(f"SELECT {COLUMNS} FROM run WHERE id = ?", (text,))
        if row:
            return RunRecord.of(row)
        query = f"SELECT {COLUMNS} FROM run WHERE substr(id, 1, length(?1)) = ?1 AND ?1 != '' ORDER BY id"
        rows = self._database.rows(query, (text,))
        if not rows:
            raise UnknownRun(run=text, path=self.path)
        if len(rows) > 1:
            shown = ", ".join(row[0] for row in rows[:5]) + (", …" if len(rows) > 5 else "")
            raise AmbiguousRun(run=text, count=len(rows), ids=shown)
        return RunRecord.of(rows[0])

    def result(self, run_id: str) -> dict[str, Any] | None:
        """The result that the run ended with; of one interrupted by Ctrl-C, the best so far."""
        row = self._database.row("SELECT result FROM run WHERE id = ?", (run_id,))
        return json.loads(row[0]) if row and row[0] else None

    def trials(self, run_id: str) -> Iterator[StoredTrial]:
        """The run's trials in the order in which they ended; those of a long run don't fill the memory."""
        seq = 0
        while rows := self._database.rows(_TRIALS, (run_id, seq)):
            seq = rows[-1][0]
            yield from map(StoredTrial.of, rows)

    def verdicts(self, run_id: str) -> dict[str, int]:
        """How many trials ended with each verdict, the most frequent first."""
        query = "SELECT verdict, count(*) FROM candidate WHERE run = ? GROUP BY verdict ORDER BY count(*) DESC, verdict"
        return dict(self._database.rows(query, (run_id,)))

    def reasons(self, run_id: str, *, most: int = 3) -> list[tuple[str, str, int]]:
        """Why trials failed: verdict, detail and count, the most frequent first."""
        query = (
            "SELECT verdict, detail, count(*) FROM candidate"
            " WHERE run = ? AND verdict != 'ok' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ?"
        )
        return self._database.rows(query, (run_id, most))

    def blob(self, run_id: str, name: str) -> bytes | None:
        """What was attached to the run under ``name``."""
        query = "SELECT data FROM run_blob JOIN blob USING (hash) WHERE run = ? AND name = ?"
        row = self._database.row(query, (run_id, name))
        return row[0] if row else None

    def attach(self, run_id: str, name: str, data: bytes) -> None:
        """Keep ``data`` with a run that has ended, under ``name``; a run that is gone keeps nothing."""
        digest = hashlib.sha256(data).hexdigest()
        with self._database.transaction() as connection:
            if self._database.row("SELECT 1 FROM run WHERE id = ?", (run_id,)):
                connection.execute("INSERT OR IGNORE INTO blob VALUES (?, ?)", (digest, data))
                connection.execute("INSERT OR REPLACE INTO run_blob VALUES (?, ?, ?)", (run_id, name, digest))

    def delete(self, run_ids: list[str]) -> list[str]:
        """Delete runs with all they hold; the ids of those deleted. A run in progress stays."""
        deleted = []
        for run_id in run_ids:
            with self._database.transaction() as connection:  # one each: a nearly full disk has room for little
                row = self._database.row(f"SELECT {COLUMNS} FROM run WHERE id = ?", (run_id,))
                if row and RunRecord.of(row).status != "running":
                    connection.execute("DELETE FROM run WHERE id = ?", (run_id,))
                    deleted.append(run_id)
        if deleted:
            with self._database.transaction() as connection:
                connection.execute("DELETE FROM blob WHERE hash NOT IN (SELECT hash FROM run_blob)")
            self._database.shrink()
        return deleted

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_run(self, request: Request, *, fresh: bool, machine: str) -> RunHandle:
        answer = None if fresh else self.find_answer(request)
        if answer and not self._unfinished(request, since=answer.updated):
            return RunHandle(self._database, answer.id, origin="answered", answer=self.result(answer.id))
        mark, now = owner.claim(), time.time()
        with self._database.transaction() as connection:
            unfinished = None if fresh else self._unfinished(request, since=answer.updated if answer else 0.0)
            if unfinished:
                connection.execute(
                    "UPDATE run SET status = 'running', owner = ?, updated = ? WHERE id = ?", (mark, now, unfinished)
                )
                return self._resume(unfinished, mark)
            run_id = new_id(self._taken)
            self._insert(run_id, request, mark=mark, now=now, machine=machine)
        return RunHandle(self._database, run_id, origin="new", mark=mark)

    def _unfinished(self, request: Request, *, since: float) -> str | None:
        """The newest equal run that nobody works on, begun after ``since``.

        One that is older than an answer has been overtaken. One that is newer was asked for with ``fresh``: its user
        didn't want that answer, so it goes on.
        """
        query = (
            f"SELECT {COLUMNS} FROM run WHERE key = ? AND status != 'finished' AND created > ? ORDER BY created DESC"
        )
        records = map(RunRecord.of, self._database.rows(query, (request.key, since)))
        return next((record.id for record in records if record.status == "interrupted"), None)

    def _resume(self, run_id: str, mark: str) -> RunHandle:
        state, state_seq, state_by, spent_s = self._database.row(
            "SELECT state, state_seq, state_by, spent_s FROM run WHERE id = ?", (run_id,)
        )
        if state_by != __version__:  # a state means something only to the code that wrote it; the trials always do
            state, state_seq = None, 0
        return RunHandle(
            self._database,
            run_id,
            origin="resumed",
            mark=mark,
            stored=tuple(self.trials(run_id)),
            state=json.loads(state) if state else None,
            state_seq=state_seq,
            spent_s=spent_s,
        )

    def _insert(self, run_id: str, request: Request, *, mark: str, now: float, machine: str) -> None:
        row = {
            "id": run_id,
            "verb": request.run.verb,
            "title": request.title,
            "problem_key": request.problem_key,
            "key": request.key,
            "effort": request.effort,
            "by_effort": int(request.by_effort),
            "request": compact(request.to_json()),
            "status": "running",
            "created": now,
            "updated": now,
            "machine": machine,
            "version": __version__,
            "owner": mark,
        }
        self._database.row(
            f"INSERT INTO run ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values())
        )

    def _taken(self, run_id: str) -> bool:
        return self._database.row("SELECT 1 FROM run WHERE id = ?", (run_id,)) is not None
