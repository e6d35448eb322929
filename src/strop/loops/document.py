"""A tuned contraction as JSON for programs (`strop.tune/1`), and its trials as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from strop import __version__
from strop.bench.machine import machine
from strop.loops.results import sentence

if TYPE_CHECKING:
    from strop.bench.numpy_peer import NumpyComparison
    from strop.errors import PeerFailed
    from strop.loops.tuned import Finalist, Tuned

SCHEMA = "strop.tune/1"


def document(tuned: Tuned, numpy: NumpyComparison | PeerFailed | None = None) -> dict[str, Any]:
    """All that is known about the result; without a comparison `numpy` is null and `numpy_reason` says why."""
    from strop.errors import PeerFailed

    found = tuned.findings
    compared = None if numpy is None or isinstance(numpy, PeerFailed) else numpy
    here = machine()
    return {
        "schema": SCHEMA,
        "sentence": sentence(tuned, compared),
        "text": str(tuned.contraction),
        "contraction": tuned.contraction.to_json(),
        "layout": tuned.layout.to_json(),
        "flops": tuned.contraction.flops,
        "threads": tuned.threads,
        "isa": tuned.isa,
        "schedule": [move.to_json() for move in tuned.schedule],
        "summary": tuned.nest.summary,
        "nest": str(tuned.nest),
        "measurement": found.measurement.to_json() if found.measurement else None,
        "gflops": tuned.gflops,
        "peak_gflops": tuned.peak_gflops,
        "share_of_peak": tuned.share_of_peak,
        "search": found.search,
        "effort": found.effort,
        "finalists": [_finalist(tuned, each) for each in found.finalists],
        "trials": len(found.trace),
        "verdicts": dict(found.verdicts),
        "run": found.run_id,
        "from_store": found.from_store,
        "age_s": found.age_seconds,
        "interrupted": found.interrupted,
        "warnings": list(found.warnings),
        "numpy": compared.to_json() if compared else None,
        "numpy_reason": _reason(numpy),
        "command": found.command,
        "machine": {"cpu": here.cpu, "fingerprint": here.fingerprint, "usable_cpus": here.usable_cpus},
        "strop_version": __version__,
    }


def trials_csv(tuned: Tuned) -> str:
    """A row for each candidate that was tried, in the order in which they ended."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["seconds", "candidate", "schedule", "verdict", "measured_s", "best_gflops"])
    for trial in tuned.trace:
        row = (trial.seconds, trial.id, trial.summary, trial.verdict, trial.measured_s, trial.best_gflops)
        writer.writerow(["" if value is None else value for value in row])
    return file.getvalue()


def _finalist(tuned: Tuned, finalist: Finalist) -> dict[str, Any]:
    gflops = tuned.rate(finalist.measurement)
    return {
        "summary": finalist.summary,
        "notes": finalist.notes,
        "measurement": finalist.measurement.to_json(),
        "gflops": gflops,
        "share_of_peak": gflops / tuned.peak_gflops if gflops and tuned.peak_gflops else None,
        "tie": finalist.tie,
    }


def _reason(numpy: NumpyComparison | PeerFailed | None) -> str | None:
    from strop.errors import PeerFailed

    if isinstance(numpy, PeerFailed):
        return numpy.message
    return "it was not compared" if numpy is None else None
