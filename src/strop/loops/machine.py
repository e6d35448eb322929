"""The machine model's facts: what one core can do in a cycle, and how large its caches are."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from strop.bench.machine import machine
from strop.loops.problem import ISAS

_VECTORS = {"avx512": (64, 32), "avx2": (32, 16), "portable": (0, 8)}
"""Bytes and number of the vector registers. The portable path has no vectors; its registers are the compiler's."""
_FEATURES = {"avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "avx2": {"avx2", "fma"}}
_CACHES = {"l1_bytes": 32 << 10, "l2_bytes": 1 << 20, "l3_bytes": 16 << 20}
"""Sizes taken where the system doesn't tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One core with one instruction set. Rates are per cycle, bandwidths in bytes per cycle.

    A load across two lines takes `split_load_cycles`, or `far_split_load_cycles` where the lines don't stay in the
    first-level cache. Rows a multiple of `alias_bytes` apart drive each other out of it. `vector_bytes` is 0 on the
    portable path, where each element is computed alone.
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
    split_load_cycles: float
    far_split_load_cycles: float
    split_store_cycles: float
    alias_bytes: int
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
    def of(cls, vendor: str, family: int, model: int, isa: str, caches: Mapping[str, int] | None = None) -> Machine:
        """A CPU by vendor, family and model (`machines.toml`); `caches` are sizes, as in `{"l1_bytes": 49152}`."""
        facts, name = _facts(vendor, family, model)
        vector_bytes, registers = _VECTORS[isa]
        rates = facts[isa]
        shared = {key: value for key, value in facts.items() if not isinstance(value, dict)}
        sizes = _CACHES | dict(caches or {})
        return cls(name=name, isa=isa, vector_bytes=vector_bytes, registers=registers, **shared, **rates, **sizes)

    def lanes(self, itemsize: int) -> int:
        """Elements of a vector; 1 on the portable path."""
        return max(1, self.vector_bytes // itemsize)


def best_isa() -> str:
    """The best instruction set that this CPU has, `portable` if none of ours."""
    features = set(machine().features)
    return next((isa for isa in ISAS if isa in _FEATURES and features >= _FEATURES[isa]), "portable")


@cache
def _here(isa: str) -> Machine:
    here = machine()
    vendor, family, model, *_ = (*here.identity.split("-"), "", "", "")
    caches = {f"l{level}_bytes": cache.size_bytes for level in (1, 2, 3) if (cache := here.data_cache(level))}
    numbers = [int(number) if number.isdigit() else -1 for number in (family, model)]
    return Machine.of(vendor, numbers[0], numbers[1], isa, caches)


def _facts(vendor: str, family: int, model: int) -> tuple[dict[str, Any], str]:
    table = tomllib.loads((Path(__file__).parent / "machines.toml").read_text())
    facts = dict(table["default"])
    for entry in table["machine"]:
        families = entry["family"] if isinstance(entry["family"], list) else [entry["family"]]
        if vendor == entry["vendor"] and family in families and (entry["models"] == "any" or model in entry["models"]):
            known = {key: value for key, value in entry.items() if key in facts}
            return facts | known, entry["name"]
    return facts, "unknown"
