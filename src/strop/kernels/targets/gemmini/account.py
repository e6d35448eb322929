"""What the machine counted, as a diagnosis: closed parts, each wait with what it waits for, one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from strop.kernels.targets.gemmini.geometry import geometry
from strop.values.diagnosis import Accounting, Cause, Diagnosis, KernelDiagnosis, Site

if TYPE_CHECKING:
    from strop.kernels.problem import Problem
    from strop.kernels.targets.gemmini.run import Program

PARTS = ("host", "load", "execute", "store", "fence", "fill")
COMMANDS = {
    0: "config", 1: "mvin2", 2: "mvin", 3: "mvout", 4: "compute_preloaded", 5: "compute_accumulated", 6: "preload",
    7: "flush", 8: "loop_ws", 14: "mvin3", 15: "loop_conv_ws", 23: "mvout_spad", 126: "counter",
}  # fmt: skip
_CLASSES = {
    "host": "host_issue",
    "load": "load_wait",
    "store": "store_wait",
    "fence": "fence_wait",
    "fill": "array_fill_drain",
}
# The waits that speak for each part: what a command waited for tells where its cycles come from.
_WAITS = {
    "load": {"on_load", "station_full", "dma_ids", "bank", "memory", "in_order"},
    "store": {"on_store", "accumulator_port", "write_ids", "scale_queue", "in_order"},
    "fill": {"mesh_busy", "tag_limit", "raw_hazard", "drain", "not_visible", "on_execute"},
    "fence": {"fence", "memory"},
    "host": set[str](),
}
MOST_CAUSES = 40
WORTH = 0.002  # of the time: below it a cause isn't listed


def diagnosis(problem: Problem, program: Program, detail: Mapping[str, Any]) -> Diagnosis:
    """Return the account of a run as a diagnosis: parts in cycles that sum to the run's."""
    account, total = detail["account"], int(detail["cycles"])
    parts = {name: int(account["classes"][name]) for name in PARTS}
    parts["host"] += total - sum(parts.values())  # before the first command and after the last one
    causes = sorted(_causes(program, account, total), key=lambda cause: -cause.share_of_time[1])
    stalled = total - parts["execute"]
    return Diagnosis(
        kernels=(
            KernelDiagnosis(
                name=problem.id,
                arch=f"gemmini/{problem.geometry}",
                accounting=Accounting(unit="cycles", total=total, parts=parts),
                coverage={
                    "calibrated": geometry(problem.geometry).calibrated,
                    "stalled_cycles": stalled,
                    "counters": dict(account["counters"]),
                },
                causes=tuple(causes[:MOST_CAUSES]),
            ),
        )
    )


def _causes(program: Program, account: Mapping[str, Any], total: int) -> Iterator[Cause]:
    """Yield the waits by source line (by address where none is known) and part, each with the longest of its waits."""
    from strop.stalls.causes import table

    stalled = max(total - int(account["classes"]["execute"]), 1)
    waits: dict[int, list[Mapping[str, Any]]] = {}
    for wait in account["waits"]:
        waits.setdefault(wait["pc"], []).append(wait)
    spent: dict[tuple[int, str], tuple[int, list[int]]] = {}
    for pc, parts in account["lines"].items():
        for part in PARTS:
            if part != "execute" and parts[part]:
                key = (program.lines.at(pc) or -pc, part)
                cycles, places = spent.get(key, (0, []))
                spent[key] = cycles + int(parts[part]), [*places, pc]
    for (_, part), (cycles, places) in spent.items():
        if cycles < WORTH * total:
            continue
        mine = [each for pc in places for each in waits.get(pc, ()) if each["wait"] in _WAITS[part]]
        best = max(mine, key=lambda each: each["cycles"], default=None)
        kind = table()[_class(part, best, account)]
        evidence = [f"{cycles:,} cycles of {part}"]
        if best is not None:
            times = "once" if best["count"] == 1 else f"{best['count']:,} times"
            most = f"{best['longest']:,} cycles at most (command {best['index']:,})"
            evidence.append(f"waits {best['wait'].replace('_', ' ')} {times}, {most}")
        share = cycles / total
        yield Cause(
            id=kind.id,
            cause_class=kind.cause_class,
            stall_site=_site(program, best["pc"] if best else places[0], best["funct"] if best else None),
            cause_site=_site(program, best["cause_pc"], None) if best and best["cause_pc"] else None,
            share_of_stalls=(cycles / stalled, cycles / stalled),
            share_of_time=(share, share),
            evidence=tuple(evidence),
            samples=cycles,
        )


def _class(part: str, wait: Mapping[str, Any] | None, account: Mapping[str, Any]) -> str:
    if part == "load" and wait is not None and wait["wait"] == "station_full":
        return "load_station_full"
    if part == "load" and _narrow(account["counters"]):
        return "narrow_loads"
    if part == "store" and _busy_bank(account["counters"]):
        return "store_bank_busy"
    return _CLASSES[part]


def _site(program: Program, pc: int, funct: int | None) -> Site:
    name = COMMANDS.get(funct) if funct is not None else None
    return Site(
        pc=pc - BASE_PC if pc >= BASE_PC else None,
        opcode=name,
        text=name,
        file="candidate.c",
        line=program.lines.at(pc),
    )


BASE_PC = 0x8000_0000


def _narrow(counters: Mapping[str, int]) -> bool:
    """Whether requests ran out while packets were small."""
    packets = counters["read_packets"]
    return packets > 0 and counters["bytes_read"] / packets < 33 and counters["reader_no_id"] > counters["bus_wait"]


def _busy_bank(counters: Mapping[str, int]) -> bool:
    return 4 * counters["store_port_stalls"] > counters["store_active"] > 0


def bottleneck(problem: Problem, detail: Mapping[str, Any]) -> str:
    """Say in one sentence what the cycles went to."""
    account, total, work = detail["account"], max(int(detail["cycles"]), 1), detail["work"]
    spent, counters = account["classes"], account["counters"]
    most = max(PARTS, key=lambda part: int(spent[part]))
    share = int(spent[most]) / total
    dim = geometry(problem.geometry).dim
    if most == "execute":
        conflicts = counters["operand_conflicts"] + counters["execute_bank_stalls"]
        slow = f", of which {conflicts / total:.0%} are bank conflicts" if conflicts > 0.05 * total else ""
        return f"array-bound: the array takes rows in {share:.0%} of the cycles{slow}"
    if most == "host":
        steps = max(work["steps"], 1)
        each = detail["instructions"] / steps
        if each > dim:
            return f"host-bound: {each:.0f} scalar instructions a tile, {dim} allowed"
        return f"host-bound: the core is late with commands in {share:.0%} of the cycles"
    if most == "load":
        rate = counters["bytes_read"] / total
        if _narrow(counters):
            packet = counters["bytes_read"] / counters["read_packets"]
            return (
                f"load-bound: packets of {packet:.0f} bytes where 64 are possible, so {rate:.1f} bytes a cycle arrive"
            )
        return f"load-bound: {counters['bytes_read']:,} bytes come in at {rate:.1f} a cycle"
    if most == "store":
        if _busy_bank(counters):
            return "store-bound: C leaves from the bank that the array accumulates into"
        return f"store-bound: {counters['bytes_written']:,} bytes go out, and each store waits for the one before"
    if most == "fence":
        return f"fence-bound: {share:.0%} of the cycles pass in fences"
    return f"fill-bound: the array's pipeline fills and drains in {share:.0%} of the cycles"
