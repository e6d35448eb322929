"""`strop judge`: is a kernel right, and what does it cost."""

from __future__ import annotations

from pathlib import Path

import click

from strop.cli.options import Output, as_text, shared


@click.command("judge")
@click.argument("problem")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--sandbox", default="auto", metavar="NAME", help="auto (default), or none: the result is unverified.")
@click.option("--fresh", is_flag=True, help="Judge again what was judged before.")
@click.option("--set", "changes", multiple=True, metavar="NAME=NUMBER", help="Change the simulated machine.")
@shared
def judge(
    problem: str, file: Path, *, sandbox: str, fresh: bool, changes: tuple[str, ...], output: Output, seed: int
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
    said = [sentence(found)] if output.quiet else list(lines(found))
    output.write({"judgement.json": lambda: as_text(found.to_json())})
    output.result(found.to_json(), said, title=f"strop judge {problem}", artefact="judgement.json")
    if not found.ok:
        raise click.exceptions.Exit(1)
