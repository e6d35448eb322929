"""`strop diagnose`: why the kernels of a GPU profile stall."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from strop.cli.options import Output, Place, as_text, shared

if TYPE_CHECKING:
    from strop.values.diagnosis import Diagnosis


@click.command("diagnose")
@click.argument("path", type=Place())
@click.option("--binary", metavar="FILE", type=Place(), help="The GPU binary that ran.")
@click.option("--kernel", metavar="NAME", help="Only kernels with this in their name.")
@click.option("--method", metavar="NAME", default="strop", help="strop (default); to compare: leo, nearest, raw.")
@shared
def diagnose(path: Path, *, binary: Path | None, kernel: str | None, method: str, output: Output, seed: int) -> None:
    """Say why the kernels of a GPU profile stall: which load, on which line, through which chain, and what it costs.

    PATH is a profile: an HPCToolkit database's directory, an .ncu-rep, an Nsight Compute source-page CSV, rocprofv3's
    CSV, JSON or database, a rocprof viewer's code.json, ATT stats, or unitrace's CSV. No GPU is needed.

    With -o DIR: diagnosis.json, report.html, blame.folded (for flamegraph.pl) and blame.speedscope.json.
    """
    from strop.stalls.diagnose import analyse
    from strop.stalls.flame import folded, speedscope
    from strop.stalls.render_html import report

    analysis = analyse(path, binary, kernel, method)
    found = analysis.diagnosis
    output.write(
        {
            "diagnosis.json": lambda: as_text(found.to_json()),
            "report.html": lambda: report(analysis),
            "blame.folded": lambda: folded(found),
            "blame.speedscope.json": lambda: as_text(speedscope(found, name=path.name)),
        }
    )
    output.page(lambda: report(analysis))
    if output.as_json:
        output.document(found.to_json())
        return
    for line in text(found, verbose=output.verbose):
        click.echo(line)


def text(diagnosis: Diagnosis, *, verbose: bool) -> Iterator[str]:
    """The lines for people: fitted to a terminal, its sentence bold; as they are into a pipe."""
    from shutil import get_terminal_size

    from strop.stalls.headline import sentence
    from strop.stalls.render import BRIEF, WHOLE, fold, lines

    width = get_terminal_size().columns if sys.stdout.isatty() else None
    bold = sum(1 for _ in fold(sentence(diagnosis), width)) if width and not os.environ.get("NO_COLOR") else 0
    for number, line in enumerate(lines(diagnosis, width=width, amount=WHOLE if verbose else BRIEF)):
        yield click.style(line, bold=True) if number < bold else line
