"""`strop tune`: a fast schedule for a contraction, how fast it is, and how that compares with NumPy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from strop.cli.options import Output, shared
from strop.errors.base import INTERRUPTED

if TYPE_CHECKING:
    from strop.bench.numpy_peer import NumpyComparison
    from strop.errors import PeerFailed
    from strop.loops.tuned import Tuned
    from strop.loops.watch import Watch


class AxisSize(click.ParamType[tuple[str, int]]):
    """`m=192`: the size of an axis."""

    name = "axis=n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """The axis and its size."""
        if isinstance(value, tuple):
            return value
        axis, _, size = str(value).partition("=")
        try:
            return axis.strip(), int(size)
        except ValueError:
            self.fail(f"{value!r} is not AXIS=N, for example m=192", param, ctx)


@click.command("tune")
@click.argument("text")
@click.argument("axis_sizes", metavar="AXIS=N...", nargs=-1, type=AxisSize())
@click.option("--sizes", multiple=True, metavar="AXIS=N", type=AxisSize(), help="A size, as after TEXT.")
@click.option("--dtype", metavar="TYPE", help="float32 (default) or float64.")
@click.option("--threads", type=int, metavar="N", help="Threads; all CPUs this process may use by default.")
@click.option("--effort", metavar="NAME", help="quick (0.1 s), standard (1 s, default), thorough (10 s).")
@click.option("--search", metavar="ID", help="The search: local, analytic, constant, beam2-dfs, …")
@click.option("--space", metavar="NAME", default="full", help="full (default), or literal: add nothing to a nest.")
@click.option("--budget", metavar="TEXT", help="Limits such as 6s or 6s,200evals; override the effort's.")
@click.option("--fresh", is_flag=True, help="Measure anew, whatever is stored.")
@click.option("--epilogue", metavar="EXPR", help='Applied to each result x, such as "relu(x + bias[n])".')
@click.option("--semiring", metavar="OPS", default="+,*", help="+,* (default)  max,+  min,+  max,*  min,*")
@click.option("--accumulate", is_flag=True, help="Add to what the result holds.")
@click.option("--schedule", metavar="FILE", type=click.Path(path_type=Path), help="Measure this; search nothing.")
@shared
def tune(
    text: str,
    axis_sizes: tuple[tuple[str, int], ...],
    *,
    sizes: tuple[tuple[str, int], ...],
    schedule: Path | None,
    output: Output,
    **options: Any,
) -> None:
    """Find a fast schedule for a tensor contraction on this CPU.

    TEXT is the contraction, AXIS=N the size of each axis:

    \b
      strop tune "mk,kn->mn" m=192 n=160 k=128
      strop tune "n c h+r w+s, o c r s -> n o h w" n=1 c=64 h=56 w=56 o=64 r=3 s=3

    Prints the time and the schedule, then the fastest schedules, then how NumPy compares. What was tuned before is
    answered from the store; an interrupted run goes on. -o writes schedule.json, result.json, trials.csv, report.html
    and kernel.asm.
    """
    from strop.errors import PeerFailed
    from strop.loops.files import read_document
    from strop.loops.tune import tune as find
    from strop.loops.watch import Watch

    stated = [*sizes, *axis_sizes]
    given = None if schedule is None else read_document(schedule)
    watch = Watch(live=output.live)
    try:
        with watch:
            tuned = find(text, sizes=merged(stated), schedule=given, _observer=watch, **options)
    except KeyboardInterrupt:
        stop(watch, output)
    answer(tuned, output)
    code = 0
    try:
        numpy = compare(tuned, output)
    except KeyboardInterrupt:
        numpy, code = PeerFailed(peer="NumPy", reason="it was interrupted"), INTERRUPTED
    if output.as_json:
        from strop.loops.document import document

        output.document(document(tuned, numpy))
    keep(tuned, numpy, output)
    if code:
        raise click.exceptions.Exit(code)


def stop(watch: Watch, output: Output) -> NoReturn:
    """Ctrl-C while searching: print the best so far and leave with 130. Raises Interrupted where there is none."""
    from strop.errors import Interrupted
    from strop.report.units import counted

    reason = Interrupted(trials=counted(watch.trials, "candidate"))
    if watch.best is None:
        raise reason
    answer(watch.best, output)
    if output.as_json:
        from strop.loops.document import document

        output.document(document(watch.best))
    keep(watch.best, None, output)
    click.echo(str(reason), err=True)
    raise click.exceptions.Exit(reason.exit_code)


def merged(stated: list[tuple[str, int]]) -> dict[str, int]:
    """The sizes by axis; one that is stated twice must be the same."""
    sizes: dict[str, int] = {}
    for axis, size in stated:
        if sizes.setdefault(axis, size) != size:
            raise click.UsageError(f"axis {axis} can't have the sizes {sizes[axis]} and {size}")
    return sizes


def answer(tuned: Tuned, output: Output) -> None:
    """Print the answer: one sentence, then the table."""
    from strop.loops.results import origin, sentence

    for warning in tuned.findings.warnings:
        output.warn(warning)
    if output.as_json:
        return
    click.echo(click.style(sentence(tuned), bold=True))
    if tuned.findings.from_store:
        click.echo(origin(tuned))
    sys.stdout.flush()
    if not output.quiet:
        details(tuned, output)


def details(tuned: Tuned, output: Output) -> None:
    """Print what stands behind the sentence: the finalists, what was tried, with `-v` the nest."""
    from strop.loops import render
    from strop.report.table import show

    table = render.finalists(tuned)
    if table is not None:
        click.echo()
        show(table)
    lines = list(render.summary(tuned))
    if lines:
        click.echo()
    for line in lines:
        click.echo(line)
    if output.verbose:
        click.echo(f"\n{tuned.nest}\n")
        for name, value in render.environment(tuned, None):
            click.echo(f"{name.lower():12}{value}")


def compare(tuned: Tuned, output: Output) -> NumpyComparison | PeerFailed:
    """Time NumPy, or recall how it compared, and print that after the answer."""
    from strop.errors import PeerFailed
    from strop.loops.comparison import against_numpy
    from strop.report.live import passing

    try:
        with passing("timing NumPy …", when=output.live):
            numpy = against_numpy(tuned)
    except PeerFailed as problem:
        if not output.as_json and tuned.measurement is not None:
            output.warn(str(problem))
        return problem
    if not output.as_json:
        from strop.loops.render import compared

        click.echo(compared(numpy))
    return numpy


def keep(tuned: Tuned, numpy: NumpyComparison | PeerFailed | None, output: Output) -> None:
    """Write what `-o` and `--html` ask for."""
    if output.folder is None and output.html is None:
        return
    from strop.loops.document import document, trials_csv
    from strop.loops.render import report

    output.page(lambda: report(tuned, numpy))
    output.write(
        {
            "schedule.json": lambda: json.dumps(tuned.to_json(), indent=2) + "\n",
            "result.json": lambda: json.dumps(document(tuned, numpy), indent=2) + "\n",
            "trials.csv": lambda: trials_csv(tuned),
            "report.html": lambda: report(tuned, numpy),
            "kernel.asm": tuned.asm,
        }
    )
