"""What `strop runs` says to people: first a sentence, then the tables; on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from strop.report.page import Block, Facts, Grid, Listing, Section
from strop.report.table import Column, Table
from strop.report.units import ago, counted, seconds
from strop.store import RunRecord, StoredTrial
from strop.store.account import Account
from strop.store.comparison import Comparison
from strop.values.measurement import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is to be said: of what, the sentence, and what stands behind it."""

    subject: str
    sentence: str
    blocks: tuple[Block, ...] = ()

    def show(self) -> None:
        """Print it on standard output."""
        from strop.report.table import show

        click.echo(self.sentence)
        for block in self.blocks:
            click.echo()
            match block:
                case Facts(rows):
                    for name, value in rows:
                        click.echo(f"{name:11}{value}")
                case Grid(table):
                    show(table)
                case Listing(title, text):
                    click.echo(f"{title}:\n" + "\n".join(f"  {line}".rstrip() for line in text.splitlines()))
                case _:
                    raise TypeError(block)

    def page(self) -> str:
        """It as a page that stands alone."""
        from strop.report.page import page

        section = Section("", self.blocks)
        return page(title=f"strop {self.subject}", subject=self.subject, sentence=self.sentence, sections=[section])


def listed(records: Sequence[RunRecord], path: Path, *, limit: int, verbose: bool) -> View:
    """The list of runs, the last `limit` of them (0: all)."""
    if not records:
        return View(subject="runs", sentence=f"There are no runs in {path} yet; strop tune makes one.")
    running, interrupted = (sum(one.status == status for one in records) for status in ("running", "interrupted"))
    notes = [f"{running} in progress"] if running else []
    notes += [f"{interrupted} interrupted: the same command goes on"] if interrupted else []
    printed = records[:limit] if limit else records
    notes += [f"the last {len(printed)} shown, all with -n 0"] if len(printed) < len(records) else []
    told = f" ({'; '.join(notes)})" if notes else ""
    sentence = f"{counted(len(records), 'run')} in {path}{told}."
    more = ("seed", "space", "machine") if verbose else ()
    names = ("run", "verb", "best", "trials", "effort", "search", "status", "written", *more, "what")
    columns = tuple(Column(name, right=name in ("best", "trials", "seed")) for name in names)
    rows = tuple(_row(record, verbose=verbose) for record in printed)
    return View(subject="runs", sentence=sentence, blocks=(Grid(Table(columns, rows)),))


def _row(record: RunRecord, *, verbose: bool) -> tuple[str, ...]:
    request, run = record.request, record.request.run
    more = (str(run.seed), str(run.options.get("space", "")), record.machine) if verbose else ()
    best, when = cost(record.best, record.unit), ago(record.age_s)
    how = (str(record.trials), request.effort, run.search, record.status)
    return (record.id, run.verb, best, *how, when, *more, request.title)


def shown(account: Account, best: Sequence[StoredTrial], asm: str | None) -> View:
    """One run."""
    record, run = account.record, account.record.request.run
    again = "Run the same command again to go on." if record.status == "interrupted" else ""
    failures = [f"{count} × {verdict}: {detail or 'no detail'}" for verdict, detail, count in account.reasons]
    facts = [
        ("run", f"{record.id}: strop {run.verb}, {record.status}, written {ago(record.age_s)}"),
        ("what", record.request.title),
        ("how", f"{record.request.effort} effort, search {run.search}, budget {run.budget}, seed {run.seed}"),
        ("measured", measured(account.measurement) if account.measurement else ""),
        ("trials", ", ".join(f"{count} {verdict}" for verdict, count in account.verdicts.items())),
        *(("failed" if number == 0 else "", failure) for number, failure in enumerate(failures)),
        ("spent", f"{seconds(record.spent_s)} for {counted(record.trials, 'trial')}"),
        ("where", ", ".join(filter(None, (record.machine, f"strop {record.version}")))),
        ("next", again),
    ]
    listings = [
        Listing("schedule", "\n".join(account.schedule)),
        Listing("nest", account.nest or ""),
        Listing("machine code", asm or "", folded=True),
    ]
    blocks: list[Block] = [Facts([(name, value) for name, value in facts if value])]
    blocks += [listing for listing in listings if listing.text]
    blocks += [Grid(ranking(best), ranking=True)] if best else []
    return View(subject=record.request.title, sentence=account.sentence or "No result yet.", blocks=tuple(blocks))


