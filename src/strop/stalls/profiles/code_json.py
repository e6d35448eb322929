"""Reads `code.json` of the rocprof compute viewer (and of `rocprofv3 --att`), with the sources that lie beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from strop.errors import CorruptProfile, NewerProfile, NotAProfile, StropError
from strop.stalls.profiles.att import Listing, Row
from strop.stalls.profiles.json_stream import open_json
from strop.stalls.profiles.profile import Profile
from strop.stalls.profiles.tally import integer, shown

FORMAT = "code.json"
_NEWEST = 3  # major version of the file
_COLUMNS = ("ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle")
_LARGEST_SOURCE = 1 << 24  # bytes
_MOST_SOURCES = 1000
_MOST_SOURCE_BYTES = 1 << 28


def read(path: Path) -> Profile:
    """Read the listing at `path`. The header stands after the rows, so the file is gone through twice."""
    names = _header(path)
    at = {name: position for position, name in enumerate(names)}
    if lacks := [name for name in _COLUMNS if name not in at and name != "_"]:
        raise CorruptProfile(format=FORMAT, path=str(path), what=f"its header lacks {', '.join(lacks)}")
    listing = Listing()
    for number, row in enumerate(_rows(path), 1):
        listing.add(_row(row, at, f"row {number}", path))
    sources, missing = _sources(path)
    notes = [f"{missing} source files named in snapshots.json aren't beside it"] if missing else []
    return listing.profile(path, reader=FORMAT, format="code-json", sources=sources, notes=notes)


def _header(path: Path) -> list[str]:
    names, found = list(_COLUMNS), False
    with open_json(path, format=FORMAT) as stream:
        for key in stream.items():
            if key == "header":
                names = [str(name) for name in _list(stream.value(), "the header", path)]
            elif key == "version":
                version = str(stream.value())
                major = version.partition(".")[0]
                if major.isascii() and major.isdigit() and int(major[:9]) > _NEWEST:
                    known = f"1 to {_NEWEST}"
                    raise NewerProfile(format=FORMAT, path=str(path), found=shown(version), known=known)
            else:
                found = found or key == "code"
                stream.skip()
    if not found:
        raise NotAProfile(path=str(path), found="it is JSON without code")
    return names


def _rows(path: Path) -> Iterator[list[Any]]:
    with open_json(path, format=FORMAT) as stream:
        for key in stream.items():
            if key == "code":
                for _ in stream.elements():
                    yield _list(stream.value(), "a row", path)
            else:
                stream.skip()


def _row(row: list[Any], at: dict[str, int], where: str, path: Path) -> Row:
    columns = max(at.values()) + 1  # a damaged header may name one twice
    if len(row) < columns:
        what = f"{where} has {len(row)} of {columns} fields"
        raise CorruptProfile(format=FORMAT, path=str(path), what=what)

    def count(name: str) -> int:
        if name not in at or row[at[name]] is None:
            return 0
        return integer(row[at[name]], path=str(path), format=FORMAT, where=f"{name} of {where}")

    def text(name: str) -> str:
        value = row[at[name]]
        if value is not None and not isinstance(value, str):
            what = f"{name} of {where} is {shown(value)}, not a text"
            raise CorruptProfile(format=FORMAT, path=str(path), what=what)
        return value or ""

    reasons = _list(row[at["Stall_Reasons"]], f"Stall_Reasons of {where}", path) if "Stall_Reasons" in at else []
    return Row(
        text=text("ISA"),
        comment=text("Source"),
        code=count("Codeobj"),
        address=count("Vaddr"),
        hits=count("Hit"),
        latency=count("Latency"),
        stall=count("Stall"),
        idle=count("Idle"),
        issued=count("PC_Issued"),
        stalled=count("PC_Stalled"),
        reasons=[integer(one, path=str(path), format=FORMAT, where=f"a reason of {where}") for one in reasons],
    )


def _list(value: Any, what: str, path: Path) -> list[Any]:
    if not isinstance(value, list):
        raise CorruptProfile(format=FORMAT, path=str(path), what=f"{what} is {shown(value)}, not an array")
    return value


def _sources(path: Path) -> tuple[dict[str, str], int]:
    """Return the sources that snapshots.json beside names (original path -> text), and how many of them are missing."""
    texts: dict[str, str] = {}
    missing = 0
    left = _MOST_SOURCE_BYTES
    tree: Any = None
    with suppress(StropError), open_json(path.parent / "snapshots.json", format=FORMAT) as stream:
        tree = stream.value()
    pending: list[tuple[str, Any]] = [("", tree)]
    while pending and len(texts) + missing < _MOST_SOURCES:
        folder, node = pending.pop()
        if isinstance(node, dict):
            pending += [(f"{folder.rstrip('/')}/{name}" if folder else str(name), one) for name, one in node.items()]
        elif isinstance(node, str):
            copy = path.parent / Path(node).name  # a name in it never leads elsewhere
            try:
                size = copy.stat().st_size
                if size <= min(left, _LARGEST_SOURCE):
                    left -= size
                    texts[folder] = copy.read_text(encoding="utf-8", errors="replace")
            except (OSError, ValueError):
                missing += 1
    return texts, missing
