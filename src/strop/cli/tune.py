"""`strop tune`: a fast schedule for a contraction, how fast it is, and how that compares with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from strop.cli.options import Output, shared

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned


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
@click.option("--sizes", multiple=True, metavar="AXIS=N", type=AxisSize(), help="Sizes, as after TEXT.")
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
    answered from the store; an interrupted run goes on.
    """
    from strop.loops.files import read_document
    from strop.loops.results import sentence
    from strop.loops.tune import tune as find

    tuned: Tuned = find(
        text,
        sizes={**dict(sizes), **dict(axis_sizes)},
        schedule=None if schedule is None else read_document(schedule),
        **options,
    )
    click.echo(sentence(tuned))
