"""What SQLite says when something is wrong, as errors of the catalogue."""

from __future__ import annotations

import os
from pathlib import Path

from strop.errors import CorruptStore, FullStore, ReadOnlyStore, StoreBusy, StropError

BUSY_S = 5.0
"""How long a writer waits for another; a transaction of ours takes milliseconds."""

UNSAVED: tuple[type[StropError], ...] = (ReadOnlyStore, FullStore, StoreBusy)
"""The faults that a caller may survive by going on without saving; the others need a person."""


def explained(error: Exception, path: Path) -> StropError | None:
    """The catalogue's error for a ``sqlite3.Error`` at the store ``path``; ``None`` for a mistake of strop's own."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    match code & 0xFF:  # the primary result code, sqlite.org/rescode.html
        case 13:  # FULL
            return FullStore(path=path)
        case 5 | 6:  # BUSY, LOCKED
            return StoreBusy(path=path, seconds=f"{BUSY_S:g}")
        case 11 | 26:  # CORRUPT, NOTADB
            return CorruptStore(path=path, reason=str(error))
        case 3 | 8 | 10 | 14:  # PERM, READONLY, IOERR, CANTOPEN
            return ReadOnlyStore(path=path, reason=why_not_writable(path) or str(error))
        case _:
            return None


def why_not_writable(path: Path) -> str | None:
    """What the file system says, which is plainer than SQLite's "unable to open database file"."""
    if path.is_dir():
        return "it is a directory"
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK, effective_ids=True):
            return f"no permission to write {place}"
    return None if path.parent.exists() else f"{path.parent} does not exist"
