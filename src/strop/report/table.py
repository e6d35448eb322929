"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A column; numbers stand at its right edge."""

    title: str
    right: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, a row each. The first row is what the table is about: a terminal shows it bold."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row has another number of cells than the table has columns")

    def without_empty_columns(self) -> Table:
        """The table without the columns that no row has anything in."""
        kept = [index for index in range(len(self.columns)) if any(row[index] for row in self.rows)]
        rows = tuple(tuple(row[index] for index in kept) for row in self.rows)
        return Table(tuple(self.columns[index] for index in kept), rows)


def lines(table: Table) -> Iterator[str]:
    """The table as plain lines.

    >>> nest = Table((Column("nest"), Column("time", right=True)), (("n16 m6 k", "7.7 µs"), ("k n", "12.0 µs")))
    >>> print(*lines(nest), sep="\\n")
    nest         time
    n16 m6 k   7.7 µs
    k n       12.0 µs
    """
    titles = tuple(column.title for column in table.columns)
    widths = [max(map(len, cells)) for cells in zip(titles, *table.rows, strict=True)]
    for row in (titles, *table.rows):
        cells = [
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(row, widths, table.columns, strict=True)
        ]
        yield GAP.join(cells).rstrip()


def show(table: Table, *, file: TextIO | None = None) -> None:
    """Print the table: plain into a pipe or a file, fitted to a terminal's width on a terminal."""
    file = file or sys.stdout
    if not file.isatty():
        for line in lines(table):
            print(line, file=file)
        return
    from shutil import get_terminal_size

    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="dim")
    for column in table.columns:
        shown.add_column(column.title, justify="right" if column.right else "left", overflow="fold")
    for number, row in enumerate(table.rows):
        shown.add_row(*map(Text, row), style="bold" if number == 0 else None)
    # Narrower than this, folded cells would be a letter wide: the terminal wraps the lines instead.
    least = sum(max(map(len, column.title.split() or [""])) + len(GAP) for column in table.columns)
    width = max(get_terminal_size().columns, least)
    Console(file=file, highlight=False, width=width).print(shown)
