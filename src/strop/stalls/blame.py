"""strop's own rule: exposed latency, times how often the way is taken, times how well the sampled reason fits.

Every sample goes to exactly one attribution: issued; the instruction's own (a busy pipe, a fetch); attributed to a
producer; or unexplained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from strop.stalls.candidates import ORDER, Candidate, candidates
from strop.stalls.distance import Distances
from strop.stalls.flow.memory import is_barrier
from strop.stalls.flow.needs import Need
from strop.stalls.frequency import Frequency
from strop.stalls.instruction import Function, Latency
from strop.stalls.profiles.profile import Count, Reason
from strop.stalls.samples import OWN_REASONS, Attribution, Blame, Part, Samples, apportion
from strop.stalls.shares import Share, shares
from strop.stalls.skid import Place, settled
from strop.stalls.slice import Slicer

UNLIKELY = 0.25  # of the best match: candidates below it stay out
NEGLIGIBLE = 1e-9
RESULTS = (Need.RAW, Need.RAW_LATER)
# Operands are read when the unit takes the instruction from its queue. No table has it; judged.
READ_OPERANDS = Latency(4, 100, "judged")
TELLS_MORE = 4  # how much a wait counts that ought to be over, when threads come late
REGION_BLOCKS = 64  # how far back from a barrier the slowest instruction is sought
LATE, EARLY = 0.7, 0.4  # how likely a sample is of the instruction before, or after; two away: the square


def blame(function: Function, samples: Samples, slicer: Slicer | None = None) -> Blame:
    """Attribute every sample of a function."""
    return Blamer(slicer or Slicer(function), samples).blame()


class Blamer:
    """One function's attribution."""

    def __init__(self, slicer: Slicer, samples: Samples) -> None:
        self.slicer, self.samples = slicer, samples
        self.graph, self.code = slicer.graph, slicer.code
        self.stalled = samples.stalled
        self.frequency = Frequency(self.graph, samples.issued, self.stalled)
        self.distances = Distances(self.graph, self.frequency.cost, self.frequency.elapsed)
        self.has_reasons = samples.has_reasons
        self._known: dict[Place, tuple[list[Candidate], list[Share]]] = {}
        self._stalls: dict[Place, float] = {}  # where late samples are from

    def blame(self) -> Blame:
        """Attribute every sample."""
        near = {index: self._around(index) for index in self.samples.at}
        self.slicer.prepare({waiter for several in near.values() for waiter, _ in several})
        if self.samples.skid:
            self._settle(near)
        found: list[Attribution] = []
        for index in sorted(self.samples.at):
            for count in self.samples.at[index]:
                if count.samples and not self._waits_at_barrier(index, count):
                    found += self._attribute(index, count, near[index])
        return Blame((*found, *self._barriers(self._owners(found))))

    def _settle(self, near: Mapping[int, Sequence[tuple[int, float]]]) -> None:
        """Find out where late samples are most likely from, all of them together."""
        found: dict[Place, int] = {}
        for index, counts in self.samples.at.items():
            for count in counts:
                own = count.reason in (Reason.ISSUED, *OWN_REASONS) or self._waits_at_barrier(index, count)
                if count.samples and not own:
                    place = index, count.reason
                    found[place] = found.get(place, 0) + count.samples
        self._stalls = settled(found, near, self.expected)

    def _around(self, index: int) -> list[tuple[int, float]]:
        """Return the instructions that a sample may be of, each with how likely that is by distance alone."""
        found = {index: 1.0}
        for step, weight in ((self._before, LATE), (self._after, EARLY)):
            edge = [index]
            for _ in range(self.samples.skid):
                edge = [one for each in edge for one in step(each) if one not in found]
                found.update(dict.fromkeys(edge, weight))
                weight *= weight
        return list(found.items())

    def _before(self, index: int) -> list[int]:
        block = self.graph.block_of[index]
        if index > self.graph.starts[block]:
            return [index - 1]
        ends = [(self.graph.starts[one], self.graph.ends[one]) for one in self.graph.predecessors[block]]
        return [end - 1 for start, end in ends if end > start]

    def _after(self, index: int) -> list[int]:
        block = self.graph.block_of[index]
        if index + 1 < self.graph.ends[block]:
            return [index + 1]
        return [self.graph.starts[one] for one in self.graph.successors[block] if one != self.graph.hub]

    def _attribute(self, index: int, count: Count, near: list[tuple[int, float]]) -> list[Attribution]:
        part = Part.SELF
        if count.reason is Reason.ISSUED:
            part = Part.ISSUED
        elif count.reason is Reason.OTHER and self.has_reasons:
            part = Part.UNEXPLAINED
        plain = Attribution(stall=index, reason=count.reason, part=part, samples=count.samples, hidden=count.hidden)
        if part is not Part.SELF or count.reason in OWN_REASONS:
            return [plain]
        mixture: list[tuple[float, Candidate, Share]] = []
        for waiter, likelihood in near:
            options, owned = self._owned(waiter, count.reason)
            if len(near) > 1:
                likelihood *= self._stalls.get((waiter, count.reason), 0.0)
            mixture += [(likelihood, one, share) for one, share in zip(options, owned, strict=True)]
        if not mixture or sum(weight for weight, _, _ in mixture) <= NEGLIGIBLE:
            own = count.reason is Reason.FIXED_LATENCY  # of the instruction before: nothing here reads anything
            return [plain if own else replace(plain, part=Part.UNEXPLAINED)]
        return self._split(plain, mixture)

    def _owned(self, waiter: int, reason: Reason) -> tuple[list[Candidate], list[Share]]:
        """Return what an instruction may wait for when it stalls for a reason, and how that is shared."""
        key = waiter, reason
        if key not in self._known:
            options = self._options(waiter, reason)
            self._known[key] = options, self._shares(waiter, options)
        return self._known[key]

    def _options(self, waiter: int, reason: Reason) -> list[Candidate]:
        found = [
            replace(one, latency=READ_OPERANDS, match=1.0) if one.need is Need.WAR else one
            for one in candidates(self.slicer, waiter, reason)
        ]
        best = max((one.match for one in found), default=0.0)
        kept = [one for one in found if one.match >= UNLIKELY * best]
        if any(one.need in RESULTS for one in kept):
            # A store's acknowledgement seldom outlasts loads that were issued after it.
            kept = [one for one in kept if one.kind != ORDER or one.need is not Need.ORDER]
        return kept

    def _shares(self, waiter: int, options: list[Candidate]) -> list[Share]:
        here = max(self.frequency.of(waiter), NEGLIGIBLE)
        paths = [min(1.0, max(self.frequency.of(one.producer) / here, 0.02)) for one in options]
        horizon = max((one.latency.high for one in options), default=0) * 1.5
        away = self.distances.to(waiter, {one.producer for one in options}, horizon)
        cycles = None
        if self.frequency.known[self.graph.block_of[waiter]] and not self.samples.skid:
            cycles = self.stalled.get(waiter, 0) / here
        return shares(options, away, paths, cycles)

    def expected(self, waiter: int, reason: Reason) -> float:
        """Return how much an instruction would stall for a reason by the tables, in no unit of its own."""
        _, owned = self._owned(waiter, reason)
        expected = max((sum(one.exposed) / 2 for one in owned), default=0.0)
        return expected * max(self.frequency.of(waiter), NEGLIGIBLE)

    def _split(self, plain: Attribution, mixture: list[tuple[float, Candidate, Share]]) -> list[Attribution]:
        whole: dict[int, float] = {}
        for weight, one, _ in mixture:
            whole[one.waiter] = weight
        total = sum(whole.values())
        rows: dict[int, list[tuple[float, Candidate, Share]]] = {}
        for weight, one, share in mixture:
            rows.setdefault(one.producer, []).append((weight / total, one, share))
        causes = sorted(rows, key=lambda cause: (-sum(w * s.middle for w, _, s in rows[cause]), cause))
        middles = [sum(weight * share.middle for weight, _, share in rows[cause]) for cause in causes]
        bounds = [
            (
                min(1.0, sum(weight * share.low for weight, _, share in rows[cause])),
                min(1.0, sum(weight * share.high for weight, _, share in rows[cause])),
            )
            for cause in causes
        ]
        ambiguous = len(causes) > 1 and bounds[1][1] > bounds[0][0]
        samples = apportion(plain.samples, middles)
        hidden = apportion(plain.hidden, [float(each) for each in samples])
        found = []
        for cause, bound, mine, lost in zip(causes, bounds, samples, hidden, strict=True):
            if not mine:
                continue
            _, one, owned = max(rows[cause], key=lambda row: row[0] * row[2].middle)
            found.append(
                Attribution(
                    stall=plain.stall,
                    reason=plain.reason,
                    part=Part.ATTRIBUTED,
                    samples=mine,
                    hidden=lost,
                    of=plain.samples,
                    cause=cause,
                    anchor=one.waiter,
                    need=one.need,
                    resource=one.resource,
                    share=bound,
                    ambiguous=ambiguous and bound[1] >= bounds[0][0],
                    evidence=tuple(_evidence(one, owned)),
                )
            )
        return found

    def _owners(self, found: list[Attribution]) -> dict[int, int]:
        """Return the producer that owns most of each instruction's stalls."""
        owned: dict[int, dict[int, int]] = {}
        for one in found:
            if one.cause is not None:
                causes = owned.setdefault(one.stall, {})
                causes[one.cause] = causes.get(one.cause, 0) + one.samples
        return {stall: max(causes, key=lambda one: (causes[one], -one)) for stall, causes in owned.items()}

    def _waits_at_barrier(self, index: int, count: Count) -> bool:
        """Tell whether samples are of a wait for other threads. Intel's tool has one word for that and other waits."""
        return count.reason is Reason.BARRIER or (count.reason is Reason.SYNC and is_barrier(self.code[index]))

    def _barriers(self, owners: dict[int, int]) -> list[Attribution]:
        """Attribute the waits at barriers."""
        return [
            self._barrier(
                Attribution(
                    stall=index, reason=Reason.BARRIER, part=Part.SELF, samples=count.samples, hidden=count.hidden
                ),
                owners,
            )
            for index in sorted(self.samples.at)
            for count in self.samples.at[index]
            if count.samples and self._waits_at_barrier(index, count)
        ]

    def _barrier(self, plain: Attribution, owners: dict[int, int]) -> Attribution:
        """Blame the wait at a barrier on what holds up, since the barrier before, the threads that come late."""
        stalls = self._since_the_barrier_before(plain.stall)
        if not stalls:
            return plain
        told = {
            index: samples * (TELLS_MORE if self._ought_to_be_over(index, stalls, owners) else 1)
            for index, samples in stalls.items()
        }
        slowest = max(told, key=lambda index: (told[index], index))
        part = stalls[slowest] / sum(stalls.values())
        evidence = f"{part:.0%} of the stalls between this barrier and the one before are at {self.code[slowest].text}"
        return replace(
            plain,
            part=Part.ATTRIBUTED,
            cause=owners.get(slowest, slowest),
            anchor=slowest,
            share=(part, 1.0),
            ambiguous=part < 0.5,
            evidence=(evidence,),
        )

    def _ought_to_be_over(self, wait: int, stalls: Mapping[int, int], owners: Mapping[int, int]) -> bool:
        """Tell whether a wait follows another for something that was issued before what it waits for itself.

        Of two loads issued together the second has nothing left to be waited for, once the first has come. A long wait
        all the same is that of a slower load, and of threads that have one: it tells more of who comes late.
        """
        mine = owners.get(wait)
        if mine is None or not self.code[mine].variable:
            return False
        return any(
            mine < other < wait and owner <= mine and self.code[owner].variable
            for other in stalls
            if (owner := owners.get(other)) is not None
        )

    def _since_the_barrier_before(self, barrier: int) -> dict[int, int]:
        """Return the stalled samples of the instructions that lie between a barrier and those that come before it."""
        stalls: dict[int, int] = {}
        seen: set[int] = set()
        stack = [(self.graph.block_of[barrier], barrier)]
        while stack and len(seen) < REGION_BLOCKS:
            block, end = stack.pop()
            for index in range(end - 1, self.graph.starts[block] - 1, -1):
                if is_barrier(self.code[index]):
                    break
                held = sum(
                    count.samples
                    for count in self.samples.at.get(index, ())
                    if count.reason not in (Reason.ISSUED, Reason.SELECTED_OTHER)
                    and not self._waits_at_barrier(index, count)
                )
                if held:
                    stalls[index] = held
            else:
                for predecessor in self.graph.predecessors[block]:
                    if predecessor not in seen:
                        seen.add(predecessor)
                        stack.append((predecessor, self.graph.ends[predecessor]))
        return stalls


def _evidence(one: Candidate, share: Share) -> list[str]:
    low, high = share.exposed
    said = [f"waits on {one.resource} ({one.need.value})" if one.resource else f"reads its result ({one.need.value})"]
    source = f", {one.latency.source}" if one.latency.source else ""
    said.append(f"latency {one.latency.low} to {one.latency.high} cycles{source}; {low:.0f} to {high:.0f} exposed")
    if high <= 0:
        said.append(
            "by the tables this latency is hidden: it is longer than they say, or something else delays the instruction"
        )
    return said
