"""The command `strop`: its verbs, each imported when it runs, and how every failure ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from strop import __version__
from strop.errors import BadUsage, StropError

VERBS = {
    "tune": "Find a fast schedule for a tensor contraction on this CPU.",
    "runs": "List, show, compare, dump and prune what was measured.",
    "doctor": "Say what this machine has: CPU, instruction sets, caches, peers, sandbox, store, settings.",
}
"""What `strop --help` says of each verb; its command has the verb's name in the module of that name."""


class Strop(click.Group):
    """The group of verbs. `main` never returns: it exits with a code of the contract."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb's command; its module is imported now."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"strop.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without importing a verb."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; a reader of standard output that has seen enough ends it without a word."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter's last flush complains
            ctx.exit(0)
        return result

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command line and exit."""
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words
        extra["standalone_mode"] = False
        if os.environ.get("NO_COLOR"):
            extra["color"] = False
        try:
            code = super().main(words, prog_name or "strop", **extra)
        except click.UsageError as error:
            code = said(misused(error), as_json)
        except StropError as error:
            code = said(error, as_json)
        except click.Abort:  # Ctrl-C before anything was found
            code = 130
        except Exception as error:
            from strop.cli.bug import reported

            code = said(reported(error, words), as_json)
        sys.exit(code if isinstance(code, int) else 0)


def misused(error: click.UsageError) -> BadUsage:
    """A mistake that click found, as an error of the catalogue."""
    command = error.ctx.command_path if error.ctx else "strop"
    return BadUsage(what=error.format_message().rstrip("."), command=command)


def said(error: StropError, as_json: bool) -> int:
    """Print an error: one line on standard error, or the JSON form on standard output; its exit code."""
    if as_json:
        import json

        click.echo(json.dumps(error.to_json()))
    else:
        colour = False if os.environ.get("NO_COLOR") else None
        click.echo(f"{click.style('strop:', fg='red', bold=True)} {error}", err=True, color=colour)
    return error.exit_code


@click.group(cls=Strop, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="strop")
def main() -> None:
    """Hone tensor kernels: from a contraction to checked machine code on this CPU, without a compiler."""
