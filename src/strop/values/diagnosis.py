"""A diagnosis: where all samples (or cycles) of each kernel went, and the ranked causes. JSON: `strop.diagnosis/1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from strop.errors import MissingPackage

SITE_COLUMNS = ("pc", "opcode", "text", "file", "line")
COLUMNS = (
    *("kernel", "arch", "rank", "id", "class"),
    *(f"{site}_{part}" for site in ("stall", "cause") for part in SITE_COLUMNS),
    *("share_of_stalls_low", "share_of_stalls_high", "share_of_time_low", "share_of_time_high"),
    *("unit", "total"),
)  # of Diagnosis.to_dataframe


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An instruction or, where nothing finer is known, a source line."""

    pc: int | None = None
    opcode: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    inline: tuple[tuple[str, int], ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Site:
        """The inverse of :meth:`to_json`."""
        inline = tuple((each["file"], each["line"]) for each in value["inline"])
        return cls(**{name: value[name] for name in SITE_COLUMNS}, inline=inline)

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
    """A stall, what it waits for, and what that costs. Shares are intervals of fractions, least and most.

    `samples` (or cycles, as the accounting's unit says) are those of the stall that were given to this cause: whole
    numbers that sum up, for flame graphs; None where only shares are known.
    """

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
    samples: int | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Cause:
        """The inverse of :meth:`to_json`; `samples` isn't part of it."""
        return cls(
            id=value["id"],
            cause_class=value["class"],
            stall_site=Site.from_json(value["stall_site"]),
            cause_site=Site.from_json(value["cause_site"]) if value["cause_site"] else None,
            share_of_stalls=(value["share_of_stalls"][0], value["share_of_stalls"][1]),
            share_of_time=(value["share_of_time"][0], value["share_of_time"][1]),
            chain=tuple(Site.from_json(each) for each in value["chain"]),
            evidence=tuple(value["evidence"]),
            needs=tuple(value["needs"]),
            speedup=(value["speedup"][0], value["speedup"][1]) if value["speedup"] else None,
        )

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

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Diagnosis:
        """The inverse of :meth:`to_json`."""
        return cls(
            kernels=tuple(
                KernelDiagnosis(
                    name=each["name"],
                    arch=each["arch"],
                    accounting=Accounting(**each["accounting"]),
                    coverage=each["coverage"],
                    causes=tuple(Cause.from_json(cause) for cause in each["causes"]),
                )
                for each in value["kernels"]
            )
        )

    def to_json(self) -> dict[str, Any]:
        """The top level of `strop.diagnosis/1`."""
        return {"schema": "strop.diagnosis/1", "kernels": [kernel.to_json() for kernel in self.kernels]}

    to_dict = to_json

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame, a row each cause, in the order of :attr:`kernels`.

        Columns: kernel, arch, rank (from 1), id, class, `stall_` and `cause_` each with pc, opcode, text, file, line;
        share_of_stalls_low, share_of_stalls_high, share_of_time_low, share_of_time_high (fractions); unit, total (the
        kernel's). Raises :class:`MissingPackage` where pandas isn't installed.
        """
        from importlib import import_module

        try:
            pandas = import_module("pandas")
        except ImportError:
            raise MissingPackage(what="to_dataframe()", package="pandas", install="pandas") from None
        return pandas.DataFrame(list(self.rows()), columns=list(COLUMNS))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of :meth:`to_dataframe`, for those who have no pandas."""
        for kernel in self.kernels:
            for rank, cause in enumerate(kernel.causes, 1):
                sites = {"stall": cause.stall_site, "cause": cause.cause_site}
                cells = [getattr(site, part) if site else None for site in sites.values() for part in SITE_COLUMNS]
                shares = (*cause.share_of_stalls, *cause.share_of_time)
                account = (kernel.accounting.unit, kernel.accounting.total)
                whole = (kernel.name, kernel.arch, rank, cause.id, cause.cause_class, *cells, *shares, *account)
                yield dict(zip(COLUMNS, whole, strict=True))
