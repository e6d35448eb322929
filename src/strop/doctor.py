"""What this machine has, and whether it is enough: the examination behind ``strop doctor``.

A fault is something without which ``tune`` fails; a note is something that costs speed or safety, or a disassembler
that ``diagnose`` would need for some GPU.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strop import __version__
from strop.bench.isolation.layers import Sandbox, probe
from strop.bench.machine import Machine, machine
from strop.bench.peers import blas_of_numpy, installed
from strop.bench.pinning import SLOWS_NUMPY
from strop.errors import IsaMissing, MissingPackage, NativeMissing, StropError
from strop.kernels.targets.cpu.toolchain import INSTALL as INSTALL_HOST
from strop.kernels.targets.cpu.toolchain import Compiler
from strop.kernels.targets.cpu.toolchain import compilers as host_compilers
from strop.kernels.targets.gemmini.toolchain import INSTALL, Toolchain, toolchains
from strop.settings import TABLE, Settings, settings
from strop.stalls.disassemblers import Vendor, install, spans, survey
from strop.store import open_store
from strop.store.faults import why_not_writable

SCHEMA = "strop.doctor/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """The native module: ``reason`` says why it isn't there; ``isa`` is what code is generated for."""

    reason: str | None
    detected: str | None
    supported: tuple[str, ...]
    isa: str | None

    @property
    def present(self) -> bool:
        """Whether it can be loaded."""
        return self.reason is None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """The store's file: whether it is there, how large, and what is wrong with it."""

    path: Path
    exists: bool
    writable: bool
    size_bytes: int
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All that was found. ``settings`` is ``None`` where they can't be read; ``faults`` then says why."""

    machine: Machine
    native: Native
    peers: dict[str, str]
    blas: str | None
    sandbox: Sandbox
    store: StoreState | None
    disassemblers: tuple[Vendor, ...]
    compilers: tuple[Toolchain, ...]
    host_compilers: tuple[Compiler, ...]
    settings: Settings | None
    faults: tuple[StropError, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where tune can work, 3 where it can't."""
        return 3 if self.faults else 0

    def to_json(self) -> dict[str, Any]:
        """The form of the schema "strop.doctor/1"."""
        return {
            "schema": SCHEMA,
            "ok": not self.faults,
            "strop": {"version": __version__, "python": platform.python_version(), "executable": sys.executable},
            "machine": self.machine.to_json(),
            "native": {
                "present": self.native.present,
                "reason": self.native.reason,
                "detected_isa": self.native.detected,
                "supported_isas": list(self.native.supported),
                "isa": self.native.isa,
            },
            "peers": self.peers,
            "numpy_blas": self.blas,
            "sandbox": self.sandbox.to_json(),
            "store": self.store
            and {
                "path": str(self.store.path),
                "exists": self.store.exists,
                "writable": self.store.writable,
                "size_bytes": self.store.size_bytes,
                "reason": self.store.reason,
            },
            "disassemblers": {
                "vendors": [vendor.to_json() for vendor in self.disassemblers],
                "install": install(self.disassemblers),
            },
            "compilers": [
                *({"target": "gemmini", "name": one.name, "version": one.version} for one in self.compilers),
                *({"target": "cpu", "name": one.name, "version": one.version} for one in self.host_compilers),
            ],
            "settings": {name: {"value": value, "source": source} for name, value, source in setting_rows(self)},
            "perf_map": bool(self.settings and self.settings.perf_map),
            "faults": [fault.to_json()["error"] for fault in self.faults],
            "notes": list(self.notes),
        }


def examine() -> Examination:
    """Look at everything; takes about a second: NumPy, the sandbox's probe, each disassembler once in it."""
    faults: list[StropError] = []
    try:
        in_force = settings()
    except StropError as error:
        in_force = None
        faults.append(error)
    native = _native(in_force.isa if in_force else "auto", faults)
    peers = installed()
    blas = blas_of_numpy()
    if blas is None:
        faults.append(MissingPackage(what="strop tune", package="numpy", install="numpy"))
    store = _store(in_force.home, faults) if in_force else None
    found, sandbox, disassemblers, compilers = machine(), probe(), survey(), tuple(toolchains())
    return Examination(
        machine=found,
        native=native,
        peers=peers,
        blas=blas,
        sandbox=sandbox,
        store=store,
        disassemblers=disassemblers,
        compilers=compilers,
        host_compilers=host_compilers(),
        settings=in_force,
        faults=tuple(faults),
        notes=(
            *_notes(found, native, sandbox, store, in_force),
            *_undisassembled(disassemblers),
            *([] if compilers else [f"judge has no compiler for gemmini. This installs one: {INSTALL}"]),
            *([] if host_compilers() else [f"judge has no compiler for cpu. This installs one: {INSTALL_HOST}"]),
        ),
    )


def setting_rows(examination: Examination) -> list[tuple[str, Any, str]]:
    """Name, value (as JSON has it) and source of each setting."""
    if examination.settings is None:
        return []
    rows = []
    for setting in TABLE:
        value = getattr(examination.settings, setting.name)
        rows.append(
            (setting.name, str(value) if isinstance(value, Path) else value, examination.settings.sources[setting.name])
        )
    return rows


def _native(asked: str, faults: list[StropError]) -> Native:
    try:
        from strop import _native
    except ImportError as error:
        faults.append(NativeMissing(reason=str(error)))
        return Native(reason=str(error), detected=None, supported=(), isa=None)
    detected, supported = str(_native.detected_isa()), tuple(_native.supported_isas())
    isa = detected if asked == "auto" else asked
    if isa not in supported:
        faults.append(IsaMissing(isa=isa, has=", ".join(supported)))
    return Native(reason=None, detected=detected, supported=supported, isa=isa)


def _store(home: Path, faults: list[StropError]) -> StoreState:
    """Open the store if there is one; without one, look whether it could be made, and make nothing."""
    reason, path = None, home
    try:
        with open_store(home, read_only=True) as store:
            path = store.path
    except StropError as error:
        faults.append(error)
        reason = error.message
    file = path if path.is_file() else None
    if reason is None:
        reason = why_not_writable(file) if file else _why_not_makeable(home)
    return StoreState(
        path=file or home,
        exists=file is not None,
        writable=reason is None,
        size_bytes=file.stat().st_size if file else 0,
        reason=reason,
    )


def _why_not_makeable(home: Path) -> str | None:
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    if not place.is_dir():
        return f"{place} is not a directory"
    return None if os.access(place, os.W_OK | os.X_OK) else f"no permission to write {place}"


def _notes(
    found: Machine, native: Native, sandbox: Sandbox, store: StoreState | None, in_force: Settings | None
) -> list[str]:
    notes = []
    if native.present and native.detected == "portable":
        notes.append("This CPU has neither AVX2 with FMA nor AVX-512: the portable path runs, slower.")
    elif native.present and native.isa != native.detected:
        source = in_force.sources["isa"] if in_force else ""
        notes.append(f"{source} forces {native.isa} where {native.detected} would be chosen.")
    if found.quota is not None and found.quota < len(found.affinity):
        notes.append(f"A control group limits this process to {found.quota:g} CPUs: timings may show its pauses.")
    if found.governor not in (None, "performance"):
        notes.append(f"The CPU's frequency governor is {found.governor}: timings drift until the clock is up.")
    if found.virtual:
        notes.append("This is a virtual machine: its neighbours show in the timings.")
    if store and not store.writable:
        notes.append(f"Results can't be kept ({store.reason}): tune measures each time anew.")
    if slow := [name for name in SLOWS_NUMPY if name in os.environ]:
        notes.append(f"{' and '.join(slow)} slow a current NumPy down; strop times it without.")
    if lack := sandbox.lacks():
        notes.append(f"Foreign code can't be fenced in fully: {lack[0]} doesn't work ({lack[1]}).")
    return notes


def _undisassembled(disassemblers: tuple[Vendor, ...]) -> list[str]:
    """Nothing that tune needs, and diagnose only for such GPUs: a note."""
    lacking = [
        f"{vendor.name} {spans(vendor.missing, vendor.architectures)}" for vendor in disassemblers if vendor.missing
    ]
    if not lacking:
        return []
    return [f"diagnose has no disassembler for {'; '.join(lacking)}. This installs them: {install(disassemblers)}"]
