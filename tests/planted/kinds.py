"""The classes of planted causes: what a case of each makes slow, and what must hold of the run for it to be one.

`slow-load`          one of at least three loads that run is slower than the others
`loop-carried`       most of the time that the culprit is waited for is at or before it in the code: one iteration later
`shared-scoreboard`  the culprit is waited for on a resource on which other instructions' operations are pending too
`war`                what is waited for is that the culprit has read its operands
`spill`              a load from, or a store to, the thread's own memory
`hand-off`           through shared memory and a barrier: the culprit writes or reads it, or warps come late
`counter`            the wait lets k > 0 younger operations stay
`token`              (Intel) the wait is that of the next operation that takes the culprit's token
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from tests.planted.culprit import spans
from tests.planted.loops import hottest
from tests.planted.machine import BARRIER, Plant, Run, Settings
from tests.planted.program import Program, Step

KINDS = {
    "nvidia": ("slow-load", "loop-carried", "shared-scoreboard", "war", "spill", "hand-off", "counter"),
    # AMD's vector memory reads its operands when it's issued; an Intel token is one operation's.
    "amd": ("slow-load", "loop-carried", "shared-scoreboard", "spill", "hand-off", "counter"),
    "intel": ("slow-load", "loop-carried", "war", "spill", "hand-off", "token"),
}
LOADS = ("global load", "scalar load", "atomic")
SHARED = ("shared load", "shared store", "async copy")
LOCAL = ("local load", "local store")


def fits(kind: str, program: Program) -> bool:
    """Say whether a program has, in its loops, what a case of this kind makes slow."""
    inside = hottest(program)
    steps = [step for step in program.steps if step.address in inside and step.is_variable]
    if kind == "war":
        return any(pend.when == "read" for step in steps for pend in step.pends)
    if kind == "hand-off":
        return any(step.op == "barrier" for step in program.steps)
    return any(step.op in (LOCAL if kind == "spill" else (*LOADS, *SHARED)) for step in steps)


def plant(kind: str, program: Program, dry: Run, settings: Settings, rng: random.Random) -> Plant | None:
    """Choose what a case of this kind makes slow among the steps of a run; None if there is nothing for it."""
    when, warps = "result", None
    ran = dry.executed
    steps = [step for step in program.steps if step.address in ran and step.is_variable]
    if kind in ("loop-carried", "shared-scoreboard", "counter", "token"):
        steps = [step for step in steps if holds(kind, program, dry, step.address)]
    if kind == "war":
        when = "read"
        steps = [step for step in steps if any(pend.when == "read" for pend in step.pends)]
    elif kind == "spill":
        steps = [step for step in steps if step.op in LOCAL]
    elif kind == "hand-off":
        late = rng.random() < 0.4
        if late:  # some warps come late to the barrier
            warps = tuple(sorted(rng.sample(range(settings.warps), max(1, settings.warps // 2))))
        steps = [step for step in steps if step.op in (LOADS if late else SHARED)]
        if not any(step.op == "barrier" and step.address in ran for step in program.steps):
            return None
    elif kind == "counter":
        steps = [step for step in steps if step.op in (*LOADS, *SHARED)]
    else:
        steps = [step for step in steps if step.op in LOADS]
        if kind == "slow-load" and len(steps) < 3:
            return None
    if not steps:
        return None
    (step,) = rng.choices(steps, [ran[step.address] for step in steps])  # what runs often
    usual = settings.latency.get(step.op if when == "result" else "read", (20, 30))[1]
    low = int(max(usual, 60) * rng.uniform(1.5, 4.0))
    return Plant(address=step.address, cycles=(low, int(low * rng.uniform(1.05, 1.5))), when=when, warps=warps)


def holds(kind: str, program: Program, run: Run, culprit: int) -> bool:
    """Say whether the run is of this kind, by the cycles in which warps stood for the culprit."""
    number = next(at for at, step in enumerate(program.steps) if step.address == culprit)
    cycles: Counter[str] = Counter()
    for span in spans(run):
        if span.culprit == number:
            for name, test in TESTS.items():
                cycles[name] += (span.end - span.start) * test(program.steps, number, span.step, span.among, span.left)
            cycles["war"] += (span.end - span.start) * span.reason.startswith("read ")
            cycles["all"] += span.end - span.start
        elif span.reason == BARRIER:
            cycles["barrier"] += span.end - span.start
    if kind == "hand-off":
        return cycles["barrier"] > cycles["all"] or program.steps[number].op in SHARED
    return cycles["all"] > 0 and 2 * cycles[kind] > cycles["all"]


# By kind: (all steps, the culprit, the step that waits, how many others pend there, how many may stay) → is it one?
TESTS: dict[str, Callable[[tuple[Step, ...], int, int, int, int], bool]] = {
    "slow-load": lambda steps, culprit, waits, among, left: steps[culprit].op in LOADS,
    "loop-carried": lambda steps, culprit, waits, among, left: waits <= culprit,
    "shared-scoreboard": lambda steps, culprit, waits, among, left: among > 0,
    "spill": lambda steps, culprit, waits, among, left: steps[culprit].op in LOCAL,
    "counter": lambda steps, culprit, waits, among, left: left > 0,
    "token": lambda steps, culprit, waits, among, left: bool(
        {pend.resource for pend in steps[waits].pends} & {pend.resource for pend in steps[culprit].pends}
    ),
}
