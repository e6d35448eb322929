"""Rows of AMD's instruction listings, as the thread trace writes them: CSV (`stats_*.csv`) and JSON (`code.json`).

A row is an instruction of a code object with its hits, its cycles of the thread trace, and its PC samples; a row whose
text is `; symbol` starts a kernel. Samples are taken where there are any, else cycles. Addresses are the ELF's virtual
addresses; the offset in the kernel is counted from the row that names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from strop.errors import NoSamples
from strop.stalls.profiles import rocprofiler
from strop.stalls.profiles.beside import binaries_near
from strop.stalls.profiles.profile import KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.tally import Tally, source

COLLECT = "rocprofv3 --att, or PC sampling opened in the rocprof compute viewer"


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction. `issued` and `stalled` are samples; `reasons` splits `stalled` in the enumeration's order."""

    text: str
    comment: str
    code: int
    address: int
    hits: int = 0
    latency: int = 0
    stall: int = 0
    idle: int = 0
    issued: int = 0
    stalled: int = 0
    reasons: Sequence[int] = ()


@dataclass(slots=True)
class _Kernel:
    symbol: str | None
    start: int | None
    samples: Tally = field(default_factory=Tally)
    cycles: Tally = field(default_factory=Tally)
    code: list[tuple[int, str, str | None, int | None]] = field(default_factory=list)


class Listing:
    """Kernels as the rows go by."""

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, int], _Kernel] = {}
        self._now: _Kernel | None = None
        self._code: int | None = None

    def add(self, row: Row) -> None:
        """Count a row."""
        if row.text.startswith("; "):
            symbol = row.text[2:].strip()
            key = (row.comment or symbol, row.code)
            self._now = self._kernels.setdefault(key, _Kernel(symbol, row.address))
            self._code = row.code
            return
        if self._now is None or self._code != row.code:
            key = ("kernel without a name", row.code)
            self._now = self._kernels.setdefault(key, _Kernel(None, None))
            self._code = row.code
        self._count(self._now, row)

    def _count(self, kernel: _Kernel, row: Row) -> None:
        file, line = source(row.comment)
        kernel.code.append((row.address, row.text, file, line))
        start = kernel.start
        place = Place(
            function=kernel.symbol,
            pc=row.address - start if start is not None and row.address >= start else None,
            address=row.address,
            file=file,
            line=line,
            text=row.text,
        )
        kernel.samples.add(place, Reason.ISSUED, "issued", row.issued)
        for word, samples in zip(rocprofiler.REASONS, row.reasons, strict=False):
            rocprofiler.add_stall(kernel.samples, place, word, samples)
        unsaid = row.stalled - sum(row.reasons[: len(rocprofiler.REASONS)])
        kernel.samples.add(place, Reason.OTHER, "stalled", unsaid)
        # On gfx9 the latency is issue and stall; idle is the gap after the instruction before, outside the latency.
        kernel.cycles.add(place, Reason.ISSUED, "issue", row.latency - row.stall)
        kernel.cycles.add(place, Reason.OTHER, "stall", row.stall)
        kernel.cycles.add(place, Reason.OTHER, "idle", row.idle)

    def profile(
        self, path: Path, *, reader: str, format: str, sources: dict[str, str] | None = None, notes: Sequence[str] = ()
    ) -> Profile:
        """Return the profile of the rows so far. Raises :class:`NoSamples`, which names the `reader`'s format."""
        unit, kernels = self.kernels()
        if not kernels:
            why = "every count is 0 or missing" if self._kernels else "it has no rows"
            raise NoSamples(format=reader, path=str(path), why=why, collect=COLLECT)
        without = ("the thread trace gives cycles of stalls but no reasons",) if unit == "cycles" else ()
        return Profile(
            path=str(path),
            format=format,
            vendor="amd",
            unit=unit,
            kernels=kernels,
            binaries=binaries_near(path),
            sources=sources or {},
            notes=(*without, *notes),
        )

    def kernels(self) -> tuple[str, tuple[KernelProfile, ...]]:
        """Return the unit, `samples` or `cycles`, and the kernels that have any, the costliest first."""
        sampled = any(kernel.samples.samples for kernel in self._kernels.values())
        profiles = []
        for (name, code), kernel in self._kernels.items():
            counts = (kernel.samples if sampled else kernel.cycles).counts()
            if counts:
                module, rows = f"code_object_{code}", tuple(sorted(kernel.code, key=lambda row: row[0]))
                profiles.append(KernelProfile(name=name, module=module, counts=counts, listing=rows))
        return "samples" if sampled else "cycles", tuple(sorted(profiles, key=lambda one: -one.samples))
