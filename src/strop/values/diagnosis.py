"""A diagnosis: where all samples (or cycles) of each kernel went, and the ranked causes. JSON: `strop.diagnosis/1`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An instruction or, where nothing finer is known, a source line."""

    pc: int | None = None
    opcode: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    inline: tuple[tuple[str, int], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The site as the contract has it."""
        return {
            "pc": self.pc,
            "opcode": self.opcode,
            "text": self.text,
            "file": self.file,
            "line": self.line,
            "inline": [{"file": file, "line": line} for file, line in self.inline],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A stall, what it waits for, and what that costs. Shares are intervals of fractions, least and most."""

    id: str
    cause_class: str
    stall_site: Site
    cause_site: Site | None
    share_of_stalls: tuple[float, float]
    share_of_time: tuple[float, float]
    chain: tuple[Site, ...] = ()
    evidence: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    speedup: tuple[float, float] | None = None

    def to_json(self) -> dict[str, Any]:
        """The cause as the contract has it."""
        return {
            "id": self.id,
            "class": self.cause_class,
            "stall_site": self.stall_site.to_json(),
            "cause_site": self.cause_site.to_json() if self.cause_site else None,
            "share_of_stalls": list(self.share_of_stalls),
            "share_of_time": list(self.share_of_time),
            "chain": [site.to_json() for site in self.chain],
            "evidence": list(self.evidence),
            "needs": list(self.needs),
            "speedup": list(self.speedup) if self.speedup else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Where everything went: the parts sum to the total, exactly."""

    unit: str
    total: int
    parts: Mapping[str, int]

    def __post_init__(self) -> None:
        if sum(self.parts.values()) != self.total:
            raise ValueError(f"the parts {dict(self.parts)} don't sum to {self.total}")

    def to_json(self) -> dict[str, Any]:
        """The accounting as the contract has it."""
        return {"unit": self.unit, "total": self.total, "parts": dict(self.parts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDiagnosis:
    """One kernel: its accounting, what could be read of it, and its causes, the costliest first."""

    name: str
    arch: str
    accounting: Accounting
    coverage: Mapping[str, Any] = field(default_factory=dict)
    causes: tuple[Cause, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The kernel as the contract has it."""
        return {
            "name": self.name,
            "arch": self.arch,
            "accounting": self.accounting.to_json(),
            "coverage": dict(self.coverage),
            "causes": [cause.to_json() for cause in self.causes],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All kernels of a profile, by cost."""

    kernels: tuple[KernelDiagnosis, ...]

    def to_json(self) -> dict[str, Any]:
        """The top level of `strop.diagnosis/1`."""
        return {"schema": "strop.diagnosis/1", "kernels": [kernel.to_json() for kernel in self.kernels]}

    to_dict = to_json
