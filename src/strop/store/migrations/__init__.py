"""The store's layout, as numbered steps: ``0001_runs.sql`` makes version 1, the next file version 2, and so on.

A released file never changes. A new layout is a new file; a store that an earlier release wrote, kept as text under
``tests/store/stores/``, must open after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

LATEST = 1
"""The layout's version that this strop reads and writes; equals the number of the last file."""


def steps(directory: Path = Path(__file__).parent) -> list[tuple[int, str]]:
    """The steps in order: the version each one makes, and its SQL."""
    return [(int(file.name[:4]), file.read_text("utf-8")) for file in sorted(directory.glob("[0-9]*.sql"))]


def migrate(connection: sqlite3.Connection, steps: list[tuple[int, str]]) -> None:
    """Bring the layout up to the last of ``steps``. Call inside a transaction: either all steps happen or none."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for number, script in steps:
        if number > version:
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number:d}")


def _statements(script: str) -> Iterator[str]:
    """The statements one by one: ``executescript`` would end the transaction it runs in."""
    import sqlite3

    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(statement):
            yield statement
            statement = ""
