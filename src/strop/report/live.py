"""Lines on a terminal that change in place.

By hand, not with rich: a quick search takes less time than rich does to import, and a thread that repaints would take
processor time from what is being timed. What changes is painted when the caller says so, at most ten times a second.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

INTERVAL_S = 0.1
HIDE, SHOW, UP, ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[{}A", "\x1b[J"


def is_live(file: TextIO | None = None) -> bool:
    """Whether lines can change in place: on a terminal that knows how to move its cursor."""
    return (file or sys.stderr).isatty() and os.environ.get("TERM", "") not in ("", "dumb")


class Live:
    """Paints what `lines` returns, and wipes it away in the end: what stays is printed by who knows the result.

    Use it in a `with` block. `update` paints if the last painting is `INTERVAL_S` ago.
    """

    def __init__(self, lines: Callable[[], Sequence[str]], *, file: TextIO | None = None) -> None:
        self._lines = lines
        self._file = file or sys.stderr
        self._height = 0
        self._due = 0.0

    def update(self, *, now: bool = False) -> None:
        """Paint, unless it was done a moment ago; `now` paints whatever the time."""
        if not now and time.monotonic() < self._due:
            return
        columns, rows = shutil.get_terminal_size()
        # A line that wraps or a block that scrolls would leave its upper part behind.
        shown = [line[: columns - 1] for line in self._lines()[: rows - 1]]
        self._paint("".join(f"{line}\n" for line in shown), len(shown))
        self._due = time.monotonic() + INTERVAL_S

    def __enter__(self) -> Self:
        self._file.write(HIDE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._paint(SHOW, 0)

    def _paint(self, text: str, height: int) -> None:
        back = UP.format(self._height) if self._height else ""
        self._file.write(f"{back}\r{ERASE}{text}")
        self._file.flush()
        self._height = height


@contextmanager
def passing(text: str, *, when: bool, file: TextIO | None = None) -> Iterator[None]:
    """Show a line while the block runs, then wipe it away."""
    live = Live(lambda: [text], file=file)
    if not when:
        yield
        return
    with live:
        live.update(now=True)
        yield


def bar(share: float, *, width: int = 24) -> str:
    """A share from 0 to 1 as a bar.

    >>> bar(0.5, width=8)
    '━━━━────'
    """
    full = round(max(0.0, min(1.0, share)) * width)
    return "━" * full + "─" * (width - full)
