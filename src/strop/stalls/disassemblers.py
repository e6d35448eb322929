"""Which disassemblers this machine has, which architectures each covers, and what installs those that are missing.

Architectures are those that strop's own tables know. Each program is run once, in the bench's sandbox, for its release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from strop.errors import StropError
from strop.stalls.amd import disassemble as amd
from strop.stalls.amd.code_object import architectures
from strop.stalls.intel import disassemble as intel
from strop.stalls.intel.swsb import Generation
from strop.stalls.nvidia import disassemble as nvidia

# GPUs with 128-bit instructions, by their architecture's number
NVIDIA = (70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
VOLTA = ("sm_70", "sm_72")
INTEL = {Generation.XE_HPG: "Xe-HPG (dg2)", Generation.XE_HPC: "Xe-HPC (pvc)"}
T = TypeVar("T")
EXTRAS = "pip install 'strop[{}]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disassembler:
    """A program (or a wheel's library) that is here; `covers` are the architectures that its release knows."""

    name: str
    path: str
    version: str
    covers: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The form in "strop.doctor/1"."""
        return {"name": self.name, "path": self.path, "version": self.version, "covers": list(self.covers)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One vendor's disassemblers, the preferred first, and the architectures that none of them covers.

    `extras` (of strop's package) and `packages` (Debian's) install what is missing.
    """

    name: str
    architectures: tuple[str, ...]
    tools: tuple[Disassembler, ...]
    extras: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @property
    def covers(self) -> tuple[str, ...]:
        """The architectures that some tool here covers."""
        return tuple(one for one in self.architectures if any(one in tool.covers for tool in self.tools))

    @property
    def missing(self) -> tuple[str, ...]:
        """The architectures that none covers."""
        return tuple(one for one in self.architectures if one not in self.covers)

    def to_json(self) -> dict[str, Any]:
        """The form in "strop.doctor/1"."""
        return {
            "vendor": self.name,
            "tools": [tool.to_json() for tool in self.tools],
            "covers": list(self.covers),
            "missing": list(self.missing),
            "install": install([self]),
        }


def survey() -> tuple[Vendor, ...]:
    """Look for the disassemblers of all three vendors."""
    return _nvidia(), _amd(), _intel()


def install(vendors: Iterable[Vendor]) -> str | None:
    """The one command that installs what is missing; None where nothing is.

    >>> install([Vendor(name="AMD", architectures=("gfx950",), tools=(), extras=("amd",))])
    "pip install 'strop[amd]'"
    """
    lacking = [vendor for vendor in vendors if vendor.missing]
    packages = [package for vendor in lacking for package in vendor.packages]
    extras = [extra for vendor in lacking for extra in vendor.extras]
    commands = [f"apt-get install {' '.join(packages)}"] if packages else []
    commands += [EXTRAS.format(",".join(extras))] if extras else []
    return " && ".join(commands) or None


def spans(chosen: Iterable[str], whole: Sequence[str]) -> str:
    """Names of a list in words, three or more in a row by the first and the last.

    >>> spans(["sm_75", "sm_80", "sm_86", "sm_90"], ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
    'sm_75 to sm_86, sm_90'
    """
    wanted = set(chosen)
    runs: list[list[str]] = [[]]
    for name in whole:
        if name in wanted:
            runs[-1].append(name)
        elif runs[-1]:
            runs.append([])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs if run)


def _found(tools: Callable[[], tuple[T, ...]]) -> tuple[T, ...]:
    """What is here; nothing where programs can't be run at all, which the sandbox's rows say."""
    try:
        return tools()
    except StropError:
        return ()


def _covered(names: Iterable[tuple[str, Any]], covers: Callable[[Any], bool]) -> tuple[str, ...]:
    return tuple(name for name, one in names if covers(one))


def _nvidia() -> Vendor:
    names = [(f"sm_{number}", number) for number in NVIDIA]
    tools = tuple(
        Disassembler(
            name="nvdisasm",
            path=tool.path,
            version=f"CUDA {tool.release[0]}.{tool.release[1]}" if any(tool.release) else "it doesn't say",
            covers=_covered(names, tool.covers),
        )
        for tool in _found(nvidia.tools)
    )
    missing = [name for name, _ in names if not any(name in tool.covers for tool in tools)]
    volta = ["volta"] if any(name in VOLTA for name in missing) else []
    later = ["nvidia"] if any(name not in VOLTA for name in missing) else []
    return Vendor(name="NVIDIA", architectures=tuple(name for name, _ in names), tools=tools, extras=(*later, *volta))


def _amd() -> Vendor:
    names = [(one.isa, one) for one in sorted(architectures().values(), key=lambda one: _order(one.isa))]
    tools = tuple(
        Disassembler(name=tool.name, path=tool.path, version=f"LLVM {tool.llvm}", covers=_covered(names, tool.covers))
        for tool in _found(amd.tools)
    )
    return Vendor(name="AMD", architectures=tuple(name for name, _ in names), tools=tools, extras=("amd",))


def _order(isa: str) -> tuple[bool, int, str]:
    return isa.endswith("generic"), len(isa), isa


def _intel() -> Vendor:
    tools = tuple(
        Disassembler(name="iga64", path=tool.path, version=tool.version, covers=tuple(INTEL.values()))
        for tool in _found(intel.tools)
    )
    return Vendor(name="Intel", architectures=tuple(INTEL.values()), tools=tools, packages=(intel.PACKAGE,))
