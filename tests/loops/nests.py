"""Random contractions, layouts and legal schedules: what the property tests of `loops/` draw from."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from strop.loops.moves import (
    Accumulators,
    Balance,
    Cover,
    Merge,
    Move,
    Pack,
    Parallel,
    Prefetch,
    Reorder,
    Split,
    Swap,
    Tile,
    Unroll,
    Vectorize,
    apply,
    legal,
)
from strop.loops.nest import Nest
from strop.values.contraction import SEMIRINGS, Contraction

TEXTS = (
    "mk,kn->mn",
    "mk,nk->mn",
    "km,kn->nm",
    "bmk,bkn->bmn",
    "abc,cd->abd",
    "mk,k->m",
    "k,kn->n",
    "k,k->",
    "m,n->mn",
    "mn,mn->mn",
    "mn->nm",
    "mnk->mn",
    "mn->",
    "m->m",
    "mm->m",
    "mm,mn->n",
    "m,m->m",
    "->",
    ",->",
    ",m->m",
    "c h+r w+s, o c r s -> o h w",
    "c 2h+3r w+s, c r s -> c h w",
    "h+r -> h",
    "2h+r, r -> h",
    "abcd,cdeb->ae",
)
EPILOGUES = ("relu(x + b[{0}])", "x * 0.5 + s", "min(x, 2) - t[{0},{1}]")


def contraction(rng: random.Random, *, largest: int = 9, points: int = 3000) -> Contraction:
    """A contraction of the grammar with few points, some with an extent of 1 and options that change the meaning."""
    text = rng.choice(TEXTS)
    axes = Contraction.parse(text, sizes=dict.fromkeys(_axes(text), 1)).axes
    sizes = {axis: rng.choice((1, 2, 3, rng.randint(1, largest))) for axis in axes}
    if axes and rng.random() < 0.5:
        sizes[rng.choice(axes)] = rng.choice((17, 33, 37, 40, 65))
    while len(axes) > 0 and _product(sizes) > points:
        axis = max(sizes, key=lambda name: sizes[name])
        sizes[axis] = -(-sizes[axis] // 2)
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["semiring"] = rng.choice(list(SEMIRINGS))
    if rng.random() < 0.2:
        options["accumulate"] = True
    output = Contraction.parse(text, sizes=sizes).output
    if rng.random() < 0.2 and len(output) >= 2:
        options["epilogue"] = rng.choice(EPILOGUES).format(*output)
    return Contraction.parse(text, sizes=sizes, dtype=rng.choice(("float32", "float32", "float64")), **options)


def _axes(text: str) -> tuple[str, ...]:
    from strop.values.subscripts import parse

    return parse(text).axes


def _product(sizes: dict[str, int]) -> int:
    total = 1
    for size in sizes.values():
        total *= size
    return total


def arrays(contraction: Contraction, seed: int = 0) -> tuple[list[Any], Any, dict[str, Any]]:
    """Operands, a result to accumulate onto, and the epilogue's operands; small whole numbers and halves."""
    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, ...]) -> Any:
        return (rng.integers(-4, 5, shape) / 2).astype(contraction.dtype)

    operands = [draw(shape) for shape in contraction.operand_shapes]
    names = [name for name, _ in contraction.epilogue_operands]
    extras = {name: draw(shape) for name, shape in zip(names, contraction.epilogue_shapes, strict=True)}
    return operands, draw(contraction.output_shape), extras


def move(rng: random.Random, nest: Nest) -> Move:
    """A move of any kind that may or may not be legal."""
    names = nest.names or ("m.0",)
    name, other = rng.choice(names), rng.choice(names)
    operand = rng.choice("ABC")
    match rng.randrange(14):
        case 0 | 1 | 2:
            return Split(name, rng.choice((1, 2, 3, 4, 5, 6, 8, 9, 16, 32)))
        case 3 | 4:
            return Swap(name, other)
        case 5:
            return Reorder(tuple(rng.sample(names, len(names))))
        case 6:
            return Merge(name)
        case 7:
            return Tile((name, other), (rng.randint(1, 9), rng.choice((4, 8, 16, 24))))
        case 8:
            return cover(rng, nest, name)
        case 9:
            return Balance(name)
        case 10:
            return Unroll(name, rng.randint(1, 8))
        case 11:
            return Accumulators(rng.randint(1, 4))
        case 12:
            return Vectorize(name)
        case _:
            return rng.choice((Pack(operand, name), Prefetch(operand, name, 2), Parallel(name)))


def cover(rng: random.Random, nest: Nest, name: str) -> Move:
    """A Cover whose pieces sum to the axis, with or without rows."""
    at = nest.find(name)
    extent = nest.contraction.extent(nest.loops[at].axis) if at is not None else 4
    pieces: list[int] = []
    while sum(pieces) < extent:
        pieces.append(min(rng.choice((1, 3, 5, 8, 16)), extent - sum(pieces)))
    rows = rng.choice(("", *nest.contraction.axes))
    steps = tuple(rng.randint(1, 7) for _ in pieces) if rows else ()
    return Cover(name, tuple(pieces) or (1,), rows, steps)


def schedule(rng: random.Random, start: Nest, *, moves: int = 6) -> tuple[Nest, tuple[Move, ...]]:
    """Some legal moves made on a nest, and the nest they lead to."""
    nest, made = start, []
    for _ in range(4 * moves):
        if len(made) == moves:
            break
        wish = move(rng, nest)
        if legal(nest, wish) is None:
            nest = apply(nest, wish)
            made.append(wish)
    return nest, tuple(made)
