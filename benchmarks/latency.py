"""How long people wait: `strop.tune` cold, whole processes, and one call of a tiny kernel.

A cold tune starts with an empty store, in a fresh process that has imported NumPy and strop: from the call to the
return, whatever is imported, started and measured on the way. `fresh=True` then asks again in the same process. Threads
and everything else are left at their defaults, as a user would.

Whole processes run from start to exit by the wall clock: `strop --help`, and a `strop tune` that the store answers.

The call is `tuned(a, b, out=c)` of 8x8x8, its arrays checked each time, against `np.matmul(a, b, out=c)`, in turns.
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from record import Column, Record, parser, progress
from shapes import TEXT

PROBLEMS: list[tuple[str, dict[str, int]]] = [
    (TEXT, {"m": 64, "n": 64, "k": 64}),
    (TEXT, {"m": 97, "n": 131, "k": 61}),
    (TEXT, {"m": 192, "n": 160, "k": 128}),
    (TEXT, {"m": 256, "n": 256, "k": 256}),
    ("bmk,bkn->bmn", {"b": 16, "m": 32, "n": 48, "k": 32}),
    ("n c h+r w+s, o c r s -> n o h w", {"n": 1, "c": 16, "o": 32, "h": 28, "w": 28, "r": 3, "s": 3}),
]
LIMITS_MS = {"quick": 100, "standard": 1000}
PROCESSES, LATER = 3, 4
HELP_MS, CACHED_MS, RUNS = 250, 300, 10
CALL_ROUNDS, CALLS = 25, 20_000

# What a cold tune runs: nothing but NumPy and strop is imported before the clock starts.
FIRST_CALL = """
import json, sys
from time import perf_counter
import numpy, strop
text, sizes, effort, later = json.loads(sys.argv[1])
seconds = []
for _ in range(1 + later):
    began = perf_counter()
    strop.tune(text, effort=effort, fresh=True, **sizes)
    seconds.append(perf_counter() - began)
print(json.dumps(seconds))
"""


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    record = Record(
        benchmark="latency",
        claim="`strop.tune` cold (empty store, a process that has imported NumPy and strop, default threads), whole "
        "processes by the wall clock, and the overhead of one call.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    compile_bytecode()
    for effort, limit in LIMITS_MS.items():
        tunes(record, effort, limit, smoke=arguments.smoke)
    whole_processes(record, smoke=arguments.smoke)
    call_overhead(record, smoke=arguments.smoke)
    record.finish()


def compile_bytecode() -> None:
    """Compile strop's modules, as pip does when it installs them: a checkout may have none compiled yet."""
    import strop

    compileall.compile_dir(Path(strop.__file__).parent, quiet=2)


def environment(home: str) -> dict[str, str]:
    """For a process with a store of its own."""
    return {**os.environ, "STROP_HOME": home}


def tunes(record: Record, effort: str, limit_ms: int, *, smoke: bool) -> None:
    """Cold tunes of each problem with one effort."""
    found: list[dict[str, Any]] = []
    for text, sizes in PROBLEMS[:2] if smoke else PROBLEMS:
        first, later = [], []
        for _ in range(1 if smoke else PROCESSES):
            seconds = cold(text, sizes, effort, later=1 if smoke else LATER)
            first.append(1e3 * seconds[0])
            later += [1e3 * each for each in seconds[1:]]
        found.append({"problem": described(text, sizes), "effort": effort, "samples_first_ms": first})
        found[-1] |= {"samples_later_ms": later, "first_ms": median(first), "later_ms": median(later)}
        found[-1] |= {"first_most_ms": max(first), "later_most_ms": max(later)}
        progress(f"{effort} {found[-1]['problem']}: first {median(first):.0f} ms, later {median(later):.0f} ms")
    record.results[effort] = found
    heads = ("first call: median ms", "most", "later calls: median ms", "most ")
    record.table(
        f"`strop.tune(effort={effort!r}, fresh=True)`, empty store",
        ["contraction", *[Column(head, ".0f") for head in heads]],
        [
            [each[key] for key in ("problem", "first_ms", "first_most_ms", "later_ms", "later_most_ms")]
            for each in found
        ],
    )
    for which, words in (("first", "first call of a process"), ("later", "later calls")):
        slowest = max(found, key=lambda each: each[f"{which}_ms"])
        what = f"`{effort}` cold, {words}, slowest of {len(found)} contractions by median ({slowest['problem']})"
        ahead = effort == "standard" and which == "first"
        record.bar(what, slowest[f"{which}_ms"], at_most=limit_ms, unit=" ms", digits=0, headline=ahead)


