"""What a diagnosis says in a sentence, and the words for its sites, shares and gaps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from strop.report.units import percent
from strop.stalls.groups import Group, grouped
from strop.values.diagnosis import Cause, Diagnosis, KernelDiagnosis, Site

UNEXPLAINED_SAID = 0.05  # of a kernel's samples: from here on the second sentence names it
HIDDEN_SAID = 0.2  # of a kernel's stalls: from here on it is said that they don't matter
UNKNOWN = "unknown"  # the class of stalls of which nothing is known
UNNAMED = "all dispatches"  # what a reader calls the whole of a profile that names no kernels
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


def named(kernel: KernelDiagnosis) -> str:
    """The kernel's name for people: SYCL names kernels by a type, and tools show what that type's name demangles to."""
    return plain(kernel.name.removeprefix("typeinfo name for "))


def sentence(diagnosis: Diagnosis) -> str:
    """What is wrong with the costliest kernel, and what it costs."""
    if not diagnosis.kernels:
        return "Nothing was diagnosed: there is no kernel."
    kernel = diagnosis.kernels[0]
    if len(diagnosis.kernels) > 1:
        return headline(kernel, named(kernel))
    return headline(kernel, "this profile" if kernel.name == UNNAMED else "this kernel")


def headline(kernel: KernelDiagnosis, name: str) -> str:
    """What is wrong with a kernel, in one to three sentences."""
    parts, total, unit = kernel.accounting.parts, kernel.accounting.total, kernel.accounting.unit
    groups = grouped(kernel)
    if not groups:
        return f"No stall was sampled in {name}: all {total:,} {unit} issued an instruction."
    known = (group for group in groups if group.first.cause_class != UNKNOWN and group.share_of_time[1])
    group = next(known, groups[0])
    said = f"{_claim(group, name, unit)}."
    if not group.share_of_time[1]:
        said += " They cost nothing: other warps issued meanwhile."
    free = min(1.0, sum(each.share_of_stalls[1] for each in groups if each is not group and not each.share_of_time[1]))
    if free >= HIDDEN_SAID and group.share_of_time[1]:
        said += f" Another {percent(free)} cost nothing: other warps issued meanwhile."
    lost = _unexplained(kernel) / total if total else 0.0
    if lost >= UNEXPLAINED_SAID and group.first.cause_class != UNKNOWN:
        said += f" What {percent(lost)} of all {unit} wait for was not found."
    elif group.first.cause_class == UNKNOWN and parts.get("unexplained"):
        said += f" {_advice(kernel)}"
    return said


def _advice(kernel: KernelDiagnosis) -> str:
    better = raises(kernel)
    return f"It takes more to say: {better[0]}." if better else "Nothing in the profile tells more."


def _unexplained(kernel: KernelDiagnosis) -> int:
    """Samples of which not even the kind of stall is known: a text without code may say the kind, and no more."""
    parts = kernel.accounting.parts
    kinds = sum(
        cause.samples or 0 for cause in kernel.causes if "binary" in cause.needs and cause.cause_class != UNKNOWN
    )
    return parts.get("unexplained", 0) - max(0, kinds - parts.get("self", 0))


def _claim(group: Group, name: str, unit: str) -> str:
    cause = group.first
    start = f"{interval(group.share_of_stalls)} of {name}'s stall {unit}"
    stall = cause.stall_site
    if cause.cause_site is None:
        opcodes = _opcodes(group) if stall.line is not None or stall.pc is not None else ""
        return f"{start} are at {where(stall)}{_bracket([opcodes, _copies(group)])}: {_alone(cause)}"
    source = cause.cause_site
    depth = [found[0] for each in cause.evidence if (found := DEPTH.search(each))]
    noun = NOUNS.get(cause.cause_class, "result")
    there = VERBS.get(cause.cause_class, "consumed")
    detail = _bracket([_opcodes(group), _copies(group), *depth])
    by = "on the same line" if where(stall) == where(source) and stall.line is not None else f"at {where(stall)}"
    return f"{start} wait for the {noun} at {where(source)}{detail}, {there} {by}"


def _alone(cause: Cause) -> str:
    """What a stall without a cause's place is due to."""
    if "binary" in cause.needs and cause.cause_class in WITHOUT_CODE:
        return f"{WITHOUT_CODE[cause.cause_class]}; only the binary says which"
    what = cause.evidence[0].rstrip(".") if cause.evidence else cause.cause_class
    return plain(what[0].lower() + what[1:])


def _opcodes(group: Group) -> str:
    several = [plain(one) for one in group.opcodes if one]
    return " and ".join(several) if len(several) < 3 else f"{several[0]} and others"


def _copies(group: Group) -> str:
    """How many instructions of the line are to blame: in each iteration where they share a loop."""
    count = len(group.sources)
    if all(site.pc is None for site in group.sources):
        return ""
    if group.loop is not None:
        return "1 per iteration" if count == 1 else f"{count:,} per iteration"
    return f"{count:,} instructions" if count > 1 else ""


WITHOUT_CODE = {
    "global_load_latency": "a load from memory is waited for",
    "shared_bank_or_latency": "an access to shared memory is waited for",
    "fixed_latency_chain": "an earlier result is waited for",
}
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
    "fixed_latency_chain": "arithmetic",
    "sfu_chain": "special function",
    "convert_chain": "conversion",
    "int_address_chain": "address arithmetic",
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
            ("samples_elsewhere", "no known instruction" if found.get("instructions") else "texts only, without code"),
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
    if found.get("causes", 0) > len(kernel.causes):
        yield f"{found['causes']:,} pairs of stall and cause in all, the costliest {len(kernel.causes):,} are kept"


def notes(kernel: KernelDiagnosis) -> list[str]:
    """What the readers say of the profile."""
    return [plain(note) for note in kernel.coverage.get("notes", ())]


def raises(kernel: KernelDiagnosis) -> list[str]:
    """What would raise confidence, what matters to most of the stalls first."""
    weight: dict[str, float] = dict.fromkeys(kernel.coverage.get("missing", ()), 1.0)
    for cause in kernel.causes:
        for need in cause.needs:
            weight[need] = weight.get(need, 0.0) + cause.share_of_stalls[1]
    return [plain(RAISES.get(need, need)) for need in sorted(weight, key=lambda need: -weight[need])]
