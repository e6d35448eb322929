"""How long a judgement takes, and how fast the simulated core is.

A judgement is the whole of it: source check, compiler, seeds, all runs, references, account. Warm: the second of a
process, of another candidate (a comment makes it one). Cached: a whole `strop judge` process that is answered from the
store. The core's rate is that of a loop of integer and floating-point work, functional and with timing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from record import Column, Record, parser, progress

ASKED_S = {"gemmini/gemm-512x512x512": 1.0, "gemmini/gemm-12544x64x256": 3.0}
CACHED_MS, FUNCTIONAL, TIMED = 300.0, 150.0, 50.0
TIMES = 5
LOOP = b"""\
static unsigned table[256];
int main(void) {
  unsigned long x = 1, sum = 0;
  double y = 1.0;
  for (int i = 0; i < ROUNDS; i++) {
    x = x * 6364136223846793005ul + 1442695040888963407ul;
    table[x >> 56] += (unsigned)x;
    sum += table[(x >> 40) & 255] ^ (x >> 7);
    y = y * 0.999 + (double)(i & 15);
    if (sum & 64) sum -= i; else sum += 3;
  }
  return (sum + (unsigned long)y) == 1;
}
"""


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    record = Record(
        benchmark="judge",
        claim="Whole judgements of the tiled start code, warm, and whole processes answered from the store; the "
        "simulated core's instructions a second on one loop.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    with tempfile.TemporaryDirectory() as home:
        os.environ["STROP_HOME"] = home
        rows = [judged(id, 1 if arguments.smoke else TIMES) for id in ASKED_S]
        cached = process(home, 1 if arguments.smoke else TIMES)
    rates = [rate(timed, 1 if arguments.smoke else TIMES) for timed in (False, True)]
    record.results |= {"judgements": rows, "cached": cached, "rates": rates}
    record.table(
        "Judgements",
        ["problem", Column("cycles", ",.0f"), Column("median s", ".2f"), Column("best s", ".2f")],
        [[row["problem"], row["cycles"], row["median_s"], row["best_s"]] for row in rows],
    )
    record.table(
        "The core",
        ["", Column("instructions", ",d"), Column("million/s, median", ".0f"), Column("million/s, best", ".0f")],
        [[row["how"], row["instructions"], row["median"], row["best"]] for row in rates],
    )
    for row in rows:
        record.bar(
            f"a judgement of {row['problem']}, warm", row["median_s"], at_most=ASKED_S[row["problem"]], unit=" s"
        )
    record.bar("a judgement answered from the store, whole process", cached["median_ms"], at_most=CACHED_MS, unit=" ms")
    for row, asked in zip(rates, (FUNCTIONAL, TIMED), strict=True):
        record.bar(f"the core, {row['how']}", row["median"], at_least=asked, unit=" million instructions/s", digits=0)
    record.finish()


def judged(id: str, times: int) -> dict[str, Any]:
    """Judge variants of a start code."""
    from strop.kernels.judge import judge
    from strop.kernels.registry import problem

    found = problem(id)
    samples, cycles = [], 0.0
    for number in range(times + 1):
        began = time.perf_counter()
        judgement = judge(found, f"// {number}\n{found.starts['tiled']}")
        samples.append(time.perf_counter() - began)
        assert judgement.ok, judgement.reason
        cycles = judgement.cycles or 0.0
    warm = samples[1:]
    progress(f"{id}: {median(warm):.2f} s")
    return {"problem": id, "cycles": cycles, "median_s": median(warm), "best_s": min(warm), "samples_s": warm}


def process(home: str, times: int) -> dict[str, Any]:
    """Ask the same question again and again, each time by a process."""
    from strop.kernels.registry import problem

    id = "gemmini/gemm-64x64x64"
    file = Path(home) / "mine.c"
    file.write_text(problem(id).start_code)
    strop = Path(sys.executable).with_name("strop")
    samples = []
    for _ in range(times + 1):
        began = time.perf_counter()
        subprocess.run([strop, "judge", id, file, "--json"], check=True, capture_output=True)
        samples.append(1e3 * (time.perf_counter() - began))
    return {"median_ms": median(samples[1:]), "best_ms": min(samples[1:]), "samples_ms": samples[1:]}


def rate(timed: bool, times: int) -> dict[str, Any]:
    """Run the loop."""
    from strop.kernels.simulate import simulate
    from strop.kernels.targets.gemmini.geometry import geometry
    from strop.kernels.targets.gemmini.toolchain import compile_program

    rounds = 4_000_000 if timed else 12_000_000
    elf = compile_program(
        {"loop.c": f"#define ROUNDS {rounds}\n".encode() + LOOP}, parameters=geometry("int8-16x16").header()
    )
    with tempfile.NamedTemporaryFile(suffix=".elf") as file:
        file.write(elf)
        file.flush()
        samples, count = [], 0
        for _ in range(times):
            began = time.perf_counter()
            done = simulate(file.name, timed=timed)
            samples.append(done.instructions / (time.perf_counter() - began) / 1e6)
            count = done.instructions
            assert done.ok
    how = "with timing" if timed else "functional"
    progress(f"{how}: {median(samples):.0f} million instructions/s")
    return {"how": how, "instructions": count, "median": median(samples), "best": max(samples), "samples": samples}


if __name__ == "__main__":
    main()
