"""strop against NumPy on 25 seeded matmuls, float32, one thread, with each instruction set that this CPU has.

Each instruction set runs in a process of its own (`STROP_ISA`). For AVX2, NumPy's OpenBLAS is held to its AVX2 kernel
by `OPENBLAS_CORETYPE`, and asked whether it obeyed; for AVX-512 it is free. Each shape is tuned afresh with
`strop.tune(effort="standard", threads=1)`; then one interleaved run on one CPU times `tuned(a, b, out=c)`,
`np.matmul(a, b, out=c)` and the peak of the multiply-add units in turn, all on the same arrays: as `np.empty` gives
them, or with `--aligned` at 64 bytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

from record import Column, Record, geometric_mean, parser, progress
from shapes import TEXT, Shape, seeded_shapes, spread_shapes

BARS = {"avx2": 1.00, "avx512": 1.30}
HELD = {"avx2": {"OPENBLAS_CORETYPE": "Haswell"}, "avx512": {}}
AVX2_KERNELS = ("Haswell", "Zen")
NAMES = {"avx2": "AVX2", "avx512": "AVX-512"}
ROUNDS = 60


def main() -> None:
    asked = parser(__doc__ or "")
    asked.add_argument("--aligned", action="store_true", help="arrays at 64 bytes instead of where np.empty puts them")
    asked.add_argument("--child", metavar="ISA", help=argparse.SUPPRESS)
    arguments = asked.parse_args()
    if arguments.child:
        json.dump(measure(arguments.child, aligned=arguments.aligned, smoke=arguments.smoke), sys.stdout)
        return
    from problems import instruction_sets

    where = "arrays at 64 bytes" if arguments.aligned else "arrays where np.empty puts them"
    record = Record(
        benchmark="matmul_aligned" if arguments.aligned else "matmul",
        claim=f"25 seeded matmuls, float32, one thread, `standard` effort, {where}, against `np.matmul(a, b, out=c)`. "
        "A ratio is NumPy's time over strop's: above 1, strop is faster.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    for isa, limit in BARS.items():
        if isa in instruction_sets():
            found = in_process(isa, aligned=arguments.aligned, smoke=arguments.smoke)
            report(record, isa, limit, found, judged=not arguments.aligned)
        else:
            record.skip(f"matmuls with {NAMES[isa]}", "this CPU hasn't got it")
    record.finish()


def in_process(isa: str, *, aligned: bool, smoke: bool) -> dict[str, Any]:
    """What `measure` finds in a process made for this instruction set."""
    from strop.bench.pinning import peer_environment

    with tempfile.TemporaryDirectory() as home:
        flags = [flag for flag, given in (("--aligned", aligned), ("--smoke", smoke)) if given]
        done = subprocess.run(
            [sys.executable, __file__, "--child", isa, *flags],
            env={**peer_environment(1), **HELD[isa], "STROP_ISA": isa, "STROP_HOME": home},
            stdout=subprocess.PIPE,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(record: Record, isa: str, limit: float, found: dict[str, Any], *, judged: bool) -> None:
    """Add what was found to the record."""
    shapes = found["shapes"]
    record.results[isa] = found
    record.versions[f"numpy's BLAS for {isa}"] = found["blas"]
    record.table(
        f"{NAMES[isa]}, NumPy with {found['blas']}",
        [
            "m x n x k",
            "schedule",
            *[Column(head, ".2f") for head in ("ratio best", "ratio median", "95% from", "to")],
            *[Column(head, ".0%") for head in ("of peak", "NumPy of peak")],
            *[Column("tuned in s", ".2f"), Column("tried", "d")],
        ],
        [
            [
                each["shape"],
                each["schedule"],
                each["ratio_best"],
                each["ratio_median"],
                *each["ratio_interval"],
                each["share_of_peak"],
                each["numpy_share_of_peak"],
                each["tuned_s"],
                each["tried"],
            ]
            for each in shapes
        ],
    )
    wins = sum(each["ratio_interval"][0] > 1 for each in shapes)
    losses = sum(each["ratio_interval"][1] < 1 for each in shapes)
    means = {name: geometric_mean(each[f"ratio_{name}"] for each in shapes) for name in ("best", "median")}
    shares = [geometric_mean(each[key] for each in shapes) for key in ("share_of_peak", "numpy_share_of_peak")]
    worst = min(shapes, key=lambda each: each["ratio_median"])
    found["summary"] = {"ratio_best": means["best"], "ratio_median": means["median"], "wins": wins, "losses": losses}
    record.table(
        f"{NAMES[isa]}, geometric means of {len(shapes)} shapes",
        [
            *[Column(head, ".3f") for head in ("ratio best", "ratio median")],
            *[Column(head, ".0%") for head in ("of peak", "NumPy of peak")],
            *[Column(head, "d") for head in ("faster", "tie", "slower")],
            "worst shape",
            Column("its ratio", ".2f"),
            Column("tuning median s", ".2f"),
        ],
        [
            [
                *(means["best"], means["median"], *shares),
                *(wins, len(shapes) - wins - losses, losses, worst["shape"], worst["ratio_median"]),
                median(each["tuned_s"] for each in shapes),
            ]
        ],
    )
    if judged:
        for name in ("median", "best"):
            record.bar(
                f"{len(shapes)} matmuls against NumPy, {NAMES[isa]}, geometric mean of the ratio of {name} times",
                means[name],
                at_least=limit,
                unit="×",
                headline=name == "median",
            )


# In the process of one instruction set --------------------------------------------------------------------------------


def measure(isa: str, *, aligned: bool, smoke: bool) -> dict[str, Any]:
    """Tune and time every shape; raises where NumPy doesn't use the kernels that it is to be compared with."""
    from strop.bench.peers import blas_of_numpy

    blas = blas_of_numpy() or "unknown"
    if isa == "avx2" and "openblas" in blas and not blas.endswith(AVX2_KERNELS):
        raise SystemExit(f"NumPy's BLAS wasn't held to AVX2: {blas}")
    shapes = spread_shapes(2) if smoke else seeded_shapes()
    found = []
    for number, shape in enumerate(shapes, 1):
        found.append(measure_shape(shape, isa, aligned=aligned, smoke=smoke))
        progress(f"{isa} {number}/{len(shapes)} {shape}: {found[-1]['ratio_median']:.2f} x NumPy")
    return {"isa": isa, "blas": blas, "aligned": aligned, "shapes": found}


