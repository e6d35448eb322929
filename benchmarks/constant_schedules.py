"""The constant schedules against the same schedules written by hand in C intrinsics (constant_schedules.c).

What it measures is the code generator: both sides run the same loops. Both are called through one pointer type, many
calls between two readings of the clock (timed_calls.c), on the same arrays, interleaved on one CPU. Each pair gets
three interleaved runs; the best of the three counts: the quietest, whatever its ratio, not the one that flatters.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from problems import instruction_sets, question_of
from record import Column, Record, geometric_mean, parser, progress
from shapes import Shape

SHAPES = [Shape(*sizes) for sizes in ((64, 64, 64), (192, 192, 192), (240, 160, 160), (97, 131, 61), (150, 250, 90))]
ROWS = {"avx2": (4, 6), "avx512": (4, 6, 14)}
FLAGS = {"avx2": ("-mavx2", "-mfma"), "avx512": ("-mavx512f",)}
SOURCES = ("constant_schedules.c", "timed_calls.c")
RUNS, ROUNDS, SAMPLE_S = 3, 40, 1e-3
LIMIT = 1.05


class Arguments(ctypes.Structure):
    """What a kernel reads: `struct arguments` of timed_calls.c."""

    _fields_ = (
        ("output", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p * 2),
        ("extras", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("begin", ctypes.c_int64),
        ("end", ctypes.c_int64),
    )


class ByHand(ctypes.Structure):
    """The same with what the hand-written schedules need besides: `struct by_hand`."""

    _fields_ = (
        ("shared", Arguments),
        ("step", ctypes.c_long),
        ("m", ctypes.c_long),
        ("n", ctypes.c_long),
        ("k", ctypes.c_long),
    )


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    record = Record(
        benchmark="constant_schedules",
        claim="Constant schedules (literal lowering) against the same schedules written by hand in C intrinsics, "
        "compiled with gcc -O3. A ratio is strop's time over the C code's: below 1, strop is faster; from the quietest "
        "of three interleaved runs (the one whose two medians sum to the least).",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    compiler = shutil.which("gcc")
    for isa, rows in ROWS.items():
        reason = "gcc isn't installed" if compiler is None else "this CPU hasn't got it"
        if compiler is None or isa not in instruction_sets():
            record.skip(f"constant schedules with {isa}", reason)
            record.bar(
                f"Constant schedules on {isa} against C intrinsics", None, at_most=LIMIT, unit="×", reason=reason
            )
            continue
        with tempfile.TemporaryDirectory() as folder:
            library = compiled(compiler, isa, Path(folder))
            pairs = [(step, shape) for step in rows for shape in (SHAPES[3:4] if arguments.smoke else SHAPES)]
            found = [compare(library, isa, step, shape, smoke=arguments.smoke) for step, shape in pairs]
        report(record, isa, found)
        record.versions["gcc"] = version(compiler)
    record.finish()


def report(record: Record, isa: str, found: list[dict[str, Any]]) -> None:
    """Add the pairs of one instruction set to the record."""
    record.results[isa] = found
    ratios = [Column(head, ".3f") for head in ("ratio best", "ratio median", "least", "and most of the three")]
    record.table(
        f"Constant schedules, {isa}",
        ["schedule", "m x n x k", Column("strop GFLOP/s", ".0f"), Column("C GFLOP/s", ".0f"), *ratios],
        [
            [
                *(each["search"], each["shape"], each["gflops"], each["hand_gflops"]),
                *(each["ratio_best"], each["ratio_median"]),
                *(choose(run["ratio_median"] for run in each["runs"]) for choose in (min, max)),
            ]
            for each in found
        ],
    )
    for search in dict.fromkeys(each["search"] for each in found):
        mine = [each for each in found if each["search"] == search]
        worst = max(mine, key=lambda each: each["ratio_median"])
        mean = geometric_mean(each["ratio_median"] for each in mine)
        record.bar(
            f"{search} on {isa} against C intrinsics, the worst of {len(mine)} shapes "
            f"({worst['shape']}; geometric mean {mean:.3f})",
            worst["ratio_median"],
            at_most=LIMIT,
            unit="×",
            digits=3,
        )


def compiled(compiler: str, isa: str, folder: Path) -> ctypes.CDLL:
    """The C sources as a library."""
    target = folder / f"constant_schedules_{isa}.so"
    here = Path(__file__).parent
    sources = [str(here / name) for name in SOURCES]
    subprocess.run([compiler, "-O3", *FLAGS[isa], "-shared", "-fPIC", "-o", str(target), *sources], check=True)
    library = ctypes.CDLL(str(target))
    library.seconds_per_call.restype = ctypes.c_double
    library.seconds_per_call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return library


def version(compiler: str) -> str:
    """The compiler's first line about itself."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def compare(library: ctypes.CDLL, isa: str, step: int, shape: Shape, *, smoke: bool) -> dict[str, Any]:
    """One schedule on one shape: check both results, then three interleaved runs."""
    import numpy as np

    from strop.bench.pinning import pinned

    random = np.random.default_rng(0)
    a, b, c = (aligned(*sizes) for sizes in ((shape.m, shape.k), (shape.k, shape.n), (shape.m, shape.n)))
    a[...], b[...] = random.standard_normal(a.shape), random.standard_normal(b.shape)
    kernel, summary = ours(isa, step, shape)
    scratch = np.zeros(kernel.scratch_bytes + 64, np.uint8)
    inputs = (ctypes.c_void_p * 2)(a.ctypes.data, b.ctypes.data)
    shared = Arguments(c.ctypes.data, inputs, None, scratch.ctypes.data + -scratch.ctypes.data % 64, 0, 0)
    by_hand = ByHand(shared, step, shape.m, shape.n, shape.k)
    name = "call_rows_first" if step == 4 else "call_columns_first"
    sides = {
        "strop": (kernel.address, ctypes.addressof(shared)),
        "C": (ctypes.cast(getattr(library, name), ctypes.c_void_p).value, ctypes.addressof(by_hand)),
    }
    for side, (function, pointer) in sides.items():
        c[...] = np.nan
        library.seconds_per_call(function, pointer, 1)
        check(side, c, a, b)
    with pinned(1):
        runs = [interleaved(library, sides, rounds=5 if smoke else ROUNDS) for _ in range(RUNS)]
    ratios = [
        {
            "ratio_best": min(run["strop"]) / min(run["C"]),
            "ratio_median": median(x / y for x, y in zip(run["strop"], run["C"], strict=True)),
        }
        for run in runs
    ]
    medians = [sum(median(samples) for samples in run.values()) for run in runs]
    quietest = medians.index(min(medians))
    progress(f"{isa} constant-{step} {shape}: {ratios[quietest]['ratio_median']:.3f} x C intrinsics")
    return {
        "search": f"constant-{step}",
        "shape": str(shape),
        **shape.sizes,
        "schedule": summary,
        **ratios[quietest],
        "runs": ratios,
        "gflops": shape.flops / median(runs[quietest]["strop"]) / 1e9,
        "hand_gflops": shape.flops / median(runs[quietest]["C"]) / 1e9,
        "samples_s": runs,
    }


