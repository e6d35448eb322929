"""One kernel: its samples on its instructions, blamed, accounted for, and ranked as causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from strop.stalls.accounting import account
from strop.stalls.blame import Blamer
from strop.stalls.causes import Kind, Namer
from strop.stalls.code import Code
from strop.stalls.instruction import Instruction
from strop.stalls.join import Joined, by_line, join, merged
from strop.stalls.methods import METHODS
from strop.stalls.profiles.profile import Count, KernelProfile, Place, Profile, Reason
from strop.stalls.samples import Attribution, Part, Samples, apportion
from strop.stalls.slice import Slicer
from strop.stalls.wording import said
from strop.values.diagnosis import Cause, KernelDiagnosis, Site

# Causes listed of a kernel: as many as hold nearly all its stalls (an unrolled loop has a thousand that are one line),
# but no fewer than the first of these numbers, and no more than the second; the coverage says how many there are.
FEWEST_CAUSES, MOST_CAUSES, NEARLY_ALL = 200, 2000, 0.98
BY_LINE = "instruction samples"
NO_BINARY = "binary"
NO_LINES = "line information"
AMBIGUOUS = "a thread trace, or counters of each load's latency"


@dataclass(slots=True)
class _Row:
    """A cause as it is added up."""

    kind: Kind
    stall: Site
    cause: Site | None
    chain: tuple[Site, ...]
    samples: int = 0
    low: float = 0.0
    high: float = 0.0
    shown: float = 0.0  # the same three without what is hidden
    shown_low: float = 0.0
    shown_high: float = 0.0
    evidence: dict[str, None] = field(default_factory=dict)
    needs: dict[str, None] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)


def diagnose_kernel(kernel: KernelProfile, code: Code | None, *, profile: Profile, method: str) -> KernelDiagnosis:
    """Diagnose one kernel. Raises :class:`OtherBinary` where the samples don't fit the code."""
    joined = join(kernel, code.places) if code is not None else _without_code(kernel)
    rows: dict[tuple[object, ...], _Row] = {}
    attributions: list[Attribution] = []
    figures: dict[str, float] = {}
    spread = _Spread(kernel, joined, code)
    loose = dict(joined.loose)
    if code is not None:
        loose |= spread.unplaced
        for counts, is_line in ((joined.at, False), (spread.at, True)):
            for number, at in sorted(counts.items()):
                found, more = _blame(code, number, at, kernel.skid, method)
                figures |= more
                attributions += found
                _add(rows, code, number, found, is_line)
    else:
        loose |= joined.lines
    unplaced = own = issued = 0
    for place, several in loose.items():
        for count in several:
            if count.reason is Reason.ISSUED:
                issued += count.samples
            elif _is_told(place, count):
                own += count.samples
            else:
                unplaced += count.samples
            if count.reason is not Reason.ISSUED:
                _add_loose(rows, place, count, code is not None)
    accounting = account(profile.unit, attributions, unplaced=unplaced, own=own, issued=issued)
    stalls = accounting.total - accounting.parts[Part.ISSUED.value]
    ranked = sorted(rows.values(), key=lambda row: (-row.shown, -row.samples))
    return KernelDiagnosis(
        name=kernel.name,
        arch=code.binary.arch if code is not None else "unknown",
        accounting=accounting,
        coverage=_coverage(kernel, joined, spread, code, profile, figures, len(ranked)),
        causes=tuple(
            _cause(row, stalls, accounting.total, accounting.parts[Part.ISSUED.value], profile.unit)
            for row in ranked[: _kept(ranked)]
        ),
    )


def _without_code(kernel: KernelProfile) -> Joined:
    return Joined(loose=dict(kernel.counts))


def _is_told(place: Place, count: Count) -> bool:
    """Tell whether a stall without an instruction still says itself what it is: no earlier result is waited for."""
    return said(place, count.reason).cause_class in (
        "pipe_throttle", "lsu_queue_throttle", "icache", "branch", "scheduler_not_selected",
    )  # fmt: skip


# -- lines -------------------------------------------------------------------------------------------------------


class _Spread:
    """Counts that name only a line, put on that line's instructions: each on those that may stall for its reason."""

    def __init__(self, kernel: KernelProfile, joined: Joined, code: Code | None) -> None:
        self.at: dict[int, dict[int, list[Count]]] = {}
        self.unplaced: dict[Place, tuple[Count, ...]] = {}
        if code is None or not joined.lines:
            return
        named = {number for place in joined.lines if (number := code.places.function(place.function)) is not None}
        lines = by_line(code.binary.functions, sorted(named) or range(len(code.binary.functions)))
        blamers: dict[int, Blamer] = {}
        for place, counts in joined.lines.items():
            options = lines.get((PurePath(place.file or "").name, place.line or 0), [])
            own = code.places.function(place.function)
            options = [one for one in options if one[0] == own] or options
            if not options:
                self.unplaced[place] = counts
                continue
            for count in counts:
                weights = []
                for number, index in options:
                    if number not in blamers:
                        blamers[number] = Blamer(code.slicer(number), Samples({}))
                    waits = count.reason is not Reason.ISSUED
                    weights.append(blamers[number].expected(index, count.reason) if waits else 1.0)
                samples = apportion(count.samples, weights)
                hidden = apportion(count.hidden, [float(each) for each in samples])
                for (number, index), mine, lost in zip(options, samples, hidden, strict=True):
                    if mine:
                        one = Count(count.reason, count.vendor_reason, mine, lost)
                        self.at.setdefault(number, {}).setdefault(index, []).append(one)