def compared(comparison: Comparison) -> View:
    """Two runs."""
    a, b = comparison.a, comparison.b
    columns = (Column("run"), Column("best", right=True), Column("what"), Column("result"))
    rows = tuple(
        (
            one.record.id,
            cost(one.record.best, one.record.unit),
            one.record.request.title,
            one.sentence or one.record.status,
        )
        for one in (a, b)
    )
    blocks: list[Block] = [Grid(Table(columns, rows))]
    if comparison.differences:
        asked = tuple((name, str(left), str(right)) for name, (left, right) in comparison.differences.items())
        blocks.append(Grid(Table((Column("asked"), Column(a.record.id), Column(b.record.id)), asked)))
    marks = {"both": " ", "a": "-", "b": "+"}
    moves = "\n".join(f"{marks[where]} {move}" for where, move in comparison.schedule)
    same = all(where == "both" for where, _ in comparison.schedule)
    title = "the schedule of both" if same else f"schedule, - {a.record.id}, + {b.record.id}"
    blocks += [Listing(title, moves)] if moves else []
    return View(subject=f"runs {a.record.id} and {b.record.id}", sentence=judgement(comparison), blocks=tuple(blocks))


def judgement(comparison: Comparison) -> str:
    """Which is faster, in one sentence."""
    a, b = comparison.a.record.id, comparison.b.record.id
    if comparison.ratio is None or comparison.interval is None:
        return f"{a} and {b} can't be ranked: {comparison.reason}."
    ratio, (low, high) = comparison.ratio, comparison.interval
    if comparison.judgement == "tie":
        return f"{a} and {b} tie: the ratio of their times, {ratio:.3f} ({low:.3f} to {high:.3f}), is within the noise."
    if comparison.judgement == "a faster":
        a, b, ratio, low, high = b, a, 1 / ratio, 1 / high, 1 / low
    return f"{b} is {ratio:.3f}× as fast as {a} ({low:.3f} to {high:.3f})."


def pruned(deleted: Sequence[str], running: Sequence[str], *, dry_run: bool) -> View:
    """What was deleted, or would be."""
    names = f": {', '.join(deleted)}" if deleted else ""
    spared = f" {counted(len(running), 'run')} in progress stayed." if running else ""
    did = "Would delete" if dry_run else "Deleted"
    return View(subject="runs prune", sentence=f"{did} {counted(len(deleted), 'run')}{names}.{spared}")


def ranking(trials: Sequence[StoredTrial]) -> Table:
    """The fastest trials."""
    columns = (
        *(Column("trial", right=True), Column("quick", right=True), Column("final", right=True)),
        *(Column("verdict"), Column("plan")),
    )
    rows = []
    for stored in trials:
        candidate, outcome = stored.trial.candidate, stored.trial.outcome
        quick, final = (cost(one.median, one.unit) if one else "" for one in (outcome.measurement, stored.final))
        rows.append((str(stored.seq), quick, final, outcome.verdict.value, candidate.plan or candidate.id[:12]))
    return Table(columns, tuple(rows))


def measured(measurement: Measurement) -> str:
    """A measurement in one line."""
    low, high = (cost(value, measurement.unit) for value in measurement.interval)
    middle, best = cost(measurement.median, measurement.unit), cost(measurement.best, measurement.unit)
    return f"median {middle} ({low} to {high}), best {best}, {counted(len(measurement.samples), 'sample')}"


def cost(value: float | None, unit: str | None) -> str:
    """A time or a count of cycles.

    >>> cost(7.7e-5, "s"), cost(1234567.0, "cycles"), cost(None, None)
    ('77.0 µs', '1,234,567 cycles', '')
    """
    if value is None:
        return ""
    return seconds(value) if unit == "s" else f"{value:,.0f} {unit}"
