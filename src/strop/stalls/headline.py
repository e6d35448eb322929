"""What a diagnosis says in a sentence, and the words for its sites, shares and gaps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from strop.report.units import percent
from strop.values.diagnosis import Cause, Diagnosis, KernelDiagnosis, Site

UNEXPLAINED_SAID = 0.05  # of a kernel's samples: from here on the second sentence names it
UNKNOWN = "unknown"  # the class of stalls of which nothing is known
DEPTH = re.compile(r"dependent address chain of depth \d+")
RAISES = {
    "binary": "the GPU binary that ran: --binary FILE (binary=FILE), or lay it beside the profile",
    "instruction samples": "samples by instruction instead of by source line: collect without structure information, "
    "or with a tool that keeps addresses",
    "line information": "line information: compile with -lineinfo (NVIDIA) or -g, the optimisation unchanged",
}
"""What a cause's `needs` and a coverage's `missing` mean as something to do."""


def plain(text: str) -> str:
    r"""A text of a stranger's file in one line that no terminal obeys.

    >>> plain("a\x1b[31mb\n\u202ec")
    'a\\x1b[31mb\\n\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def interval(shares: tuple[float, float]) -> str:
    """A share that is known to lie between two.

    >>> interval((0.617, 0.62)), interval((0.2, 0.45)), interval((0.0, 0.0))
    ('62%', '20% to 45%', '0.0%')
    """
    low, high = percent(shares[0]), percent(shares[1])
    return high if low == high or shares[1] - shares[0] < 0.01 else f"{low} to {high}"


def where(site: Site) -> str:
    """The source line, short, or the place in the code, or all that is known: `stencil.cu:41`, `+0x1c0`, a text."""
    if site.file is not None and site.line is not None:
        return plain(f"{PurePath(site.file).name}:{site.line}")
    if site.pc is not None:
        return f"+{site.pc:#x}"
    return plain(site.text) if site.text else "a place that isn't known"


def code_of(site: Site) -> str:
    """The instruction as it is written; its opcode where there is no text; empty where neither is known."""
    return plain(site.text or site.opcode or "")


def opcode_of(site: Site) -> str:
    """The opcode, or the whole text where the opcode isn't known by itself."""
    return plain(site.opcode or site.text or "")


def full(site: Site) -> str:
    """Everything about a site in one line: `stencil.cu:41  LDG.E R4, [R2]  +0x1c0`."""
    spot = f"+{site.pc:#x}" if site.pc is not None else ""
    parts = [where(site), code_of(site), spot if site.file is not None else ""]
    calls = ", ".join(plain(f"{PurePath(file).name}:{line}") for file, line in site.inline)
    return "  ".join(part for part in (*dict.fromkeys(parts), f"(inlined at {calls})" if calls else "") if part)


@dataclass(frozen=True, slots=True)
class Group:
    """Causes of one class between the same source lines: an unrolled loop has many copies of one."""

    causes: tuple[Cause, ...]
    share_of_stalls: tuple[float, float]
    share_of_time: tuple[float, float]

    @property
    def first(self) -> Cause:
        """The costliest of them."""
        return self.causes[0]


def grouped(kernel: KernelDiagnosis) -> list[Group]:
    """The causes by class and source lines, the costliest first."""
    groups: dict[tuple[object, ...], list[Cause]] = {}
    for cause in kernel.causes:
        groups.setdefault((cause.id, _line(cause.stall_site), _line(cause.cause_site)), []).append(cause)
    stalls = kernel.accounting.total - kernel.accounting.parts.get("issued", 0)
    at: dict[Site, float] = {}  # all samples of a stall
    for cause in kernel.causes:
        at[cause.stall_site] = at.get(cause.stall_site, 0.0) + (math.inf if cause.samples is None else cause.samples)

    def sums(causes: list[Cause], name: str, whole: int) -> tuple[float, float]:
        """Add up shares. Several causes of one stall can't take more than its samples, whatever their intervals say."""
        low, high = 0.0, dict.fromkeys((cause.stall_site for cause in causes), 0.0)
        for cause in causes:
            least, most = getattr(cause, name)
            low, high[cause.stall_site] = low + least, high[cause.stall_site] + most
        most = sum(min(share, at[site] / whole) if whole else share for site, share in high.items())
        return min(1.0, low), min(1.0, max(low, most))

    found = [
        Group(tuple(each), sums(each, "share_of_stalls", stalls), sums(each, "share_of_time", kernel.accounting.total))
        for each in groups.values()
    ]
    return sorted(found, key=lambda group: (-sum(group.share_of_time), -sum(group.share_of_stalls)))


def _line(site: Site | None) -> tuple[object, ...] | None:
    if site is None:
        return None
    return (site.file, site.line) if site.line is not None else (site.pc, site.text)


def sentence(diagnosis: Diagnosis) -> str:
    """What is wrong with the costliest kernel, and what it costs."""
    if not diagnosis.kernels:
        return "Nothing was diagnosed: there is no kernel."
    kernel = diagnosis.kernels[0]
    return headline(kernel, "this kernel" if len(diagnosis.kernels) == 1 else plain(kernel.name))


