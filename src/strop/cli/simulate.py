"""`strop simulate`: run a bare-metal program on the simulated Gemmini machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from strop.cli.options import Output, shared


@click.command("simulate")
@click.argument("elf", type=click.Path(path_type=Path))
@click.option("--geometry", default="int8-16x16", metavar="NAME", help="int8-16x16 (default) or fp32-4x4.")
@click.option("--preset", default="firesim", metavar="NAME", help="firesim (default) or ideal.")
@click.option("--set", "changes", multiple=True, metavar="NAME=NUMBER", help="Change a parameter of the machine.")
@click.option("--functional", is_flag=True, help="Without time: faster, and rdcycle counts instructions.")
@click.option("--strict", is_flag=True, help="Refuse what the judge refuses, such as reading rows never written.")
@click.option("--memory", default=256, metavar="MIB", type=click.IntRange(1, 4096), help="Memory from 0x80000000 on.")
@click.option(
    "--instructions", default=2_000_000_000, metavar="N", type=click.IntRange(min=1), help="Stop after so many."
)
@shared
def simulate(
    elf: Path,
    *,
    geometry: str,
    preset: str,
    changes: tuple[str, ...],
    functional: bool,
    strict: bool,
    memory: int,
    instructions: int,
    output: Output,
    seed: int,
) -> None:
    """Run the bare-metal RISC-V program ELF on the simulated core with Gemmini; its output comes out as it is.

    Any static rv64gc program for memory at 0x80000000 that ends through HTIF's tohost runs, with custom-3 going to
    Gemmini. Exit code 0 if the program ended with 0, 1 if it ended otherwise, crashed or ran too long.
    """
    from strop.kernels.simulate import simulate as run
    from strop.kernels.targets.gemmini.parameters import overrides

    found = run(
        elf,
        geometry=geometry,
        preset=preset,
        parameters=overrides(changes),
        timed=not functional,
        strict=strict,
        memory_bytes=memory << 20,
        most_instructions=instructions,
    )
    if not output.as_json:
        sys.stdout.buffer.write(found.output)
        sys.stdout.buffer.flush()
    lines = said(found.to_json()) if output.as_json or not output.quiet else iter(())
    if output.as_json:
        output.document(found.to_json())
    else:
        for line in lines:
            output.aside(line)
    if not found.ok:
        raise click.exceptions.Exit(1)


def said(found: dict[str, object]) -> Iterator[str]:
    """How it ended and what it took."""
    yield f"{found['ended']}; {found['instructions']:,} instructions, {found['commands']:,} commands to Gemmini"
    if found["cycles"] is not None:
        yield f"{found['cycles']:,} cycles"
