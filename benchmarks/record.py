"""The record of a benchmark: what was asked, what was measured, tables for people, JSON for the page of figures.

A script fills one and calls `finish`. Keys that begin with `samples` hold single samples: they stay in the JSON of a
run and are left out of the committed copy, which keeps medians and bests.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

SCHEMA = "strop.benchmark/1"
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A figure that was asked for. `measured` is None where it couldn't be measured; then `reason` says why.

    The README shows those that are a `headline`.
    """

    what: str
    asked: str
    measured: float | None
    shown: str
    met: bool | None
    reason: str = ""
    headline: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column: its head, and how its numbers are written (a format specification)."""

    head: str
    format: str = ""

    def cell(self, value: Any) -> str:
        """A value as text."""
        if value is None:
            return "–"
        return value if isinstance(value, str) else format(value, self.format)


@dataclass(slots=True)
class Table:
    """Rows of raw values under a title."""

    title: str
    columns: list[Column]
    rows: list[list[Any]]

    @property
    def cells(self) -> list[list[str]]:
        """Heads and rows as text."""
        body = [[column.cell(value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows]
        return [[column.head for column in self.columns], *body]

    def text(self) -> str:
        """The table for a terminal: numbers to the right."""
        cells = self.cells
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = []
        for row in cells:
            padded = [
                cell.rjust(width) if column.format else cell.ljust(width)
                for cell, width, column in zip(row, widths, self.columns, strict=True)
            ]
            lines.append("  ".join(padded).rstrip())
        return "\n".join([self.title, *lines])


@dataclass(slots=True)
class Record:
    """What one benchmark found out. `claim` is a sentence that says what is measured, and how."""

    benchmark: str
    claim: str
    smoke: bool
    path: Path | None
    bars: list[Bar] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def bar(
        self,
        what: str,
        measured: float | None,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        unit: str = "",
        digits: int = 2,
        reason: str = "",
        headline: bool = False,
    ) -> None:
        """Note a bar: `measured` shall be at least or at most so much."""
        limit = at_least if at_least is not None else at_most
        assert limit is not None
        met = None if measured is None else measured >= limit if at_least is not None else measured <= limit
        shown = "not measured" if measured is None else f"{measured:.{digits}f}{unit}"
        asked = f"{'≥' if at_least is not None else '≤'} {limit:.{digits}f}{unit}"
        self.bars.append(
            Bar(what=what, asked=asked, measured=measured, shown=shown, met=met, reason=reason, headline=headline)
        )

    def table(self, title: str, columns: Iterable[str | Column], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table; a column given as text holds words."""
        made = [column if isinstance(column, Column) else Column(column) for column in columns]
        self.tables.append(Table(title, made, [list(row) for row in rows]))

    def skip(self, what: str, reason: str) -> None:
        """Say what wasn't measured, and why."""
        self.skipped.append({"what": what, "reason": reason})

    def finish(self) -> None:
        """Print the tables and the bars; write the JSON if a file was named."""
        for table in self.tables:
            print(f"\n{table.text()}")
        for each in self.skipped:
            print(f"\nNot measured: {each['what']}: {each['reason']}")
        for bar in self.bars:
            verdict = {True: "reached", False: "MISSED", None: bar.reason}[bar.met]
            print(f"\n{bar.what}: {bar.shown}, asked {bar.asked}: {verdict}", end="")
        print("\n\nA smoke run: these figures mean nothing." if self.smoke else "\n")
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n")

    def to_json(self) -> dict[str, Any]:
        """The record with the machine and the versions it was taken with."""
        from strop.bench.machine import machine

        return {
            "schema": SCHEMA,
            "benchmark": self.benchmark,
            "claim": self.claim,
            "smoke": self.smoke,
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "took_s": round(time.monotonic() - self.began, 1),
            "machine": machine().to_json(),
            "versions": known_versions() | self.versions,
            "bars": [asdict(bar) for bar in self.bars],
            "tables": [asdict(table) for table in self.tables],
            "skipped": self.skipped,
            "results": self.results,
        }


def parser(claim: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have."""
    made = argparse.ArgumentParser(description=claim)
    made.add_argument("--json", type=Path, metavar="FILE", help="write the record there")
    made.add_argument("--smoke", action="store_true", help="a short run that only shows that the script works")
    return made


def progress(text: str) -> None:
    """Say on standard error what is being done."""
    print(text, file=sys.stderr, flush=True)


def known_versions() -> dict[str, str]:
    """Versions of strop, its commit where this is a checkout, Python, NumPy and the kernel."""
    import strop

    git = ["git", "describe", "--always", "--dirty"]
    try:
        said = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        commit = {"commit": said}
    except (OSError, subprocess.CalledProcessError):  # no git, or no checkout
        commit = {}
    return {
        "strop": strop.__version__,
        **commit,
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "system": f"{platform.system()} {platform.release()}",
    }


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive numbers."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))
