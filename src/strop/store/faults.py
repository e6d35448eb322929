"""What SQLite says when something is wrong, as errors of the catalogue."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from strop.errors import CorruptStore, FullStore, ReadOnlyStore, StoreBusy, StropError

BUSY_S = 5.0
"""How long a writer waits for another; a transaction of ours takes milliseconds."""

SHARED_MEMORY_BYTES = 32 << 10  # of SQLite's index of the log

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
        case 10 | 14 if is_full(path.parent):  # IOERR, CANTOPEN: the shared memory file finds no room
            return FullStore(path=path)
        case 3 | 8 | 10 | 14:  # PERM, READONLY, IOERR, CANTOPEN
            return ReadOnlyStore(path=path, reason=why_not_writable(path) or str(error))
        case _:
            return None


def is_full(folder: Path) -> bool:
    """Whether the file system of a folder has no room for another shared memory file."""
    try:
        state = os.statvfs(folder)
    except OSError:
        return False
    return state.f_bavail * state.f_frsize < SHARED_MEMORY_BYTES


def why_not_readable(path: Path) -> str | None:
    """Why the file can't be a store that this process may read; None where it can, or isn't there."""
    try:
        kind = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"{error.strerror or error}: {error.filename}"
    if stat.S_ISDIR(kind):
        return "it is a directory"
    if not stat.S_ISREG(kind):
        return "it is no file"
    return None if os.access(path, os.R_OK, effective_ids=True) else f"no permission to read {path}"


def why_not_writable(path: Path) -> str | None:
    """What the file system says, which is plainer than SQLite's "unable to open database file"."""
    if (why := why_not_readable(path)) is not None:
        return why
    for place in (path, path.parent):
        if place.exists() and not os.access(place, os.W_OK, effective_ids=True):
            return f"no permission to write {place}"
    return None if path.parent.exists() else f"{path.parent} does not exist"
