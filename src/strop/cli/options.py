"""The options that every verb takes, and what they do with a result."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from strop.errors import BadFile
from strop.settings import scope


class Place(click.Path):
    """A path as an option's value; an empty one isn't the folder one is in, but a variable that isn't set."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path. An empty one is wrong usage."""
        if value in ("", b""):
            self.fail("it is empty; name a path.", param, ctx)
        return super().convert(value, param, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where a verb's result goes: JSON or text on standard output, artefacts into `folder`, a page into `html`."""

    as_json: bool = False
    folder: Path | None = None
    html: Path | None = None
    verbose: bool = False
    quiet: bool = False

    @property
    def live(self) -> bool:
        """Whether progress is shown: on a terminal, unless `-q`."""
        from strop.report.live import is_live

        return not self.quiet and is_live()

    def document(self, value: Mapping[str, Any]) -> None:
        """Print the one object of `--json`."""
        escaped = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()  # a stream that lacks letters
        click.echo(json.dumps(value, allow_nan=False, ensure_ascii=escaped))

    def result(self, document: Mapping[str, Any], lines: Iterable[str], *, title: str, artefact: str) -> None:
        """Print a result, as JSON or as lines for people; the first line is a sentence that says what came out.

        The folder gets the JSON as `artefact`, the page shows the lines.
        """
        said = list(lines)
        if self.as_json:
            self.document(document)
        else:
            for line in said:
                click.echo(line)
        self.write({artefact: lambda: as_text(document)})
        self.page(lambda: page_of(title, said))

    def aside(self, text: str) -> None:
        """Say something that is no result on standard error, unless `-q`."""
        if not self.quiet:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Say on standard error what the user must hear, `-q` or not."""
        click.echo(f"{click.style('warning:', fg='yellow')} {text}", err=True)

    def check(self) -> None:
        """Before the work begins: make the folder of `-o` and see that files can be made. Raises BadFile."""
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                reason = "it is a file, not a directory" if self.folder.is_file() else problem.strerror
                raise BadFile(path=self.folder, done="made", reason=reason) from None
        if self.html is not None and self.html.is_dir():
            raise BadFile(path=self.html, done="written", reason="it is a directory")
        for folder in filter(None, (self.folder, self.html and self.html.parent)):
            if not folder.is_dir():
                raise BadFile(path=self.html, done="written", reason=f"there is no directory {folder}")
            if not os.access(folder, os.W_OK | os.X_OK):
                raise BadFile(path=folder, done="written", reason="there is no permission to write it")

    def write(self, artefacts: Mapping[str, Callable[[], str]]) -> None:
        """Write the artefacts into the folder of `-o`, if there is one. Raises BadFile."""
        if self.folder is not None:
            for name, text in artefacts.items():
                write_text(self.folder / name, text())

    def page(self, text: Callable[[], str]) -> None:
        """Write the page of `--html`, if it is asked for. Raises BadFile."""
        if self.html is not None:
            write_text(self.html, text())


def as_text(document: Mapping[str, Any]) -> str:
    """JSON as an artefact has it."""
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def page_of(title: str, lines: Sequence[str]) -> str:
    """A page that shows what is printed."""
    from strop.report.page import Listing, Section, page

    sentence, *rest = lines or [""]
    blocks = [Listing("", "\n".join(rest).strip("\n"))] if any(rest) else []
    return page(title=title, subject=title, sentence=sentence, sections=[Section("", blocks)])


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises BadFile."""
    from strop.loops.files import write_text as write

    write(path, text)


def shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the options that all have; the verb gets `output` and `seed`, the settings' flags are in force."""

    @functools.wraps(command)
    def verb(
        *args: Any,
        as_json: bool,
        folder: Path | None,
        html: Path | None,
        verbose: bool,
        quiet: bool,
        home: str | None,
        isa: str | None,
        **options: Any,
    ) -> Any:
        output = Output(as_json=as_json, folder=folder, html=html, verbose=verbose, quiet=quiet)
        output.check()
        with flags(home=home, isa=isa):
            return command(*args, output=output, **options)

    for option in reversed(SHARED):
        verb = option(verb)
    return verb


SHARED = (
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option("-o", "--output", "folder", metavar="DIR", type=Place(), help="Write all artefacts there."),
    click.option("--html", metavar="FILE", type=Place(), help="Write a page that stands alone."),
    click.option("-v", "--verbose", is_flag=True, help="Say more."),
    click.option("-q", "--quiet", is_flag=True, help="Print results only."),
    click.option("--seed", type=int, default=0, help="Seed of all that is random."),
    click.option("--home", metavar="DIR", help="Directory of the store (STROP_HOME)."),
    click.option("--isa", metavar="NAME", help="Instruction set: auto, avx512, avx2, portable (STROP_ISA)."),
)


@contextmanager
def flags(**given: str | None) -> Iterator[None]:
    """Settings given as flags, in force here and in the processes that are started."""
    stated = {f"STROP_{name.upper()}": value for name, value in given.items() if value is not None}
    before = {name: os.environ.get(name) for name in stated}
    os.environ.update(stated)
    try:
        with scope(**given):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
