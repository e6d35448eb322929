"""Gemmini's public bare-metal tests on the simulated machine, with time and without.

Each program compares what the accelerator made with what its own C code made, and ends with code 0 if they agree. The
programs are not ours and aren't kept here: give checkouts of ucb-bar/gemmini-rocc-tests, riscv-software-src/riscv-tests
and riscv/riscv-test-env. Needed: riscv64-unknown-elf-gcc, and picolibc for its headers, libm and libc. What stands for
rocc-software's header is two macros.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gemmini_software_loop import REGISTERS
from record import Column, Record, parser, progress

FLAGS = (
    *("-DPREALLOCATE=1", "-DMULTITHREAD=1", "-mcmodel=medany", "-std=gnu99", "-O2", "-ffast-math", "-fno-common"),
    *("-fno-builtin-printf", "-fno-tree-loop-distribute-patterns", "-march=rv64gc", "-mabi=lp64d", "-w"),
    *("-DID_STRING=", "-DPRINT_TILE=0", "-DBAREMETAL=1", "-nostdlib", "-nostartfiles", "-static", "-Wl,--no-warnings"),
)
# Where a program can't end with code 0, and why.
EXPECTED = {
    ("gemmini_counter", "untimed"): "it asks for cycles that pass between two commands; without time none do",
    ("global_average", "timed"): "it has no fence before it compares; with one it passes",
    ("transpose_scale", "untimed"): "it is for an older header: its macro has two arguments more",
    ("transpose_scale", "timed"): "it is for an older header: its macro has two arguments more",
}
SMOKE = ("mvin_mvout", "matmul_ws", "gemmini_counter")
MOST_INSTRUCTIONS = 400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkouts:
    """Where the foreign sources are."""

    tests: Path
    riscv_tests: Path
    env: Path
    libc: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended on one machine."""

    passed: bool
    ended: str
    cycles: int | None = None
    instructions: int = 0
    seconds: float = 0.0


def main() -> None:
    asked = parser(__doc__ or "")
    asked.add_argument("tests", type=Path, help="a checkout of ucb-bar/gemmini-rocc-tests")
    asked.add_argument("riscv_tests", type=Path, help="a checkout of riscv-software-src/riscv-tests")
    asked.add_argument("env", type=Path, help="a checkout of riscv/riscv-test-env")
    asked.add_argument("--libc", type=Path, default=Path("/usr/lib/picolibc/riscv64-unknown-elf"), help="picolibc")
    asked.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these programs alone")
    arguments = asked.parse_args()
    where = Checkouts(
        tests=arguments.tests, riscv_tests=arguments.riscv_tests, env=arguments.env, libc=arguments.libc
    )  # fmt: skip
    record = Record(
        benchmark="gemmini_public_tests",
        claim="the public bare-metal tests of Gemmini end with code 0 on the simulated machine, with time and without",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    names = sorted(path.stem for path in (where.tests / "bareMetalC").glob("*.c"))
    names = [name for name in names if name in (arguments.only or (SMOKE if arguments.smoke else names))]
    rows = []
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(2) as pool:
        for name, (untimed, timed) in zip(
            names, pool.map(lambda name: both(where, name, Path(temporary)), names), strict=True
        ):
            failed = {kind: ran.ended for kind, ran in (("untimed", untimed), ("timed", timed)) if not ran.passed}
            rows.append({
                "name": name, "untimed": untimed.passed, "timed": timed.passed, "instructions": timed.instructions,
                "cycles": timed.cycles, "reason": reason(name, failed), "seconds": timed.seconds,
            })  # fmt: skip
            progress(f"{name}: untimed {said(untimed)}; timed {said(timed)}")
    record.results["rows"] = rows
    columns = ["program", "untimed", "timed", Column("instructions", ",d"), Column("cycles", ",d"), "why not"]
    shown = [
        [row["name"], mark(row["untimed"]), mark(row["timed"]), row["instructions"], row["cycles"], row["reason"]]
        for row in rows
    ]
    record.table("Public programs, each against its own C code", columns, shown)
    for kind in ("untimed", "timed"):
        wanted = [row for row in rows if (row["name"], kind) not in EXPECTED]
        record.bar(
            f"programs that end with code 0, {kind} (of {len(wanted)})",
            sum(bool(row[kind]) for row in wanted), at_least=float(len(wanted)),
        )  # fmt: skip
    record.finish()


def said(ran: Ran) -> str:
    return "passed" if ran.passed else ran.ended


def mark(passed: bool) -> str:
    return "yes" if passed else "no"


def reason(name: str, failed: Mapping[str, str]) -> str:
    """Say why a program didn't pass: what is known of it, or how it ended."""
    return "; ".join(dict.fromkeys(EXPECTED.get((name, kind), ended) for kind, ended in failed.items()))


def both(where: Checkouts, name: str, folder: Path) -> tuple[Ran, Ran]:
    """Compile a program and run it on both machines."""
    try:
        elf = compiled(where, name, folder)
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if "error" in line or "undefined" in line]
        failed = Ran(passed=False, ended=f"doesn't compile: {lines[0].split(': ', 1)[-1] if lines else 'no reason'}")
        return failed, failed
    untimed, timed = (ran(elf, timed=timed) for timed in (False, True))
    elf.unlink()
    return untimed, timed


def ran(elf: Path, *, timed: bool) -> Ran:
    """Run a program."""
    from strop.kernels.simulate import simulate

    start = time.perf_counter()
    try:
        done = simulate(elf, timed=timed, most_instructions=MOST_INSTRUCTIONS)
    except RuntimeError as error:  # the machine contradicts itself
        return Ran(passed=False, ended=str(error))
    last = done.output.decode(errors="replace").strip().splitlines()[-1:]
    return Ran(
        passed=done.ok, ended=" ".join([done.ended, *(f"({line[:60]})" for line in last)]), cycles=done.cycles,
        instructions=done.instructions, seconds=time.perf_counter() - start,
    )  # fmt: skip


def compiled(where: Checkouts, name: str, folder: Path) -> Path:
    """Compile and link a program. Raises CalledProcessError."""
    header = folder / "rocc-software" / "src" / "xcustom.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    if not header.exists():
        header.write_text(REGISTERS)
    common = where.riscv_tests / "benchmarks" / "common"
    libraries = where.libc / "lib" / "rv64imafdc" / "lp64d"
    elf = folder / f"{name}.elf"
    command = ["riscv64-unknown-elf-gcc", *FLAGS, *included(where, folder), "-T", common / "test.ld"]
    command += [where.tests / "bareMetalC" / f"{name}.c", common / "syscalls.c", common / "crt.S"]
    command += ["-L", libraries, "-lm", "-lc", "-lgcc", "-o", elf]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return elf


def included(where: Checkouts, folder: Path) -> Iterator[str | Path]:
    """The folders with headers, as options."""
    yield from ("-isystem", where.libc / "include")
    common = where.riscv_tests / "benchmarks" / "common"
    for path in (where.env, where.riscv_tests, where.tests, common, folder):
        yield from ("-I", path)


if __name__ == "__main__":
    main()
