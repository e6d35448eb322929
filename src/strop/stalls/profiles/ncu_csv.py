"""Reads Nsight Compute's source page as CSV: `ncu --import R.ncu-rep --page source --csv` (SASS, or source lines).

The addresses are those of the report; a kernel's listing starts at its first instruction, so that an address of the
same unbroken run is also an offset in the kernel (`Place.pc`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from strop.errors import CorruptProfile, NoSamples, NotAProfile
from strop.stalls.profiles.beside import binaries_near
from strop.stalls.profiles.profile import KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.reasons import reason
from strop.stalls.profiles.rows import Columns, rows
from strop.stalls.profiles.tally import Tally, number, shown

FORMAT = "Nsight Compute CSV"
_ALL = ("Warp Stall Sampling (All Samples)", "# Samples", "smsp__pcsamp_sample_count")
_SHORT = re.compile(r"stall_(?P<word>[a-z_]+?)(?P<exposed> \(Not Issued\))?", re.IGNORECASE)
_LONG = re.compile(r"smsp__pcsamp_warps_issue_stalled_(?P<word>[a-z_]+?)(?P<exposed>_not_issued)?", re.IGNORECASE)
_ADDRESS = re.compile(r"0x[0-9a-f]{1,16}|[0-9]{1,19}", re.ASCII | re.IGNORECASE)
_GREATEST_STEP = 16  # bytes of an instruction
_COLLECT = "ncu --set full --import-source yes, then ncu --import R.ncu-rep --page source --csv"


@dataclass(slots=True)
class _Word:
    word: str
    reason: Reason
    all: int | None = None  # the column of all samples
    exposed: int | None = None  # the column of those on cycles without an issue


@dataclass(slots=True)
class _Table:
    """One kernel's listing while it is read."""

    columns: Columns
    words: list[_Word]
    total: int | None
    start: int | None = None
    before: int | None = None
    file: str | None = None


@dataclass(slots=True)
class _Kernel:
    tally: Tally = field(default_factory=Tally)
    launches: int = 0


def is_header(row: list[str]) -> bool:
    """Say whether a row is the header of a listing with samples."""
    names = {name.strip() for name in row}
    sampled = any(name in names for name in _ALL) or any(_word(name) for name in names)
    return sampled and bool(names & {"Address", "#", "Source"})


def read(path: Path) -> Profile:
    """Read the CSV at `path`."""
    kernels: dict[str, _Kernel] = {}
    name, file = "", None
    table: _Table | None = None
    tables = 0
    for row in rows(path, format=FORMAT):
        if len(row) == 2 and row[0].strip() == "Kernel Name":
            name, table = row[1], None
        elif len(row) == 2 and row[0].strip() in {"File Name", "File Path", "Source File"}:
            file = row[1]
        elif is_header(row):
            table = _table(Columns(row, path=path, format=FORMAT))
            table.file = file
            tables += 1
            kernels.setdefault(name, _Kernel()).launches += 1
        elif table is not None and len(row) > 2:
            table.columns.check(row)
            if not any(field.strip()[:1].isdigit() for field in row):
                continue  # units, or a caption
            _read_row(row, table, kernels[name].tally)
    if not tables:
        raise NotAProfile(path=str(path), found="it is a CSV without a listing that has stall samples")
    if not any(kernel.tally.samples for kernel in kernels.values()):
        raise NoSamples(format=FORMAT, path=str(path), why="every count is 0 or missing", collect=_COLLECT)
    profiles = [
        KernelProfile(
            name=name or "kernel (the CSV doesn't name it)",
            module=None,
            counts=kernel.tally.counts(),
            launches=kernel.launches,
        )
        for name, kernel in kernels.items()
        if kernel.tally.samples
    ]
    return Profile(
        path=str(path),
        format="ncu-csv",
        vendor="nvidia",
        unit="samples",
        kernels=tuple(sorted(profiles, key=lambda one: -one.samples)),
        binaries=binaries_near(path),
    )


def _word(name: str) -> tuple[str, bool, str] | None:
    """Return a column's word, whether it counts only exposed stalls, and the vocabulary it is of."""
    for pattern, tool in ((_SHORT, "ncu-csv"), (_LONG, "ncu")):
        if found := pattern.fullmatch(name.strip()):
            return found["word"].lower(), found["exposed"] is not None, tool
    return None


def _table(columns: Columns) -> _Table:
    words: dict[str, _Word] = {}
    for at, name in enumerate(columns.names):
        found = _word(name)
        if found is None:
            continue
        word = words.setdefault(found[0], _Word(found[0], reason(found[2], found[0])))
        if found[1]:
            word.exposed = at
        else:
            word.all = at
    total = next((columns.at(name) for name in _ALL if name in columns), None)
    return _Table(columns, list(words.values()), total)


def _read_row(row: list[str], table: _Table, tally: Tally) -> None:
    columns = table.columns
    where = f"row {columns.count}"

    def count(at: int) -> int:
        return number(row[at], path=columns.path, format=FORMAT, where=f"{columns.names[at]} of {where}")

    place = _place(row, table, where)
    rest = count(table.total) if table.total is not None else 0
    for word in table.words:
        column = word.all if word.all is not None else word.exposed
        if column is None:
            continue
        samples = count(column)
        exposed = count(word.exposed) if word.exposed is not None else samples
        hidden = 0 if word.reason is Reason.ISSUED else max(0, samples - exposed)
        tally.add(place, word.reason, word.word, samples, hidden)
        rest -= samples
    tally.add(place, Reason.OTHER, "not broken down", rest)


def _place(row: list[str], table: _Table, where: str) -> Place:
    columns = table.columns
    text = row[columns.at("Source")].strip() if "Source" in columns else None
    if "Address" not in columns:
        line = number(row[columns.at("#")], path=columns.path, format=FORMAT, where=f"# of {where}")
        return Place(file=table.file, line=line or None, text=None)
    written = row[columns.at("Address")].strip()
    if not _ADDRESS.fullmatch(written):
        what = f"the address of {where} is {shown(written)}"
        raise CorruptProfile(format=FORMAT, path=columns.path, what=what)
    address = int(written, 0) if written[:2].lower() == "0x" else int(written)
    if table.start is None:
        table.start = address
    elif table.before is None or not 0 < address - table.before <= _GREATEST_STEP:
        table.before = None  # a device function: where it starts isn't said
        return Place(address=address, text=text)
    table.before = address
    return Place(pc=address - table.start, address=address, text=text)
