"""What a stalled instruction may be waiting for: by its waits, and by its distance from producers of fixed latency."""

from __future__ import annotations

from dataclasses import dataclass, replace

from strop.stalls.flow.needs import Need
from strop.stalls.instruction import Direction, Instruction, Latency, Role
from strop.stalls.profiles.profile import Reason
from strop.stalls.slice import Slicer

# Where a decoder gives no latency: wide, so that the shares' intervals are.
UNKNOWN_VARIABLE = Latency(20, 1000, "not in the tables")
UNKNOWN_FIXED = Latency(1, 30, "not in the tables")

FAR = "far"  # global, local, generic, texture: beyond the first cache
SHARED = "shared"
CONSTANT = "constant"
ASYNC = "async"
TENSOR = "tensor"
SLOW_UNIT = "slow unit"  # special functions, conversions, double precision: results come when they come
ORDER = "order"  # stores: somebody else looks at what they wrote
FIXED = "fixed"

# How well a kind of producer goes with a sampled reason (our judgement of leo.md 4.1's table). "Memory" of one tool is
# "dependency" of another, so what is not told apart weighs the same; the rest keeps a little, for what tools blur.
_MATCH: dict[Reason, dict[str, float]] = {
    Reason.GLOBAL_MEMORY: {FAR: 1.0, ASYNC: 0.6, TENSOR: 0.2, CONSTANT: 0.2, SHARED: 0.1, ORDER: 0.5, SLOW_UNIT: 0.05},
    Reason.SHARED_MEMORY: {SHARED: 1.0, SLOW_UNIT: 1.0, ORDER: 0.6, TENSOR: 0.2, CONSTANT: 0.2, FAR: 0.05},
    Reason.CONSTANT_MEMORY: {CONSTANT: 1.0, FAR: 0.1, SHARED: 0.05},
    Reason.MEMORY: {FAR: 1.0, SHARED: 1.0, CONSTANT: 1.0, ASYNC: 1.0, ORDER: 1.0, SLOW_UNIT: 0.3, TENSOR: 0.3},
    Reason.DEPENDENCY: dict.fromkeys((FAR, SHARED, CONSTANT, ASYNC, TENSOR, SLOW_UNIT, ORDER, FIXED), 1.0),
    Reason.FIXED_LATENCY: {FIXED: 1.0, SLOW_UNIT: 0.3, TENSOR: 0.5, SHARED: 0.1, FAR: 0.1, CONSTANT: 0.1},
    Reason.SYNC: {ASYNC: 1.0, TENSOR: 1.0, ORDER: 1.0, FAR: 0.3, SHARED: 0.3},
    Reason.BARRIER: {ORDER: 0.2, ASYNC: 0.2},
    Reason.OTHER: dict.fromkeys((FAR, SHARED, CONSTANT, ASYNC, TENSOR, SLOW_UNIT, ORDER, FIXED), 1.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A producer that a stall may be due to. `waiter` is the instruction that waits (the stalled one, or near it)."""

    producer: int
    waiter: int
    need: Need
    resource: str | None
    kind: str
    latency: Latency
    match: float
    role: Role | None = None
    via: int | None = None


def kind_of(instruction: Instruction) -> str:
    """Return which kind of producer an instruction is."""
    memory = instruction.memory
    if memory is not None:
        if memory.direction is Direction.COPY or memory.is_async:
            return ASYNC
        if memory.direction is Direction.STORE:
            return ORDER
        return memory.space if memory.space in (SHARED, CONSTANT) else FAR
    if instruction.kind == "tensor":
        return TENSOR
    if instruction.kind == "scalar" and instruction.variable:
        return CONSTANT
    return SLOW_UNIT if instruction.variable else FIXED


def latency_of(instruction: Instruction) -> Latency:
    """Return an instruction's latency, a wide one where none is known."""
    return instruction.latency or (UNKNOWN_VARIABLE if instruction.variable else UNKNOWN_FIXED)


def candidates(slicer: Slicer, waiter: int, reason: Reason) -> list[Candidate]:
    """Return what an instruction may wait for, each producer and need once, those that can't match left out."""
    code = slicer.code
    weights = _MATCH.get(reason, {})
    found: dict[int, Candidate] = {}

    def offer(producer: int, need: Need, resource: str | None, role: Role | None, via: int | None) -> None:
        kind = kind_of(code[producer])
        match = weights.get(kind, 0.0)
        if match <= 0:
            return
        known = found.get(producer)
        if known is None or _RANK[need] < _RANK[known.need]:
            found[producer] = Candidate(
                producer=producer,
                waiter=waiter,
                need=need,
                resource=resource,
                kind=kind,
                latency=latency_of(code[producer]),
                match=match,
                role=role,
                via=via,
            )

    for edge in slicer.edges(waiter):
        if edge.need not in (Need.CALLER, Need.GROUP):
            offer(edge.producer, edge.need, edge.wait.resource, None, edge.via)
    for read in slicer.definitions.by_piece[waiter]:
        for producer in read.definitions:
            if not code[producer].variable and not code[producer].memory:
                offer(producer, Need.RAW, None, read.role, None)
            elif producer in found and found[producer].role is None:
                found[producer] = replace(found[producer], role=read.role)
    return list(found.values())


_RANK = {need: rank for rank, need in enumerate(Need)}
