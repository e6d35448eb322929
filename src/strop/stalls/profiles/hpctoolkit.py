"""Reads an HPCToolkit v4 database: stock (metrics `GINS:STL_*`) and LEO's fork (`GCYCLES:STL:*`).

Addresses are kept as the database has them, offsets in the load module: NVIDIA the offset in the file (of the section,
plus the pc), AMD the ELF's virtual address, Intel the section's address plus the pc. Stock HPCToolkit keeps
instructions only without structure files; with them it keeps source lines, and so does the profile then.

A value is samples times the sampling period; the counts here are samples again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import gcd
from pathlib import Path

from strop.errors import NoSamples
from strop.stalls.profiles.beside import binaries_near, vendor_of
from strop.stalls.profiles.bounded import open_bounded
from strop.stalls.profiles.hpctoolkit_meta import FORMAT, Context, Meta, Metric
from strop.stalls.profiles.hpctoolkit_values import Values, from_contexts, from_profile
from strop.stalls.profiles.profile import KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.reasons import reason
from strop.stalls.profiles.tally import Tally

_STALL = re.compile(r"(?P<base>GCYCLES:STL:|GINS:STL_)(?P<word>[A-Z0-9]+)")
_NO_STALLS = {"ANY", "NONE"}  # the sum over the others, and samples without a stall
_ISSUED = re.compile(r"GCYCLES:ISU:(?P<word>[A-Z0-9]+)")
_PERIOD = "GSAMP:PER (cyc)"
_TOTAL = "GSAMP:TOT"
_LAUNCHES = "GKER:COUNT"
_PLACEHOLDER = "<gpu kernel>"
_COLLECT = "hpcrun -e gpu=cuda,pc (gpu=rocm,pc=hw; gpu=level0,pc), then hpcstruct and hpcprof"

# Values of a part of the tree: metric name -> value.
Row = dict[str, int]


@dataclass(slots=True)
class _Kernel:
    name: str
    module: str | None
    tally: Tally = field(default_factory=Tally)
    launches: int = 0
    lines: int = 0  # samples that have a line but no instruction


def read(folder: Path) -> Profile:
    """Read the database in `folder` (meta.db beside profile.db or cct.db)."""
    with open_bounded(folder / "meta.db", format=FORMAT) as file:
        meta = Meta(file)
    base = "GCYCLES" if any(metric.name == "GCYCLES" for metric in meta.metrics) else "GINS"
    wanted = [metric for metric in meta.metrics if _is_wanted(metric.name, base)]
    notes: list[str] = []
    own = _exclusive(meta.contexts, _values(folder, wanted, notes))
    sampled = {at: row for at, row in own.items() if row.get(base)}
    if not sampled:
        raise NoSamples(format=FORMAT, path=str(folder), why=f"no GPU context has {base}", collect=_COLLECT)
    period = _period(own, sampled, base, notes)
    _issued_apart(own, sampled, base, period, notes)
    kernels = _kernels(meta.contexts, own, sampled, base, period)
    binaries = binaries_near(folder, wanted={kernel.module for kernel in kernels if kernel.module})
    vendor = _vendor(meta.metrics, [binary.data[:32] for binary in binaries], base)
    if sum(kernel.lines for kernel in kernels):
        notes.append("the database keeps source lines where its structure files gave them, not instructions")
    return Profile(
        path=str(folder),
        format="hpctoolkit",
        vendor=vendor,
        unit="samples",
        kernels=tuple(
            KernelProfile(
                name=kernel.name,
                module=kernel.module,
                counts=kernel.tally.counts(),
                launches=kernel.launches or None,
            )
            for kernel in kernels
        ),
        binaries=binaries,
        notes=tuple(notes),
    )


def _is_wanted(name: str, base: str) -> bool:
    known = name in {base, "GCYCLES:ISU", _PERIOD, _TOTAL, _LAUNCHES} or bool(_ISSUED.fullmatch(name))
    stall = _STALL.fullmatch(name)
    return known or (stall is not None and stall["base"].startswith(base) and stall["word"] not in _NO_STALLS)


def _values(folder: Path, wanted: list[Metric], notes: list[str]) -> Values:
    if (folder / "profile.db").exists():
        with open_bounded(folder / "profile.db", format=FORMAT) as file:
            return from_profile(file, {metric.summed: metric.name for metric in wanted if metric.summed is not None})
    notes.append("profile.db is missing: the numbers are cct.db's, summed over threads")
    with open_bounded(folder / "cct.db", format=FORMAT) as file:
        return from_contexts(file, {metric.single: metric.name for metric in wanted if metric.single is not None})


def _exclusive(contexts: list[Context], values: Values) -> dict[int, Row]:
    """Return by position what each context has beyond its children: values are stored for whole subtrees."""
    own = {at: dict(values[context.id]) for at, context in enumerate(contexts) if context.id in values}
    for context in contexts:
        if context.parent in own:
            row = own[context.parent]
            for name, value in values.get(context.id, {}).items():
                row[name] = row.get(name, 0) - value
    return {at: {name: value for name, value in row.items() if value > 0} for at, row in own.items()}


def _period(own: dict[int, Row], sampled: dict[int, Row], base: str, notes: list[str]) -> int:
    """Return cycles a sample: as recorded, else the greatest power of two that divides every value."""
    divisor = 0
    for row in sampled.values():
        for name, value in row.items():
            if name == base or _STALL.fullmatch(name):
                divisor = gcd(divisor, value)
    recorded = sorted({row[_PERIOD] for row in own.values() if row.get(_PERIOD)})
    for period in recorded:
        if divisor % period == 0:
            return period
    period = divisor & -divisor
    if period > 1:
        notes.append(f"no sampling period is recorded: every value is a multiple of {period}, taken as one sample")
    return period


def _issued_apart(own: dict[int, Row], sampled: dict[int, Row], base: str, period: int, notes: list[str]) -> None:
    """Correct LEO's fork on NVIDIA, whose GCYCLES:ISU counts every sample, so that GCYCLES counts the stalled twice.

    It shows where the fork also records how many samples there were: ISU alone reaches that number.
    """
    total = sum(row.get(_TOTAL, 0) for row in own.values())
    every = sum(value for row in sampled.values() for name, value in row.items() if _ISSUED.fullmatch(name))
    if base != "GCYCLES" or not total or every != total * period:
        return
    if sum(row[base] for row in sampled.values()) == every:
        return
    for row in sampled.values():
        stalled = sum(value for name, value in row.items() if _STALL.fullmatch(name))
        row[base] = max(stalled, sum(row.pop(name) for name in list(row) if _ISSUED.fullmatch(name)))
    notes.append("GCYCLES:ISU counts every sample here: issued are those that aren't exposed stalls")


def _vendor(metrics: Iterable[Metric], heads: list[bytes], base: str) -> str | None:
    for head in heads:
        if vendor := vendor_of(head):
            return vendor
    if any(metric.name.startswith("GPIPE:") for metric in metrics):
        return "amd"
    return "nvidia" if base == "GINS" else None  # stock HPCToolkit samples PCs on NVIDIA only


def _kernels(
    contexts: list[Context], own: dict[int, Row], sampled: dict[int, Row], base: str, period: int
) -> list[_Kernel]:
    tops = _tops(contexts)
    modules: dict[int, str] = {}  # of each kernel's top; a line has none, so that of an instruction or loop counts
    entries: dict[int, int] = {}  # of each nameless kernel: the address of its first instruction
    for at in sampled:
        module = _module(contexts, at, tops[at])
        if module:
            modules.setdefault(tops[at], module)
        offset = contexts[at].offset
        if contexts[at].parent == tops[at] and offset is not None:
            entries[tops[at]] = min(offset, entries.get(tops[at], offset))
    kernels: dict[tuple[str, str | None], _Kernel] = {}
    named: dict[int, _Kernel] = {}
    for top in dict.fromkeys(tops[at] for at in sampled):
        key = (_name(contexts[top], entries.get(top), modules.get(top)), modules.get(top))
        named[top] = kernels.setdefault(key, _Kernel(*key))
    for at, row in own.items():
        kernel = named.get(tops[at])
        if kernel is None:
            continue  # a host's context, or a kernel without samples
        kernel.launches += row.get(_LAUNCHES, 0)
        if at in sampled:
            place = _place(contexts, at)
            _count(kernel.tally, place, row, base, period)
            kernel.lines += place.address is None
    return sorted(kernels.values(), key=lambda kernel: -kernel.tally.samples)


def _tops(contexts: list[Context]) -> list[int]:
    """Return the top of each context's kernel: the function below `<gpu kernel>`, or that node where none has a name.

    Elsewhere the nearest function: instrumented GPU functions may stand below no such node.
    """
    tops: list[int] = []
    in_kernel: list[bool] = []
    for at, context in enumerate(contexts):
        up = context.parent
        if context.function == _PLACEHOLDER:
            tops.append(at)
            in_kernel.append(True)
        elif up < 0:
            tops.append(at)
            in_kernel.append(False)
        elif contexts[up].function == _PLACEHOLDER:
            tops.append(at if context.function else up)
            in_kernel.append(True)
        else:
            is_function = context.function is not None and context.relation != 2
            tops.append(at if is_function and not in_kernel[up] else tops[up])
            in_kernel.append(in_kernel[up])
    return tops


def _module(contexts: list[Context], at: int, top: int) -> str | None:
    """Return the file name of the module that a context lies in, looking up to its kernel's top."""
    while at >= 0:
        if module := contexts[at].module:
            return module.rpartition("/")[2]
        if at == top:
            return None
        at = contexts[at].parent
    return None


