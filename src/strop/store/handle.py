"""A run being worked on: its trials are journalled as they end."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from strop import __version__
from strop.errors import LostRun, StropError
from strop.store.database import Database
from strop.store.record import StoredTrial, Trial, compact, samples
from strop.values.measurement import Measurement
from strop.values.search import Search

Origin = Literal["answered", "resumed", "new"]

STATE_SHARE = 0.05
"""The part of a run's time that saving the search's state may take; what it misses, the trials say again."""

_PROGRESS = """UPDATE run SET trials = ?, best = ?, unit = ?, spent_s = ?, updated = ?
    WHERE id = ? AND owner = ?"""
_CANDIDATE = "INSERT INTO candidate VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_QUICK = "INSERT INTO measurement VALUES (?, ?, 'quick', ?)"
_FINAL = """INSERT OR REPLACE INTO measurement
    SELECT run, max(seq), 'final', ? FROM candidate WHERE run = ? AND hash = ? HAVING count(*) > 0"""
_STATE = "UPDATE run SET state = ?, state_seq = ?, state_by = ? WHERE id = ?"


class RunHandle:
    """What :meth:`strop.store.store.Store.open_run` returns. Use it in a ``with`` block.

    ``origin`` says what to do: ``answered``, take ``answer`` (the stored result) and measure nothing; ``resumed``,
    call ``feed(search)`` and go on, with ``spent_s`` and ``len(trials)`` counted against the budget; ``new``, start.

    Leaving the block without ``finish`` marks the run as interrupted, and the next equal request goes on with it.
    Where a write fails (full disk, store moved away), nothing is raised: ``warning`` holds the error, what could not be
    written is kept and tried again with the next write, and the work goes on.
    """

    def __init__(
        self,
        database: Database,
        run_id: str,
        *,
        origin: Origin,
        mark: str | None = None,
        answer: dict[str, Any] | None = None,
        stored: tuple[StoredTrial, ...] = (),
        state: dict[str, Any] | None = None,
        state_seq: int = 0,
        spent_s: float = 0.0,
    ) -> None:
        self.id = run_id
        self.origin: Origin = origin
        self.answer = answer
        self.stored = stored
        self.warning: StropError | None = None
        self._database = database
        self._mark = mark
        self._state = state
        self._state_seq = state_seq
        self._spent_before = spent_s
        self._opened = time.monotonic()
        self._open = origin != "answered"
        self._seq = stored[-1].seq if stored else 0
        self._best: tuple[float, str] | None = None
        for trial in stored:
            self._notice(trial.trial)
        self._pending: list[tuple[str, tuple[Any, ...]]] = []
        self._state_due = 0.0

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials that were journalled before this handle was opened, in the order in which they ended."""
        return tuple(stored.trial for stored in self.stored)

    @property
    def spent_s(self) -> float:
        """Seconds that the run has been worked on, earlier sessions included."""
        return self._spent_before + time.monotonic() - self._opened

    def feed(self, search: Search) -> int:
        """Bring a fresh search to where the run stopped; the number of trials it now knows.

        The saved state is restored, then the trials that ended after it was saved are told.
        """
        if self._state is not None:
            search.restore(self._state)
        for stored in self.stored:
            if stored.seq > self._state_seq:
                search.tell(stored.trial.candidate, stored.trial.outcome)
        return len(self.stored)

    def record(self, trial: Trial, *, state: Callable[[], Mapping[str, Any]] | None = None) -> None:
        """Journal one trial. See :meth:`record_many`."""
        self.record_many((trial,), state=state)

    def record_many(self, trials: Iterable[Trial], *, state: Callable[[], Mapping[str, Any]] | None = None) -> None:
        """Journal trials, in one transaction, with the search's state if ``state`` (``search.state``) is given.

        Call it after the search has been told of these trials. ``state`` is called only as often as keeps its cost
        below ``STATE_SHARE`` of the time.
        """
        now = time.time()
        for trial in trials:
            candidate, outcome = trial.candidate, trial.outcome
            self._seq += 1
            place = (self.id, self._seq)
            what = (candidate.id, candidate.parent, candidate.plan, compact(candidate.payload))
            self._pending.append((_CANDIDATE, (*place, *what, outcome.verdict.value, outcome.detail, now)))
            if outcome.measurement:
                self._pending.append((_QUICK, (*place, samples(outcome.measurement))))
            self._notice(trial)
        if state is not None:
            self._save_state(state)
        self._write()

    def record_final(self, candidate_id: str, measurement: Measurement) -> None:
        """Journal the careful measurement of a finalist, one of the recorded candidates."""
        self._pending.append((_FINAL, (samples(measurement), self.id, candidate_id)))
        self._write()

    def attach(self, name: str, data: bytes) -> str:
        """Keep ``data`` with the run under ``name``; its SHA-256. Equal data of several runs is stored once."""
        digest = hashlib.sha256(data).hexdigest()
        self._pending.append(("INSERT OR IGNORE INTO blob VALUES (?, ?)", (digest, data)))
        self._pending.append(("INSERT OR REPLACE INTO run_blob VALUES (?, ?, ?)", (self.id, name, digest)))
        self._write()
        return digest

    def beat(self) -> None:
        """Say that the owner is alive; needed only where a single trial takes a minute or more."""
        self._write()

    def finish(self, result: Mapping[str, Any] | None) -> bool:
        """The run is complete; whether all of it is in the store (if not, ``warning`` says why).

        ``result`` is JSON; ``None`` (no candidate came out right) answers no later request. ``strop runs`` reads from
        it, where present: ``sentence`` (str), ``schedule`` (list), ``nest`` (str), ``measurement`` (its JSON form).
        """
        return self._end("finished", result)

    def interrupt(self, result: Mapping[str, Any] | None = None) -> bool:
        """Work stops here, with the best so far as ``result``, and may go on later; a run without trials vanishes."""
        return self._end("interrupted", result)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self.interrupt()

    def _end(self, status: str, result: Mapping[str, Any] | None) -> bool:
        if not self._open:
            return self.warning is None
        self._open = False
        if self._seq == 0 and result is None and status == "interrupted":
            self._pending.append(("DELETE FROM run WHERE id = ?", (self.id,)))
            return self._write()
        measurement = (result or {}).get("measurement")
        if measurement:
            self._best = (measurement["median"], measurement["unit"])
        text = None if result is None else compact(result)
        self._pending.append(
            (
                "UPDATE run SET status = ?, result = ?, owner = NULL, finished = ? WHERE id = ?",
                (status, text, time.time() if status == "finished" else None, self.id),
            )
        )
        return self._write()

    def _notice(self, trial: Trial) -> None:
        cost, measurement = trial.outcome.cost, trial.outcome.measurement
        if measurement is not None and cost < (self._best[0] if self._best else float("inf")):
            self._best = (cost, measurement.unit)

    def _save_state(self, state: Callable[[], Mapping[str, Any]]) -> None:
        start = time.monotonic()
        if start < self._state_due:
            return
        self._pending.append((_STATE, (compact(state()), self._seq, __version__, self.id)))
        end = time.monotonic()
        self._state_due = end + (end - start) * (1 - STATE_SHARE) / STATE_SHARE

    def _write(self) -> bool:
        """Write what is pending, in one transaction; whether the store now has all of it."""
        best, unit = self._best or (None, None)
        try:
            with self._database.transaction() as connection:
                mine = connection.execute(
                    _PROGRESS,
                    (self._seq, best, unit, self.spent_s, time.time(), self.id, self._mark),
                )
                if mine.rowcount == 0:
                    raise LostRun(run=self.id)
                for statement, values in self._pending:
                    connection.execute(statement, values)
        except StropError as error:
            self.warning = error
            if isinstance(error, LostRun):  # another process has the run now, or nobody: its rows aren't ours to write
                self._pending.clear()
            return False
        self._pending.clear()
        self.warning = None
        return True
