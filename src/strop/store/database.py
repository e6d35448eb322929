"""The SQLite file: opened, brought to this layout, and read and written in transactions.

Write-ahead log, one writer at a time, readers never wait. ``synchronous=NORMAL``: what was committed survives the death
of the process at any moment (``kill -9``), because the operating system holds it; a power cut may cost the last
transactions, but never the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop.errors import CorruptStore, NewerStore, ReadOnlyStore, StoreBusy
from strop.store import faults, migrations

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x53545250  # "STRP" in the file's header: another program's database is not taken for a store
MEMORY = Path(":memory:")
WORTH_COPYING_BYTES = 256 << 20


class Database:
    """An open store file. Every method turns SQLite's errors into those of the catalogue."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Database:
        """Open the store for writing; a missing one is made, its directory (mode 0700) too.

        Raises ``ReadOnlyStore``, ``FullStore``, ``StoreBusy``, ``CorruptStore`` or ``NewerStore``.
        """
        import sqlite3

        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ReadOnlyStore(path=path, reason=f"{error.strerror or error}: {error.filename}") from None
        with translated(path):
            connection = sqlite3.connect(path, timeout=faults.BUSY_S, isolation_level=None)
        database = cls(connection, path)
        try:
            database._prepare()
        except BaseException:
            connection.close()
            raise
        return database

    @classmethod
    def open_for_reading(cls, path: Path) -> Database:
        """Open an existing store without ever writing to it, so that it may lie in a read-only directory.

        Raises ``ReadOnlyStore`` where it can't be opened, ``CorruptStore`` or ``NewerStore``.
        """
        import sqlite3

        # Without a log nobody is writing and nothing is missing from the file: SQLite then needs no lock, nor a shared
        # memory file, which it could not make in a read-only directory.
        log = path.with_name(path.name + "-wal")
        quiet = not log.exists() or log.stat().st_size == 0
        writable = os.access(path.parent, os.W_OK, effective_ids=True) and not faults.is_full(path.parent)
        mode = "mode=ro&immutable=1" if quiet and not writable else "mode=ro"
        with translated(path):
            uri = f"{path.absolute().as_uri()}?{mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=faults.BUSY_S, isolation_level=None)
        database = cls(connection, path)
        try:
            version = database._version()
        except BaseException:
            connection.close()
            raise
        if version < migrations.LATEST:  # rare, and a migration is a write: read a migrated copy
            database = database.copied()
        return database

    @classmethod
    def in_memory(cls, path: Path = MEMORY) -> Database:
        """A store that ends with the process; ``path`` is the name it goes by."""
        import sqlite3

        database = cls(sqlite3.connect(":memory:", isolation_level=None), path)
        database._prepare()
        return database

    def copied(self) -> Database:
        """A copy of this store in memory, brought to this layout; this one is closed."""
        copy = Database.in_memory(self.path)
        with translated(self.path):
            self.connection.backup(copy.connection)
        self.close()
        copy._prepare()
        return copy

    def close(self) -> None:
        """Close the file. The last process to do so folds the log into it."""
        self.connection.close()

    def rows(self, sql: str, parameters: Any = ()) -> list[Any]:
        """All rows of a query."""
        with translated(self.path):
            return self.connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Any = ()) -> Any:
        """The first row of a query, or ``None``."""
        with translated(self.path):
            return self.connection.execute(sql, parameters).fetchone()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block's changes or, after any exception (Ctrl-C included), none."""
        connection = self.connection
        with translated(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite itself rolls back after some errors, a full disk among them
                    connection.execute("ROLLBACK")
                raise

    def shrink(self) -> None:
        """Give the space of deleted rows back to the file system, unless another process is at work just now."""
        with suppress(StoreBusy), translated(self.path):
            self.connection.executescript("PRAGMA incremental_vacuum")  # execute() would stop after the first page
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _prepare(self) -> None:
        connection = self.connection
        with translated(self.path):
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
        if self._version() == migrations.LATEST:
            with translated(self.path):
                # a store that can be read but not written says so here, not after the first trial
                connection.execute("UPDATE run SET id = id WHERE 0")
            return
        self._write_ahead()
        steps = migrations.steps()
        with self.transaction():
            # another process may have made the layout since: migrate() reads the version again, under the lock
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID:d}")
            migrations.migrate(connection, steps)

    def _write_ahead(self) -> None:
        """Turn the log on. The change wants the file for itself and doesn't wait as other locks do."""
        import sqlite3

        deadline = time.monotonic() + faults.BUSY_S
        with translated(self.path):
            self.connection.execute(
                "PRAGMA auto_vacuum = INCREMENTAL"
            )  # before the first table: prune gives space back
            while True:
                try:
                    self.connection.execute("PRAGMA journal_mode = WAL")
                    return
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)

    def _version(self) -> int:
        """The layout's version, once it is known that this file is a store that this strop can read."""
        application, version, tables = self.row(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),"
            " (SELECT count(*) FROM sqlite_schema)"
        )
        if application != APPLICATION_ID and tables:
            raise CorruptStore(path=self.path, reason="it is a database of another program")
        if version > migrations.LATEST:
            raise NewerStore(path=self.path, found=version, known=migrations.LATEST)
        return int(version)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as those of the catalogue."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        told = faults.explained(error, path)
        if told is None:
            raise
        raise told from error
