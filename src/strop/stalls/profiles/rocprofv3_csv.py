"""Reads rocprofv3's PC-sampling CSV, host trap and stochastic. It holds texts of instructions but no addresses.

Kernel names stand in the kernel trace of the same run, where it lies beside (`*_kernel_trace.csv`, by dispatch).
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from strop.errors import CorruptProfile, NoSamples, NotAProfile, StropError
from strop.stalls.profiles import rocprofiler
from strop.stalls.profiles.beside import binaries_near
from strop.stalls.profiles.profile import KernelProfile, Place, Profile
from strop.stalls.profiles.rows import Columns, rows
from strop.stalls.profiles.tally import Tally, number, shown, source

FORMAT = "rocprofv3 CSV"
_STOCHASTIC = "Wave_Issued_Instruction"


def is_header(row: list[str]) -> bool:
    """Say whether a row is the header of PC samples."""
    return {"Dispatch_Id", "Instruction", "Instruction_Comment"} <= {name.strip() for name in row}


def read(path: Path) -> Profile:
    """Read the CSV at `path`."""
    table = rows(path, format=FORMAT)
    header = next(table, None)
    if header is None or not is_header(header):
        raise NotAProfile(path=str(path), found="it is a CSV without PC samples")
    columns = Columns(header, path=path, format=FORMAT)
    stochastic = _STOCHASTIC in columns
    names = ["Dispatch_Id", "Instruction", "Instruction_Comment"]
    names += [_STOCHASTIC, "Instruction_Type", "Stall_Reason"] if stochastic else []
    at = [columns.at(name) for name in names]
    # Counted by raw texts: a sample is a row, and there may be a hundred million.
    raw: Counter[tuple[str, ...]] = Counter()
    for row in table:
        columns.check(row)
        raw[tuple([row[one] for one in at])] += 1
    if not raw:
        raise NoSamples(format=FORMAT, path=str(path), why="it has a header and no rows", collect=rocprofiler.COLLECT)
    kernels = _kernel_trace(path)
    tallies: dict[str, Tally] = {}
    dispatches: dict[str, set[str]] = {}
    for key, samples in raw.items():
        name = kernels.get(key[0], rocprofiler.UNNAMED)
        file, line = source(key[2])
        place = Place(file=file, line=line, text=key[1] or None)
        tally = tallies.setdefault(name, Tally())
        dispatches.setdefault(name, set()).add(key[0])
        if stochastic:
            issued, kind, why = _issued(key[3], path), key[4], key[5]
            rocprofiler.add(tally, place, samples, issued=issued, kind=kind, why=why)
        else:
            rocprofiler.add(tally, place, samples, issued=None, kind=None, why=None)
    notes = ["this CSV has no addresses: places are texts of instructions and source lines"]
    if rocprofiler.UNNAMED in tallies:
        notes.append("it names no kernels; the *_kernel_trace.csv of the same run, laid beside, does")
    if not stochastic:
        notes.append(rocprofiler.NO_REASONS)
    profiles = [
        KernelProfile(
            name=name,
            module=None,
            counts=tally.counts(),
            skid=0 if stochastic else rocprofiler.HOST_TRAP_SKID,
            launches=len(dispatches[name]),
        )
        for name, tally in tallies.items()
    ]
    return Profile(
        path=str(path),
        format="rocprofv3-csv",
        vendor="amd",
        unit="samples",
        kernels=tuple(sorted(profiles, key=lambda one: -one.samples)),
        binaries=binaries_near(path),
        notes=tuple(notes),
    )


def _issued(text: str, path: Path) -> bool:
    if text not in {"0", "1"}:
        raise CorruptProfile(format=FORMAT, path=str(path), what=f"{_STOCHASTIC} is {shown(text)}, neither 0 nor 1")
    return text == "1"


def _kernel_trace(path: Path) -> dict[str, str]:
    """Return kernel names by dispatch from the one kernel trace beside; nothing where there is none, or several."""
    try:
        traces = [one for one in path.parent.glob("*kernel_trace.csv") if one.is_file()][:2]
    except OSError:
        return {}
    kernels: dict[str, str] = {}
    if len(traces) == 1:
        with suppress(StropError):  # a courtesy: without it the kernels go unnamed
            table = rows(traces[0], format=FORMAT)
            columns = Columns(next(table, []), path=traces[0], format=FORMAT)
            dispatch, name = columns.at("Dispatch_Id"), columns.at("Kernel_Name")
            for row in table:
                columns.check(row)
                number(row[dispatch], path=columns.path, format=FORMAT, where="Dispatch_Id")
                kernels[row[dispatch]] = row[name]
    return kernels
