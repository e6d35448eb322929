"""Causes as a reader wants them ranked: copies of one source line (an unrolled loop has many) added up."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from strop.values.diagnosis import Cause, KernelDiagnosis, Site

LOOP = re.compile(r"in the loop from \+0x[0-9a-f]+ to \+0x[0-9a-f]+")
"""In a cause's evidence: the innermost loop that stall and cause lie in."""


@dataclass(frozen=True, slots=True)
class Group:
    """Causes of one class between the same source lines, the costliest first. Shares are theirs together."""

    causes: tuple[Cause, ...]
    share_of_stalls: tuple[float, float]
    share_of_time: tuple[float, float]

    @property
    def first(self) -> Cause:
        """The costliest of them."""
        return self.causes[0]

    @property
    def samples(self) -> int | None:
        """All samples (or cycles) that they own; None where only shares are known."""
        counts = [cause.samples for cause in self.causes]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def sources(self) -> tuple[Site, ...]:
        """What is to blame: the different causes, or where there are none the stalls."""
        return tuple(dict.fromkeys(cause.cause_site or cause.stall_site for cause in self.causes))

    @property
    def opcodes(self) -> tuple[str, ...]:
        """Their opcodes, the costliest first; the whole text where the opcode isn't known by itself."""
        return tuple(dict.fromkeys(site.opcode or site.text or "" for site in self.sources))

    @property
    def loop(self) -> str | None:
        """The one loop that all of it lies in, as the evidence names it."""
        found = {
            next((match[0] for said in cause.evidence if (match := LOOP.search(said))), None) for cause in self.causes
        }
        return found.pop() if len(found) == 1 else None

    def speedup(self, kernel: KernelDiagnosis) -> float | None:
        """How many times as fast the kernel could be without all of them, at most."""
        if self.first.speedup is None or not kernel.accounting.total:
            return None
        if len(self.causes) == 1:
            return self.first.speedup[1]
        issued = kernel.accounting.parts.get("issued", 0) or 1
        return 1.0 / max(1.0 - self.share_of_time[1], issued / kernel.accounting.total)


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


def copies(group: Group, unit: str) -> str:
    """What else there is of the line: the costliest is shown for all."""
    cause = group.first.cause_site
    there = (
        "on the same line" if cause is None or _line(cause) == _line(group.first.stall_site) else "on the same lines"
    )
    count = f"{len(group.causes):,} such {'instructions' if cause is None else 'pairs'} {there}"
    if group.samples is None:
        return f"{count}; the costliest is shown"
    return f"{count}, {group.samples:,} {unit} in all; the costliest is shown"


# What an edge's need (flow/needs.py) means, in words.
_NEEDS = {
    "raw": "its result is read here",
    "raw_later": "its result is read later",
    "waw": "it writes the register that is written next",
    "war": "it still has to read what is overwritten",
    "order": "what it does to memory must be done first",
    "call": "nothing may be pending at a call",
    "caller": "the caller left it pending",
    "spurious": "nothing here needs it",
}
_WAITS = re.compile(r"waits on (\S+) \((\w+)\)")
_READS = re.compile(r"reads its result \(\w+\)")
_EXACTLY = re.compile(r"latency (\d+) to \1 cycles")
_EXPOSED = re.compile(r"(latency .*); (\d+) to (\d+) exposed")


def told(evidence: Sequence[str]) -> Iterator[str]:
    """Evidence in words: waits for one reason are one line, and so are latencies of one kind.

    >>> list(told(("waits on SB1 (raw)", "waits on SB2 (raw)", "reads its result (raw)", "a scalar load")))
    ['waits on SB1, SB2: its result is read here', 'reads its result', 'a scalar load']
    """
    waits: dict[str, list[str]] = {}
    exposed: dict[str, tuple[int, int]] = {}
    lines: list[str] = []
    for said in evidence:
        if match := _EXPOSED.fullmatch(said):
            here = int(match[2]), int(match[3])
            before = exposed.get(match[1], here)
            exposed[match[1]] = min(before[0], here[0]), max(before[1], here[1])
            lines.append(match[1])
        elif match := _WAITS.fullmatch(said):
            if match[2] not in waits:
                lines.append(match[2])
            waits.setdefault(match[2], []).append(match[1])
        else:
            lines.append("reads its result" if _READS.fullmatch(said) else said)
    for line in dict.fromkeys(lines):
        if line in waits:
            several = waits[line]
            yield f"waits on {', '.join(sorted(several))}: {_NEEDS.get(line, line)}"
        elif line in exposed:
            low, high = exposed[line]
            latency = _EXACTLY.sub(r"latency \1 cycles", line)
            yield f"{latency}; {f'{low} to {high}' if high else 'none'} of them exposed"
        else:
            yield line
