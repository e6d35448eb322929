"""The judge: is a candidate right, and what does it cost. The one way from code to a number that is believed.

resolve → cached? → build (source check, compiler, sandbox) → draw inputs nobody could know → run → compare → measure.

Seeds come from the operating system at each judgement and are written down afterwards. The reference and its results
stay here: what runs the candidate never holds them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, Any

from strop.errors import StropError, UnreadableCode
from strop.kernels.compare import differences
from strop.kernels.judgement import Judgement
from strop.kernels.problem import Problem, Reference, Role
from strop.kernels.registry import problem as find_problem
from strop.kernels.targets.target import Outcome, Refusal, Refused, Target, Trial, target
from strop.values.verdict import Verdict

if TYPE_CHECKING:
    from strop.store import Request, Store

VERSION = "2"  # part of the key of cached verdicts: raise it when a verdict may change
SEED_BITS = 63
CONFIRMATIONS = 5  # of a search's winner
MOST_APART = 2.0  # costs of one kernel on machines that differ little
MOST_REASON = 500  # characters


def judge(
    problem: Problem | str,
    code: str | Path,
    *,
    sandbox: str = "auto",
    fresh: bool = False,
    parameters: Mapping[str, float] | None = None,
) -> Judgement:
    """Judge a candidate: whether it solves the problem, and what it costs.

    `code` is a path, or the C itself where it is a str with a newline. `sandbox`: "auto" uses what this machine has,
    "none" switches it off and marks the result unverified. `fresh` judges again what was judged before. `parameters`
    change the simulated machine. Raises UnknownProblem, UnreadableCode, NoCompiler, BadSandbox.
    """
    problem = find_problem(problem) if isinstance(problem, str) else problem
    text = source(code)
    machine = target(problem.target)
    if parameters:
        machine = machine.changed(parameters)
    store = _store()
    if store is None:
        return judge_code(problem, text, machine, sandbox=sandbox)
    with store, store.open_run(_request(problem, text, machine, sandbox), fresh=fresh) as handle:
        if handle.origin == "answered" and handle.answer is not None:
            return Judgement.from_json(handle.answer, cached=True)
        found = judge_code(problem, text, machine, sandbox=sandbox)
        if found.verdict is not Verdict.NOISY:  # asked again, the machine may be quieter
            handle.finish(found.to_json())
        return found


def source(code: str | Path) -> str:
    """Return a candidate's code: the text itself, or a file's. Raises :class:`UnreadableCode`."""
    if isinstance(code, str) and "\n" in code:
        return code
    path = Path(code)
    try:
        kind = path.stat()
        if not S_ISREG(kind.st_mode):
            raise UnreadableCode(path=str(path), reason="it is a folder" if S_ISDIR(kind.st_mode) else "it is no file")
        if kind.st_size > 1 << 20:
            raise UnreadableCode(path=str(path), reason="it is longer than a megabyte")
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise UnreadableCode(path=str(path), reason=reason) from None


def judge_code(problem: Problem, code: str, machine: Target, *, sandbox: str = "auto") -> Judgement:
    """Judge code on a target, without asking what was judged before."""
    seed = _seed()
    evidence: dict[str, Any] = {"judge": VERSION, "seed": seed, "identity": dict(machine.identity())}
    digest = _digest(code)

    def said(verdict: Verdict, reason: str, line: int | None = None, **more: Any) -> Judgement:
        return Judgement(
            problem=problem.id, target=problem.target, verdict=verdict, reason=_plain(reason), line=line, digest=digest,
            evidence=evidence, verified=sandbox != "none", **more,
        )  # fmt: skip

    try:
        built = machine.build(problem, code, sandbox=sandbox)
        trials = draw(problem, machine, seed)
        evidence["trials"] = [
            {"family": one.planned.family, "seed": one.seed, "placement": one.planned.placement} for one in trials
        ]
        outcomes = []
        for outcome in machine.run(problem, built, trials, sandbox=sandbox):
            _must_be_right(problem, outcome, _expected(problem, outcome.trial))
            outcomes.append(_kept(outcome))
        _must_agree(problem, outcomes)
        concluded = machine.conclude(problem, built, outcomes)
    except Refused as refused:
        refusal = refused.refusal
        return said(refusal.verdict, refusal.reason, refusal.line)
    evidence |= concluded.evidence
    if concluded.refusal is not None:
        return said(
            concluded.refusal.verdict, concluded.refusal.reason, concluded.refusal.line,
            bottleneck=concluded.bottleneck, account=concluded.account,
        )  # fmt: skip
    measurement = concluded.measurement
    share = machine.bound(problem) / measurement.median if measurement and measurement.median else None
    return said(
        Verdict.OK, concluded.bottleneck or "right on every input", measurement=measurement, share_of_bound=share,
        bottleneck=concluded.bottleneck, account=concluded.account,
    )  # fmt: skip


def confirm(problem: Problem | str, code: str | Path, *, sandbox: str = "auto") -> tuple[Judgement, ...]:
    """Judge the winner of a search again, on fresh seeds: five times, on machines near to the target's.

    A simulated machine's latencies and queues are drawn anew, each within 20% of its value: a kernel that is right only
    by one timing (a fence too few) fails there, and one whose cost is another by more than twice is `implausible`. A
    real machine is what it is: there the five differ by their seeds only. Nothing is answered from the store.
    """
    problem = find_problem(problem) if isinstance(problem, str) else problem
    text, machine = source(code), target(problem.target)
    own = judge_code(problem, text, machine, sandbox=sandbox)
    if not own.ok:
        return (own,)
    vary = getattr(machine, "perturbed", None)
    found = []
    for _ in range(CONFIRMATIONS):
        seed = _seed()
        near = machine if vary is None else vary(seed)
        one = judge_code(problem, text, near, sandbox=sandbox)
        found.append(_near(own, replace(one, evidence={**one.evidence, "perturbation": seed})))
    return tuple(found)


def _seed() -> int:
    """Return a number that nobody can know beforehand."""
    return int.from_bytes(os.urandom(8), "little") >> 64 - SEED_BITS


def _digest(code: str) -> str:
    """Return what a candidate is known by."""
    return sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def _near(own: Judgement, one: Judgement) -> Judgement:
    if not one.ok or own.measurement is None or one.measurement is None:
        return one
    here, there = own.measurement.median, one.measurement.median
    if here <= MOST_APART * there and there <= MOST_APART * here:
        return one
    what = f"{there:,.6g} on a machine little different, {here:,.6g} {own.measurement.unit} on the target's own"
    return replace(one, verdict=Verdict.IMPLAUSIBLE, reason=what, measurement=None, share_of_bound=None)


def _plain(reason: str) -> str:
    """Make a sentence of what may hold a candidate's words: printable, and no longer than a few lines."""
    text = "".join(each if each.isprintable() else " " for each in reason)
    return text if len(text) <= MOST_REASON else text[: MOST_REASON - 1] + "…"


