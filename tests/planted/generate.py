"""Draws cases from a seed: `python -m tests.planted.generate VENDOR --seed TEXT --cases 70 --name dev`.

A draw that has no clear culprit, isn't of the kind asked for, or can't be told from another is thrown away and counted;
the counts are written with the cases.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial

from tests.planted.case import FOLDER, Case, how, write
from tests.planted.culprit import LEAST, MARGIN, savings, together, twin
from tests.planted.kinds import KINDS, fits, holds, plant
from tests.planted.loops import hottest, outcomes
from tests.planted.machine import Machine, Settings
from tests.planted.program import Program, load
from tests.planted.sampler import sample

TRIES = 400
MOST_STEPS = 2500  # dynamic, of all warps
LOADS = ("global load", "local load", "constant load", "scalar load", "atomic", "async copy", "global store")


def main() -> None:
    """Read the command line, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vendor", choices=sorted(KINDS))
    parser.add_argument("--seed", default="development")
    parser.add_argument("--name", default="dev", help="the file is cases/VENDOR-NAME.json")
    parser.add_argument("--cases", type=int, default=70)
    given = parser.parse_args()
    refused: Counter[str] = Counter()
    cases = draw(given.vendor, given.seed, given.cases, given.name, refused)
    path = FOLDER / f"{given.vendor}-{given.name}.json"
    write(path, cases, seed=given.seed, refused=refused)
    print(path.name, len(cases), dict(Counter(case.kind for case in cases)), "refused:", dict(refused))


def draw(vendor: str, seed: str, count: int, name: str, refused: Counter[str]) -> list[Case]:
    """Draw that many cases, the vendor's kinds in turn; one that can't be drawn is of the next kind, and counted."""
    found: list[Case] = []
    with ProcessPoolExecutor() as pool:
        for number, (case, why) in enumerate(pool.map(partial(_draw, vendor, seed), range(count))):
            refused.update(why)
            if case is not None:
                found.append(replace(case, id=f"{vendor}-{name}-{number}"))
            print(number, case and case.kind, case and case.program, file=sys.stderr, flush=True)
    return found


def _draw(vendor: str, seed: str, number: int) -> tuple[Case | None, Counter[str]]:
    """Draw one case by its number: it depends on no other."""
    programs = sorted(load(vendor).values(), key=lambda program: program.id)
    kinds = KINDS[vendor]
    refused: Counter[str] = Counter()
    rng = random.Random(hashlib.sha256(f"{seed}/{vendor}/{number}".encode()).digest())
    for shift in range(len(kinds)):
        kind = kinds[(number + shift) % len(kinds)]
        case = _case(kind, [program for program in programs if fits(kind, program)], rng, refused)
        if case is not None:
            return case, refused
        refused[f"no {kind} in {TRIES} tries"] += 1
    return None, refused


def _case(kind: str, programs: list[Program], rng: random.Random, refused: Counter[str]) -> Case | None:
    for _ in range(TRIES):
        program = rng.choice(programs)
        settings = draw_settings(program, rng)
        try:
            dry = Machine(program, settings).run(spans=True, limit=MOST_STEPS)
        except RuntimeError:
            refused["too long"] += 1
            continue
        chosen = plant(kind, program, dry, settings, rng)
        if chosen is None:
            continue  # nothing of the kind in this program: not a case that was refused
        machine = Machine(program, replace(settings, plants=(chosen,)))
        run = machine.run(spans=True)
        if not holds(kind, program, run, chosen.address):
            refused["not of the kind"] += 1
            continue
        if 1 - machine.run(without=[chosen.address]).cycles / run.cycles < LEAST:
            refused["no margin"] += 1
            continue
        ranked = savings(machine, run)
        (most, culprit), (second, _) = ranked[0], ranked[1] if len(ranked) > 1 else (0.0, -1)
        if culprit != chosen.address:
            refused["another costs more"] += 1
        elif most < LEAST or most < MARGIN * second:
            refused["no margin"] += 1
        elif together(machine, run, culprit) * MARGIN > most:
            refused["several that overlap cost as much"] += 1
        elif twin(machine, run, culprit) is not None:
            refused["same profile as another's"] += 1
        else:
            every, first = _rhythm(program, run.cycles, settings, rng)
            taken = len(sample(run, every=every, first=first, how=how(program.vendor)))
            if not 150 <= taken <= 500:
                refused["too few or too many samples"] += 1
                continue
            return Case(
                id="",
                vendor=program.vendor,
                kind=kind,
                program=program.id,
                settings=machine.settings,
                every=every,
                first=first,
                culprit=culprit,
                savings=(round(most, 3), round(second, 3)),
            )
    return None


def _rhythm(program: Program, cycles: int, settings: Settings, rng: random.Random) -> tuple[int, int]:
    """Return how often to sample for 200 to 500 samples, and from when on."""
    each = settings.schedulers * (settings.warps if how(program.vendor) == "all" else 1)
    every = max(1, int(cycles * each / rng.uniform(220, 490)))
    return every, rng.randrange(every)


def draw_settings(program: Program, rng: random.Random) -> Settings:
    """Draw latencies, trips and the machine's shape. No range is from any table: they are wide on purpose."""
    latency: dict[str, tuple[int, int]] = {}
    memory = rng.uniform(80, 500)
    for op in LOADS:
        low = int(memory * rng.uniform(0.5, 1.3))
        latency[op] = (low, int(low * rng.uniform(1.05, 1.6)))
    for op, least, most in (("shared load", 14, 60), ("shared store", 10, 40), ("special", 10, 50), ("read", 5, 20)):
        low = int(rng.uniform(least, most))
        latency[op] = (low, int(low * rng.uniform(1.0, 1.8)))
    for op in ("convert", "double", "tensor", "variable", "local store"):
        low = int(rng.uniform(10, 45))
        latency[op] = (low, int(low * rng.uniform(1.0, 1.5)))
    pipes = {pipe: rng.randint(1, 6) for pipe in sorted({step.pipe for step in program.steps} - {"alu"})}
    schedulers, warps = rng.choice((1, 1, 2)), rng.randint(1, 6)
    inside = len(hottest(program))
    once = len(program.steps) - inside
    # As many trips and warps as there is time for; a branch may still make it longer.
    fit = max(1, MOST_STEPS // (once + 3 * inside))
    if schedulers * warps > fit:
        schedulers, warps = 1, min(warps, fit)
    most = max(2, (MOST_STEPS // (schedulers * warps) - once) // max(1, inside))
    return Settings(
        seed=rng.getrandbits(32),
        latency=latency,
        branches=outcomes(program, rng.randint(2, min(12, most)), rng.randint(2, 6), rng=rng),
        pipes=pipes,
        schedulers=schedulers,
        warps=warps,
        policy=rng.choice(("gto", "rr")),
        alu=rng.randint(3, 7),
    )


if __name__ == "__main__":
    main()
