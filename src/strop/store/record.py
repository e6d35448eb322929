"""A stored run and its trials, as read back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from strop.store import owner
from strop.store.request import Request
from strop.values.measurement import Measurement
from strop.values.search import Candidate, Outcome
from strop.values.verdict import Verdict

COLUMNS = "id, request, status, trials, best, unit, spent_s, created, updated, machine, version, owner"
"""What a :class:`RunRecord` is read from, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run without its result and trials, which may be large. ``best`` is the least median so far, in ``unit``."""

    id: str
    request: Request
    status: str
    trials: int
    best: float | None
    unit: str | None
    spent_s: float
    created: float
    updated: float
    machine: str
    version: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> RunRecord:
        """The record of a row of ``COLUMNS``. A run whose owner is gone is interrupted, whatever the row says."""
        run_id, request, status, trials, best, unit, spent_s, created, updated, machine, version, mark = row
        if status == "running" and not owner.alive(mark, silent_s=time.time() - updated):
            status = "interrupted"
        return cls(
            id=run_id,
            request=Request.from_json(json.loads(request)),
            status=status,
            trials=trials,
            best=best,
            unit=unit,
            spent_s=spent_s,
            created=created,
            updated=updated,
            machine=machine,
            version=version,
        )

    @property
    def age_s(self) -> float:
        """Seconds since it was last written."""
        return max(0.0, time.time() - self.updated)

    def to_json(self) -> dict[str, Any]:
        """The run as an entry of ``strop.runs/1``."""
        run = self.request.run
        return {
            "id": self.id,
            "verb": run.verb,
            "title": self.request.title,
            "status": self.status,
            "search": run.search,
            "effort": self.request.effort,
            "budget": run.budget.text,
            "seed": run.seed,
            "options": dict(run.options),
            "explicit": sorted(self.request.explicit),
            "trials": self.trials,
            "best": None if self.best is None else {"unit": self.unit, "median": self.best},
            "spent_s": round(self.spent_s, 3),
            "created": utc(self.created),
            "updated": utc(self.updated),
            "age_s": round(self.age_s, 3),
            "machine": self.machine,
            "strop_version": self.version,
        }


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate and what became of it."""

    candidate: Candidate
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTrial:
    """A journalled trial: its number in the run (from 1), and the careful measurement if it became a finalist."""

    seq: int
    trial: Trial
    final: Measurement | None
    created: float

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> StoredTrial:
        """The trial of a row as :meth:`strop.store.store.Store.trials` selects it."""
        seq, digest, parent, plan, payload, verdict, detail, created, quick, final = row
        return cls(
            seq=seq,
            trial=Trial(
                candidate=Candidate(id=digest, payload=json.loads(payload), parent=parent, plan=plan),
                outcome=Outcome(
                    verdict=Verdict(verdict),
                    measurement=Measurement.from_json(json.loads(quick)) if quick else None,
                    detail=detail,
                ),
            ),
            final=Measurement.from_json(json.loads(final)) if final else None,
            created=created,
        )

    def to_json(self) -> dict[str, Any]:
        """The trial as an entry of ``strop.dump/1``."""
        return {
            "seq": self.seq,
            "ended": utc(self.created),
            "candidate": self.trial.candidate.to_json(),
            "outcome": self.trial.outcome.to_json(),
            "final": self.final.to_json() if self.final else None,
        }


def utc(seconds: float) -> str:
    """Seconds since 1970 as text.

    >>> utc(0.5)
    '1970-01-01T00:00:00.500Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def samples(measurement: Measurement) -> str:
    """A measurement as the store writes it: without the numbers that follow from the samples."""
    return compact(
        {
            "unit": measurement.unit,
            "samples": measurement.samples,
            "protocol": measurement.protocol,
            "machine": measurement.machine,
        }
    )


def compact(value: Mapping[str, Any]) -> str:
    """JSON as the store writes it: no blanks, no NaN."""
    return _encode(value)


_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode  # made once: 3 µs a call
