"""Reads the CSV of Intel's `unitrace --stall-sampling`: events by kernel and instruction.

The address is an offset in the kernel, in hexadecimal without 0x; it becomes `Place.pc`. A file may hold a table for
each device.
"""

from __future__ import annotations

import re
from pathlib import Path

from strop.errors import CorruptProfile, NoSamples, NotAProfile
from strop.stalls.profiles.beside import binaries_near
from strop.stalls.profiles.profile import KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.reasons import reason
from strop.stalls.profiles.rows import Columns, rows
from strop.stalls.profiles.tally import Tally, number, shown

FORMAT = "unitrace"
_ADDRESS = "IP[Address]"
_HEX = re.compile(r"(0x)?[0-9a-f]{1,15}", re.ASCII | re.IGNORECASE)
_EVENTS = re.compile(r"(?P<word>[A-Za-z]+?)(Stall)?\[Events\]")
_COLLECT = "unitrace --stall-sampling -o stalls.csv ./program"


def is_header(row: list[str]) -> bool:
    """Say whether a row is the table's header."""
    return any(name.strip() == _ADDRESS for name in row)


def read(path: Path) -> Profile:
    """Read the CSV at `path`."""
    columns: Columns | None = None
    words: list[tuple[int, str, Reason]] = []
    kernels: dict[str, Tally] = {}
    for row in rows(path, format=FORMAT, blanks=True):
        if len(row) == 1 and row[0].strip().startswith("==="):
            columns = None  # the next device
        elif is_header(row):
            columns = Columns(row, path=path, format=FORMAT)
            found = [(at, _EVENTS.fullmatch(name)) for at, name in enumerate(columns.names)]
            words = [(at, one["word"], reason("unitrace", one["word"])) for at, one in found if one]
        elif columns is not None:
            columns.check(row)
            _read_row(row, columns, words, kernels)
    if columns is None and not kernels:
        raise NotAProfile(path=str(path), found="it is a CSV without a table of stall samples")
    if not any(tally.samples for tally in kernels.values()):
        why = "its table has no rows" if not kernels else "every count is 0"
        raise NoSamples(format=FORMAT, path=str(path), why=why, collect=_COLLECT)
    profiles = [KernelProfile(name=name, module=None, counts=tally.counts()) for name, tally in kernels.items()]
    return Profile(
        path=str(path),
        format="unitrace",
        vendor="intel",
        unit="samples",
        kernels=tuple(sorted((one for one in profiles if one.counts), key=lambda one: -one.samples)),
        binaries=binaries_near(path),
    )


def _read_row(
    row: list[str], columns: Columns, words: list[tuple[int, str, Reason]], kernels: dict[str, Tally]
) -> None:
    where = f"row {columns.count}"
    name = row[columns.at("Kernel")].strip()
    address = row[columns.at(_ADDRESS)].strip()
    if not _HEX.fullmatch(address):
        what = f"{where} has the address {shown(address)}"
        raise CorruptProfile(format=FORMAT, path=columns.path, what=what)
    tally = kernels.setdefault(name, Tally())
    place = Place(function=name, pc=int(address, 16))
    for at, word, meaning in words:
        samples = number(row[at], path=columns.path, format=FORMAT, where=f"{columns.names[at]} of {where}")
        tally.add(place, meaning, word, samples)
