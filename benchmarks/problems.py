"""Tuning problems and schedules for the benchmarks that work below `strop.tune`."""

from __future__ import annotations

import random
from typing import Any

from shapes import TEXT, Shape

from strop.loops.kernel import completed
from strop.loops.moves import (
    Accumulators,
    Balance,
    Move,
    Pack,
    Prefetch,
    Reorder,
    Schedule,
    Split,
    Swap,
    Tile,
    Unroll,
    Vectorize,
    legal,
)
from strop.loops.nest import Nest
from strop.loops.question import Question, read_question
from strop.settings import scope

FACTORS = (2, 3, 4, 5, 6, 8, 9, 12, 14, 16, 24, 32, 48, 64)
MOST_MOVES = 6


def instruction_sets() -> list[str]:
    """Those of this CPU that code is generated for, the narrower first."""
    from strop import _native

    return [isa for isa in ("avx2", "avx512") if isa in _native.supported_isas()]


def question_of(shape: Shape, isa: str, *, effort: str = "standard") -> Question:
    """What `strop.tune` would ask for a matmul of this shape with one thread, no operands given."""
    with scope(isa=isa):
        return read_question(
            TEXT,
            (),
            sizes=None,
            dtype="float32",
            threads=1,
            effort=effort,
            search=None,
            space="full",
            budget=None,
            seed=0,
            epilogue=None,
            semiring="+,*",
            accumulate=False,
            schedule=None,
            axis_sizes=shape.sizes,
        )


def random_schedules(
    question: Question, count: int, *, seed: int, share_completed: float
) -> list[tuple[Schedule, Nest]]:
    """Legal schedules of random moves, no nest twice; `share_completed` of them as `complete` leaves them."""
    rng = random.Random(seed)
    problem = question.problem
    found: dict[Any, tuple[Schedule, Nest]] = {}
    tries = 0
    while len(found) < count and tries < 50 * count:
        tries += 1
        nest, schedule = _random_walk(rng, Nest.default(problem.contraction))
        if rng.random() < share_completed:
            nest, added = completed(nest, problem.layout, problem.isa, problem.threads)
            schedule += added
        found.setdefault(nest.key, (schedule, nest))
    return list(found.values())


def _random_walk(rng: random.Random, nest: Nest) -> tuple[Nest, Schedule]:
    schedule: list[Move] = []
    wanted = rng.randint(1, MOST_MOVES)
    while len(schedule) < wanted:
        move = _random_move(rng, nest)
        if legal(nest, move) is None:
            nest = move.changed(nest)
            schedule.append(move)
    return nest, tuple(schedule)


def _random_move(rng: random.Random, nest: Nest) -> Move:
    """A move of any kind, often legal; tiles and orders are likelier, for they decide most."""
    names = list(nest.names)
    name = rng.choice(names)
    kind = rng.choice(("tile", "tile", "reorder", "reorder", "vectorize", "split", "swap", "unroll", "small"))
    if kind == "tile":
        chosen = rng.sample(names, min(len(names), rng.randint(1, 3)))
        return Tile(tuple(chosen), tuple(rng.choice(FACTORS) for _ in chosen))
    if kind == "reorder":
        order = names[:]
        rng.shuffle(order)
        levels = {axis: iter(sorted(n for n in names if n.startswith(f"{axis}."))) for axis in nest.contraction.axes}
        return Reorder(tuple(next(levels[n.partition(".")[0]]) for n in order))
    if kind == "vectorize":
        return Vectorize(rng.choice([each for each in names if each.startswith("n.")]))
    if kind == "split":
        return Split(name, rng.choice(FACTORS))
    if kind == "swap":
        return Swap(name, rng.choice(names))
    if kind == "unroll":
        return Unroll(name, rng.choice((2, 4, 8)))
    operand = rng.choice("AB")
    return rng.choice(
        (
            Pack(operand, name),
            Prefetch(operand, name, rng.randint(1, 4)),
            Accumulators(rng.randint(2, 4)),
            Balance(name),
        )
    )