def draw(problem: Problem, machine: Target, seed: int) -> list[Trial]:
    """Draw the inputs of a judgement's runs: each family and draw from a seed of its own."""
    import numpy as np

    made: dict[tuple[str, int], tuple[int, Any]] = {}
    trials = []
    for planned in machine.plan(problem):
        key = (planned.family, planned.draw)
        if key not in made:
            own = int.from_bytes(sha256(f"{seed}/{key[0]}/{key[1]}".encode()).digest()[:8], "little") >> 1
            inputs = problem.families[planned.family](np.random.default_rng(own))
            for array in inputs.values():
                array.setflags(write=False)
            made[key] = own, inputs
        trials.append(Trial(planned=planned, seed=made[key][0], inputs=made[key][1]))
    return trials


_LAST: list[tuple[Any, Reference]] = []  # the reference of the inputs compared last: runs of one draw follow each other


def _expected(problem: Problem, trial: Trial) -> Reference:
    if not _LAST or _LAST[0][0] is not trial.inputs:
        _LAST[:] = [(trial.inputs, problem.reference(trial.inputs))]
    return _LAST[0][1]


def _must_be_right(problem: Problem, outcome: Outcome, expected: Reference) -> None:
    if outcome.broken is not None:
        raise _raised(outcome.broken)
    family, seed = outcome.trial.planned.family, outcome.trial.seed
    for buffer in problem.buffers:
        left = outcome.buffers[buffer.name]
        if buffer.role is Role.INPUT:
            if left.data.cast("B") != outcome.trial.inputs[buffer.name].data.cast("B"):
                raise Refused(Verdict.INPUT_CHANGED, f"the input {buffer.name} was written over")
            continue
        wrong = differences(
            left, expected.outputs[buffer.name], expected.scales.get(buffer.name), problem.tolerance.relative
        )
        if wrong is not None:
            raise Refused(Verdict.WRONG_RESULT, f"{buffer.name}{wrong} (inputs: {family}, seed {seed})")


def _kept(outcome: Outcome) -> Outcome:
    """Let go of the inputs, which were compared: a target may run hundreds of draws."""
    return replace(outcome, trial=replace(outcome.trial, inputs={}))


def _raised(refusal: Refusal) -> Refused:
    return Refused(refusal.verdict, refusal.reason, refusal.line)


def _must_agree(problem: Problem, outcomes: Sequence[Outcome]) -> None:
    """Runs of the same inputs must leave the same bytes and cost the same cycles, whatever lay in memory before."""
    for first, second in _twins(outcomes):
        for buffer in problem.outputs():
            if first.buffers[buffer.name].tobytes() != second.buffers[buffer.name].tobytes():
                what = f"{buffer.name} differs between two runs with the same inputs: memory that nobody wrote was read"
                raise Refused(Verdict.NONDETERMINISTIC, what)


def _twins(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, Outcome]]:
    first: dict[tuple[str, int], Outcome] = {}
    for outcome in outcomes:
        key = (outcome.trial.planned.family, outcome.trial.planned.draw)
        if key in first:
            yield first[key], outcome
        else:
            first[key] = outcome


def _store() -> Store | None:
    """Return the store; None where there is none to write to."""
    from strop.store import open_store

    try:
        return open_store()
    except StropError:
        return None


def _request(problem: Problem, code: str, machine: Target, sandbox: str) -> Request:
    """Return what is asked: equal questions have one answer."""
    from strop.store import Request
    from strop.values.budget import Budget
    from strop.values.run import Run

    run = Run(
        verb="judge",
        problem={"id": problem.id, "prelude": problem.prelude, "code": _digest(code), "sandbox": sandbox},
        target={**machine.identity(), "judge": VERSION},
        search="none",
        budget=Budget(),
    )
    return Request(run=run, title=problem.id)
