"""The timed Gemmini beside cycles measured in FireSim: error per row and overall, a scatter plot, what is fitted.

`--data FILE` is the reduced copy of DOSA's measurements (ucb-bar/dosa, BSD-2-Clause, (c) 2022 Charles Hong). It isn't
part of the project. Two columns: the library's tiling through the loop unroller, and hand tilings by mapping string.
`--fit` looks again for the fitted numbers, on every other problem; the rest shows what they are worth.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import re
import statistics
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import gemmini_programs as programs

from strop import _native
from strop.kernels.targets.gemmini import parameters

ROOT = Path(__file__).resolve().parents[1]
# The third fitted number is the host's: cycles that the library's `tiled_conv_total_spad_rows` takes, once. The search
# for a convolution's tile calls it up to 2,600 times before the first command, and the measured cycles include that.
SEARCH = 130
DEFAULT_ACCUMULATOR_ROWS, DEFAULT_SCRATCHPAD_BYTES = 1024, 262144
# Shapes (M, K, N) whose ratios were published as a figure; nothing is fitted to them.
ANCHORS = ((512, 512, 512), (12544, 256, 64), (12544, 64, 256), (3136, 512, 128), (3136, 128, 512), (784, 1024, 256))


@dataclass(frozen=True)
class Row:
    """A measured layer, and what the model says of it."""

    kind: str  # "library" or "hand"
    layer: str
    how: str  # the tile, or the mapping
    measured: tuple[int, ...]
    sizes: tuple[int, ...]  # C, K, P, Q, R, S, stride
    evaluations: int = 0
    simulated: int = 0

    @property
    def reference(self) -> float:
        return statistics.median(self.measured)

    def error(self, search: float = SEARCH) -> float:
        return (self.simulated + self.evaluations * search) / self.reference - 1


def read(path: Path) -> list[Row]:
    """The rows that fit the default memories; what was measured several times is one row with several measurements."""
    with path.open(encoding="utf-8") as file:
        table = list(csv.DictReader(line for line in file if not line.startswith("#")))
    library: dict[tuple[str, ...], list[int]] = {}
    hand: list[Row] = []
    for r in table:
        sizes = tuple(int(r[name]) for name in ("C", "K", "P", "Q", "R", "S", "stride"))
        library.setdefault((*map(str, sizes), r["auto_tile"]), []).append(int(r["auto_cycles"]))
        if (
            int(r["hand_acc_rows"]) <= DEFAULT_ACCUMULATOR_ROWS
            and int(r["hand_spad_bytes"]) <= DEFAULT_SCRATCHPAD_BYTES
        ):
            hand.append(Row("hand", layer(sizes), r["hand_mapping"], (int(r["hand_cycles"]),), sizes))
    rows = []
    for key, measured in library.items():
        sizes = tuple(map(int, key[:-1]))
        rows.append(Row("library", layer(sizes), key[-1], tuple(sorted(measured)), sizes, evaluations(sizes)))
    return rows + hand


def layer(sizes: tuple[int, ...]) -> str:
    c, k, p, q, r, s, stride = sizes
    if q == 1 and r == 1:
        return f"GEMM {p}x{c}x{k}"
    return f"{r}x{s} {p}x{q} {c}->{k}" + (f" stride {stride}" if stride > 1 else "")


def evaluations(sizes: tuple[int, ...]) -> int:
    c, k, p, q, r, _, stride = sizes
    return 0 if q == 1 and r == 1 else programs.conv_tile(q, p, c, k, r, stride)[1]


def simulate(bench: _native.GemminiBench, row: Row) -> int:
    """Cycles, without the search for a tile. Raises ValueError where a mapping's tile doesn't fit."""
    c, k, p, q, r, s, stride = row.sizes
    bench.reset()
    # The core has just written the arrays, in this order.
    bench.warm(programs.C, p * q * k)
    bench.warm(programs.A, ((p - 1) * stride + r) * ((q - 1) * stride + s) * c)
    bench.warm(programs.B, r * s * c * k)
    if row.kind == "hand":
        program = programs.hand(q, p, c, k, r, stride, row.how)
    elif q == 1 and r == 1:
        program = programs.matmul_auto(p, k, c, programs.matmul_tile(p, k, c), reuse=False)
    else:
        tile, _ = programs.conv_tile(q, p, c, k, r, stride)
        program = programs.conv_auto(q, p, c, k, r, stride, tile, reuse=False, bias=False, first_layer=False)
    for part in program:
        bench.run(part, fence=False)
    return int(bench.run(programs.chunk([(programs.FENCE, 0, 0, 0, 0)])))


def simulated(rows: Iterable[Row], overrides: dict[str, float], most: float = math.inf) -> list[Row]:
    values = parameters.values("firesim", overrides)
    bench = _native.GemminiBench(
        {name: value for name, value in values.items() if not name.startswith("rocket.")}, programs.MEMORY_BYTES
    )
    done = []
    for row in rows:
        if row.reference > most:
            continue
        try:
            done.append(Row(**{**asdict(row), "measured": row.measured, "simulated": simulate(bench, row)}))
        except ValueError:
            continue  # the tile needs more than half of the default memories: not this machine's
        if sys.stderr.isatty():
            print(f"\r{len(done)} rows", end="", file=sys.stderr)
    return done


def rank_correlation(a: list[float], b: list[float]) -> float:
    def ranks(values: list[float]) -> list[float]:
        order = sorted(range(len(values)), key=values.__getitem__)
        found = [0.0] * len(values)
        for place, at in enumerate(order):
            found[at] = place
        return found

    return statistics.correlation(ranks(a), ranks(b))


def summary(rows: list[Row], search: float = SEARCH) -> dict[str, float]:
    errors = [row.error(search) for row in rows]
    return {
        "rows": len(rows),
        "median_error": statistics.median(map(abs, errors)),
        "mean_error": statistics.fmean(map(abs, errors)),
        "bias": statistics.median(errors),
        "within_10": sum(abs(e) <= 0.1 for e in errors) / len(errors),
        "rank_correlation": rank_correlation(
            [row.reference for row in rows], [row.simulated + row.evaluations * search for row in rows]
        ),
    }


def fit(rows: list[Row], most: float) -> dict[str, object]:
    """The best of a small grid on every other problem, and what it gives on the others."""
    best = None
    layers = sorted({row.layer for row in rows})
    fitted_on = set(layers[::2])
    for hit, miss in itertools.product((30, 40, 50), (80, 100, 120, 140)):
        done = simulated(rows, {"memory.hit": hit, "memory.miss": miss, "memory.write": hit}, most)
        for search in range(100, 170, 10):
            inside = [row for row in done if row.layer in fitted_on]
            score = statistics.fmean(abs(math.log1p(row.error(search))) for row in inside)
            if best is None or score < best[0]:
                outside = [row for row in done if row.layer not in fitted_on]
                best = (score, {"memory.hit": hit, "memory.miss": miss, "search": search},
                        summary(inside, search), summary(outside, search))  # fmt: skip
    assert best is not None
    return {"fitted": best[1], "inside": best[2], "outside": best[3]}


def scatter(rows: list[Row]) -> str:
    """Simulated over measured, both logarithmic, as SVG."""
    size, margin = 480, 56
    low = math.floor(math.log10(min(row.reference for row in rows)))
    high = math.ceil(math.log10(max(row.reference for row in rows)))

    def at(value: float) -> float:
        return (math.log10(value) - low) / (high - low) * (size - 2 * margin)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" font-family="sans-serif" '
        'font-size="12"><title>Simulated beside measured cycles</title>'
        "<style>.l{stroke:#888;stroke-opacity:.4}.t{fill:#888}.a{fill:#0a7}.h{fill:#d60}circle{fill-opacity:.7}</style>"
    ]
    for power in range(low, high + 1):
        x = margin + at(10**power)
        y = size - margin - at(10**power)
        parts.append(f'<line class="l" x1="{x:.1f}" y1="{margin}" x2="{x:.1f}" y2="{size - margin}"/>')
        parts.append(f'<line class="l" x1="{margin}" y1="{y:.1f}" x2="{size - margin}" y2="{y:.1f}"/>')
        parts.append(f'<text class="t" x="{x:.1f}" y="{size - margin + 18}" text-anchor="middle">1e{power}</text>')
        parts.append(f'<text class="t" x="{margin - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    for factor, dash in ((1.0, ""), (1.1, ' stroke-dasharray="3 3"'), (1 / 1.1, ' stroke-dasharray="3 3"')):
        shift = math.log10(factor) / (high - low) * (size - 2 * margin)
        parts.append(
            f'<line class="l" x1="{margin}" y1="{size - margin - shift:.1f}" x2="{size - margin}" '
            f'y2="{margin - shift:.1f}"{dash}/>'
        )
    for row in rows:
        x, y = margin + at(row.reference), size - margin - at(row.simulated + row.evaluations * SEARCH)
        parts.append(
            f'<circle class="{"a" if row.kind == "library" else "h"}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{row.layer}: {row.error():+.0%}</title></circle>"
        )
    parts.append(f'<text class="t" x="{size / 2}" y="{size - 12}" text-anchor="middle">measured cycles</text>')
    parts.append(f'<text class="t" x="16" y="{size / 2}" transform="rotate(-90 16 {size / 2})" text-anchor="middle">')
    parts.append(
        'simulated cycles</text><circle class="a" cx="70" cy="24" r="4"/><text class="t" x="80" y="28">library'
    )
    parts.append(
        '</text><circle class="h" cx="140" cy="24" r="4"/><text class="t" x="150" y="28">hand tilings</text></svg>'
    )
    return "".join(parts)


def anchors() -> list[dict[str, float]]:
    """Cycles of the unroller on the six published shapes, cold, and its share of the array's bound."""
    values = parameters.values("firesim")
    bench = _native.GemminiBench(
        {name: value for name, value in values.items() if not name.startswith("rocket.")}, programs.MEMORY_BYTES
    )
    found = []
    for m, k, n in ANCHORS:
        bench.reset()
        for part in programs.matmul_auto(m, n, k, programs.matmul_tile(m, n, k)):
            bench.run(part, fence=False)
        cycles = int(bench.run(programs.chunk([(programs.FENCE, 0, 0, 0, 0)])))
        found.append({"m": m, "k": k, "n": n, "cycles": cycles, "share": m * k * n / 256 / cycles})
    return found


