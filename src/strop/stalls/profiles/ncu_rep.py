"""Reads an Nsight Compute report (`.ncu-rep`): PC samples by reason, the cubins and the sources it embeds.

No NVIDIA software is needed: the container is a magic, a length and a protobuf header, then blocks of length, header
and payload; payload entries are length-prefixed messages, first of sources (cubins), then of results (kernel launches).
Field numbers were established on reports of Nsight Compute 2019 to 2022 (sm_70, sm_75, sm_86).

A sampled PC is a device address; a place has it as the offset in its function (the report says where each was loaded)
and keeps the device address in `Place.address`.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from strop.errors import CorruptProfile, NewerProfile, NoSamples
from strop.stalls.profiles import protobuf
from strop.stalls.profiles.bounded import Bounded, open_bounded
from strop.stalls.profiles.profile import EmbeddedBinary, KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.reasons import reason
from strop.stalls.profiles.tally import Tally

FORMAT = "Nsight Compute"
MAGIC = b"NVR\0"
_NEWEST = 7  # of the container; unchanged from 2019 to 2025
_MOST_EMPTY = 1000  # blocks and entries without content: a file that was never filled is zeros to its end
_STALL = "smsp__pcsamp_warps_issue_stalled_"
_NOT_ISSUED = "_not_issued"
_COLLECT = "ncu --set full (or --section SourceCounters --section WarpStateStats), with --import-source yes"


@dataclass(slots=True)
class _Source:
    """A cubin as the report embeds it, and where its functions were loaded."""

    name: str
    functions: list[tuple[int, str]] = field(default_factory=list)  # device address, symbol; by address


@dataclass(slots=True)
class _Launches:
    """All launches of one kernel."""

    tally: Tally = field(default_factory=Tally)
    launches: int = 0
    dropped: int = 0


@dataclass(slots=True)
class _Report:
    names: list[str] = field(default_factory=list)  # of metrics; every block may append
    sources: dict[int, _Source] = field(default_factory=dict)
    kernels: dict[tuple[str, int], _Launches] = field(default_factory=dict)
    binaries: list[EmbeddedBinary] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    results: int = 0


def read(path: Path) -> Profile:
    """Read the report at `path`."""
    report = _Report()
    with open_bounded(path, format=FORMAT) as file, memoryview(file.data) as view:
        try:
            # Sources first: a result may stand before the block of its cubin.
            for is_result, message in _messages(file, view, report):
                if not is_result:
                    _read_source(message, report)
            for is_result, message in _messages(file, view, None):
                if is_result:
                    _read_result(message, report)
        except (protobuf.BadWire, struct.error) as error:
            raise CorruptProfile(format=FORMAT, path=str(path), what=str(error)) from None
    if not any(kernel.tally.samples for kernel in report.kernels.values()):
        why = f"none of its {report.results} results has sampled PCs" if report.results else "it has no results"
        raise NoSamples(format=FORMAT, path=str(path), why=why, collect=_COLLECT)
    kernels = sorted(report.kernels.items(), key=lambda entry: -entry[1].tally.samples)
    return Profile(
        path=str(path),
        format="ncu-rep",
        vendor="nvidia",
        unit="samples",
        kernels=tuple(
            KernelProfile(
                name=name,
                module=report.sources[source].name if source in report.sources else None,
                counts=kernel.tally.counts(),
                launches=kernel.launches,
                notes=("the sampling buffer overflowed: some samples were dropped",) if kernel.dropped else (),
            )
            for (name, source), kernel in kernels
            if kernel.tally.samples
        ),
        binaries=tuple(report.binaries),
        sources=report.texts,
        notes=_notes(report),
    )


def _notes(report: _Report) -> tuple[str, ...]:
    silent = [name for (name, _), kernel in report.kernels.items() if not kernel.tally.samples]
    return (f"{len(silent)} kernels have no samples",) if silent else ()


def _messages(file: Bounded, view: memoryview, report: _Report | None) -> Iterator[tuple[bool, memoryview]]:
    """Yield every payload entry, with whether it is a result; metric names go to `report` on the way."""
    length = file.u32(4, "the header")
    file.check(8, length, "the header")
    version = next(protobuf.numbers(view[8 : 8 + length], 1), 0)
    if version > _NEWEST:
        raise NewerProfile(format=FORMAT, path=file.path, found=version, known=f"1 to {_NEWEST}")
    at = 8 + length
    empty = 0
    while at < file.size:
        length = file.u32(at, "a block")
        empty += not length
        if empty > _MOST_EMPTY:
            raise file.corrupt(f"from offset {at} on there is nothing but zeros")
        file.check(at + 4, length, "a block's header")
        header = view[at + 4 : at + 4 + length]
        at += 4 + length
        counts = {number: value for number, _, value in protobuf.fields(header) if isinstance(value, int)}
        if report is not None:
            for strings in protobuf.slices(header, 4):
                report.names += [bytes(one).decode("utf-8", "replace") for one in protobuf.slices(strings, 1)]
        payload = counts.get(5, 0)
        file.check(at, payload, "a block's payload")
        end, sources, entry = at + payload, counts.get(1, 0), 0
        while at < end:
            length = file.u32(at, "an entry")
            if length > end - at - 4:
                raise file.corrupt(f"an entry of {length} bytes at offset {at} is longer than its block")
            empty += not length
            if empty > _MOST_EMPTY:
                raise file.corrupt(f"from offset {at} on there is nothing but zeros")
            yield entry >= sources, view[at + 4 : at + 4 + length]
            entry += 1
            at += 4 + length


def _read_source(message: memoryview, report: _Report) -> None:
    parts = list(protobuf.fields(message))
    identity = next((value for number, _, value in parts if number == 1 and isinstance(value, int)), 0)
    name = f"cubin-{identity:x}"
    source = _Source(name)
    for number, _, value in parts:
        if not isinstance(value, memoryview):
            continue
        if number == 4 and bytes(value[:4]) == b"\x7fELF":
            report.binaries.append(EmbeddedBinary(name=name, data=bytes(value), origin="the report"))
        elif number == 8:
            for file in protobuf.slices(value, 1):
                report.texts[protobuf.text(file, 1)] = protobuf.text(file, 2)
        elif number == 9:
            for function in protobuf.slices(value, 1):
                address = next(protobuf.numbers(function, 2), 0)
                source.functions.append((address, protobuf.text(function, 1)))
    source.functions.sort()
    report.sources[identity] = source


def _read_result(message: memoryview, report: _Report) -> None:
    report.results += 1
    name = mangled = ""
    identity = 0
    stalls: dict[str, dict[int, int]] = {}  # word -> PC -> samples
    dropped = 0
    sass: dict[int, str] = {}
    for number, kind, value in protobuf.fields(message):
        if kind != protobuf.BYTES or not isinstance(value, memoryview):
            continue
        if number == 5:
            mangled = bytes(value).decode("utf-8", "replace")
        elif number == 6:
            name = bytes(value).decode("utf-8", "replace")
        elif number == 12:
            sass[next(protobuf.numbers(value, 1), 0)] = protobuf.text(value, 2)
        elif number == 13:
            metric = _metric_name(value, report)
            if metric.startswith(_STALL):
                words = stalls.setdefault(metric.removeprefix(_STALL), {})
                for pc, samples in _instances(value):
                    words[pc] = words.get(pc, 0) + samples
            elif metric == "smsp__pcsamp_dropped_bytes":
                dropped = sum(_value(bytes(one)) for one in protobuf.slices(value, 2))
        elif number == 15:
            identity = next(protobuf.numbers(value, 1), 0)
    kernel = report.kernels.setdefault((name or mangled or "kernel without a name", identity), _Launches())
    kernel.launches += 1
    kernel.dropped += dropped
    _count(kernel.tally, stalls, report.sources.get(identity), sass)


def _metric_name(metric: memoryview, report: _Report) -> str:
    at = next(protobuf.numbers(metric, 1), 0)
    if at >= len(report.names):
        raise protobuf.BadWire(f"a metric has the name {at} of {len(report.names)}")
    return report.names[at]


def _instances(metric: memoryview) -> Iterator[tuple[int, int]]:
    for instance in protobuf.slices(metric, 3):
        pc = samples = 0
        for number, _, value in protobuf.fields(instance):
            if isinstance(value, memoryview):
                if number == 1:
                    pc = _value(bytes(value))
                elif number == 2:
                    samples = _value(bytes(value))
        yield pc, samples


@lru_cache(maxsize=1 << 16)  # the same PCs come with every metric, and most counts are 0
def _value(message: bytes) -> int:
    """Return a metric's value as an integer: 64 or 32 bits unsigned, or a number in floating point."""
    for _, kind, value in protobuf.fields(memoryview(message)):
        if isinstance(value, int):
            return value
        if kind in (protobuf.FIXED64, protobuf.FIXED32):
            (real,) = struct.unpack("<d" if kind == protobuf.FIXED64 else "<f", value)
            with suppress(ValueError, OverflowError):
                return max(0, int(real))
    return 0


def _count(tally: Tally, stalls: dict[str, dict[int, int]], source: _Source | None, sass: dict[int, str]) -> None:
    starts = [address for address, _ in source.functions] if source else []
    for word, by_pc in stalls.items():
        if word.endswith(_NOT_ISSUED):
            if word.removesuffix(_NOT_ISSUED) in stalls:
                continue
            # Only the exposed ones were collected: they are all there is.
            exposed, word = by_pc, word.removesuffix(_NOT_ISSUED)
        else:
            exposed = stalls.get(word + _NOT_ISSUED, by_pc)
        meaning = reason("ncu", word)
        for pc, samples in by_pc.items():
            at = bisect_right(starts, pc) - 1
            known = source is not None and at >= 0
            place = Place(
                function=source.functions[at][1] if source is not None and known else None,
                pc=pc - starts[at] if known else None,
                address=pc,
                text=sass.get(pc) or None,
            )
            # The two numbers may come from different passes: a surplus of exposed samples is none that is hidden.
            hidden = 0 if meaning is Reason.ISSUED else max(0, samples - exposed.get(pc, 0))
            tally.add(place, meaning, word, samples, hidden)
