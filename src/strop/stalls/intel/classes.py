"""Opcode classes and latencies: `tables/opcodes.toml` and `tables/latency.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from strop.stalls.instruction import Latency
from strop.stalls.intel import sends
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.operands import SELECTS
from strop.stalls.intel.swsb import Generation, Pipe

_BY_TYPE = {"f": "float", "tf32": "float", "df": "double", "hf": "half", "bf": "half"}
_UNITS = {Pipe.FLOAT: "float", Pipe.INT: "int", Pipe.LONG: "long", Pipe.MATH: "math", None: ""}


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(files("strop.stalls.intel").joinpath(f"tables/{name}.toml").read_text("utf-8"))


@cache
def _kinds() -> dict[str, str]:
    return {word: kind for kind, words in _table("opcodes")["kinds"].items() for word in words.split()}


def kind(node: Node) -> str | None:
    """The vendor-neutral class of an instruction, None for an opcode that no table has."""
    if sends.is_send(node):
        return sends.kind(node) if sends.is_known(node) else None
    found = _kinds().get(str(node["op"]))
    if found == "by type":
        return _BY_TYPE.get(str((node.get("dst") or {}).get("type")), "int")
    if found == "move":
        read = {str(each.get("type")) for each in node.get("srcs") or ()}
        written = str((node.get("dst") or {}).get("type"))
        return "convert" if (written in _BY_TYPE) != bool(read & set(_BY_TYPE)) else found
    if found == "wait" and node["subop"] == "bar":
        return "barrier"
    return found


def unit_name(node: Node, counted: Pipe | None) -> str:
    """The unit that does an instruction: its in-order pipe, the shared function of a message, `dpas`, `math`."""
    if sends.is_send(node):
        return str(node["subop"])
    op = str(node["op"])
    if op in ("dpas", "dpasw"):
        return "systolic"
    if op == "math":
        return "math"
    return _UNITS[counted] if kind(node) not in ("branch", "wait", "control", "barrier") else "control"


def latency(node: Node, generation: Generation) -> Latency | None:
    """Cycles from issue to result, None where no table has the class."""
    entry = _table("latency")[generation].get(_class(node))
    if entry is None:
        return None
    low, high = entry["cycles"]
    return Latency(low, high, _table("latency")["names"][entry["from"]])


def _class(node: Node) -> str:
    found = kind(node)
    if sends.is_send(node):
        memory = sends.memory(node)
        if sends.is_fence(node):
            return "fence"
        if found == "barrier":
            return "barrier"
        if memory is None:
            return "message"
        if memory.direction == "atomic":
            return "local atomic" if memory.space == "shared" else "atomic"
        return {"shared": "local", "texture": "texture"}.get(memory.space, "memory")
    if found == "special":
        return "math"
    if found == "tensor":
        return "dpas"
    if _writes_flags(node):
        return "flag"
    return str(found) if found in ("branch", "wait", "barrier") else "alu" if found not in (None, "control") else ""


def _writes_flags(node: Node) -> bool:
    """Whether its result is in a flag or address register: these take longer."""
    register = (node.get("dst") or {}).get("reg") or {}
    return register.get("rn") == "a" or (bool(node.get("fm")) and node["op"] not in SELECTS)
