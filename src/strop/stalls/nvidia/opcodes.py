"""The tables of opcodes and latencies, and what they say about one full opcode such as `IMAD.WIDE.U32`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from strop.stalls.instruction import Latency

FIRST, LAST = 70, 121  # architectures with 128-bit instructions that the tables speak of


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of opcodes.toml: see there for the meaning of each field."""

    kind: str
    pipe: str
    latency: str
    variable: bool | frozenset[int]
    in_order: str | None
    writes: str
    memory: Mapping[str, str] | None
    widths: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """What holds for every instruction of one full opcode on one architecture."""

    name: str
    base: str
    modifiers: tuple[str, ...]
    known: bool
    kind: str
    pipe: str
    latency: Latency | None
    variable: bool
    in_order: str | None
    writes: str
    memory: Mapping[str, str] | None
    widths: tuple[int, ...]


def form_of(name: str, sm: int) -> Form:
    """Look an opcode up. One that no table has is `known=False`: its effects are not guessed."""
    base, *modifiers = name.split(".")
    entry = _entries().get(base)
    if entry is None:
        return Form(name, base, tuple(modifiers), False, "other", "", None, False, None, "none", None, ())
    widths: tuple[int, ...] = ()
    for pattern, figures in entry.widths:
        if _in_order(pattern, modifiers):
            widths = figures
    variable = entry.variable if isinstance(entry.variable, bool) else sm in entry.variable
    return Form(
        name,
        base,
        tuple(modifiers),
        True,
        entry.kind,
        entry.pipe,
        _latencies(sm).get(entry.latency),
        variable,
        entry.in_order,
        entry.writes,
        entry.memory,
        widths,
    )


def _in_order(pattern: tuple[str, ...], modifiers: list[str]) -> bool:
    rest = iter(modifiers)
    return all(part in rest for part in pattern)


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("strop.stalls.nvidia").joinpath("tables", name).read_text("utf-8"))


@cache
def _entries() -> dict[str, Entry]:
    table = _table("opcodes.toml")
    widths: dict[str, list[tuple[tuple[str, ...], tuple[int, ...]]]] = {}
    for pattern, figures in table["widths"].items():
        base, *parts = pattern.split(".")
        widths.setdefault(base, []).append((tuple(parts), tuple(figures)))
    entries = {}
    for row in table["class"]:
        variable = row.get("variable", False)
        for opcode in row["opcodes"]:
            entries[opcode] = Entry(
                row["kind"],
                row["pipe"],
                row["latency"],
                variable if isinstance(variable, bool) else frozenset(variable),
                row.get("in_order"),
                row.get("writes", "first"),
                row.get("memory"),
                tuple(widths.get(opcode, ())),
            )
    return entries


@cache
def _latencies(sm: int) -> dict[str, Latency]:
    table = _table("latency.toml")
    family = next((name for name, members in table["families"].items() if sm in members), None)
    rows = {**table["default"], **(table[family] if family else {})}
    return {name: Latency(low, high, source) for name, (low, high, source) in rows.items()}
