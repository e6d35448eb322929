"""What `strop runs` prints for people: first a sentence, then the table."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from strop.report.units import seconds
from strop.store import RunRecord, Store, StoredTrial
from strop.store.account import Account
from strop.store.comparison import Comparison
from strop.values.measurement import Measurement


def listed(records: Sequence[RunRecord], path: Path, *, limit: int, verbose: bool) -> Iterator[str]:
    """The list of runs."""
    if not records:
        yield f"There are no runs in {path} yet; strop tune makes one."
        return
    counts = {status: sum(record.status == status for record in records) for status in ("running", "interrupted")}
    notes = [
        f"{counts['running']} in progress" if counts["running"] else "",
        f"{counts['interrupted']} interrupted: the same command goes on" if counts["interrupted"] else "",
    ]
    told = "; ".join(filter(None, notes))
    yield f"{plural(len(records), 'run')} in {path}{f' ({told})' if told else ''}."
    yield ""
    printed = records[:limit] if limit else records
    rows = [
        ["RUN", "VERB", "BEST", "EFFORT", "SEARCH", "TRIALS", "STATUS", "AGE", *(["SEED", "MACHINE"] * verbose), "WHAT"]
    ]
    for record in printed:
        run = record.request.run
        best = cost(record.best, record.unit)
        row = [record.id, run.verb, best, record.request.effort, run.search, str(record.trials), record.status]
        more = [str(run.seed), record.machine[:12]] if verbose else []
        rows.append([*row, age(record.to_json()["age_s"]), *more, record.request.title])
    yield from table(rows)
    if len(printed) < len(records):
        yield f"… and {len(records) - len(printed)} more: strop runs list -n 0"


def shown(account: Account, best: Sequence[StoredTrial]) -> Iterator[str]:
    """One run."""
    record, run = account.record, account.record.request.run
    yield account.sentence or "No result yet." if record.status != "finished" else account.sentence or "No result."
    yield ""
    rows = [
        ("run", f"{record.id}: strop {run.verb}, {record.status}, {age(record.to_json()['age_s'])} ago"),
        ("what", record.request.title),
        ("how", f"{record.request.effort} effort, search {run.search}, budget {run.budget}, seed {run.seed}"),
        ("spent", f"{seconds(record.spent_s)} for {plural(record.trials, 'trial')}"),
        ("trials", ", ".join(f"{count} {verdict}" for verdict, count in account.verdicts.items())),
        ("measured", measured(account.measurement) if account.measurement else ""),
        ("where", " ".join(filter(None, (record.machine, f"strop {record.version}")))),
    ]
    yield from (f"{label:10}{text}" for label, text in rows if text)
    yield from (
        f"{'failed' if not i else '':10}{n} × {v}: {d or 'no detail'}" for i, (v, d, n) in enumerate(account.reasons)
    )
    yield from block("schedule", account.schedule)
    yield from block("nest", (account.nest or "").splitlines())
    yield from block("best trials", [trial_line(trial) for trial in best])
    if record.status == "interrupted":
        yield "\nRun the same command again to go on."


def compared(comparison: Comparison) -> Iterator[str]:
    """Two runs."""
    a, b = comparison.a.record.id, comparison.b.record.id
    yield judgement(comparison)
    yield ""
    rows = [["", "BEST", "SENTENCE"]]
    for account in (comparison.a, comparison.b):
        record = account.record
        rows.append([record.id, cost(record.best, record.unit), account.sentence or record.status])
    yield from table(rows)
    yield from block(
        "asked differently", [f"{name}: {left} | {right}" for name, (left, right) in comparison.differences.items()]
    )
    if comparison.schedule and all(where == "both" for where, _ in comparison.schedule):
        yield "\nThe schedules are the same."
    else:
        marks = {"both": " ", "a": "-", "b": "+"}
        yield from block(f"schedule (- {a}, + {b})", [f"{marks[where]} {move}" for where, move in comparison.schedule])


def judgement(comparison: Comparison) -> str:
    """Which is faster, in one sentence."""
    a, b = comparison.a.record.id, comparison.b.record.id
    if comparison.ratio is None or comparison.interval is None:
        return f"{a} and {b} can't be ranked: {comparison.reason}."
    low, high = comparison.interval
    if comparison.judgement == "tie":
        return f"{a} and {b} tie: {comparison.ratio:.3f}, between {low:.3f} and {high:.3f}, is within the noise."
    if comparison.judgement == "b faster":
        return f"{b} is {comparison.ratio:.3f}× as fast as {a} (between {low:.3f} and {high:.3f})."
    return f"{a} is {1 / comparison.ratio:.3f}× as fast as {b} (between {1 / high:.3f} and {1 / low:.3f})."


def pruned(deleted: Sequence[str], running: Sequence[str], *, dry_run: bool) -> str:
    """What prune did."""
    spared = f" {plural(len(running), 'run')} in progress stayed." if running else ""
    names = f": {', '.join(deleted)}" if deleted else ""
    return f"{'Would delete' if dry_run else 'Deleted'} {plural(len(deleted), 'run')}{names}.{spared}"


def best_trials(store: Store, account: Account, most: int = 10) -> list[StoredTrial]:
    """The trials with the least cost."""
    import heapq

    return heapq.nsmallest(most, store.trials(account.record.id), key=lambda stored: stored.trial.outcome.cost)


def trial_line(stored: StoredTrial) -> str:
    """A trial in one line."""
    candidate, outcome = stored.trial.candidate, stored.trial.outcome
    number = cost(outcome.measurement.median, outcome.measurement.unit) if outcome.measurement else ""
    final = f", finally {cost(stored.final.median, stored.final.unit)}" if stored.final else ""
    return f"{stored.seq:5}  {number:>9}  {outcome.verdict.value}{final}  {candidate.plan or candidate.id[:12]}"


def measured(measurement: Measurement) -> str:
    """A measurement in one line."""
    low, high = (cost(value, measurement.unit) for value in measurement.interval)
    middle, best = cost(measurement.median, measurement.unit), cost(measurement.best, measurement.unit)
    return f"median {middle} ({low} to {high}), best {best}, {plural(len(measurement.samples), 'sample')}"


def cost(value: float | None, unit: str | None) -> str:
    """A time or a count of cycles.

    >>> cost(7.7e-5, "s"), cost(1234567.0, "cycles"), cost(None, None)
    ('77.0 µs', '1,234,567 cycles', '')
    """
    if value is None:
        return ""
    return seconds(value) if unit == "s" else f"{value:,.0f} {unit}"


def age(value: float) -> str:
    """An age in its largest whole unit.

    >>> age(42.0), age(600), age(86400 * 3.5)
    ('42 s', '10 min', '3 days')
    """
    for scale, unit in ((86400, "day"), (3600, "hour"), (60, "min")):
        if value >= scale:
            number = int(value // scale)
            return f"{number} {unit}{'s' if number > 1 and unit != 'min' else ''}"
    return f"{int(value)} s"


def plural(count: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "run"), plural(2, "run")
    ('1 run', '2 runs')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def block(title: str, lines: Sequence[str]) -> Iterator[str]:
    """A titled block, nothing where there are no lines."""
    if lines:
        yield f"\n{title}:"
        yield from (f"  {line}" for line in lines)


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Aligned columns; on a terminal a line is cut where it would wrap."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 10_000
    for row in rows:
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        yield line if len(line) <= columns else line[: columns - 1] + "…"