def page(rows: list[Row], fitted: dict[str, object] | None, most: float) -> str:
    template = (Path(__file__).parent / "gemmini_calibration.md").read_text(encoding="utf-8")

    def line(name: str, some: list[Row]) -> str:
        s = summary(some)
        return (
            f"| {name} | {s['rows']:.0f} | {s['median_error']:.1%} | {s['mean_error']:.1%} | {s['bias']:+.1%} | "
            f"{s['within_10']:.0%} | {s['rank_correlation']:.3f} |"
        )

    library, hand = ([row for row in rows if row.kind == kind] for kind in ("library", "hand"))
    overall = "\n".join([line("library tiling", library), line("hand tiling", hand), line("all", rows)])
    detail = "\n".join(
        f"| {row.layer} | {row.kind} | `{row.how.replace('L2[WI] N1 ', '')}` | {span(row.measured)} | "
        f"{row.simulated + row.evaluations * SEARCH:,} | {row.error():+.0%} |"
        for row in sorted(rows, key=lambda row: (row.kind, row.layer))
    )
    shown = "\n".join(
        f"| {a['m']}×{a['k']}×{a['n']} | {a['m'] * a['k'] * a['n'] // 256:,} | {a['cycles']:,} | {a['share']:.0%} |"
        for a in anchors()
    )
    left_out = "" if math.isinf(most) else f"Rows of more than {most:,.0f} measured cycles are left out."
    cross = "not run"
    if fitted is not None:
        numbers, inside, outside = fitted["fitted"], fitted["inside"], fitted["outside"]
        assert isinstance(numbers, dict)
        assert isinstance(inside, dict)
        assert isinstance(outside, dict)
        cross = (
            f"on every other layer the grid's best is {', '.join(f'`{k}` {v}' for k, v in numbers.items())}: median "
            f"error {inside['median_error']:.1%} on the {inside['rows']} rows fitted to, "
            f"{outside['median_error']:.1%} on the {outside['rows']} others "
            f"(rank correlation {outside['rank_correlation']:.3f})"
        )
    return (
        template.replace("{overall}", overall).replace("{detail}", detail).replace("{anchors}", shown)
        .replace("{cross}", cross)
        .replace("{left_out}", left_out).replace("{search}", str(SEARCH))
    )  # fmt: skip


