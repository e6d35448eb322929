"""A tuned contraction with made-up findings, for tests of what is said about it. Nothing is measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import strop
from strop.bench.numpy_peer import NumpyComparison
from strop.loops.moves import Reorder, Tile
from strop.loops.tuned import Finalist, Findings, Trial, Tuned
from strop.values.measurement import Measurement

SCHEDULE = (Tile(("m.0", "n.0"), (6, 16)), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))


def measured(us: float, count: int = 12) -> Measurement:
    samples = tuple(us * 1e-6 * (1 + i / 1000) for i in range(count))
    return Measurement(samples=samples, protocol="loops/1", machine="0123456789abcdef")


def found(**changes: Any) -> Tuned:
    """`mk,kn->mn` of 61×97×131 that took 10 µs, with findings changed as said."""
    tuned = strop.compile(
        strop.Contraction.parse("mk,kn->mn", m=61, k=97, n=131, epilogue="relu(x + bias[n])"), SCHEDULE, "literal"
    )
    winner, tied, last = measured(10.0), measured(10.01), measured(12.0)
    findings = Findings(
        measurement=winner,
        peak_gflops=160.0,
        search="local",
        effort="standard",
        trace=(
            Trial(0.01, "a", "m k n", "ok", 2e-5, 77.5),
            Trial(0.02, "b", "", "illegal", None, 77.5),
            Trial(0.3, "c", "n16 m6 k", "ok", 1e-5, 155.0),
        ),
        finalists=(
            Finalist("n16 m6 k", "", winner),
            Finalist("n16 m6 k", "unroll k 2", tied, True),
            Finalist("n32 m6 k", "", last),
        ),
        verdicts={"ok": 2, "illegal": 1},
        run_id="keen-adze",
        command="strop tune 'mk,kn->mn' m=61 k=97 n=131",
    )
    tuned.findings = replace(findings, **changes)
    return tuned


def compared(ratio: float = 1.5, spread: float = 0.01) -> NumpyComparison:
    """A comparison in which NumPy takes `ratio` times as long, give or take `spread`."""
    ours = tuple(1e-5 for _ in range(20))
    theirs = tuple(1e-5 * ratio * (1 + spread * (i - 9.5) / 10) for i in range(20))
    return NumpyComparison(
        ours=ours,
        theirs=theirs,
        way="np.matmul(a, b, out=out)",
        numpy="2.4.6",
        blas="scipy-openblas 0.3.31.188.0, kernel SkylakeX",
        threads=1,
        cpus=(0,),
    )
