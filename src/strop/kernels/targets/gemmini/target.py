"""Gemmini as a target of the judge: compiled to RISC-V, run on the simulated machine, counted in its cycles."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from strop.kernels.problem import Problem
from strop.kernels.source_check import check
from strop.kernels.targets.gemmini import parameters
from strop.kernels.targets.gemmini.account import bottleneck, diagnosis
from strop.kernels.targets.gemmini.geometry import geometry
from strop.kernels.targets.gemmini.lines import SourceLines
from strop.kernels.targets.gemmini.run import Program, run
from strop.kernels.targets.gemmini.toolchain import REFUSED_NAMES, compile_candidate, headers_digest, toolchain
from strop.kernels.targets.target import Outcome, Planned, Refusal, Trial, Verdicted
from strop.values.measurement import Measurement
from strop.values.verdict import Verdict

PROTOCOL = "gemmini/1"
LEAST_CYCLES = 5_000_000  # that any candidate may take
CYCLES_A_BOUND = 200  # and so many times the bound
OTHER_POISON = 0x3C
MOST_THREADS = 4  # each holds a machine's memory


@dataclass(frozen=True, slots=True)
class Gemmini:
    """The target. `preset` names a set of the machine's parameters, `overrides` change some."""

    preset: str = "firesim"
    overrides: Mapping[str, float] = field(default_factory=dict)
    name: str = "gemmini"
    unit: str = "cycles"

    def bound(self, problem: Problem) -> float:
        """The larger of work at the array's peak and bytes at the memory's cold rate, plus the cold fill and drain."""
        value = self.values(problem)
        work = problem.work.macs / geometry(problem.geometry).peak
        moved = problem.work.read_bytes / parameters.read_rate(
            value
        ) + problem.work.write_bytes / parameters.write_rate(value)
        fill = value["memory.miss"] + value["spad.read_latency"] + value["mesh.latency"]
        drain = value["store.scale_latency"] + value["dma.write_path"]
        return float(ceil(max(work, moved) + fill + drain))

    def values(self, problem: Problem) -> dict[str, float]:
        """Return all parameters of the machine that a problem runs on."""
        sizes = geometry(problem.geometry).values
        return {**parameters.values(self.preset), **sizes, **parameters.checked(self.overrides)}

    def identity(self) -> Mapping[str, Any]:
        """Compiler, header, parameters."""
        return {
            "toolchain": toolchain().identity(),
            "headers": headers_digest(),
            "parameters": parameters.digest(self.preset, self.overrides),
            "preset": self.preset,
            "protocol": PROTOCOL,
        }

    def changed(self, changes: Mapping[str, float]) -> Gemmini:
        """Return the target with some parameters set."""
        return Gemmini(self.preset, parameters.checked({**self.overrides, **changes}))

    def perturbed(self, seed: int) -> Gemmini:
        """Return a machine near to this one: a kernel's result may not depend on the difference."""
        from strop.kernels.targets.gemmini.perturbed import perturbed

        return Gemmini(self.preset, perturbed(self.preset, self.overrides, seed))

    def build(self, problem: Problem, code: str, *, sandbox: str) -> Program:
        """Check the source, compile it."""
        check(code, names=REFUSED_NAMES)
        elf = compile_candidate(
            code, parameters=geometry(problem.geometry).header(), prelude=problem.prelude, sandbox=sandbox
        )
        return Program(elf=elf, lines=SourceLines(elf), loops=problem.fsm)

    def plan(self, problem: Problem) -> Sequence[Planned]:
        """Dense inputs twice under two poisons, then other inputs; every family; two placements.

        Where the core can't see data its commands can't depend on them: one timed run finds a missing fence for all,
        and its cycles are those of all. Elsewhere every run is timed.
        """
        dense, *others = problem.families
        return (
            Planned(family=dense),
            Planned(family=dense, poison=OTHER_POISON),
            *([] if problem.blind else [Planned(family=dense, draw=1)]),
            *(
                Planned(family=family, placement=1 - number % 2, timed=not problem.blind, poison=OTHER_POISON)
                for number, family in enumerate(others or [dense])
            ),
        )

    def run(self, problem: Problem, built: Program, trials: Sequence[Trial], *, sandbox: str) -> Iterator[Outcome]:
        """Run the trials, each on a machine of its own, as many at once as there are processors."""
        from concurrent.futures import ThreadPoolExecutor

        values, most = self.values(problem), self.most_cycles(problem)

        def one(trial: Trial) -> Outcome:
            return run(problem, built, trial, values, most_cycles=most)

        pool = ThreadPoolExecutor(max(1, min(MOST_THREADS, len(os.sched_getaffinity(0)))))
        try:
            yield from pool.map(one, trials)
        finally:
            pool.shutdown(cancel_futures=True)

    def most_cycles(self, problem: Problem) -> int:
        """Return after how many cycles a run is stopped."""
        return int(max(LEAST_CYCLES, CYCLES_A_BOUND * self.bound(problem)))

    def conclude(self, problem: Problem, built: Program, outcomes: Sequence[Outcome]) -> Verdicted:
        """Cycles must be the same on all inputs, and no fewer than the work takes."""
        timed = [outcome for outcome in outcomes if outcome.cost]
        first = timed[0]
        refusal = (
            self._varies(problem, timed)
            or _strays(problem, outcomes)
            or _too_little(problem, outcomes)
            or self._implausible(problem, first.cost[0])
        )
        account = diagnosis(problem, built, first.detail)
        measurement = Measurement(
            samples=tuple(cost for outcome in timed for cost in outcome.cost),
            unit="cycles",
            protocol=PROTOCOL,
            machine=f"gemmini/{self.preset}/{parameters.digest(self.preset, self.overrides)[:12]}",
        )
        evidence = {
            "instructions": first.detail["instructions"],
            "commands": first.detail["commands"],
            "counters": first.detail["account"]["counters"],
            "work": first.detail["work"],
            "calibrated": geometry(problem.geometry).calibrated,
            "toolchain": toolchain().said(),
        }
        return Verdicted(
            measurement=measurement,
            refusal=refusal,
            bottleneck=bottleneck(problem, first.detail),
            account=account,
            evidence=evidence,
        )

    def _varies(self, problem: Problem, timed: Sequence[Outcome]) -> Refusal | None:
        seen = {outcome.cost[0] for outcome in timed if outcome.trial.planned.placement == 0}
        if len(seen) > 1 and not problem.cycles_vary:
            low, high = min(seen), max(seen)
            what = f"the cycles depend on the data or on what lay in memory before: {low:,.0f} to {high:,.0f}"
            return Refusal(Verdict.NONDETERMINISTIC, what)
        return None

    def _implausible(self, problem: Problem, cycles: float) -> Refusal | None:
        """Faster than the array's peak and the bus allow: the verdict uses peaks, not sustained rates."""
        value = self.values(problem)
        array = problem.work.macs / geometry(problem.geometry).peak if _through_array(problem) else 0.0
        bus = max(problem.work.read_bytes, problem.work.write_bytes) / value["dma.bus_bytes"]
        if not problem.blind:
            bus = 0.0  # the core's own loads and stores don't take this bus
        least = max(array, bus)
        if cycles < least:
            what = f"{cycles:,.0f} cycles are fewer than the {least:,.0f} that the array and the bus need at their peak"
            return Refusal(Verdict.IMPLAUSIBLE, what)
        return None


