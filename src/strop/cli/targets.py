"""`strop targets`: the machines that kernels are judged on, and their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from strop.cli.options import Output, shared


@click.command("targets")
@click.argument("target", required=False)
@shared
def targets(target: str | None, *, output: Output, seed: int) -> None:
    """List the machines that kernels are judged on; with TARGET, its parameters or facts, with their sources."""
    from strop.errors import UnknownTarget
    from strop.kernels.targets.target import TARGETS

    if target is None:
        rows = [{"name": name, "title": title} for name, title in TARGETS.items()]
        output.result(
            {"schema": "strop.targets/1", "targets": rows},
            [f"{len(rows)} targets", *(f"  {row['name']:10}{row['title']}" for row in rows)],
            title="targets",
            artefact="targets.json",
        )
        return
    if target not in TARGETS:
        raise UnknownTarget(target=target, targets=", ".join(TARGETS))
    found = parameters() if target == "gemmini" else []
    known = facts() if target == "cpu" else []
    title = TARGETS[target]
    document = {"schema": "strop.target/1", "name": target, "title": title, "parameters": found, "facts": known}
    output.result(document, described(target, title, found, known), title=target, artefact="target.json")


def parameters() -> list[dict[str, Any]]:
    """Gemmini's parameters with their sources."""
    from strop.kernels.targets.gemmini.parameters import described

    return [{"name": name, "value": value, "source": source} for name, (value, source) in sorted(described().items())]


def facts() -> list[dict[str, Any]]:
    """What the target cpu is on this machine."""
    from strop.kernels.targets.cpu.describe import rows

    return list(rows())


def described(
    name: str, title: str, found: list[dict[str, Any]], known: list[dict[str, Any]] | None = None
) -> Iterator[str]:
    """A target's parameters and facts, one a line."""
    yield f"{name}: {title}"
    if found:
        yield ""
        yield "parameters (strop judge --set NAME=NUMBER):"
    for row in found:
        yield f"  {row['name']:36}{row['value']:>9,.0f}  {row['source']}"
    if known:
        yield ""
    for row in known or []:
        value = f"{row['value']:,.4g}" if isinstance(row["value"], float) else str(row["value"])
        yield f"{row['name']:20}{value}{': ' if row['source'] else ''}{row['source']}"
