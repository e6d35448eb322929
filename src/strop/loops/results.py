"""Results of runs: as the store keeps them, and back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from strop.errors import StropError
from strop.loops.command import command
from strop.loops.moves import Move, Schedule, replay
from strop.loops.question import Question
from strop.loops.tuned import Finalist, Findings, Trial, Tuned
from strop.report.units import ago, percent, seconds, times
from strop.values.measurement import Measurement

if TYPE_CHECKING:
    from strop.bench.numpy_peer import NumpyComparison
    from strop.store.handle import RunHandle
    from strop.store.store import Store


def tuned(
    question: Question, schedule: Schedule, findings: Findings, *, run_id: str | None = None, lazy: bool = False
) -> Tuned:
    """The schedule compiled for the question's layout, with what was found out about it."""
    problem = question.problem
    return Tuned(
        contraction=problem.contraction,
        layout=problem.layout,
        schedule=schedule,
        nest=replay(problem.contraction, schedule),
        isa=problem.isa,
        threads=problem.threads,
        findings=replace(findings, run_id=run_id, command=command(question)),
        lazy=lazy,
    )


def sentence(result: Tuned, numpy: NumpyComparison | None = None) -> str:
    """What came out, in one line: time, share of the peak, how NumPy compares, schedule."""
    if not result.contraction.points:
        return "nothing to compute: the result is " + ("constant" if all(result.contraction.output_shape) else "empty")
    schedule = f"schedule {result.nest.summary}" if result.nest.loops else "nothing to schedule"
    if result.measurement is None:
        return f"{schedule}, not measured"
    parts = [seconds(result.measurement.median)]
    if result.share_of_peak:
        whose = "this core's" if result.threads == 1 else f"the {result.threads} threads'"
        parts.append(f"{percent(result.share_of_peak)} of {whose} peak")
    if numpy is not None:
        parts.append(against(numpy))
    return f"{', '.join(parts)}; {schedule}"


def origin(result: Tuned) -> str:
    """Where a stored answer comes from, and the way to a new one."""
    return f"from the store, measured {ago(result.findings.age_seconds or 0.0)}; --fresh measures anew"


def against(numpy: NumpyComparison) -> str:
    """How many times as fast as NumPy, or that neither was shown to be faster."""
    ratio = times(numpy.speedup_median)
    return f"a tie with NumPy ({ratio})" if numpy.tie else f"{ratio} NumPy"


def to_json(result: Tuned) -> dict[str, Any]:
    """The result as the store keeps it: schedules and numbers, no machine code."""
    found = result.findings
    return {
        "sentence": sentence(result),
        "schedule": [move.to_json() for move in result.schedule],
        "nest": str(result.nest),
        "measurement": found.measurement.to_json() if found.measurement else None,
        "peak_gflops": found.peak_gflops,
        "search": found.search,
        "effort": found.effort,
        "finalists": [asdict(each) | {"measurement": each.measurement.to_json()} for each in found.finalists],
        "verdicts": dict(found.verdicts),
        "isa": result.isa,
        "threads": result.threads,
    }


def recalled(question: Question, store: Store, handle: RunHandle, warnings: Iterable[str]) -> Tuned:
    """The stored answer, compiled anew."""
    answer = handle.answer
    assert answer is not None
    findings = Findings(
        measurement=Measurement.from_json(answer["measurement"]) if answer["measurement"] else None,
        peak_gflops=answer["peak_gflops"],
        search=answer["search"],
        effort=answer["effort"],
        trace=trace_of(store.blob(handle.id, "trace")),
        finalists=tuple(
            Finalist(each["summary"], each["notes"], Measurement.from_json(each["measurement"]), each["tie"])
            for each in answer["finalists"]
        ),
        verdicts=answer["verdicts"],
        from_store=True,
        age_seconds=max(0.0, time.time() - store.run(handle.id).updated),
        warnings=tuple(warnings),
    )
    schedule = tuple(Move.from_json(move) for move in answer["schedule"])
    return tuned(question, schedule, findings, run_id=handle.id, lazy=True)


def with_warnings(result: Tuned, warnings: Iterable[str], failure: StropError | None) -> Tuned:
    """The result with what its user must hear; `warnings` are of a store that keeps nothing."""
    warnings = tuple(warnings)
    said = (*result.findings.warnings, *warnings, *((str(failure),) if failure else ()))
    result.findings = replace(result.findings, warnings=said, run_id=None if warnings else result.findings.run_id)
    return result


def trace_bytes(trace: Iterable[Trial]) -> bytes:
    """The trace as it is kept with a run."""
    return json.dumps([list(asdict(trial).values()) for trial in trace]).encode()


def trace_of(data: bytes | None) -> tuple[Trial, ...]:
    """What `trace_bytes` wrote."""
    return tuple(Trial(*row) for row in json.loads(data)) if data else ()
