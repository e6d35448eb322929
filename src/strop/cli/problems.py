"""`strop problems`: what there is to solve, and where to begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from strop.cli.options import Output, shared


@click.command("problems")
@click.argument("problem", required=False)
@click.option("--start", metavar="NAME", is_flag=False, flag_value="", help="Print the start code (of that name).")
@shared
def problems(problem: str | None, *, start: str | None, output: Output, seed: int) -> None:
    """List the problems; with PROBLEM, say what a candidate must define and may do.

    `strop problems gemmini/gemm-64x64x64 --start naive > mine.c` begins a first kernel.
    """
    from strop.errors import BadUsage
    from strop.kernels.registry import families
    from strop.kernels.registry import problem as find
    from strop.kernels.render import described

    if problem is None:
        rows = [
            {"family": family.name, "title": family.title, "form": family.form, "examples": list(family.examples)}
            for family in families().values()
        ]
        output.result(
            {"schema": "strop.problems/1", "families": rows}, listed(rows), title="problems", artefact="problems.json"
        )
        return
    found = find(problem)
    if start is not None:
        name = start or next(iter(found.starts))
        if name not in found.starts:
            known = ", ".join(found.starts)
            raise BadUsage(what=f"{found.id} has no start code {name!r}: it has {known}.", command="strop problems")
        click.echo(found.starts[name], nl=False)
        return
    output.result(
        {"schema": "strop.problem/1", **document(found)}, described(found), title=found.id, artefact="problem.json"
    )


def listed(rows: list[dict[str, Any]]) -> Iterator[str]:
    """The families, each with its examples."""
    yield f"{len(rows)} families of problems; `strop problems ID` says what one asks"
    for row in rows:
        yield ""
        yield f"{row['form']}: {row['title']}"
        for example in row["examples"]:
            yield f"  {example}"


def document(found: Any) -> dict[str, Any]:
    """A problem as JSON."""
    return {
        "id": found.id,
        "target": found.target,
        "title": found.title,
        "signature": found.signature,
        "prelude": found.prelude,
        "buffers": [
            {
                "name": each.name,
                "shape": list(each.shape),
                "dtype": each.dtype,
                "role": str(each.role),
                "host": str(each.host),
            }
            for each in found.buffers
        ],
        "unit": found.unit,
        "bound": found.bound,
        "macs": found.work.macs,
        "read_bytes": found.work.read_bytes,
        "write_bytes": found.work.write_bytes,
        "relative_tolerance": found.tolerance.relative,
        "inputs": list(found.families),
        "fsm": found.fsm,
        "rewrites": found.rewrites,
        "start_code": found.start_code,
        "starts": dict(found.starts),
    }
