"""Gemmini's software loop against its hardware unroller, on six matrix products, beside the published ratios.

The library's header has, in a comment, the loop that its `sp_tiled_matmul_ws` was before the unroller took over. Here
it is switched on: the same header, the same tiles, the same machine, in both forms. One thing more is changed: the
newer outer loop keeps a tile of A or B by handing NULL to the unroller, which the older loop doesn't know; it is handed
none. No parameter of the machine was fitted to these shapes. The header is not ours and isn't kept here: give a
checkout of ucb-bar/gemmini-rocc-tests.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from record import Column, Record, geometric_mean, parser, progress

# M, N, K and the published speed-up of the unroller over the software library, read from a figure to 0.1
SHAPES = (
    (512, 512, 512, 6.0),
    (12544, 256, 64, 6.5),
    (12544, 64, 256, 5.9),
    (3136, 512, 128, 6.3),
    (3136, 128, 512, 5.9),
    (784, 1024, 256, 6.2),
)
READING = 0.1  # how exactly a ratio can be read from the figure
REGISTERS = """\
#define ROCC_INSTRUCTION_0_R_R(x, rs1, rs2, funct) \\
  { asm volatile(".insn r 0x7b, 3, %2, x0, %0, %1" ::"r"((uint64_t)(rs1)), "r"((uint64_t)(rs2)), "i"(funct)); }
#define ROCC_INSTRUCTION(x, rd, rs1, rs2, funct) \\
  { asm volatile(".insn r 0x7b, 7, %3, %0, %1, %2" \\
                 : "=r"(rd) : "r"((uint64_t)(rs1)), "r"((uint64_t)(rs2)), "i"(funct)); }
"""
PROGRAM = """\
#include "include/gemmini.h"
#define M {m}
#define N {n}
#define K {k}
static elem_t A[M][K] row_align(4), B[K][N] row_align(4), C[M][N] row_align(4);
static uint64_t now(void) {{ uint64_t c; asm volatile("rdcycle %0" : "=r"(c)); return c; }}
int main(void) {{
  uint64_t took = 0;
  for (int time = 0; time < 2; time++) {{
    gemmini_flush(0);
    gemmini_fence();
    uint64_t start = now();
    tiled_matmul_auto(M, N, K, (elem_t *)A, (elem_t *)B, NULL, (elem_t *)C, K, N, N, N, MVIN_SCALE_IDENTITY,
                      MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, NO_ACTIVATION, ACC_SCALE_IDENTITY, 0, false, false,
                      false, false, false, 0, WS);
    gemmini_fence();
    took = now() - start;
  }}
  return (int)took;
}}
double sqrt(double x) {{ asm("fsqrt.d %0, %1" : "=f"(x) : "f"(x)); return x; }}
int printf(const char *text, ...) {{ return 0; }}
void exit(int code) {{ for (;;); }}
"""


def main() -> None:
    asked = parser(__doc__ or "")
    asked.add_argument("checkout", type=Path, help="a checkout of ucb-bar/gemmini-rocc-tests")
    asked.add_argument("--libc", default="/usr/lib/picolibc/riscv64-unknown-elf/include", help="headers of a libc")
    arguments = asked.parse_args()
    record = Record(
        benchmark="gemmini_software_loop",
        claim="cycles of tiled_matmul_auto by the software loop and by the unroller (LOOP_WS), second of two runs",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    rows = []
    for m, n, k, published in SHAPES[:1] if arguments.smoke else SHAPES:
        software, unroller = (
            cycles(arguments.checkout, arguments.libc, m, n, k, software=software) for software in (True, False)
        )
        ideal = m * n * k / 256
        rows.append({
            "shape": f"{m}x{n}x{k}", "software": software, "unroller": unroller, "ratio": software / unroller,
            "published": published, "utilisation": ideal / unroller,
        })  # fmt: skip
        progress(
            f"{rows[-1]['shape']}: {software:,} / {unroller:,} = {software / unroller:.2f} (published {published})"
        )
    record.results["rows"] = rows
    columns = ["M x N x K", Column("software loop", ",d"), Column("unroller", ",d"), Column("of peak", ".0%")]
    columns += [Column("ratio", ".2f"), Column("published", ".1f")]
    keys = ("shape", "software", "unroller", "utilisation", "ratio", "published")
    record.table("Cycles, and how much faster the unroller is", columns, [[row[key] for key in keys] for row in rows])
    record.results["geometric_mean"] = geometric_mean(row["ratio"] for row in rows)
    right, told = ordered(rows)
    record.results |= {"pairs_in_order": right, "pairs": told}
    record.bar(
        f"the published order: pairs of shapes whose published ratios differ by more than {READING}",
        right / told if told else None, at_least=1.0, reason="one shape",
    )  # fmt: skip
    record.finish()


def ordered(rows: list[dict[str, Any]]) -> tuple[int, int]:
    """Count the pairs in the published order, of those that the figure tells apart."""
    pairs = [(one, two) for one in rows for two in rows if one["published"] - two["published"] > READING + 1e-9]
    return sum(one["ratio"] > two["ratio"] for one, two in pairs), len(pairs)


def cycles(checkout: Path, libc: str, m: int, n: int, k: int, *, software: bool) -> int:
    """Compile the header's code for a shape and run it."""
    import subprocess

    from strop.kernels.simulate import simulate
    from strop.kernels.targets.gemmini.toolchain import FLAGS, LINK, include, toolchain

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "include").mkdir()
        for file in (checkout / "include").glob("*.h"):
            (folder / "include" / file.name).write_text(file.read_text())
        (folder / "rocc-software" / "src").mkdir(parents=True)
        (folder / "rocc-software" / "src" / "xcustom.h").write_text(REGISTERS)
        if software:
            header = folder / "include" / "gemmini.h"
            header.write_text(switched_on(header.read_text()))
        (folder / "main.c").write_text(PROGRAM.format(m=m, n=n, k=k))
        for name in ("start.S", "program.ld", "runtime.c"):
            (folder / name).write_bytes(include(name))
        flags = [flag for flag in FLAGS if not flag.startswith("-Werror")]
        where = ["-I", folder, "-isystem", libc, "-DNORM_STAT_IDS=4"]
        sources = [folder / name for name in ("start.S", "main.c", "runtime.c")]
        made = ["-T", folder / "program.ld", *sources, "-o", folder / "program.elf"]
        chosen = toolchain()
        subprocess.run(
            [*chosen.command, *chosen.options, *flags, "-ffast-math", "-w", "-Wl,--no-warnings", *LINK, *where, *made],
            check=True,
        )
        done = simulate(folder / "program.elf", most_instructions=4_000_000_000)
    assert done.outcome == "exited", done.ended
    return done.code


def switched_on(header: str) -> str:
    """Take the comment marks off the software loop, and the unroller's call out."""
    found = re.compile(r"/\*\n(  const uint32_t A_sp_addr_start = 0;.*?)\*/\n\n  // Combined loop\n.*?;\n", re.DOTALL)
    changed, count = found.subn(lambda match: match[1], header)
    changed, kept = re.subn(r"bool ([ab])_reuse = \(\w+ \* K0[^;]*;", r"bool \1_reuse = false;", changed)
    assert (count, kept) == (1, 2), "the header isn't the one that this script knows"
    return changed


if __name__ == "__main__":
    main()
