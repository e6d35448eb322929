"""Tables: aligned, plain in a pipe, fitted on a terminal."""

from __future__ import annotations

import io

import pytest

from strop.report.table import Column, Table, lines, show

TABLE = Table(
    (Column("schedule"), Column("median", right=True), Column("note")),
    (("n16 m6 k", "7.70 µs", ""), ("k n", "12.0 µs", "")),
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_numbers_stand_at_the_right_edge() -> None:
    assert list(lines(TABLE.without_empty_columns())) == [
        "schedule   median",
        "n16 m6 k  7.70 µs",
        "k n       12.0 µs",
    ]


def test_a_pipe_gets_no_colour_and_no_blanks_at_the_end() -> None:
    file = io.StringIO()
    show(TABLE, file=file)
    assert "\x1b" not in file.getvalue()
    assert all(line == line.rstrip() for line in file.getvalue().splitlines())


def test_a_terminal_gets_a_table_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    file = Terminal()
    show(Table((Column("schedule"),), (("[bold]n16[/bold] " * 20,),)), file=file)
    assert "[bold]" in file.getvalue(), "cells are no markup"
    assert max(map(len, file.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines())) <= 48


def test_a_row_of_another_length_is_a_mistake_of_ours() -> None:
    with pytest.raises(ValueError, match="another number"):
        Table((Column("a"),), (("1", "2"),))
