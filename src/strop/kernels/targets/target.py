"""What a target is: it builds a candidate, runs trials of it, and says what the runs cost. The judge does the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from strop.values.diagnosis import Diagnosis
from strop.values.measurement import Measurement
from strop.values.verdict import Verdict

if TYPE_CHECKING:
    from strop.kernels.problem import Arrays, Problem


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a candidate isn't ok: a verdict, a sentence with the reason, and the line of its code where one is known."""

    verdict: Verdict
    reason: str
    line: int | None = None


class Refused(Exception):
    """Raised by targets: the candidate is not ok."""

    def __init__(self, verdict: Verdict, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.refusal = Refusal(verdict, reason, line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A run that a judgement needs. Runs of one `draw` of a family get the same inputs.

    `placement` numbers the sets of base addresses, `poison` is the byte that outputs and fresh memory are filled with.
    """

    family: str
    draw: int = 0
    placement: int = 0
    poison: int = 0xA5
    timed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A planned run with its inputs, which the judge drew from `seed`."""

    planned: Planned
    seed: int
    inputs: Arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run did: all buffers as it left them, and what the target itself counted (cycles or samples, work).

    `broken` says why the run counts as failed whatever it computed. `detail` is the target's own (work, provenance).
    """

    trial: Trial
    buffers: Arrays
    cost: tuple[float, ...] = ()
    broken: Refusal | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicted:
    """What a target makes of outcomes that are all correct: the measurement, or why it isn't believed."""

    measurement: Measurement | None
    refusal: Refusal | None = None
    bottleneck: str | None = None
    account: Diagnosis | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Target(Protocol):
    """A machine that candidates are judged on."""

    name: str
    unit: str  # cycles or s

    def bound(self, problem: Problem) -> float:
        """Return the least cost of a problem on this machine, in `unit`."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """Return all that a verdict depends on besides problem and code: toolchain, header, parameters, versions."""
        ...

    def changed(self, parameters: Mapping[str, float]) -> Target:
        """Return the target with some of its machine's parameters set. Raises :class:`BadParameter`."""
        ...

    def build(self, problem: Problem, code: str, *, sandbox: str) -> Any:
        """Check the source and compile it, in the sandbox. Raises :class:`Refused`; StropError if it can't be done."""
        ...

    def plan(self, problem: Problem) -> Sequence[Planned]:
        """Return the runs that a judgement needs: all families, two placements, and one draw under two poisons."""
        ...

    def run(self, problem: Problem, built: Any, trials: Sequence[Trial], *, sandbox: str) -> Iterator[Outcome]:
        """Run trials, the results in their order."""
        ...

    def conclude(self, problem: Problem, built: Any, outcomes: Sequence[Outcome]) -> Verdicted:
        """Look at what correct runs cost."""
        ...


def target(name: str) -> Target:
    """Return a target by name. Raises :class:`UnknownTarget`."""
    from importlib import import_module

    from strop.errors import UnknownTarget

    if name not in TARGETS:
        raise UnknownTarget(target=name, targets=", ".join(TARGETS))
    made: Target = import_module(f"strop.kernels.targets.{name}.target").TARGET
    return made


TARGETS = {
    "gemmini": "a 16x16 int8 systolic array beside a Rocket core, simulated: cycles",
    "cpu": "this computer's processor, C compiled natively: seconds",
}
