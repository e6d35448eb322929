"""nvdisasm: where it is found, how it is run, and what its listing says."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from strop.bench.foreign import ForeignResult, Limits, run_foreign
from strop.errors import DisassemblerFailed, DisassemblerMissing
from strop.stalls.instruction import Source
from strop.stalls.nvidia.lines import MARK, Lines
from strop.values.verdict import Verdict

OPTIONS = ("-c", "-g", "-gi", "-hex")
VOLTA_LAST = (13, 0)  # the last CUDA release whose nvdisasm knows sm_70 and sm_72: 13.1 refuses them
INSTALL = "pip install 'strop[nvidia]'"
INSTALL_VOLTA = "pip install 'strop[volta]'"
MIB = 2**20

_ROW = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*/\* 0x([0-9a-f]{16}) \*/")
_ABSURD = re.compile(r"\d{100}")  # no number of an instruction; Python's int() refuses 4,300 digits
_HIGH = re.compile(r"/\* 0x([0-9a-f]{16}) \*/")
_RELEASE = re.compile(r"release (\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Tool:
    """An nvdisasm that is here; `release` is its CUDA's, (0, 0) if it doesn't say."""

    path: str
    release: tuple[int, int]

    def covers(self, sm: int) -> bool:
        """Whether its release knows the architecture."""
        return covers(self.release, sm)


@dataclass(frozen=True, slots=True)
class Row:
    """One instruction of a listing: its offset in the section, its text without `;`, its two words, its source."""

    offset: int
    text: str
    low: int
    high: int
    source: Source | None


@dataclass(slots=True)
class Listing:
    """What nvdisasm says of a cubin: rows by text section, and where labels and functions stand (section, offset)."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    labels: dict[str, tuple[str, int]] = field(default_factory=dict)


def candidates() -> Iterator[str]:
    """The nvdisasm programs of this machine, the preferred first: STROP_NVDISASM, wheels, the PATH."""
    seen: set[str] = set()
    for path in _places():
        real = os.path.realpath(path)
        if real not in seen and os.access(real, os.X_OK) and os.path.isfile(real):
            seen.add(real)
            yield real


def _places() -> Iterator[str]:
    if named := os.environ.get("STROP_NVDISASM"):
        yield named
    for package, pattern in (("nvidia", "*/bin/nvdisasm"), ("triton", "backends/nvidia/bin/nvdisasm")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield from map(str, sorted(Path(folder).glob(pattern), reverse=True))
    if found := shutil.which("nvdisasm"):
        yield found


@cache
def release_of(program: str) -> tuple[int, int]:
    """The CUDA release of an nvdisasm, (0, 0) if it doesn't say."""
    result = _run(program, ["--version"], 10.0)
    match = _RELEASE.search(result.stdout.decode(errors="replace"))
    return (int(match[1]), int(match[2])) if match else (0, 0)


def tools() -> tuple[Tool, ...]:
    """The nvdisasm programs found, the preferred first."""
    return tuple(Tool(program, release_of(program)) for program in candidates())


def covers(release: tuple[int, int], sm: int) -> bool:
    """Whether an nvdisasm of this release knows the architecture, as far as its number says.

    >>> covers((13, 5), 90), covers((13, 5), 70), covers((12, 8), 70), covers((12, 4), 100)
    (True, False, True, False)
    """
    if sm < 75 and release > VOLTA_LAST:
        return False
    newest = 90 if release < (12, 8) else 120 if release < (12, 9) else 121
    return release >= (11, 0) and sm <= newest


def disassemble(data: bytes, *, path: str, sm: int) -> str:
    """Run nvdisasm on a cubin behind the sandbox; returns its text.

    Raises :class:`DisassemblerMissing` where no program here knows the architecture, and
    :class:`DisassemblerFailed` where the one that does gives up.
    """
    tried = []
    for program in candidates():
        release = release_of(program)
        if not covers(release, sm):
            tried.append(f"{program} of CUDA {release[0]}.{release[1]} doesn't know it")
            continue
        result = _run(program, [*OPTIONS, "in.cubin"], 60.0 + len(data) / 1e5, data)
        if result.verdict is Verdict.OK:
            return result.stdout.decode("utf-8", "replace")
        words = result.stderr.decode(errors="replace").strip().splitlines()
        raise DisassemblerFailed(tool=program, path=path, reason=(words[-1] if words else result.detail).rstrip("."))
    raise DisassemblerMissing(
        arch=f"sm_{sm}",
        tried="; ".join(tried) or "neither STROP_NVDISASM, a wheel nor the PATH has nvdisasm",
        install=INSTALL_VOLTA if sm < 75 else INSTALL,
    )


def _run(program: str, options: Sequence[str], seconds: float, cubin: bytes = b"") -> ForeignResult:
    # The program is laid beside its input: the sandbox's user needn't be able to reach where it is installed.
    return run_foreign(
        ["./nvdisasm", *options],
        files={"nvdisasm": Path(program).read_bytes(), "in.cubin": cubin},
        limits=Limits(
            wall_s=seconds,
            cpu_s=seconds,
            memory_bytes=8192 * MIB,
            file_bytes=4096 * MIB,
            output_bytes=2048 * MIB,
        ),
    )


def parse(text: str) -> Listing:
    """Read a listing of `nvdisasm -c -g -gi -hex`. The high word of an instruction stands on the line after it."""
    listing = Listing()
    rows: list[Row] = []
    section = ""
    pending: list[str] = []  # labels before the next instruction
    lines = Lines()
    begun: tuple[int, str, int, Source | None] | None = None
    for line in text.splitlines():
        if begun is not None:
            high = _HIGH.search(line)
            if high is not None:
                rows.append(Row(begun[0], begun[1], begun[2], int(high[1], 16), begun[3]))
                begun = None
                continue
            begun = None
        match = _ROW.match(line)
        if match is not None:
            if _ABSURD.search(line):
                continue
            offset = int(match[1], 16)
            for label in pending:
                listing.labels[label] = (section, offset)
            pending.clear()
            begun = (offset, match[2].rstrip("; "), int(match[3], 16), lines.instruction())
        elif MARK in line:
            lines.comment(line)
        elif line.endswith(":") and not line[0].isspace():
            label = line[:-1]
            if label.startswith(".text."):
                section = label
                rows = listing.rows.setdefault(section, [])
                for name in pending:
                    listing.labels[name] = (section, 0)
                pending.clear()
                lines.function()
            else:
                pending.append(label)
        elif line.startswith("//---"):
            end = rows[-1].offset + 16 if rows else 0
            for label in pending:
                listing.labels[label] = (section, end)
            pending.clear()
    return listing
