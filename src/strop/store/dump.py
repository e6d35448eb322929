"""All trials of a run as JSON or CSV, piece by piece: a long run doesn't fill the memory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from strop.store.account import Account
from strop.store.record import StoredTrial, compact
from strop.store.store import Store
from strop.values.measurement import Measurement

COLUMNS = (
    *("seq", "ended", "candidate", "parent", "plan", "verdict", "detail"),
    *("unit", "best", "median", "low", "high", "samples"),
    *("final_best", "final_median", "final_low", "final_high", "final_samples", "payload"),
)
"""Of the CSV. ``low`` and ``high`` are the interval of the median; all times in ``unit``."""


def as_json(store: Store, account: Account) -> Iterator[str]:
    """One object, ``strop.dump/1``: the run as ``strop.run/1`` has it, and ``trials``."""
    head = json.dumps({**account.to_json(), "schema": "strop.dump/1"}, allow_nan=False, ensure_ascii=False)
    yield head[:-1] + ', "trials": ['
    separator = "\n"
    for trial in store.trials(account.record.id):
        yield separator + compact(trial.to_json())
        separator = ",\n"
    yield "\n]}\n"


def as_csv(store: Store, account: Account) -> Iterator[str]:
    """One line a trial, under a line of ``COLUMNS``; numbers as Python writes them, empty where there is none."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for trial in store.trials(account.record.id):
        writer.writerow(_row(trial))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def _row(stored: StoredTrial) -> list[Any]:
    candidate, outcome = stored.trial.candidate, stored.trial.outcome
    entry = stored.to_json()
    unit = outcome.measurement.unit if outcome.measurement else None
    return [
        *(stored.seq, entry["ended"], candidate.id, candidate.parent, candidate.plan),
        *(outcome.verdict.value, outcome.detail, unit),
        *_numbers(outcome.measurement),
        *_numbers(stored.final),
        compact(candidate.payload),
    ]


def _numbers(measurement: Measurement | None) -> tuple[float | None, ...]:
    if measurement is None:
        return (None,) * 5
    return measurement.best, measurement.median, *measurement.interval, len(measurement.samples)