# -- causes ------------------------------------------------------------------------------------------------------


def _blame(
    code: Code, number: int, at: dict[int, list[Count]], skid: int, method: str
) -> tuple[list[Attribution], dict[str, float]]:
    samples = Samples({index: merged(counts) for index, counts in at.items()}, skid)
    blame = METHODS[method](code.function(number), samples, code.slicer(number))
    return list(blame.attributions), dict(blame.figures)


def _site(instruction: Instruction, is_line: bool) -> Site:
    source = instruction.source
    file, line, inline = (source.file, source.line, source.inline) if source else (None, None, ())
    if is_line:
        return Site(file=file, line=line)
    return Site(
        pc=instruction.pc, opcode=instruction.opcode, text=instruction.text, file=file, line=line, inline=inline
    )


def _add(
    rows: dict[tuple[object, ...], _Row], code: Code, number: int, found: list[Attribution], is_line: bool
) -> None:
    slicer = code.slicer(number)
    namer = Namer(slicer)
    loops = _Loops(slicer)
    names: dict[tuple[object, ...], Any] = {}
    sites: dict[int, Site] = {}

    def site(index: int) -> Site:
        found = sites.get(index)
        return sites.setdefault(index, _site(slicer.code[index], is_line)) if found is None else found

    for one in found:
        if one.part is Part.ISSUED:
            continue
        which = (one.stall, one.cause, one.anchor, one.reason, one.need, one.resource, one.part)
        named = names.get(which) or names.setdefault(which, namer.name(one))
        # A late sample counts where the wave stood, not where it was found.
        late = one.anchor is not None and one.anchor != one.stall and one.reason is not Reason.BARRIER
        at = one.anchor if late and one.anchor is not None else one.stall
        stall = site(at)
        cause = None if one.cause is None or one.part is not Part.ATTRIBUTED else site(one.cause)
        key: tuple[object, ...] = (number, stall, cause, named.kind.id) if is_line else (
            number, at, one.cause, named.kind.id,
        )  # fmt: skip
        row = rows.get(key)
        if row is None:
            steps = [at, *([one.cause] if cause and one.cause is not None else [])]
            chain = tuple([site(step) for step in dict.fromkeys([*steps, *(link.producer for link in named.chain)])])
            row = rows[key] = _Row(named.kind, stall, cause, tuple(dict.fromkeys(chain)) if is_line else chain)
        _tally(row, one)
        row.evidence |= dict.fromkeys((*named.evidence, *one.evidence))
        if not is_line and (loop := loops.name(at, one.cause)) is not None:
            row.evidence[loop] = None
        if late:
            row.evidence[f"some samples were taken at {slicer.code[one.stall].text}: samples may be late"] = None
        if one.ambiguous:
            row.evidence["ambiguous: the interval overlaps that of another producer"] = None
            row.needs[AMBIGUOUS] = None
        if is_line:
            row.needs[BY_LINE] = None
        elif stall.line is None:
            row.needs[NO_LINES] = None


class _Loops:
    """Names loops; each once."""

    def __init__(self, slicer: Slicer) -> None:
        self._graph, self._code = slicer.graph, slicer.code
        self._around: list[set[int]] = [set() for _ in slicer.graph.order]  # the numbers of the loops around a block
        for number, loop in enumerate(slicer.graph.loops):
            for block in loop.blocks:
                self._around[block].add(number)
        self._names: dict[tuple[int, int], str | None] = {}

    def name(self, stall: int, cause: int | None) -> str | None:
        """Name the innermost loop that holds a stall, and its cause if there is one."""
        blocks = self._graph.block_of[stall], self._graph.block_of[stall if cause is None else cause]
        if blocks not in self._names:
            self._names[blocks] = self._name(blocks)
        return self._names[blocks]

    def _name(self, blocks: tuple[int, int]) -> str | None:
        number = max(self._around[blocks[0]] & self._around[blocks[1]], default=None)
        if number is None:
            return None
        inner, graph = self._graph.loops[number], self._graph
        start, end = graph.starts[inner.blocks[0]], max(graph.ends[block] for block in inner.blocks)
        if start >= len(self._code):  # only the hub of branches to nobody knows where
            return None
        return f"in the loop from +{self._code[start].pc:#x} to +{self._code[end - 1].pc:#x}"


