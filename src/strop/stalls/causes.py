"""Names what a stall is due to: a class of the table in `causes.toml`, with the evidence and the chain above it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from strop.stalls.candidates import ASYNC, CONSTANT, FAR, ORDER, SHARED, SLOW_UNIT, TENSOR, kind_of
from strop.stalls.distance import Distances
from strop.stalls.flow.needs import Need
from strop.stalls.instruction import Direction, Role
from strop.stalls.profiles.profile import Reason
from strop.stalls.samples import Attribution, Part
from strop.stalls.slice import Link, LinkKind, Slicer

HANDOFF_CYCLES = 64.0  # a shared load that soon after the store is part of the hand-over
MBARRIER = "mbarrier"

_OWN = {
    Reason.PIPE: "pipe_throttle",
    Reason.MEMORY_QUEUE: "lsu_queue_throttle",
    Reason.FETCH: "icache",
    Reason.BRANCH: "branch",
    Reason.SELECTED_OTHER: "scheduler_not_selected",
    Reason.BARRIER: "barrier_skew",
    Reason.FIXED_LATENCY: "fixed_latency_chain",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table."""

    id: str
    cause_class: str
    says: str


@cache
def table() -> dict[str, Kind]:
    """Return the causes by class."""
    text = files("strop.stalls").joinpath("causes.toml").read_text(encoding="utf-8")
    return {row["class"]: Kind(name, row["class"], row["says"]) for name, row in tomllib.loads(text).items()}


@dataclass(frozen=True, slots=True)
class Named:
    """What an attribution is: its kind, what speaks for it, and the links above the cause."""

    kind: Kind
    evidence: tuple[str, ...] = ()
    chain: tuple[Link, ...] = ()


class Namer:
    """Names the attributions of one function."""

    def __init__(self, slicer: Slicer) -> None:
        self.slicer, self.code = slicer, slicer.code
        cost = [float(one.issue_cycles) for one in slicer.code]
        self._distances = Distances(slicer.graph, cost, cost)
        # Resources on which some wait lets operations stay: others are drained whole, there is no count to choose.
        self._counted = {wait.resource for one in slicer.code for wait in one.waits if wait.pending}

    def name(self, one: Attribution) -> Named:
        """Name an attribution that isn't issued samples."""
        if one.cause is None or one.part is not Part.ATTRIBUTED:
            return Named(table()[_OWN.get(one.reason, "unknown")])
        if one.reason is Reason.BARRIER:
            return Named(table()["barrier_skew"], (), self.slicer.chain(one.cause))
        chosen, evidence = self._choose(one, one.cause)
        return Named(table()[chosen], tuple(evidence), self.slicer.chain(one.cause))

    def _choose(self, one: Attribution, cause: int) -> tuple[str, list[str]]:
        waiter = one.stall if one.anchor is None else one.anchor
        if one.need is Need.WAR:
            return "war_operand_wait", []
        early = self._early(one, waiter, cause)
        if early is not None:
            return early
        instruction = self.code[cause]
        kind = kind_of(instruction)
        memory = instruction.memory
        if kind == ASYNC:
            barrier = (one.resource or "").startswith(MBARRIER)
            return ("tma_mbarrier_wait" if barrier else "async_copy_wait"), []
        if memory is not None and memory.direction is Direction.ATOMIC:
            return "atomic_contention", []
        if kind == ORDER:
            shared = memory is not None and memory.space == SHARED
            return ("smem_write_read_handoff" if shared else "global_load_latency"), ["a store is waited for"]
        if kind == SHARED:
            return self._shared(cause)
        if kind in (FAR, CONSTANT):
            return self._far(cause, kind)
        if kind == TENSOR:
            return "tensor_chain", []
        if instruction.kind == "special":
            return "sfu_chain", []
        if instruction.kind == "convert":
            return "convert_chain", []
        if self._makes_address(one, waiter, cause):
            return "int_address_chain", []
        if kind == SLOW_UNIT and one.resource is None:
            return "unknown", []
        return "fixed_latency_chain", []

    def _early(self, one: Attribution, waiter: int, cause: int) -> tuple[str, list[str]] | None:
        """Tell waits that wait for more than is needed right there."""
        if one.resource is None or one.need not in (Need.SPURIOUS, Need.RAW_LATER):
            return None
        served = self.slicer.needs.served(waiter)
        if cause in served:
            return None
        together = [edge.producer for edge in self.slicer.edges(waiter) if edge.wait.resource == one.resource]
        wanted = [producer for producer in together if producer in served]
        if not wanted and one.need is Need.RAW_LATER:
            return None
        counted = one.resource in self._counted
        in_order = all(pend.in_order for pend in self.code[cause].pends if pend.resource == one.resource)
        said = [
            f"{one.resource} also holds what is needed here" if wanted else f"nothing needs this wait on {one.resource}"
        ]
        return ("over_wait" if counted and in_order else "scoreboard_sharing"), said

    def _shared(self, cause: int) -> tuple[str, list[str]]:
        stores = [link.producer for link in self.slicer.links(cause) if link.kind is LinkKind.SHARED]
        away = self._distances.to(cause, stores)
        near = [store for store in stores if store in away and away[store].issuing <= HANDOFF_CYCLES]
        if near:
            return "smem_write_read_handoff", [f"{_stores(len(near))} to shared memory shortly before"]
        return "shared_bank_or_latency", []

    def _far(self, cause: int, kind: str) -> tuple[str, list[str]]:
        memory = self.code[cause].memory
        links = self.slicer.links(cause)
        spills = [link.producer for link in links if link.kind is LinkKind.SPILL]
        if spills:
            return "spill_reload", [f"reads the stack slot that {_stores(len(spills))} wrote"]
        if memory is not None and memory.slot is not None:
            return "spill_reload", ["reads a stack slot"]
        if kind == CONSTANT:
            return "global_load_latency", ["a scalar or constant load"]
        depth, recurrent = self.slicer.address_depth(cause)
        if recurrent:
            return "dependent_load_chain", ["its address comes from its own result, an iteration before"]
        if depth > 1:
            return "dependent_load_chain", [f"dependent address chain of depth {depth}"]
        return "global_load_latency", []

    def _makes_address(self, one: Attribution, waiter: int, cause: int) -> bool:
        if self.code[waiter].memory is None or self.code[cause].kind in ("float", "half", "double"):
            return False
        return any(
            read.role is Role.ADDRESS and cause in read.definitions for read in self.slicer.definitions.by_piece[waiter]
        )


def _stores(count: int) -> str:
    return "1 store" if count == 1 else f"{count} stores"