def cold(text: str, sizes: dict[str, int], effort: str, *, later: int) -> list[float]:
    """Seconds of the first call in a fresh process with an empty store, and of calls after it."""
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_CALL, json.dumps([text, sizes, effort, later])],
            env=environment(home),
            stdout=subprocess.PIPE,
            check=True,
        )
    seconds: list[float] = json.loads(done.stdout)
    return seconds


def described(text: str, sizes: dict[str, int]) -> str:
    """The contraction with its sizes."""
    return f"{text} {' '.join(f'{axis}={size}' for axis, size in sizes.items())}"


def whole_processes(record: Record, *, smoke: bool) -> None:
    """`strop --help` and a cached `strop tune`, from start to exit."""
    strop = Path(sys.executable).parent / "strop"
    text, sizes = PROBLEMS[2]
    tune = [str(strop), "tune", text, *[f"{axis}={size}" for axis, size in sizes.items()]]
    commands = {"strop --help": ([str(strop), "--help"], HELP_MS), "a cached strop tune": (tune, CACHED_MS)}
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for what, (command, limit_ms) in commands.items():
            title = f"`{what}`" if what.startswith("strop") else "A cached `strop tune`"
            try:
                wall_ms(command, environment(home))  # brings the files into memory, and the answer into the store
                samples = [wall_ms(command, environment(home)) for _ in range(3 if smoke else RUNS)]
            except (OSError, subprocess.CalledProcessError) as problem:
                reason = why(problem)
                record.skip(title, reason)
                record.bar(f"{title}, whole process", None, at_most=limit_ms, unit=" ms", digits=0, reason=reason)
                continue
            middle = median(samples)
            rows.append([what, len(samples), min(samples), middle, max(samples)])
            record.results[what] = {"median_ms": middle, "best_ms": min(samples), "samples_ms": samples}
            record.bar(f"{title}, whole process, median", middle, at_most=limit_ms, unit=" ms", digits=0)
    columns = [Column("runs", "d"), *[Column(head, ".0f") for head in ("least ms", "median ms", "most ms")]]
    record.table("Whole processes, wall clock", ["command", *columns], rows)


def why(problem: OSError | subprocess.CalledProcessError) -> str:
    """Why a command couldn't be timed, without paths of this machine."""
    if isinstance(problem, OSError):
        return problem.strerror or "it can't be started"
    words = problem.stderr.decode(errors="replace").strip().splitlines()
    return f"it ended with {problem.returncode}" + (f": {words[-1]}" if words else "")


def wall_ms(command: list[str], variables: dict[str, str]) -> float:
    """Milliseconds from start to exit. Raises CalledProcessError where it fails."""
    began = time.perf_counter()
    subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return 1e3 * (time.perf_counter() - began)


def call_overhead(record: Record, *, smoke: bool) -> None:
    """One call of 8x8x8 with `out=`, beside NumPy's."""
    import timeit

    import numpy as np

    import strop
    from strop.bench.pinning import pinned

    contraction = strop.Contraction.parse(TEXT, m=8, n=8, k=8)
    a, b, c = (np.zeros((8, 8), np.float32) for _ in range(3))
    sides = {
        "tuned(a, b, out=c)": strop.compile(contraction, ()),
        "np.matmul(a, b, out=c)": np.matmul,
    }
    samples: dict[str, list[float]] = {name: [] for name in sides}
    with pinned(1):
        for _ in range(5 if smoke else CALL_ROUNDS):
            for name, call in sides.items():
                timer = timeit.Timer("call(a, b, out=c)", globals={"call": call, "a": a, "b": b, "c": c})
                samples[name].append(1e9 * timer.timeit(CALLS) / CALLS)
    record.table(
        "One call of 8x8x8, float32, timeit (its loop included)",
        ["call", Column("best ns", ".0f"), Column("median ns", ".0f")],
        [[name, min(taken), median(taken)] for name, taken in samples.items()],
    )
    record.results["call"] = {
        name: {"best_ns": min(taken), "median_ns": median(taken), "samples_ns": taken}
        for name, taken in samples.items()
    }


if __name__ == "__main__":
    main()