def _tally(row: _Row, one: Attribution) -> None:
    whole = one.of or one.samples
    shown = 0.0 if one.reason is Reason.SELECTED_OTHER else 1 - one.hidden / one.samples
    row.samples += one.samples
    row.shown += one.samples * shown
    row.low += whole * one.share[0]
    row.high += whole * one.share[1]
    row.shown_low += whole * one.share[0] * shown
    row.shown_high += whole * one.share[1] * shown
    row.reasons[one.reason.value] += one.samples


def _add_loose(rows: dict[tuple[object, ...], _Row], place: Place, count: Count, has_code: bool) -> None:
    kind = said(place, count.reason)
    site = Site(pc=place.pc, text=place.text, file=place.file, line=place.line)
    row = rows.setdefault((site, kind.id), _Row(kind, site, None, (site,)))
    row.samples += count.samples
    row.low += count.samples
    row.high += count.samples
    shown = 0 if count.reason is Reason.SELECTED_OTHER else count.samples - count.hidden
    row.shown += shown
    row.shown_low += shown
    row.shown_high += shown
    row.reasons[count.vendor_reason] += count.samples
    row.needs[NO_BINARY if not has_code else BY_LINE] = None
    if place.text is None and place.pc is None:
        row.needs[BY_LINE] = None


def _kept(ranked: list[_Row]) -> int:
    """Return how many causes are listed."""
    left = (1 - NEARLY_ALL) * sum(row.samples for row in ranked)
    kept = len(ranked)
    while kept > FEWEST_CAUSES and ranked[kept - 1].samples <= left:
        kept -= 1
        left -= ranked[kept].samples
    return min(kept, MOST_CAUSES)


def _counted(row: _Row, unit: str) -> str:
    """Say the samples of a row by their reasons."""
    whole = f"{row.samples:,} {unit if row.samples != 1 else unit.removesuffix('s')} here"
    reasons = [(samples, reason) for reason, samples in row.reasons.most_common() if reason]
    if not reasons:
        return f"{whole}, without a reason"
    if len(reasons) == 1 and reasons[0][0] == row.samples:
        return f"{whole}, reason {reasons[0][1]}"
    return f"{whole}, reasons {', '.join(f'{reason} {samples:,}' for samples, reason in reasons)}"


def _cause(row: _Row, stalls: int, total: int, issued: int, unit: str) -> Cause:
    of_stalls = (min(1.0, row.low / stalls), min(1.0, row.high / stalls)) if stalls else (0.0, 0.0)
    of_time = (min(1.0, row.shown_low / total), min(1.0, row.shown_high / total)) if total else (0.0, 0.0)
    least_left = max(1.0 - of_time[1], (issued or 1) / total) if total else 1.0
    return Cause(
        id=row.kind.id,
        cause_class=row.kind.cause_class,
        stall_site=row.stall,
        cause_site=row.cause,
        share_of_stalls=of_stalls,
        share_of_time=of_time,
        chain=row.chain,
        evidence=(row.kind.says, _counted(row, unit), *row.evidence),
        needs=tuple(row.needs),
        speedup=(1.0, 1.0 / least_left),
        samples=row.samples,
    )


# -- coverage ----------------------------------------------------------------------------------------------------


def _coverage(
    kernel: KernelProfile,
    joined: Joined,
    spread: _Spread,
    code: Code | None,
    profile: Profile,
    figures: dict[str, float],
    causes: int,
) -> dict[str, Any]:
    def total(places: Iterator[tuple[Count, ...]]) -> int:
        return sum(count.samples for counts in places for count in counts)

    by_instruction = sum(count.samples for at in joined.at.values() for counts in at.values() for count in counts)
    found: dict[str, Any] = {
        "samples": kernel.samples,
        "samples_on_instructions": by_instruction,
        "samples_on_lines": total(iter(joined.lines.values())),
        "samples_elsewhere": total(iter(joined.loose.values())) + total(iter(spread.unplaced.values())),
        "causes": causes,
        "notes": [*profile.notes, *kernel.notes],
        "missing": [] if code is not None else [NO_BINARY],
    }
    if kernel.skid:
        found["skid_instructions"] = kernel.skid
    if code is not None:
        numbers = sorted({*joined.at, *spread.at})
        functions = [code.function(number) for number in numbers]
        every = [one for function in functions for one in function.instructions]
        unknown = Counter(one.opcode for one in every if not one.known)
        found |= {
            "binary": code.binary.path,
            "functions": [function.name for function in functions],
            "instructions": len(every),
            "unknown_opcodes": dict(unknown.most_common(20)),
            "unknown_instructions": sum(unknown.values()),
            "instructions_with_lines": sum(one.source is not None for one in every),
            "unknown_branch_targets": sum(len(code.slicer(number).graph.unknown) for number in numbers),
        }
        found["missing"] += list(code.binary.missing)
    return found | figures
