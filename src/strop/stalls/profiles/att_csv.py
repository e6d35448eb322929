"""Reads the statistics of AMD's thread trace: `stats_*.csv` of `rocprofv3 --att`."""

from __future__ import annotations

from pathlib import Path

from strop.errors import NotAProfile
from strop.stalls.profiles.att import Listing, Row
from strop.stalls.profiles.profile import Profile
from strop.stalls.profiles.rows import Columns, rows
from strop.stalls.profiles.tally import number

FORMAT = "ATT stats CSV"


def is_header(row: list[str]) -> bool:
    """Say whether a row is the header of the statistics."""
    return {"codeobj", "vaddr", "instruction", "latency", "stall"} <= {name.strip().lower() for name in row}


def read(path: Path) -> Profile:
    """Read the CSV at `path`."""
    table = rows(path, format=FORMAT)
    header = next(table, None)
    if header is None or not is_header(header):
        raise NotAProfile(path=str(path), found="it is a CSV without a thread trace's statistics")
    columns = Columns(header, path=path, format=FORMAT)
    listing = Listing()
    for row in table:
        columns.check(row)

        def count(name: str, row: list[str] = row) -> int:
            if name not in columns:
                return 0
            where = f"{name} of row {columns.count}"
            return number(row[columns.at(name)], path=columns.path, format=FORMAT, where=where)

        listing.add(
            Row(
                text=row[columns.at("Instruction")],
                comment=row[columns.at("Source")] if "Source" in columns else "",
                code=count("Codeobj"),
                address=count("Vaddr"),
                hits=count("Hitcount"),
                latency=count("Latency"),
                stall=count("Stall"),
                idle=count("Idle"),
                issued=count("Issued"),
                stalled=count("Stalled"),
            )
        )
    return listing.profile(path, reader=FORMAT, format="att")
