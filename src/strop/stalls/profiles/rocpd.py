"""Reads rocpd, rocprofv3's SQLite output (schema 3): tables `rocpd_gpu_pc_sample…`, kernels, and disassembly.

An address is an offset in a code object, which is the ELF's virtual address; the module is `code_object_N`. Only
tables are read, no views: what is in a file that somebody sends isn't run.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strop.errors import CorruptProfile, MissingProfile, NoSamples, NotAProfile, TruncatedProfile
from strop.stalls.profiles import rocprofiler
from strop.stalls.profiles.profile import Place, Profile
from strop.stalls.profiles.tally import Tally, integer, source

if TYPE_CHECKING:
    import sqlite3

FORMAT = "rocpd"
MAGIC = b"SQLite format 3\0"
_SAMPLES = "rocpd_gpu_pc_sample"
_NEEDED = ("code_object_id", "code_object_offset", "dispatch_id", "wave_issued", "inst_type", "stall_reason")
_STEP = 10_000  # instructions of SQLite between looks at the budget
_STEPS_A_BYTE = 1  # looks that a file may cost by its size: no query over a whole file comes near
_LEAST_STEPS = 2_000


def read(path: Path) -> Profile:
    """Read the database at `path`."""
    import sqlite3

    if not path.is_file():
        raise MissingProfile(path=str(path), reason="there is no such file")
    _whole(path)
    try:
        database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1", uri=True)
        try:
            _restrain(database, path.stat().st_size)
            return _profile(path, database)
        finally:
            database.close()
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
        raise CorruptProfile(format=FORMAT, path=str(path), what=f"SQLite says: {error}") from None


def _whole(path: Path) -> None:
    """Raise where the file is shorter than its header says: SQLite finds out only when it needs a page that is gone."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
        size = path.stat().st_size
    except OSError as error:
        raise MissingProfile(path=str(path), reason=error.strerror or str(error)) from None
    if len(head) < 100:
        raise TruncatedProfile(format=FORMAT, path=str(path), what=f"it has {len(head)} bytes")
    page, changes, pages, counted = struct.unpack_from(">H6xII60xI", head, 16)
    announced = (65536 if page == 1 else page) * pages
    if changes == counted and announced > size:  # else an old library wrote it, and the count means nothing
        what = f"its header announces {announced} bytes, and it has {size}"
        raise TruncatedProfile(format=FORMAT, path=str(path), what=what)


def _restrain(database: sqlite3.Connection, size: int) -> None:
    """Keep a damaged or hostile file from running anything, or forever."""
    import sqlite3

    left = _LEAST_STEPS + size * _STEPS_A_BYTE // _STEP

    def look() -> int:
        nonlocal left
        left -= 1
        return left < 0

    database.set_progress_handler(look, _STEP)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 26)


def _tables(database: sqlite3.Connection, base: str) -> list[str]:
    """Return the tables of one kind; their names end in the run's id, with one table for each process."""
    names = [str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return sorted(name for name in names if name == base or name.startswith(base + "_"))


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({_quoted(table)})")}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _rows(database: sqlite3.Connection, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield columns of a table, nothing where it lacks one."""
    if set(columns) <= _columns(database, table):
        yield from database.execute(f"SELECT {', '.join(columns)} FROM {_quoted(table)}")


def _profile(path: Path, database: sqlite3.Connection) -> Profile:
    tables = _tables(database, _SAMPLES)
    if not tables:
        known = [name for (name,) in database.execute("SELECT name FROM sqlite_master LIMIT 3")]
        if any(str(name).startswith("rocpd_") for name in known):
            why = "it was collected without PC sampling"
            raise NoSamples(format=FORMAT, path=str(path), why=why, collect=rocprofiler.COLLECT)
        raise NotAProfile(path=str(path), found="it is an SQLite database without rocpd's tables")

    def count(value: object, where: str) -> int:
        return integer(value, path=str(path), format=FORMAT, where=where)

    tallies: dict[tuple[str, str], Tally] = {}
    dispatches: dict[tuple[str, str], set[int]] = {}
    trapped = False
    for table in tables:
        if missing := [name for name in _NEEDED if name not in _columns(database, table)]:
            what = f"the table {table} lacks {', '.join(missing)}"
            raise CorruptProfile(format=FORMAT, path=str(path), what=what)
        run = table.removeprefix(_SAMPLES)
        names, kernels = _kernels(database, run)
        texts = _texts(database, run)
        key_columns = ", ".join(_NEEDED)
        query = f"SELECT {key_columns}, COUNT(*) FROM {_quoted(table)} GROUP BY {key_columns}"
        for code, offset, dispatch, issued, kind, why, samples in database.execute(query):
            dispatch = count(dispatch, "a dispatch_id")
            name = rocprofiler.kernel_name(names, kernels, dispatch)
            key = (name, f"code_object_{count(code, 'a code_object_id')}")
            text, comment = texts.get((code, offset), (None, ""))
            file, line = source(comment)
            place = Place(address=count(offset, "a code_object_offset"), file=file, line=line, text=text)
            tally = tallies.setdefault(key, Tally())
            state = None if issued is None else bool(count(issued, "wave_issued"))
            rocprofiler.add(tally, place, samples, issued=state, kind=kind, why=why)
            dispatches.setdefault(key, set()).add(dispatch)
            trapped = trapped or issued is None
    if not tallies:
        raise NoSamples(format=FORMAT, path=str(path), why="its tables are empty", collect=rocprofiler.COLLECT)
    launches = {key: len(each) for key, each in dispatches.items()}
    return rocprofiler.profile(path, "rocpd", tallies, launches, trapped=trapped)


def _kernels(database: sqlite3.Connection, run: str) -> tuple[dict[int, str], dict[int, int]]:
    """Return kernel names by id, and kernels by dispatch."""
    names: dict[int, str] = {}
    for column in ("kernel_name", "display_name"):  # the second overrides: it is the demangled one
        for identity, name in _rows(database, f"rocpd_info_kernel_symbol{run}", "id", column):
            if isinstance(name, str) and name and isinstance(identity, int):
                names[identity] = name.removesuffix(".kd")
    pairs = _rows(database, f"rocpd_kernel_dispatch{run}", "dispatch_id", "kernel_id")
    return names, {one: two for one, two in pairs if isinstance(one, int) and isinstance(two, int)}


def _texts(database: sqlite3.Connection, run: str) -> dict[tuple[Any, Any], tuple[str | None, str]]:
    columns = ("code_object_id", "code_object_offset", "instruction", "comment")
    return {
        (code, offset): (str(text) if text else None, str(comment or ""))
        for code, offset, text, comment in _rows(database, f"rocpd_disassembly_data{run}", *columns)
    }
