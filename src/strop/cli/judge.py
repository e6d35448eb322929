"""`strop judge`: is a kernel right, and what does it cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from strop.cli.options import Output, as_text, shared, write_text

if TYPE_CHECKING:
    from strop.kernels.judgement import Judgement
    from strop.kernels.targets.gemmini.timeline import Timeline


@click.command("judge")
@click.argument("problem")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sandbox", default="auto", metavar="NAME", help="auto (default), or none: the result is unverified.")
@click.option("--fresh", is_flag=True, help="Judge again what was judged before.")
@click.option("--set", "changes", multiple=True, metavar="NAME=NUMBER", help="Change the simulated machine.")
@click.option("--trace", metavar="FILE", type=click.Path(path_type=Path), help="Write a Chrome trace (gemmini).")
@shared
def judge(
    problem: str,
    file: Path,
    *,
    sandbox: str,
    fresh: bool,
    changes: tuple[str, ...],
    trace: Path | None,
    output: Output,
    seed: int,
) -> None:
    """Say whether the kernel in FILE solves PROBLEM, what it costs, and what bounds it.

    PROBLEM is an id of `strop problems`, such as gemmini/gemm-512x512x512; its start code begins a first FILE. Inputs
    are drawn anew from seeds that nobody can know; an equal question is answered from the store unless --fresh. Exit
    code 0 for a right kernel, else 1.
    """
    from strop.kernels import judge as judging
    from strop.kernels.render import lines, sentence
    from strop.kernels.targets.gemmini.parameters import overrides

    parameters = overrides(changes)
    found = judging.judge(problem, file, sandbox=sandbox, fresh=fresh, parameters=parameters)
    code = judging.source(file)
    if output.as_json:
        output.document(found.to_json())
    else:
        for line in [sentence(found)] if output.quiet else lines(found):
            click.echo(line)
    shown = None
    if found.ok and found.target == "gemmini" and (trace or output.html or output.folder):
        shown = drawn(problem, code, parameters, sandbox)
    if trace is not None and shown is not None:
        write_text(trace, as_text(traced(shown)))
    output.write(
        {
            "judgement.json": lambda: as_text(found.to_json()),
            "report.html": lambda: html(found, code, shown),
            **({"trace.json": lambda: as_text(traced(shown))} if shown is not None else {}),
        }
    )
    output.page(lambda: html(found, code, shown))
    if not found.ok:
        raise click.exceptions.Exit(1)


def html(found: Judgement, code: str, shown: Timeline | None) -> str:
    """The page."""
    from strop.kernels.render_html import report

    return report(found, code, shown)


def drawn(problem: str, code: str, parameters: Mapping[str, float], sandbox: str) -> Timeline:
    """Run once more and keep what the machine did when."""
    from strop.kernels.registry import problem as find
    from strop.kernels.targets.gemmini.target import TARGET
    from strop.kernels.targets.gemmini.timeline import timeline

    machine = TARGET.changed(parameters) if parameters else TARGET
    return timeline(find(problem), code, machine, sandbox=sandbox)


def traced(shown: Timeline) -> dict[str, Any]:
    """A timeline as a Chrome trace."""
    from strop.kernels.targets.gemmini.timeline import chrome_trace

    return chrome_trace(shown)