def span(measured: tuple[int, ...]) -> str:
    return f"{measured[0]:,}" if measured[0] == measured[-1] else f"{measured[0]:,}–{measured[-1]:,}"


def with_loop(made: str, before: str) -> str:
    """Keep the section of gemmini_software_loop.py, which needs what isn't here, from the page as it was."""
    kept = re.search(r"^## The library's software loop.*?(?=^## )", before, re.MULTILINE | re.DOTALL)
    return made.replace("## What doesn't fit", f"{kept[0] if kept else ''}## What doesn't fit", 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="firesim.csv")
    parser.add_argument("--most", type=float, default=math.inf, help="only rows of at most so many measured cycles")
    parser.add_argument("--fit", action="store_true", help="look for the fitted numbers again")
    parser.add_argument("--fit-most", type=float, default=8e5, help="rows of at most so many cycles are fitted to")
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument(
        "--page", action="store_true", help="write docs/explanation/gemmini-calibration.md and its picture"
    )
    options = parser.parse_args()
    rows = read(options.data)
    fitted = fit(rows, options.fit_most) if options.fit else None
    done = simulated(rows, {}, options.most)
    record = {
        "summary": {kind: summary([r for r in done if r.kind == kind]) for kind in ("library", "hand")}
        | {"all": summary(done)},
        "fit": fitted,
        "rows": [asdict(row) | {"error": row.error()} for row in done],
    }
    for row in done:
        total = row.simulated + row.evaluations * SEARCH
        print(f"{row.kind:8} {row.layer:28} {span(row.measured):>26} {total:>12,} {row.error():+.0%}")
    print(json.dumps({"summary": record["summary"], "fit": fitted}, indent=1))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if options.page:
        docs = ROOT / "docs" / "explanation"
        (docs / "gemmini-calibration.svg").write_text(scatter(done) + "\n", encoding="utf-8")
        path = docs / "gemmini-calibration.md"
        written = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(with_loop(page(done, fitted, options.most), written), encoding="utf-8")


if __name__ == "__main__":
    main()
