"""Latency and issue cycles of an instruction: `tables/latency.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from strop.stalls.amd.opcodes import plain, types
from strop.stalls.amd.operands import Decoded
from strop.stalls.amd.registers import IMMEDIATE, number
from strop.stalls.instruction import Direction, Latency

MULTIPLIES = ("v_mul_lo", "v_mul_hi", "v_mad_u64", "v_mad_i64", "v_mad_co")
CYCLES_A_PASS = 4
SMALL_WAVE_LANES = 32


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("strop.stalls.amd").joinpath("tables/latency.toml").read_text("utf-8"))


def latency(decoded: Decoded, family: str, wave: int) -> tuple[Latency | None, int]:
    """The latency, None where no table has the class, and for how many cycles the wave issues nothing after it."""
    if decoded.made is None:
        return None, 1
    if decoded.text.opcode == "s_nop":
        waits = decoded.text.operands[0] if decoded.text.operands else "0"
        return None, number(waits) + 1 if IMMEDIATE.match(waits) else 1
    return _latency(_class(decoded), plain(decoded.text.opcode), family, wave)


@cache
def _latency(name: str, opcode: str, family: str, wave: int) -> tuple[Latency | None, int]:
    table = _table()
    if name == "mfma":
        for pattern, passes in table["passes"].get(family, ()):
            if re.search(pattern, opcode):
                cycles = CYCLES_A_PASS * passes
                source = table["names"][table["passes"]["from"]]
                return Latency(cycles, cycles + table["passes"]["after"], source), CYCLES_A_PASS
        return None, CYCLES_A_PASS
    entry = table[table["families"][family]].get(name)
    if entry is None:
        return None, 1
    low, high, issue = entry["cycles"]
    if wave > SMALL_WAVE_LANES and not family.startswith("gfx9") and name in ("valu", "convert", "multiply", "trans"):
        low, high, issue = low + issue, high + issue, 2 * issue  # two passes of 32 lanes
    return Latency(low, high, table["names"][entry["from"]]), issue


def _class(decoded: Decoded) -> str:
    made, memory = decoded.made, decoded.memory
    assert made is not None
    opcode = plain(decoded.text.opcode)
    if made.pipe in ("mfma", "wmma", "salu", "smem", "branch", "export", "message"):
        return "barrier" if made.kind == "barrier" else made.pipe
    if made.pipe == "gds":
        return "lds atomic"
    if made.pipe == "lds":
        return "lds atomic" if made.kind == "atomic" else "lds"
    if made.pipe == "vmem":
        if memory is None:
            return "store"
        if memory.direction is Direction.ATOMIC:
            return "atomic"
        if memory.space == "generic":
            return "flat"
        return "store" if memory.direction is Direction.STORE else "load"
    if made.pipe == "trans":
        return "trans double" if "f64" in types(opcode) else "trans"
    if "f64" in types(opcode) and made.kind in ("double", "convert", "predicate"):
        return "double"
    if opcode.startswith(MULTIPLIES):
        return "multiply"
    return "convert" if made.kind == "convert" else "valu"
