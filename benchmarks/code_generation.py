"""How long generating code takes for the schedules that searches choose; how many candidates are measured a second.

Generation is `lower()` and the native compilation together, on the wall clock of a Python caller; what the native part
counts itself stands beside it. The rate is that of the measuring service over batches of random legal schedules as
`complete` leaves them: each is lowered, sent, compiled, checked against float64 and timed. Starting the worker and
computing the reference result aren't in the rate; they are given apart.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from problems import instruction_sets, question_of, random_schedules
from record import Column, Record, parser, progress
from shapes import TEXT, Shape, seeded_shapes, spread_shapes

TIMES = 25
MEDIAN_MS, WORST_MS, RATE = 0.5, 5.0, 300
BATCHES = 4


def main() -> None:
    asked = parser(__doc__ or "")
    asked.add_argument(
        "--schedules", type=Path, metavar="FILE", help="take what `standard` chose from matmul.py's record, don't tune"
    )
    arguments = asked.parse_args()
    record = Record(
        benchmark="code_generation",
        claim="`lower()` and native compilation over the seeded shapes, with the schedules that `standard` chose and "
        "those that the model alone (`analytic`) recommends. Random completed candidates through the measuring "
        "service.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    with tempfile.TemporaryDirectory() as home:
        os.environ["STROP_HOME"] = home
        for isa in instruction_sets():
            measure(record, isa, arguments)
    record.finish()


def measure(record: Record, isa: str, arguments: argparse.Namespace) -> None:
    """Both claims with one instruction set."""
    shapes = spread_shapes(2) if arguments.smoke else seeded_shapes()
    known = recorded(arguments.schedules, isa) if arguments.schedules else {}
    generated = []
    for shape in shapes:
        chosen = {"standard": known.get(str(shape)) or tuned(shape, isa, smoke=arguments.smoke)}
        chosen["analytic"] = analytic(shape, isa)
        generated += [generation(shape, isa, source, moves) for source, moves in chosen.items()]
        progress(f"{isa} {shape}: {generated[-2]['median_ms']:.2f} ms to generate what `standard` chose")
    report_generation(record, isa, generated, len(shapes))
    rates = []
    for shape in shapes:
        rates.append(rate(shape, isa, batches=1 if arguments.smoke else BATCHES))
        progress(f"{isa} {shape}: {rates[-1]['per_s']:.0f} candidates/s")
    report_rate(record, isa, rates)


def report_generation(record: Record, isa: str, generated: list[dict[str, Any]], shapes: int) -> None:
    """Add the times of code generation to the record."""
    record.results[f"{isa} generation"] = generated
    numbers = [Column(head, ".2f") for head in ("median ms", "native ms", "first ms", "worst ms")]
    rows = []
    for source in ("standard", "analytic"):
        mine = [each for each in generated if each["source"] == source]
        middle, worst = median(each["median_ms"] for each in mine), max(each["worst_ms"] for each in mine)
        slowest = max(mine, key=lambda each: each["median_ms"])
        native, first = median(each["native_ms"] for each in mine), max(each["first_ms"] for each in mine)
        size = median(each["code_bytes"] for each in mine)
        rows.append([source, middle, native, first, worst, slowest["median_ms"], slowest["shape"], size])
        what = f"Code generation, {isa}, {shapes} shapes with the schedules of `{source}`"
        record.bar(f"{what}: median", middle, at_most=MEDIAN_MS, unit=" ms")
        record.bar(f"{what}: worst single one", worst, at_most=WORST_MS, unit=" ms")
    record.table(
        f"Code generation, {isa}: medians over the shapes, the worst first call and the worst call of all",
        ["schedules of", *numbers, Column("slowest shape's median", ".2f"), "which", Column("code bytes", ".0f")],
        rows,
    )


def report_rate(record: Record, isa: str, rates: list[dict[str, Any]]) -> None:
    """Add the candidates per second to the record."""
    record.results[f"{isa} rate"] = rates
    columns = [
        Column("candidates", "d"),
        Column("per s", ".0f"),
        Column("with proposing", ".0f"),
        Column("start ms", ".0f"),
    ]
    record.table(
        f"Candidates measured and checked, {isa}",
        ["m x n x k", *columns, "verdicts"],
        [
            [
                *(
                    each["shape"],
                    each["candidates"],
                    each["per_s"],
                    each["per_s_with_proposing"],
                    1e3 * each["start_s"],
                ),
                ", ".join(f"{count} {verdict}" for verdict, count in each["verdicts"].items()),
            ]
            for each in rates
        ],
    )
    candidates, seconds = (sum(each[key] for each in rates) for key in ("candidates", "seconds"))
    record.bar(
        f"Candidates measured and checked per second, {isa}, over {len(rates)} shapes",
        candidates / seconds,
        at_least=RATE,
        unit="/s",
        digits=0,
        headline=True,
    )


def recorded(path: Path, isa: str) -> dict[str, Any]:
    """The schedules of a record of matmul.py, by shape."""
    found = json.loads(path.read_text())["results"].get(isa, {"shapes": []})
    return {each["shape"]: each["moves"] for each in found["shapes"]}


def tuned(shape: Shape, isa: str, *, smoke: bool) -> list[Any]:
    """What `standard` chooses, as JSON."""
    import strop
    from strop.settings import scope

    with scope(isa=isa):
        found = strop.tune(TEXT, effort="quick" if smoke else "standard", threads=1, fresh=True, **shape.sizes)
    return [move.to_json() for move in found.schedule]


def analytic(shape: Shape, isa: str) -> list[Any]:
    """What the machine model recommends, as JSON."""
    from strop.loops import searches

    (candidate, *_) = searches.make("analytic", question_of(shape, isa).problem).ask(1)
    return list(candidate.payload["schedule"])


def generation(shape: Shape, isa: str, source: str, moves: list[Any]) -> dict[str, Any]:
    """Times of generating one kernel, again and again."""
    from strop import _native
    from strop.loops.lower import lower
    from strop.loops.moves import Move, replay

    problem = question_of(shape, isa).problem
    nest = replay(problem.contraction, [Move.from_json(move) for move in moves])
    wall, native, code_bytes = [], [], 0
    for _ in range(TIMES):
        began = time.perf_counter()
        kernel = _native.compile(*lower(nest, problem.layout, isa))
        wall.append(1e3 * (time.perf_counter() - began))
        native.append(1e3 * kernel.compile_seconds)
        code_bytes = kernel.code_bytes
    return {
        "shape": str(shape),
        "source": source,
        "schedule": nest.summary,
        "median_ms": median(wall),
        "best_ms": min(wall),
        "worst_ms": max(wall),
        "first_ms": wall[0],
        "native_ms": median(native),
        "code_bytes": code_bytes,
        "samples_ms": wall,
        "samples_native_ms": native,
    }


def rate(shape: Shape, isa: str, *, batches: int) -> dict[str, Any]:
    """How many candidates the service gets through: batches of the size that a run sends."""
    from strop.loops.hunt import BATCH, service_for
    from strop.loops.lower import lower

    question = question_of(shape, isa)
    problem = question.problem
    began = time.perf_counter()
    proposed = random_schedules(question, batches * BATCH, seed=0, share_completed=1.0)
    proposing_s = time.perf_counter() - began
    verdicts: Counter[str] = Counter()
    with service_for(question) as service:
        began = time.perf_counter()
        service.peak()
        start_s = time.perf_counter() - began
        began = time.perf_counter()
        for first in range(0, len(proposed), BATCH):
            batch = proposed[first : first + BATCH]
            specs = [(str(first + i), lower(nest, problem.layout, isa)) for i, (_, nest) in enumerate(batch)]
            verdicts.update(result.verdict.value for result in service.evaluate(specs))
        seconds = time.perf_counter() - began
    return {
        "shape": str(shape),
        "candidates": len(proposed),
        "seconds": seconds,
        "per_s": len(proposed) / seconds,
        "per_s_with_proposing": len(proposed) / (seconds + proposing_s),
        "start_s": start_s,
        "verdicts": dict(verdicts),
    }


if __name__ == "__main__":
    main()
