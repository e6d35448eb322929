"""Lines that change in place, on a terminal that a small emulator plays."""

from __future__ import annotations

import io
import re

import pytest

from strop.report import live
from strop.report.live import Live, is_live, passing


class Terminal(io.StringIO):
    """A stream that is a terminal, with its screen."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """The lines that one would see."""
        rows, row = [""], 0
        for part in re.findall(r"\x1b\[\??\d*[A-Za-z]|\r|\n|[^\x1b\r\n]+", self.getvalue()):
            if match := re.fullmatch(r"\x1b\[(\d+)A", part):
                row -= int(match[1])
            elif part == "\x1b[J":
                rows = [*rows[:row], ""]
            elif part == "\n":
                row += 1
                rows += [""] * (row + 1 - len(rows))
            elif part not in ("\r", live.HIDE, live.SHOW):
                rows[row] += part
        return [line for line in rows if line]


def test_the_last_lines_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "10")
    terminal, shown = Terminal(), ["one", "two", "three"]
    with Live(lambda: shown, file=terminal) as painted:
        painted.update(now=True)
        assert terminal.screen() == shown
        shown = ["x" * 50]
        painted.update(now=True)
        assert terminal.screen() == ["x" * 19], "a line that wraps would not be wiped"
        shown = [str(number) for number in range(30)]
        painted.update(now=True)
        assert len(terminal.screen()) == 9
    assert terminal.screen() == []
    assert terminal.getvalue().endswith(live.SHOW)


def test_painting_is_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([0.0, 0.01, 0.02, 0.03, 5.0, 5.0])
    monkeypatch.setattr(live.time, "monotonic", lambda: next(moments))
    painted = 0

    def lines() -> list[str]:
        nonlocal painted
        painted += 1
        return []

    view = Live(lines, file=Terminal())
    view.update(now=True)  # takes one moment
    view.update()
    view.update()
    assert painted == 1
    view.update()
    view.update()
    assert painted == 2


def test_the_cursor_comes_back_after_an_error() -> None:
    terminal = Terminal()
    with pytest.raises(KeyboardInterrupt), Live(lambda: ["at work"], file=terminal) as painted:
        painted.update(now=True)
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith(live.SHOW)
    assert terminal.screen() == []


def test_only_a_terminal_is_live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert is_live(Terminal())
    assert not is_live(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not is_live(Terminal())


def test_a_passing_line() -> None:
    terminal = Terminal()
    with passing("timing NumPy …", when=True, file=terminal):
        assert terminal.screen() == ["timing NumPy …"]
    assert terminal.screen() == []
    silent = Terminal()
    with passing("timing NumPy …", when=False, file=silent):
        pass
    assert silent.getvalue() == ""
