"""A judgement, problems and targets as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from strop.kernels.judgement import Judgement
from strop.kernels.problem import Host, Problem, Role
from strop.values.verdict import Verdict

SAID = {
    Verdict.ILLEGAL: "refused",
    Verdict.COMPILE_ERROR: "doesn't compile",
    Verdict.COMPILE_TIMEOUT: "takes too long to compile",
    Verdict.CRASH: "crashed",
    Verdict.RUN_TIMEOUT: "didn't end",
    Verdict.LIMIT: "reached a limit",
    Verdict.WRONG_RESULT: "wrong",
    Verdict.INPUT_CHANGED: "changed its inputs",
    Verdict.NONDETERMINISTIC: "not the same twice",
    Verdict.NO_WORK: "didn't do the work",
    Verdict.IMPLAUSIBLE: "faster than the machine can be",
    Verdict.NOISY: "can't be timed",
    Verdict.NOT_RUN: "not run",
}


def lines(judgement: Judgement) -> Iterator[str]:
    """The sentence first, then the account, then what was run."""
    yield sentence(judgement)
    if not judgement.verified:
        yield "unverified: the sandbox was off (--sandbox none)"
    account = judgement.account
    if account is not None and account.kernels:
        found = account.kernels[0].accounting
        yield ""
        yield "where the time went:"
        for name, part in sorted(found.parts.items(), key=lambda row: -row[1]):
            yield f"  {name:10}{part:>14,} {found.unit:8}{part / max(found.total, 1):>7.1%}"
        for cause in account.kernels[0].causes[:5]:
            high = cause.share_of_time[1]
            at = f"line {cause.stall_site.line}" if cause.stall_site.line else cause.stall_site.text or "?"
            source = cause.cause_site
            of = "" if source is None else f" for line {source.line}" if source.line else f" for {source.text}"
            said = f": {cause.evidence[0]}" if cause.evidence else ""
            yield f"  {high:>6.1%}  {cause.id} {cause.cause_class.replace('_', ' ')} at {at}{of}{said}"
    trials = judgement.evidence.get("trials")
    if trials:
        families = dict.fromkeys(each["family"] for each in trials)
        yield ""
        yield f"run {len(trials)} times: {', '.join(families)}; seed {judgement.evidence['seed']}"
    for layer in ("toolchain", "sandbox"):
        shown = judgement.evidence.get(layer)
        if shown:
            yield f"{layer}: {shown if isinstance(shown, str) else ', '.join(shown)}"


def sentence(judgement: Judgement) -> str:
    """What came out, in one sentence."""
    if judgement.verdict is not Verdict.OK or judgement.measurement is None:
        return f"{judgement.problem}: {SAID.get(judgement.verdict, str(judgement.verdict))}: {judgement.reason}"
    cost = judgement.measurement
    took = f"{cost.median:,.0f} cycles" if cost.unit == "cycles" else _seconds(cost.median)
    share = f", {judgement.share_of_bound:.1%} of the bound" if judgement.share_of_bound is not None else ""
    why = f"; {judgement.bottleneck}" if judgement.bottleneck else ""
    return f"{judgement.problem}: right, {took}{share}{why}"


def _seconds(value: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def described(problem: Problem) -> Iterator[str]:
    """One problem: what a candidate must define and may do."""
    yield f"{problem.id}: {problem.title}"
    yield ""
    yield f"  {problem.signature}"
    yield ""
    bound = f"{problem.bound:,.0f} cycles" if problem.unit == "cycles" else _seconds(problem.bound)
    yield f"bound      {bound} ({problem.work.macs:,} multiply-adds, {_moved(problem)} bytes moved at least)"
    for buffer in problem.buffers:
        what = {Role.INPUT: "in", Role.OUTPUT: "out", Role.INOUT: "in and out"}[buffer.role]
        shape = "".join(f"[{size}]" for size in buffer.shape)
        allowed = f"; the core: {_HOST[buffer.host]}" if problem.target != "cpu" else ""
        yield f"{buffer.name:10} {buffer.dtype}{shape}, {what}{allowed}"
    exact = problem.tolerance.exact
    yield f"compared   {'exactly' if exact else f'to {problem.tolerance.relative:g} of the terms that are summed'}"
    yield f"inputs     {', '.join(problem.families)}"
    if problem.target == "gemmini":
        yield f"loops      {'the unrollers may be used' if problem.fsm else 'no unrollers (write +fsm for them)'}"
    yield f"rewrites   {'algebraic ones are allowed' if problem.rewrites else 'none: every multiply-add is to be done'}"
    yield f"start code {', '.join(problem.starts)}: strop problems {problem.id} --start NAME"


_HOST = {Host.NONE: "keeps out", Host.READ: "may read", Host.WRITE: "may write", Host.ANY: "may read and write"}


def _moved(problem: Problem) -> str:
    return f"{problem.work.read_bytes + problem.work.write_bytes:,}"