def _name(top: Context, entry: int | None, module: str | None) -> str:
    if top.function and top.function != _PLACEHOLDER:
        return top.function
    return f"kernel at {entry:#x} of {module}" if entry is not None else "kernel without a name"


def _place(contexts: list[Context], at: int) -> Place:
    context = contexts[at]
    file, line, function = context.file, context.line, None
    while at >= 0 and (function is None or line is None):
        here = contexts[at]
        if line is None and here.line is not None and here.kind == 2:
            file, line = here.file, here.line
        if here.function is not None and here.relation != 2:
            function = here.function if here.function != _PLACEHOLDER else None
            break
        at = here.parent
    return Place(function=function, address=context.offset if context.kind == 3 else None, file=file, line=line)


def _count(tally: Tally, place: Place, row: Row, base: str, period: int) -> None:
    rest = row[base]
    for name, value in row.items():
        stall, issued = _STALL.fullmatch(name), _ISSUED.fullmatch(name)
        if stall:
            word = stall["word"]
            meaning = reason("hpctoolkit", word)
            hidden = value // period if meaning is Reason.SELECTED_OTHER else 0
            tally.add(place, meaning, word, value // period, hidden)
            rest -= value
        elif issued:
            tally.add(place, Reason.ISSUED, "ISU:" + issued["word"], value // period)
            rest -= value
    tally.add(place, Reason.ISSUED, "issued", rest // period)