def measure_shape(shape: Shape, isa: str, *, aligned: bool, smoke: bool) -> dict[str, Any]:
    """Tune one shape, check the result, time it against NumPy and the peak in the same rounds."""
    import numpy as np

    import strop
    from strop import _native
    from strop.bench.interleave import interleaved
    from strop.bench.pinning import pinned
    from strop.bench.protocol import ratio

    a, b, c = (array(*pair, aligned=aligned) for pair in ((shape.m, shape.k), (shape.k, shape.n), (shape.m, shape.n)))
    random = np.random.default_rng(0)
    a[...], b[...] = random.standard_normal(a.shape), random.standard_normal(b.shape)
    began = time.perf_counter()
    tuned = strop.tune(TEXT, a, b, effort="quick" if smoke else "standard", threads=1, fresh=True)
    tuned_s = time.perf_counter() - began
    check(tuned(a, b, out=c), a, b)

    peaks: list[float] = []
    with pinned(1) as cpus:
        samples = interleaved(
            {
                "strop": lambda: tuned(a, b, out=c),
                "numpy": lambda: np.matmul(a, b, out=c),
                "peak": lambda: peaks.append(_native.peak_probe(isa, "float32", 0.0)),
            },
            rounds=5 if smoke else ROUNDS,
            seconds=5.0,
        )
    ours, theirs = samples["strop"], samples["numpy"]
    low, middle, high = ratio(ours, theirs)
    return {
        "shape": str(shape),
        **shape.sizes,
        "schedule": tuned.nest.summary,
        "moves": [move.to_json() for move in tuned.schedule],
        "tuned_s": tuned_s,
        "tried": len(tuned.trace),
        "ties": [each.summary for each in tuned.findings.ties],
        "offsets_bytes": [each.ctypes.data % 64 for each in (a, b, c)],
        "cpus": list(cpus),
        "best_s": min(ours),
        "median_s": median(ours),
        "numpy_best_s": min(theirs),
        "numpy_median_s": median(theirs),
        "peak_best_flops": max(peaks),
        "peak_median_flops": median(peaks),
        "ratio_best": min(theirs) / min(ours),
        "ratio_median": middle,
        "ratio_interval": [low, high],
        "share_of_peak": shape.flops / median(ours) / median(peaks),
        "numpy_share_of_peak": shape.flops / median(theirs) / median(peaks),
        "samples_s": {"strop": list(ours), "numpy": list(theirs)},
        "samples_peak_flops": peaks,
    }


def array(rows: int, columns: int, *, aligned: bool) -> Any:
    """An uninitialised float32 array: as NumPy gives it, or at 64 bytes."""
    import numpy as np

    if not aligned:
        return np.empty((rows, columns), np.float32)
    buffer = np.empty(rows * columns + 16, np.float32)
    start = -buffer.ctypes.data % 64 // 4
    return buffer[start : start + rows * columns].reshape(rows, columns)


def check(result: Any, a: Any, b: Any) -> None:
    """Raise where the result is further from float64's than rounding explains."""
    import numpy as np

    exact = a.astype(np.float64) @ b.astype(np.float64)
    allowed = 4 * np.finfo(np.float32).eps * np.sqrt(a.shape[1]) * (np.abs(a).astype(np.float64) @ np.abs(b))
    if not (np.abs(result - exact) <= allowed).all():
        raise SystemExit("strop's result is wrong")


if __name__ == "__main__":
    main()