def ours(isa: str, step: int, shape: Shape) -> tuple[Any, str]:
    """The native kernel of a constant schedule, exactly as the search of that name proposes it."""
    from strop.loops import searches
    from strop.loops.kernel import native_kernel
    from strop.loops.moves import replay
    from strop.loops.searches.base import schedule_of

    problem = question_of(shape, isa).problem
    (candidate,) = searches.make(f"constant-{step}", problem, space="literal").ask(1)
    nest = replay(problem.contraction, schedule_of(candidate))
    return native_kernel(nest, problem.layout, isa), nest.summary


def interleaved(library: ctypes.CDLL, sides: dict[str, tuple[Any, int]], *, rounds: int) -> dict[str, list[float]]:
    """Seconds per call of both sides, a sample each in every round, in turns the first."""
    calls = {side: max(1, int(SAMPLE_S / library.seconds_per_call(*call, 3))) for side, call in sides.items()}
    samples: dict[str, list[float]] = {side: [] for side in sides}
    names = list(sides)
    for turn in range(rounds):
        for side in names if turn % 2 else reversed(names):
            samples[side].append(library.seconds_per_call(*sides[side], calls[side]))
    return samples


def aligned(rows: int, columns: int) -> Any:
    """A float32 array at 64 bytes: what alignment costs is not the question here."""
    import numpy as np

    buffer = np.zeros(rows * columns + 16, np.float32)
    start = -buffer.ctypes.data % 64 // 4
    return buffer[start : start + rows * columns].reshape(rows, columns)


def check(side: str, result: Any, a: Any, b: Any) -> None:
    """Raise where a side's result is further from float64's than rounding explains."""
    import numpy as np

    exact = a.astype(np.float64) @ b.astype(np.float64)
    allowed = 4 * np.finfo(np.float32).eps * np.sqrt(a.shape[1]) * (np.abs(a).astype(np.float64) @ np.abs(b))
    if not (np.abs(result - exact) <= allowed).all():
        raise SystemExit(f"the result of {side} is wrong")


if __name__ == "__main__":
    main()
