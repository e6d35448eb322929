"""This computer's processor as a target of the judge: C compiled natively, timed from outside in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from strop.bench.isolation.layers import ALWAYS, probe
from strop.bench.machine import machine
from strop.bench.timed_foreign import Ended, needed_layers
from strop.errors import BadParameter
from strop.kernels.problem import Problem
from strop.kernels.source_check import check
from strop.kernels.targets.cpu.baselines import Baselines
from strop.kernels.targets.cpu.probes import Probes, again, probes
from strop.kernels.targets.cpu.run import ALIGNMENT, MOST_BATCHES, Bench, Draws, Taken, checks, timed
from strop.kernels.targets.cpu.toolchain import compile_candidate, compiler, harness_digest
from strop.kernels.targets.target import Outcome, Planned, Refusal, Refused, Trial, Verdicted
from strop.values.measurement import Measurement
from strop.values.verdict import Verdict

PROTOCOL = "cpu/1"
OTHER_POISON = 0x3C
IMPLAUSIBLE = 1.15  # times the highest probe
LEAST_SAMPLES = 6
NOISY_INTERVAL = 0.3  # of the median, as a part of it
NOISY_SPREAD = 3.0  # the median over the best
HEADERS = (
    *("immintrin.h", "x86intrin.h", "arm_neon.h", "arm_sve.h", "math.h", "string.h", "stdlib.h", "stdint.h"),
    *("stddef.h", "stdbool.h", "limits.h", "float.h"),
)


@dataclass(slots=True)
class Found:
    """What a judgement's timing found: the candidate's samples, the baselines' medians, the probes used."""

    taken: Taken = field(default_factory=Taken)
    rates: Probes | None = None
    baselines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    again: bool = False
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled candidate: its executable, with the harness, and what timing it found."""

    executable: bytes
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, slots=True)
class Cpu:
    """The target."""

    name: str = "cpu"
    unit: str = "s"

    def bound(self, problem: Problem) -> float:
        """The larger of operations at one core's peak and bytes at the memory's sustained rate by direction."""
        rates = probes()
        moved = problem.work.read_bytes / rates.read_rate + problem.work.write_bytes / rates.write_rate
        return max(2 * problem.work.macs / rates.peak_flops, moved)

    def fastest(self, problem: Problem, rates: Probes) -> float:
        """What nothing can beat: the highest rates of any level, each alone."""
        return max(
            2 * problem.work.macs / rates.peak_flops,
            problem.work.read_bytes / rates.highest_read_rate,
            problem.work.write_bytes / rates.highest_write_rate,
        )

    def identity(self) -> Mapping[str, Any]:
        """Compiler and flags, harness, machine."""
        return {
            "toolchain": compiler().identity(),
            "harness": harness_digest(),
            "machine": machine().fingerprint,
            "protocol": PROTOCOL,
        }

    def changed(self, parameters: Mapping[str, float]) -> Cpu:
        """A real machine has no parameters. Raises :class:`BadParameter`."""
        raise BadParameter(text=next(iter(parameters)), reason="the target cpu is this computer, which has none to set")

    def build(self, problem: Problem, code: str, *, sandbox: str) -> Program:
        """Check the source, compile it. Raises BadSandbox where the sandbox that running it needs can't be had."""
        needed_layers(sandbox)
        check(code, headers=HEADERS)
        return Program(compile_candidate(code, buffers=len(problem.buffers), prelude=problem.prelude, sandbox=sandbox))

    def plan(self, problem: Problem) -> Sequence[Planned]:
        """Dense inputs twice under two poisons and once more, every other family; then batches, drawn as they come."""
        dense, *others = problem.families
        return (
            Planned(family=dense, timed=False),
            Planned(family=dense, poison=OTHER_POISON, placement=1, timed=False),
            Planned(family=dense, draw=1, timed=False),
            *(Planned(family=family, placement=1 - number % 2, timed=False) for number, family in enumerate(others)),
        )

    def run(self, problem: Problem, built: Program, trials: Sequence[Trial], *, sandbox: str) -> Iterator[Outcome]:
        """Run the trials one by one, then time batches, then the baselines.

        All happens in one process of the candidate's; what the batches took is in `built.found`.
        """
        try:
            bench = Bench(problem, built.executable, sandbox=sandbox)
        except Ended as ended:
            raise Refused(ended.verdict, ended.reason) from None
        try:
            yield from self._run(problem, built, bench, trials, sandbox=sandbox)
        except Ended as ended:
            raise Refused(ended.verdict, ended.reason) from None
        finally:
            bench.close()

    def _run(
        self, problem: Problem, built: Program, bench: Bench, trials: Sequence[Trial], *, sandbox: str
    ) -> Iterator[Outcome]:
        found = built.found
        shortest = float("inf")
        for outcome in checks(bench, trials):
            shortest = min(shortest, outcome.detail["call_s"])
            yield outcome
        draws, found.rates = Draws(problem), probes()
        others = Baselines(problem, sandbox=sandbox)
        try:
            yield from timed(bench, draws, found.taken, call_s=shortest, beside=others.batch)
            if found.taken.samples and median(found.taken.samples) < self.bound(problem):
                # Faster than the peak or the memory's sustained rate: in a cache, or too good. Both again.
                found.again, found.rates, found.taken = True, again(), Taken()
                yield from timed(bench, draws, found.taken, call_s=shortest, beside=others.batch, first=MOST_BATCHES)
            found.baselines = others.compared(found.taken)
        finally:
            others.close()
        found.evidence = {
            "sandbox": list(bench.process.layers),
            "compiler_sandbox": list(ALWAYS if sandbox == "none" else probe().layers),
            "batch_overhead_s": bench.process.overhead_s,
            "drawn_seed": draws.seed,
            "alignment_bytes": ALIGNMENT,
        }

    def conclude(self, problem: Problem, built: Program, outcomes: Sequence[Outcome]) -> Verdicted:
        """The samples must settle, and be no faster than the machine."""
        found = built.found
        taken, rates = found.taken, found.rates
        assert rates is not None
        evidence = {
            **found.evidence,
            "toolchain": compiler().identity(),
            "batches": len(taken.samples),
            "disturbed_batches": len(taken.disturbed),
            "calls_a_batch": taken.batch,
            "calls_checked": len(outcomes),
            "measured_again": found.again,
            "probes": rates.to_json(),
        }
        samples = taken.samples
        measurement = Measurement(
            samples=tuple(samples or taken.disturbed), unit="s", protocol=PROTOCOL, machine=machine().fingerprint
        )
        cost = measurement.median
        evidence["baselines"] = found.baselines
        refusal = _too_fast(cost, self.fastest(problem, rates)) or _noisy(measurement, taken)
        return Verdicted(
            measurement=None if refusal else measurement,
            refusal=refusal,
            bottleneck=_bottleneck(problem, cost, rates, found.baselines),
            evidence=evidence,
        )