def _strays(problem: Problem, outcomes: Sequence[Outcome]) -> Refusal | None:
    """Say whether a core that sees no data did something else in another run: then it saw time, or old memory.

    This is what ties the runs that are timed to those that show the result on other data.
    """
    if not problem.blind:
        return None
    alike = [outcome.detail for outcome in outcomes if outcome.trial.planned.placement == 0]
    for other in alike[1:]:
        if any(other[what] != alike[0][what] for what in ("commands", "stream", "instructions")):
            did = " and then ".join(
                f"{one['instructions']:,} instructions, {one['commands']:,} commands" for one in (alike[0], other)
            )
            what = f"the program sees no data, but does other things in another run ({did}): by time or by old memory"
            return Refusal(Verdict.NONDETERMINISTIC, what)
    return None


def _through_array(problem: Problem) -> bool:
    return any(descent.through_array for descent in problem.descents)


def _too_little(problem: Problem, outcomes: Sequence[Outcome]) -> Refusal | None:
    """Say whether a run multiplied or stored less than any correct kernel does."""
    for outcome in outcomes:
        work = outcome.detail["work"]
        if _through_array(problem) and not problem.rewrites and work["macs"] < problem.work.macs:
            what = f"{work['macs']:,} multiply-adds went through the array, {problem.work.macs:,} are needed"
            return Refusal(Verdict.NO_WORK, what)
        if problem.blind and work["store_bytes"] < problem.work.write_bytes:
            what = f"{work['store_bytes']:,} bytes were stored, {problem.work.write_bytes:,} are needed"
            return Refusal(Verdict.NO_WORK, what)
    return None


TARGET = Gemmini()