def headline(kernel: KernelDiagnosis, name: str) -> str:
    """What is wrong with a kernel, in one or two sentences."""
    parts, total, unit = kernel.accounting.parts, kernel.accounting.total, kernel.accounting.unit
    groups = grouped(kernel)
    if not groups:
        return f"No stall was sampled in {name}: all {total:,} {unit} issued an instruction."
    told = (group for group in groups if group.first.cause_class != UNKNOWN and group.share_of_time[1])
    group = next(told, groups[0])
    said = f"{_claim(group, name, unit)}."
    if not group.share_of_time[1]:
        said += " They cost nothing: other warps issued meanwhile."
    lost = parts.get("unexplained", 0) / total if total else 0.0
    if lost >= UNEXPLAINED_SAID:
        said += f" What {percent(lost)} of all {unit} wait for was not found."
    return said


def _claim(group: Group, name: str, unit: str) -> str:
    cause = group.first
    start = f"{interval(group.share_of_stalls)} of {name}'s stall {unit}"
    stall, copies = cause.stall_site, len(group.causes)
    if cause.cause_site is None:
        what = cause.evidence[0].rstrip(".") if cause.evidence else cause.cause_class
        what = plain(what[0].lower() + what[1:])
        detail = [opcode_of(stall)] if stall.line is not None else []
        detail += [f"{copies} instructions"] if copies > 1 else []
        return f"{start} are at {where(stall)}{_bracket(detail)}: {what}"
    source = cause.cause_site
    depth = [found[0] for each in cause.evidence if (found := DEPTH.search(each))]
    detail = [opcode_of(source), *([f"{copies} pairs of instructions"] if copies > 1 else []), *depth]
    noun = NOUNS.get(cause.cause_class, "result")
    there = VERBS.get(cause.cause_class, "consumed")
    return f"{start} wait for the {noun} at {where(source)}{_bracket(detail)}, {there} at {where(stall)}"


NOUNS = {
    "global_load_latency": "load",
    "uncoalesced_global": "load",
    "dependent_load_chain": "load",
    "spill_reload": "reload",
    "shared_bank_or_latency": "shared-memory access",
    "smem_write_read_handoff": "shared-memory hand-over",
    "async_copy_wait": "asynchronous copy",
    "tma_mbarrier_wait": "bulk copy",
    "tensor_chain": "matrix operation",
    "atomic_contention": "atomic operation",
    "barrier_skew": "instruction before the barrier",
    "war_operand_wait": "operands to be read",
}
VERBS = {
    "barrier_skew": "awaited",
    "scoreboard_sharing": "awaited though not needed",
    "over_wait": "awaited though not needed yet",
    "war_operand_wait": "overwritten",
}


def _bracket(parts: list[str]) -> str:
    kept = ", ".join(part for part in parts if part)
    return f" ({kept})" if kept else ""


def accounting(kernel: KernelDiagnosis) -> str:
    """Where everything went: `48,519 issued + 39,593 self + … = 116,936 samples`."""
    account = kernel.accounting
    return (
        f"{' + '.join(f'{count:,} {part}' for part, count in account.parts.items())} = {account.total:,} {account.unit}"
    )


def coverage(kernel: KernelDiagnosis) -> Iterator[str]:
    """What could be placed and decoded, a line each."""
    found = kernel.coverage
    samples = found.get("samples", kernel.accounting.total)
    unit = kernel.accounting.unit
    placed = [
        f"{found[key]:,} on {what}"
        for key, what in (
            ("samples_on_instructions", "instructions"),
            ("samples_on_lines", "source lines only"),
            ("samples_elsewhere", "no known instruction"),
        )
        if found.get(key)
    ]
    if placed:
        yield f"of {samples:,} {unit}: {', '.join(placed)}"
    if (count := found.get("instructions")) is not None:
        unknown, lined = found.get("unknown_instructions", 0), found.get("instructions_with_lines", 0)
        yield f"{count:,} instructions: {count - unknown:,} decoded, {lined:,} with a source line"
        if unknown:
            most = ", ".join(f"{plain(name)} ({times:,})" for name, times in found.get("unknown_opcodes", {}).items())
            yield f"opcodes that no table has: {most}"
    if found.get("unknown_branch_targets"):
        yield f"{found['unknown_branch_targets']:,} branches whose targets aren't known"
    if found.get("skid_instructions"):
        yield f"samples may come up to {found['skid_instructions']} instructions late"
    if found.get("causes", 0) > len(kernel.causes):
        yield f"{found['causes']:,} causes in all, the first {len(kernel.causes):,} are kept"
    yield from map(plain, found.get("notes", ()))


def raises(kernel: KernelDiagnosis) -> list[str]:
    """What would raise confidence, what matters to most of the stalls first."""
    weight: dict[str, float] = dict.fromkeys(kernel.coverage.get("missing", ()), 1.0)
    for cause in kernel.causes:
        for need in cause.needs:
            weight[need] = weight.get(need, 0.0) + cause.share_of_stalls[1]
    return [plain(RAISES.get(need, need)) for need in sorted(weight, key=lambda need: -weight[need])]