def _too_fast(cost: float, fastest: float) -> Refusal | None:
    if cost * IMPLAUSIBLE >= fastest:
        return None
    what = f"{cost:.3g} s a call, and this machine's highest rates allow {fastest:.3g} s"
    return Refusal(Verdict.IMPLAUSIBLE, what)


def _noisy(measurement: Measurement, taken: Taken) -> Refusal | None:
    low, high = measurement.interval
    others = f"in {len(taken.disturbed)} of {len(taken.disturbed) + len(taken.samples)} batches other programs ran"
    if len(taken.samples) < LEAST_SAMPLES:
        return Refusal(Verdict.NOISY, f"too few undisturbed samples: {others}")
    if high - low > NOISY_INTERVAL * measurement.median or measurement.median > NOISY_SPREAD * measurement.best:
        what = f"samples go from {measurement.best:.3g} to {max(measurement.samples):.3g} s; {others}"
        return Refusal(Verdict.NOISY, what)
    return None


def _bottleneck(problem: Problem, cost: float, rates: Probes, others: Mapping[str, Mapping[str, float]]) -> str:
    """One sentence: what share of which rate it reaches, and how it compares."""
    operations = 2 * problem.work.macs / cost
    moved = (problem.work.read_bytes + problem.work.write_bytes) / cost
    compute = operations / rates.peak_flops
    memory = problem.work.read_bytes / rates.read_rate / cost + problem.work.write_bytes / rates.write_rate / cost
    if memory >= compute:
        said = f"moves {moved / 1e9:.3g} GB/s, {memory:.0%} of what memory sustains"
    else:
        said = f"computes {operations / 1e9:.3g} GFLOP/s, {compute:.0%} of one core's peak"
    compared = ", ".join(f"{found['speedup']:.2f}x {name}" for name, found in others.items())
    return f"{said}; {compared}" if compared else said


TARGET = Cpu()
