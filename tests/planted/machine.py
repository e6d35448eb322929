"""A GPU's timing at the level of warps: who issues when, and what a sampler sees of those that can't.

One processor with `schedulers` schedulers of `warps` warps each, all of one block. A scheduler issues at most one
step a cycle, greedy then oldest (`gto`) or round robin (`rr`). Warps issue in order and wait as `program.py` says.
Latencies are drawn per dynamic operation from a hash of (seed, warp, address, how often), so that taking one
instruction's latency away leaves every other draw as it was: the counterfactual is paired.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tests.planted.program import FIXED, Program, Step

MASK = (1 << 64) - 1
LIMIT = 60_000  # dynamic steps: a case that runs longer is a mistake of its branches

# What a sample says; a front turns the words into its vendor's. For a wait it is the `op` of the operation that ends it
# (or "read " + op where that one only has to read its operands).
ISSUED, NOT_SELECTED, FIXED_WAIT, PIPE, BARRIER = "issued", "not selected", "fixed", "pipe", "barrier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """Latencies in cycles of one address, other than its op's; `when` as in Pend; `warps` None: of all."""

    address: int
    cycles: tuple[int, int]
    when: str = "result"
    warps: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a case fixes of a run. Latencies are [least, most] in cycles, by op; "read" is the time to read operands.

    `branches`: by address, runs of outcomes, taken and not taken in turn, round and round, per warp: `[7, 1]` is a loop
    of eight trips whose branch stands at its end, `[0, 8, 1, 0]` one whose exit stands at its head. Absent: not taken.
    """

    seed: int
    latency: dict[str, tuple[int, int]]
    branches: dict[int, tuple[int, ...]] = field(default_factory=dict)
    plants: tuple[Plant, ...] = ()
    pipes: dict[str, int] = field(default_factory=dict)
    schedulers: int = 1
    warps: int = 4
    policy: str = "gto"
    alu: int = 4


@dataclass(frozen=True, slots=True)
class Span:
    """A warp's next step was `step` for the cycles [start, end), for a reason. For waits: on which operation.

    `culprit` is the step whose operation ended the wait (in an ordered class: the one that held the others back),
    `among` how many other steps had operations pending there, `left` how many operations the wait lets stay.
    """

    start: int
    end: int
    step: int
    reason: str
    culprit: int | None = None
    among: int = 0
    left: int = 0


@dataclass(slots=True)
class Run:
    """What a run did: its length in cycles and, where asked for, the spans of each warp of each scheduler."""

    cycles: int
    spans: list[list[list[Span]]]
    executed: dict[int, int]


@dataclass(slots=True)
class _Pending:
    done: int
    step: int
    holder: int  # the step that decides when: itself, or an older one of its order, or the slowest of a group
    when: str


@dataclass(slots=True)
class _Warp:
    number: int
    scheduler: int
    at: int = 0
    issued: int = -1  # when it last issued
    free: int = 0  # when the step before lets go
    waited: int = 0  # when the next step's waits are over
    ready: int = 0  # and its barrier
    reason: str = FIXED_WAIT
    culprit: tuple[int | None, int, int] = (None, 0, 0)
    stands: bool = False  # at a barrier that is not complete
    finished: bool = False
    pending: dict[str, list[_Pending]] = field(default_factory=dict)
    ordered: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)  # when, by whom
    registers: dict[str, tuple[int, int]] = field(default_factory=dict)
    slots: dict[str, tuple[int, int]] = field(default_factory=dict)
    open: dict[str, tuple[int, int]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)


class Machine:
    """Runs one program under one case's settings."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self.program, self.settings = program, settings
        self.index = {step.address: number for number, step in enumerate(program.steps)}
        self.planted = {(plant.address, plant.when): plant for plant in settings.plants}
        self.without: frozenset[int] = frozenset()
        self.warps: list[_Warp] = []

    def run(self, *, without: Collection[int] = (), spans: bool = False, limit: int = LIMIT) -> Run:
        """Run to the end. `without`: the operations of these addresses take one cycle, nothing else changes."""
        chosen = self.settings
        self.without = frozenset(without)
        self.warps = [_Warp(number, number // chosen.warps) for number in range(chosen.schedulers * chosen.warps)]
        groups = [self.warps[at : at + chosen.warps] for at in range(0, len(self.warps), chosen.warps)]
        # By scheduler and the number of the warp that issued last: who is asked first.
        turns = [[self._turns(group, last) for last in range(len(group))] for group in groups]
        code = self.program.steps
        pipes: list[dict[str, int]] = [{} for _ in groups]
        last = [0] * len(groups)
        executed: dict[int, int] = {}
        for warp in self.warps:
            self._wait(warp)
        now = steps = 0
        left = len(self.warps)
        while left:
            soonest = None
            for number, busy in enumerate(pipes):
                for warp in turns[number][last[number]]:
                    if warp.finished or warp.stands:
                        continue
                    step = code[warp.at]
                    start = max(warp.ready, busy.get(step.pipe, 0))
                    if start > now:
                        soonest = start if soonest is None or start < soonest else soonest
                        continue
                    if spans:
                        self._note(warp, now, start)
                    last[number] = warp.number % chosen.warps
                    busy[step.pipe] = now + chosen.pipes.get(step.pipe, 1)
                    executed[step.address] = executed.get(step.address, 0) + 1
                    steps += 1
                    self._issue(warp, step, now)
                    left -= warp.finished
                    soonest = now + 1
                    break
            if steps > limit:
                raise RuntimeError(f"{self.program.id}: more than {limit} steps")
            if soonest is None:
                break
            now = max(now + 1, soonest)
        return Run(now, [[warp.spans for warp in group] for group in groups], executed)

    def _turns(self, group: list[_Warp], last: int) -> list[_Warp]:
        """Greedy: the last one again, then the oldest; else in turn, from the next one on."""
        if self.settings.policy == "rr":
            return group[last + 1 :] + group[: last + 1]
        return [group[last], *group[:last], *group[last + 1 :]]

    def _issue(self, warp: _Warp, step: Step, now: int) -> None:
        """Start the step's operation and make the one after it next."""
        warp.issued, warp.free = now, now + max(1, step.issue)
        result = (now + self._latency(warp, step, "result"), warp.at)
        if step.slot is not None:
            if step.op.endswith("store"):
                warp.slots[step.slot] = result
            else:
                result = max(result, warp.slots.get(step.slot, result))
        if step.closes is not None:
            result = warp.open.pop(step.closes, (now + 1, warp.at))
        results = False
        for pend in step.pends:
            done = result if pend.when == "result" else (now + self._latency(warp, step, "read"), warp.at)
            if pend.order is not None:
                done = max(done, warp.ordered.get((pend.resource, pend.order), done))
                warp.ordered[pend.resource, pend.order] = done
            warp.open[pend.resource] = max(warp.open.get(pend.resource, done), done)
            warp.pending.setdefault(pend.resource, []).append(_Pending(done[0], warp.at, done[1], pend.when))
            results = results or pend.when == "result"
        if self.program.interlocked:
            for register in step.writes:
                if results:
                    warp.registers.pop(register, None)
                else:
                    warp.registers[register] = result
        warp.counts[step.address] = warp.counts.get(step.address, 0) + 1
        warp.at = self._after(warp, step)
        if warp.at < 0:
            warp.finished = True
            self._complete()
        else:
            self._wait(warp)

    def _after(self, warp: _Warp, step: Step) -> int:
        """Return the number of the step that follows, -1 at the end."""
        if step.exits and not step.conditional:
            return -1
        taken = bool(step.targets) or step.exits
        if taken and step.conditional:
            taken = _outcome(self.settings.branches.get(step.address, (0, 1)), warp.counts[step.address] - 1)
        if not taken:
            return warp.at + 1 if warp.at + 1 < len(self.program.steps) else -1
        return -1 if step.exits else self.index[step.targets[0]]

    def _wait(self, warp: _Warp) -> None:
        """Work out when the next step may issue, and why not before."""
        steps = self.program.steps
        step = steps[warp.at]
        until, reason = warp.free, FIXED_WAIT
        culprit: tuple[int | None, int, int] = (None, 0, 0)
        for wait in step.waits:
            pending = [each for each in warp.pending.get(wait.resource, ()) if each.done > warp.issued]
            warp.pending[wait.resource] = pending
            if len(pending) <= wait.pending:
                continue
            last = sorted(pending, key=lambda each: each.done)[len(pending) - 1 - wait.pending]
            if last.done > until:
                until = last.done
                others = {each.step for each in pending} - {last.holder}
                culprit = (last.holder, len(others), wait.pending)
                own = last.holder if steps[last.step].closes else last.step
                reason = steps[own].op if last.when == "result" else f"read {steps[own].op}"
        if self.program.interlocked:
            for register in (*step.reads, *step.writes):
                done, writer = warp.registers.get(register, (0, 0))
                if done > until:
                    until, reason, culprit = done, steps[writer].op, (writer, 0, 0)
        warp.waited = warp.ready = until
        warp.reason, warp.culprit = reason, culprit
        if step.op == "barrier":
            warp.stands = True
            self._complete()

    def _complete(self) -> None:
        """Let go the warps at a barrier once all that still run stand there."""
        running = [warp for warp in self.warps if not warp.finished]
        if running and all(warp.stands for warp in running):
            release = max(warp.waited for warp in running)
            for warp in running:
                warp.stands, warp.ready = False, release

    def _note(self, warp: _Warp, now: int, start: int) -> None:
        """Write down what the warp did since it last issued."""
        nobody: tuple[int | None, int, int] = (None, 0, 0)
        bounds = (
            (warp.free, FIXED_WAIT, nobody),
            (warp.waited, warp.reason, warp.culprit),
            (warp.ready, BARRIER, nobody),
            (start, PIPE, nobody),
            (now, NOT_SELECTED, nobody),
            (now + 1, ISSUED, nobody),
        )
        before = warp.issued + 1
        for end, reason, culprit in bounds:
            if end > before:
                warp.spans.append(Span(before, end, warp.at, reason, *culprit))
                before = end

    def _latency(self, warp: _Warp, step: Step, when: str) -> int:
        if step.op in FIXED and (step.address, when) not in self.planted:
            return self.settings.alu if step.op == "alu" else 1
        if step.address in self.without:
            return 1
        plant = self.planted.get((step.address, when))
        if plant is not None and (plant.warps is None or warp.number in plant.warps):
            low, high = plant.cycles
        else:
            low, high = self.settings.latency.get(step.op if when == "result" else "read", (1, 1))
        mixed = (
            (self.settings.seed << 8) ^ (step.address << 40) ^ (warp.number << 32) ^ warp.counts.get(step.address, 0)
        )
        return low + _mix(mixed + (when == "read")) % (high - low + 1)


def _outcome(runs: tuple[int, ...], count: int) -> bool:
    """Say whether the branch is taken the `count`-th time (from 0), by runs of taken and not taken."""
    left = count % sum(runs)
    for number, run in enumerate(runs):
        if left < run:
            return number % 2 == 0
        left -= run
    raise AssertionError(runs)


def _mix(value: int) -> int:
    """Return a hash of 64 bits: SplitMix64's finaliser, twice."""
    value &= MASK
    for _ in range(2):
        value = (value + 0x9E3779B97F4A7C15) & MASK
        value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
        value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
        value ^= value >> 31
    return value
