"""The command `strop`: its verbs, each imported when it runs, and how every failure ends."""

from __future__ import annotations

import errno
import os
import sys

try:
    from collections.abc import Iterator, Sequence
    from contextlib import contextmanager, suppress
    from importlib import import_module
    from typing import Any, NoReturn

    import click

    from strop import __version__
    from strop.errors import BadFile, BadUsage, Stopped, StropError
    from strop.errors.base import INTERRUPTED
except KeyboardInterrupt:  # Ctrl-C this early: no traceback of imports
    sys.exit(130)

VERBS = {
    "tune": "Find a fast schedule for a tensor contraction on this CPU.",
    "diagnose": "Say why the kernels of a GPU profile stall.",
    "judge": "Say whether a kernel is right on an accelerator, what it costs, and what bounds it.",
    "problems": "List what there is to solve, with start codes.",
    "simulate": "Run a bare-metal RISC-V program on the simulated core with Gemmini.",
    "targets": "List the machines that kernels are judged on.",
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

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command line and exit."""
        words = list(sys.argv[1:] if args is None else args)
        prepare_streams()
        if os.environ.get("NO_COLOR"):
            extra["color"] = False
        try:
            code = super().main(words, prog_name or "strop", **{**extra, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            code = error.exit_code
        except click.UsageError as error:
            code = said(misused(error), words)
        except StropError as error:
            code = said(error, words)
        except click.Abort:  # Ctrl-C where nothing was found yet
            code = said(Stopped(), words) if "--json" in words else INTERRUPTED
        except Exception as error:
            code = said(unforeseen(error, words), words)
        sys.exit(code if isinstance(code, int) else 0)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line; `--help` ends here."""
        with written_out():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with written_out():
            return super().invoke(ctx)


def prepare_streams() -> None:
    """Let nothing that is printed fail for its letters, nor for a stream that was closed (`strop >&-`)."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (it lasts as long as we do)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


@contextmanager
def written_out() -> Iterator[None]:
    """Write all of standard output. Raises BadFile where it takes no more.

    A reader that has seen enough (`strop runs | head`) ends strop without a word.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        sys.exit(0)
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            raise
        drop_output()
        raise BadFile(path="Standard output", done="written", reason=error.strerror) from None


def drop_output() -> None:
    """Send what is left of standard output nowhere, so that the interpreter's last flush has nothing to complain of."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def misused(error: click.UsageError) -> BadUsage:
    """A mistake that click found, as an error of the catalogue."""
    command = error.ctx.command_path if error.ctx else "strop"
    said = error.format_message().strip()
    return BadUsage(what=said if said.endswith(("?", ".")) else f"{said}.", command=command)


def unforeseen(error: Exception, words: Sequence[str]) -> StropError:
    """Any other exception is a bug of ours: its report is saved."""
    from strop.cli.bug import reported

    return reported(error, words)


def said(error: StropError, words: Sequence[str]) -> int:
    """Print an error: one line on standard error, or with `--json` its JSON form on standard output; its exit code.

    The exit code stands where neither can be written.
    """
    with suppress(OSError):
        print_error(error, words)
    return error.exit_code


def print_error(error: StropError, words: Sequence[str]) -> None:
    """The error where its reader looks for it."""
    if "--json" in words:
        import json

        click.echo(json.dumps(error.to_json()))
        return
    colour = False if os.environ.get("NO_COLOR") else None
    if {"-v", "--verbose"} & set(words) and "words" in error.fields:  # what a process that failed had written
        click.echo(error.fields["words"], err=True)
    click.echo(f"{click.style('strop:', fg='red', bold=True)} {error}", err=True, color=colour)


@click.group("strop", cls=Strop, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="strop")
def main() -> None:
    """Hone tensor kernels: from a contraction to checked machine code on this CPU, without a compiler."""
