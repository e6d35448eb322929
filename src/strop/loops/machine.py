"""The machine model's facts: what one core can do in a cycle, and how large its caches are."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from strop.loops.problem import ISAS

_VECTORS = {"avx512": (64, 32), "avx2": (32, 16), "portable": (0, 8)}
"""Bytes and number of the vector registers. The portable path has no vectors; its registers are the compiler's."""
_FLAGS = {"avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "avx2": {"avx2", "fma"}}
_CACHES = {"l1_bytes": 32 << 10, "l2_bytes": 1 << 20, "l3_bytes": 16 << 20}
"""Sizes taken where the system doesn't tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One core with one instruction set. Rates are per cycle, bandwidths in bytes per cycle.

    `vector_bytes` is 0 on the portable path, where each element is computed alone.
    """

    name: str
    isa: str
    vector_bytes: int
    registers: int
    issue_per_cycle: float
    fma_per_cycle: float
    loads_per_cycle: float
    stores_per_cycle: float
    fma_latency: float
    gather_cycles_per_element: float
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    l2_bytes_per_cycle: float
    l3_bytes_per_cycle: float
    memory_bytes_per_cycle: float

    @classmethod
    def here(cls, isa: str | None = None) -> Machine:
        """This machine; `isa` is the best that the CPU has unless said otherwise.

        Nothing checks that the CPU has `isa`: what would run well on another can be asked.
        """
        return _here(isa or best_isa())

    @classmethod
    def of(cls, vendor: str, family: int, model: int, isa: str, **caches: int) -> Machine:
        """A CPU by vendor, family and model (`machines.toml`), with caches of the sizes given (`l1_bytes=...`)."""
        facts, name = _facts(vendor, family, model)
        vector_bytes, registers = _VECTORS[isa]
        rates = facts[isa]
        shared = {key: value for key, value in facts.items() if not isinstance(value, dict)}
        sizes = _CACHES | caches
        return cls(name=name, isa=isa, vector_bytes=vector_bytes, registers=registers, **shared, **rates, **sizes)

    def lanes(self, itemsize: int) -> int:
        """Elements of a vector; 1 on the portable path."""
        return max(1, self.vector_bytes // itemsize)


def best_isa() -> str:
    """The best instruction set that this CPU has, `portable` if none of ours."""
    flags = set(str(_cpuinfo().get("flags", "")).split())
    return next((isa for isa in ISAS if isa in _FLAGS and flags >= _FLAGS[isa]), "portable")


@cache
def _here(isa: str) -> Machine:
    info = _cpuinfo()
    numbers = {key: int(info[key]) if info.get(key, "").isdigit() else -1 for key in ("cpu family", "model")}
    return Machine.of(info.get("vendor_id", ""), numbers["cpu family"], numbers["model"], isa, **_cache_sizes())


@cache
def _cpuinfo() -> dict[str, str]:
    """The first CPU's lines of /proc/cpuinfo; empty where there is none."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def _facts(vendor: str, family: int, model: int) -> tuple[dict[str, Any], str]:
    table = tomllib.loads((Path(__file__).parent / "machines.toml").read_text())
    facts = dict(table["default"])
    for entry in table["machine"]:
        families = entry["family"] if isinstance(entry["family"], list) else [entry["family"]]
        if vendor == entry["vendor"] and family in families and (entry["models"] == "any" or model in entry["models"]):
            known = {key: value for key, value in entry.items() if key in facts}
            return facts | known, entry["name"]
    return facts, "unknown"


def _cache_sizes() -> dict[str, int]:
    """The sizes of this machine's data caches that it tells, in bytes, by field of `Machine`."""
    sizes: dict[str, int] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index[0-9]*")):
        try:
            kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            sizes[f"l{level}_bytes"] = int(size[:-1]) << 10
    names = {"l1_bytes": "SC_LEVEL1_DCACHE_SIZE", "l2_bytes": "SC_LEVEL2_CACHE_SIZE", "l3_bytes": "SC_LEVEL3_CACHE_SIZE"}
    for field, name in names.items():
        if field not in sizes and name in os.sysconf_names and os.sysconf(name) > 0:
            sizes[field] = os.sysconf(name)
    return {field: size for field, size in sizes.items() if field in _CACHES}
