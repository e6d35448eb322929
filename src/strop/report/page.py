"""One self-contained HTML page from blocks: no script, nothing from the network, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from strop.report.annotated import Annotated
from strop.report.table import Table

if TYPE_CHECKING:
    import jinja2


@dataclass(frozen=True, slots=True)
class Figures:
    """Key numbers, each a value and what it is of."""

    kind: ClassVar[str] = "figures"
    values: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph."""

    kind: ClassVar[str] = "prose"
    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; in a ranking the first row stands out. `links` has an address (`#id`) or None for each cell."""

    kind: ClassVar[str] = "grid"
    table: Table
    ranking: bool = False
    links: Sequence[Sequence[str | None]] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG element, which is put in as it is, and what it shows."""

    kind: ClassVar[str] = "drawing"
    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Code or the like as it stands; `folded` shows it when its title is clicked, `wrap` breaks long lines."""

    kind: ClassVar[str] = "listing"
    title: str
    text: str
    folded: bool = False
    wrap: bool = False


@dataclass(frozen=True, slots=True)
class Beside:
    """Listings side by side."""

    kind: ClassVar[str] = "beside"
    listings: Sequence[Listing]


@dataclass(frozen=True, slots=True)
class Panes:
    """Columns of annotated code, wider than the text where the window is; one below the other where it is narrow."""

    kind: ClassVar[str] = "panes"
    columns: Sequence[Sequence[Annotated]]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    kind: ClassVar[str] = "facts"
    rows: Sequence[tuple[str, str]]


Block = Figures | Prose | Grid | Drawing | Listing | Beside | Panes | Facts


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: Sequence[Block]


def page(*, title: str, subject: str, sentence: str, sections: Sequence[Section], warnings: Sequence[str] = ()) -> str:
    """The document: `sentence` says what came out, `subject` of what; `title` is the browser's."""
    from strop import __version__

    given: dict[str, Any] = {"title": title, "subject": subject, "sentence": sentence, "warnings": warnings}
    return _template("page.html").render(**given, sections=sections, version=__version__)


def fragment(*, subject: str, sentence: str, blocks: Sequence[Block], warnings: Sequence[str] = ()) -> str:
    """The same as a part of another page: a notebook's output."""
    given: dict[str, Any] = {"subject": subject, "sentence": sentence, "warnings": warnings}
    return _template("fragment.html").render(**given, blocks=blocks)


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("strop.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
