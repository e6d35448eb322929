"""``strop doctor``: says what this machine has and whether tune can work on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from strop.cli.options import Output, shared

if TYPE_CHECKING:
    from strop.bench.machine import Cache, Machine
    from strop.doctor import Examination
    from strop.stalls.disassemblers import Vendor

LABEL = 12


@click.command("doctor")
@shared
def doctor(output: Output, seed: int) -> None:
    """Say what this machine has: CPU, instruction sets, caches, peers, sandbox, store, foreign tools, settings.

    Exit code 0, or 3 where something is missing that tune needs. A GPU's disassembler that isn't here is a note, with
    the command that installs it.
    """
    from strop.doctor import examine

    examination = examine()
    output.result(examination.to_json(), lines(examination), title="strop doctor", artefact="doctor.json")
    if examination.exit_code:
        raise click.exceptions.Exit(examination.exit_code)


def lines(examination: Examination) -> Iterator[str]:
    """One sentence, then the table, then what to mend."""
    found, native = examination.machine, examination.native
    if examination.faults:
        yield f"strop can't tune on this machine: {examination.faults[0].message}"
    else:
        yield f"strop can tune on this machine: {native.isa} on {found.cpu}, {_cpus(found.usable_cpus)}."
    yield ""
    for label, texts in rows(examination):
        for number, text in enumerate(texts):
            yield f"{label if number == 0 else '':{LABEL}}{text}".rstrip()
    for fault in examination.faults:
        yield ""
        yield f"missing: {fault}"
    if examination.notes:
        yield ""
    for note in examination.notes:
        yield f"note: {note}"


def rows(examination: Examination) -> Iterator[tuple[str, list[str]]]:
    """The table: a label and the lines beside it."""
    from strop import __version__
    from strop.doctor import setting_rows

    found, native = examination.machine, examination.native
    yield "strop", [f"{__version__}, Python {sys.version.split()[0]}, {found.kernel}"]
    where = f"{found.identity}, " if found.identity else ""
    yield "cpu", [f"{found.cpu} ({where}{found.architecture}{', virtual' if found.virtual else ''})"]
    if native.present:
        forced = f"{native.isa} (forced)" if native.isa != native.detected else str(native.isa)
        yield "code for", [f"{forced}; this CPU has {', '.join(native.supported)}"]
    else:
        yield "native", [f"missing: {native.reason}"]
    yield "features", [" ".join(found.features) or "none that matter"]
    yield "caches", [", ".join(map(_cache, found.caches)) or "unknown"]
    yield "cpus", [_limits(found)]
    yield "memory", [_size(found.memory_bytes) if found.memory_bytes else "unknown"]
    peers = dict(examination.peers)
    numpy = peers.pop("numpy", None)
    yield "numpy", [f"{numpy} ({examination.blas})" if numpy else "missing"]
    yield "peers", [", ".join(f"{name} {version}" for name, version in peers.items()) or "none besides NumPy"]
    yield "sandbox", [_layer(*row) for row in examination.sandbox.rows()]
    if store := examination.store:
        state = _size(store.size_bytes) if store.exists else "not made yet"
        yield "store", [f"{store.path} ({state}, {'writable' if store.writable else store.reason})"]
    yield "diagnose", [text for vendor in examination.disassemblers for text in _disassemblers(vendor)]
    yield "gemmini", [f"{one.name} {one.version}" for one in examination.compilers] or ["no RISC-V compiler"]
    yield "native C", [f"{one.name} {one.version}" for one in examination.host_compilers] or ["no C compiler"]
    if settings := setting_rows(examination):
        width = max(len(name) for name, _, _ in settings)
        yield "settings", [f"{name:{width}} = {_value(value)}  ({source})" for name, value, source in settings]
        on = examination.settings is not None and examination.settings.perf_map
        yield "perf map", ["on: /tmp/perf-PID.map names the kernels" if on else "off (STROP_PERF_MAP=1 turns it on)"]
    yield "machine id", [found.fingerprint]


def _cpus(count: int) -> str:
    return "1 CPU" if count == 1 else f"{count} CPUs"


def _limits(found: Machine) -> str:
    allowed = f"{len(found.affinity)} of {found.logical_cpus} allowed"
    quota = "no quota" if found.quota is None else f"quota {found.quota:g}"
    governor = f", governor {found.governor}" if found.governor else ""
    return f"{found.usable_cpus} usable: {allowed}, {found.cores} cores, {quota}{governor}"


def _cache(cache: Cache) -> str:
    kind = {"data": "d", "instruction": "i"}.get(cache.kind, "")
    shared = f" (shared by {cache.shared_by})" if cache.shared_by > 1 else ""
    return f"L{cache.level}{kind} {_size(cache.size_bytes)}{shared}"


def _layer(layer: str, on: bool, purpose: str, note: str | None) -> str:
    return f"{'on ' if on else 'off'} {layer:13} {purpose}{f' [{note}]' if note else ''}"


def _disassemblers(vendor: Vendor) -> Iterator[str]:
    """A line each program with what it covers, the preferred first."""
    from strop.stalls.disassemblers import spans

    if not vendor.tools:
        yield f"{vendor.name:6}  no disassembler"
    for tool in vendor.tools:
        covers = spans(tool.covers, vendor.architectures) or "nothing that it says"
        yield f"{vendor.name:6}  {covers}  [{tool.name}, {tool.version}, {tool.path}]"


def _size(count: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count} bytes"


def _value(value: object) -> str:
    if value is None:
        return "not set"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
