"""`strop runs`: what is stored, one run, two runs side by side, all trials of one, and what to delete."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from strop.cli.options import Output, shared

if TYPE_CHECKING:
    from strop.store import Store, StoredTrial
    from strop.store.account import Account


class Runs(click.Group):
    """The group; without a verb it lists."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `list` where no verb is."""
        first = next((word for word in args if not word.startswith("-")), None)
        if first not in self.commands and not {"--help", "-h"} & set(args):
            args = ["list", *args] if first is None or args[0].startswith("-") else args
        return super().parse_args(ctx, args)


@click.group("runs", cls=Runs)
def runs() -> None:
    """List the stored runs, show one, compare two, dump all trials, delete old ones.

    RUN is a run's id or enough of its first letters. Without a verb, `strop runs` lists.
    """


@runs.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=30, help="Print the last N runs; 0: all.  [30]")
@shared
def list_runs(limit: int, output: Output, seed: int) -> None:
    """List the runs, the last written first. JSON has all of them."""
    from strop.cli import runs_view

    with stored() as store:
        records = store.runs()
        document = {"schema": "strop.runs/1", "store": str(store.path), "runs": [each.to_json() for each in records]}
        view = runs_view.listed(records, store.path, limit=limit, verbose=output.verbose)
    if output.as_json:
        output.document(document)
    else:
        view.show()
    output.page(view.page)
    output.write({"runs.json": lambda: as_text(document)})


@runs.command("show", short_help="Show a run: result, schedule, nest, how its trials ended.")
@click.argument("run")
@click.option("--asm", is_flag=True, help="Compile the stored schedule again and print its machine code.")
@shared
def show(run: str, asm: bool, output: Output, seed: int) -> None:
    """Show a run: its result in one sentence, schedule, nest, measurement, and how its trials ended."""
    from strop.cli import runs_view
    from strop.store.account import Account

    with stored() as store:
        account = Account.of(store, run)
        best = best_trials(store, account) if output.verbose else []
    document = account.to_json()
    code = machine_code(account) if asm else None
    if code is not None:
        document["asm"] = code
    view = runs_view.shown(account, best, code)
    if output.as_json:
        output.document(document)
    else:
        view.show()
    output.page(view.page)
    name = account.record.id
    output.write({f"{name}.json": lambda: as_text(document), **({f"{name}.asm": lambda: code} if code else {})})


@runs.command("diff", short_help="Compare two runs: which is faster, and what differs.")
@click.argument("a")
@click.argument("b")
@shared
def diff(a: str, b: str, output: Output, seed: int) -> None:
    """Compare runs A and B: which result is faster, what was asked differently, how the schedules differ.

    A difference within the noise is a tie; only results for one problem from one machine are ranked.
    """
    from strop.cli import runs_view
    from strop.store.account import Account
    from strop.store.comparison import Comparison

    with stored() as store:
        comparison = Comparison.of(Account.of(store, a), Account.of(store, b))
    document, view = comparison.to_json(), runs_view.compared(comparison)
    if output.as_json:
        output.document(document)
    else:
        view.show()
    output.page(view.page)
    name = f"{comparison.a.record.id}..{comparison.b.record.id}.json"
    output.write({name: lambda: as_text(document)})


@runs.command("dump", short_help="Print all trials of a run, as JSON or CSV.")
@click.argument("run")
@click.option("--format", "form", type=click.Choice(["json", "csv"]), default="json", help="json (default) or csv.")
@shared
def dump(run: str, form: str, output: Output, seed: int) -> None:
    """Print all trials of a run, as JSON or CSV.

    With -o DIR they go to a file there. The page of --html lists them, the fastest first.
    """
    from strop.cli import runs_view
    from strop.store import dump as forms
    from strop.store.account import Account

    if output.as_json and form == "csv":
        raise click.UsageError("--json and --format csv exclude each other")
    with stored() as store:
        account = Account.of(store, run)
        output.page(lambda: runs_view.shown(account, best_trials(store, account, account.record.trials), None).page())
        pieces: Iterator[str] = forms.as_json(store, account) if form == "json" else forms.as_csv(store, account)
        if output.folder is not None:
            name = f"{account.record.id}.{form}"
            text = "".join(pieces)
            output.write({name: lambda: text})
            output.aside(f"{account.record.trials} trials are in {output.folder / name}")
            pieces = iter([text] if output.as_json else [])
        sys.stdout.writelines(pieces)


