"""Who is to blame for a run's time, by experiment: each candidate's latency is taken away, one at a time.

A case counts only if the answer is clear and if a profile can hold it: another instruction made slow in the culprit's
place must leave other samples. (Two loads of one kind that one instruction waits for on one scoreboard, issued one
after the other, leave the same samples whichever is slow: no tool could tell, so neither is a case.)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from tests.planted.machine import Machine, Plant, Run, Span
from tests.planted.program import FIXED, OPS, Step

LEAST = 0.15  # of the run's time the culprit's latency must be
MARGIN = 1.5  # times what the second saves
SAME = 0.10  # total variation between two profiles that samples of some hundreds can't tell apart
FAR = 0.40  # no other latency makes these alike
TIMES = (1.0, 0.6, 1.5, 2.2)
NEAREST = 8  # instructions that are tried with these
CANDIDATES = 16
STALLS = 2  # longest stalls that are looked at for operations that overlap


def savings(machine: Machine, run: Run) -> list[tuple[float, int]]:
    """Return the share of the time that each candidate's latency costs, most first, with its address."""
    found = [(1 - machine.run(without=[address]).cycles / run.cycles, address) for address in candidates(machine, run)]
    return sorted(found, reverse=True)


def candidates(machine: Machine, run: Run) -> list[int]:
    """Return the variable instructions that ran: those planted, then those that were most waited for."""
    steps = machine.program.steps
    variable = {step.address for step in steps if step.is_variable and step.address in run.executed}
    held: Counter[int] = Counter()
    for span in spans(run):
        if span.culprit is not None:
            held[steps[span.culprit].address] += span.end - span.start
    planted = [plant.address for plant in machine.settings.plants if plant.address in run.executed]
    ranked = [address for address, _ in held.most_common() if address in variable and address not in planted]
    return [*dict.fromkeys(planted), *ranked[:CANDIDATES]]


def twin(machine: Machine, run: Run, culprit: int) -> int | None:
    """Return the address that, made slow in the culprit's place, leaves the same profile; None if there is none.

    Each is tried with the culprit's latency, and with some that cost about as much in all where it runs more or less
    often: nobody who reads the profile knows latencies.
    """
    steps = {step.address: step for step in machine.program.steps if step.address in run.executed}
    seen = profile(run)
    (plant,) = (each for each in machine.settings.plants if each.address == culprit)
    alike = [
        step
        for address, step in steps.items()
        if address != culprit
        and step.is_variable
        and _family(step.op) == _family(steps[culprit].op)
        and any(pend.when == plant.when for pend in step.pends)
    ]
    # Those next to it are most like it: a twin is found soon where there is one.
    for rank, step in enumerate(sorted(alike, key=lambda step: abs(step.address - culprit))):
        others = [_as_costly(machine, run, plant, step, times) for times in TIMES] if rank < NEAREST else []
        for cycles in dict.fromkeys([plant.cycles, *others]):
            plants = (replace(plant, address=step.address, cycles=cycles),)
            other = Machine(machine.program, replace(machine.settings, plants=plants))
            shown = profile(other.run(spans=True))
            differs = sum(abs(seen[key] - shown[key]) for key in {*seen, *shown}) / 2
            if differs < SAME:
                return step.address
            if differs > FAR:
                break
    return None


def _as_costly(machine: Machine, run: Run, plant: Plant, step: Step, share: float) -> tuple[int, int]:
    """Return the latency of a step that costs a share of what the plant does, over all times that the two run."""

    def usual(op: str) -> int:
        return machine.settings.latency.get(op if plant.when == "result" else "read", (1, 1))[0]

    planted = machine.program.steps[machine.index[plant.address]]
    times = share * run.executed[plant.address] / run.executed[step.address]
    low, high = (usual(step.op) + max(0, int((bound - usual(planted.op)) * times)) for bound in plant.cycles)
    return low, high


# Waits for these look the same in a profile (NVIDIA tells the two families apart, others don't even that).
NEAR = frozenset({"shared load", "shared store", "constant load", "special", "convert", "double", "tensor", "variable"})


def _family(reason: str) -> str:
    """Return the reason of a wait as far as a profile shows it, other reasons as they are."""
    op = reason.removeprefix("read ")
    return "near" if op in NEAR else "far" if op in OPS and op not in FIXED else reason


def together(machine: Machine, run: Run, culprit: int) -> float:
    """Return the share of the time that goes with all those that the longest stall is for, where they don't include
    the culprit: operations that overlap hide one another from an experiment with one.
    """
    steps = machine.program.steps
    stalls: Counter[int] = Counter()
    for span in spans(run):
        if span.culprit is not None:
            stalls[span.step] += span.end - span.start
    for stalled, _ in stalls.most_common(STALLS):
        awaited = {span.culprit for span in spans(run) if span.step == stalled and span.culprit is not None}
        burst = {steps[at].address for number in awaited for at in _burst(machine, number)}
        if culprit not in burst and len(burst) > 1:
            share = 1 - machine.run(without=burst).cycles / run.cycles
            if share > LEAST:
                return share
    return 0.0


def _burst(machine: Machine, number: int) -> Iterator[int]:
    """Yield the operations of one kind that are issued next to one another, nothing between them waiting for one."""
    steps = machine.program.steps
    for way in (-1, 1):
        at = number
        while 0 <= at < len(steps) and (at == number or not _waits(steps[at])):
            if steps[at].op == steps[number].op:
                yield at
            at += way


def _waits(step: Step) -> bool:
    own = {pend.resource for pend in step.pends}
    return step.op == "barrier" or any(
        wait.resource not in own and not wait.resource.endswith(("@", ".src")) for wait in step.waits
    )


def profile(run: Run) -> defaultdict[tuple[int, str], float]:
    """Return the share of the warps' time of each step and reason: what endless samples would show."""
    cycles: Counter[tuple[int, str]] = Counter()
    for span in spans(run):
        cycles[span.step, _family(span.reason)] += span.end - span.start
    whole = cycles.total()
    return defaultdict(float, {key: count / whole for key, count in cycles.items()})


def spans(run: Run) -> Iterator[Span]:
    """Return all spans of a run."""
    return (span for group in run.spans for warp in group for span in warp)