@runs.command("prune")
@click.option("--older-than", metavar="AGE", help="Runs last written longer ago than AGE, such as 12h, 30d, 8w.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Spare the last N of those chosen otherwise.")
@click.option("--unfinished", is_flag=True, help="Only interrupted runs.")
@click.option("--all", "every", is_flag=True, help="All runs; asks first.")
@click.option(
    "--reset", is_flag=True, help="Move the whole store away, damaged or not, and begin a new one; asks first."
)
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
@shared
def prune(
    older_than: str | None,
    keep: int | None,
    unfinished: bool,
    every: bool,
    reset: bool,
    yes: bool,
    dry_run: bool,
    output: Output,
    seed: int,
) -> None:
    """Delete runs with their trials. Criteria add up: --unfinished --older-than 30d deletes what meets both.

    A run in progress is never deleted.
    """
    from strop.cli import runs_view
    from strop.store import open_store
    from strop.store.pruning import age_s, doomed

    narrowed = older_than is not None or keep is not None or unfinished
    if narrowed + every + reset != 1:
        raise click.UsageError("say which runs: --older-than, --keep, --unfinished (these add up), --all, or --reset")
    seconds = None if older_than is None else age_s(older_than)
    if reset:
        set_aside(output, yes=yes, dry_run=dry_run)
        return
    with open_store(read_only=dry_run) as store:
        records = store.runs()
        chosen = doomed(records, older_than_s=seconds, keep=keep or 0, unfinished=unfinished)
        if every and chosen and not dry_run:
            confirm(f"Deleting all {len(chosen)} runs in {store.path}", yes=yes, output=output)
        ids = [record.id for record in chosen]
        deleted = ids if dry_run else store.delete(ids)
    running = [record.id for record in records if record.status == "running"]
    document = {
        "schema": "strop.prune/1",
        "deleted": deleted,
        "dry_run": dry_run,
        "left": len(records) - (0 if dry_run else len(deleted)),
        "running": running,
        "set_aside": None,
    }
    view = runs_view.pruned(deleted, running, dry_run=dry_run)
    if output.as_json:
        output.document(document)
    else:
        view.show()
    output.page(view.page)
    output.write({"prune.json": lambda: as_text(document)})


def set_aside(output: Output, *, yes: bool, dry_run: bool) -> None:
    """`strop runs prune --reset`."""
    from strop.settings import setting
    from strop.store import Store
    from strop.store.store import FILE

    path = setting("home") / FILE
    if path.exists() and not dry_run:
        confirm(f"Moving {path} away", yes=yes, output=output)
    aside = None if dry_run else Store.set_aside(setting("home"))
    document = {"schema": "strop.prune/1", "deleted": [], "dry_run": dry_run, "left": 0, "running": []}
    document["set_aside"] = str(aside) if aside else None
    if not path.exists() and aside is None:
        sentence = f"There is no store at {path}."
    elif dry_run:
        sentence = f"Would move {path} away."
    else:
        sentence = f"The store is now {aside}; the next run begins a new one."
    output.result(document, [sentence], title="runs prune", artefact="prune.json")


def confirm(what: str, *, yes: bool, output: Output) -> None:
    """Ask on a terminal; elsewhere `--yes` must say it. Raises NeedsYes."""
    from strop.errors import NeedsYes

    if yes:
        return
    if output.as_json or not sys.stdin.isatty() or not click.confirm(f"{what}. Go on?", err=True):
        raise NeedsYes(what=what)


def stored() -> Store:
    """The store, for reading only: looking never changes it, nor makes one."""
    from strop.store import open_store

    return open_store(read_only=True)


def best_trials(store: Store, account: Account, most: int = 10) -> list[StoredTrial]:
    """The trials that took least, those that were measured again as finalists first."""
    import heapq

    def cost(stored: StoredTrial) -> tuple[bool, float]:
        return (stored.final is None, stored.final.median if stored.final else stored.trial.outcome.cost)

    return heapq.nsmallest(most, store.trials(account.record.id), key=cost)


def machine_code(account: Account) -> str:
    """The machine code of a run's result. Raises NothingMeasured where it has none."""
    from strop.errors import NothingMeasured
    from strop.loops.stored import assembly

    if account.result is None:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in account.verdicts.items())
        raise NothingMeasured(counts=counts or "no result is stored", run=account.record.id)
    return assembly(account.record.request.run, account.result)


def as_text(document: dict[str, Any]) -> str:
    """An artefact's text."""
    import json

    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
