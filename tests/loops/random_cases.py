"""Random contractions, layouts and legal schedules, by seed: what the soak compares machine code on."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
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
    legal,
)
from strop.loops.nest import Nest
from strop.values.contraction import Contraction

MOST_POINTS = 12_000
EPILOGUES = (
    "relu(x)",
    "x * 2 + 1",
    "max(x, -x) - 0.5",
    "sigmoid(x)",
    "tanh(x / 8)",
    "gelu(x)",
    "exp(min(x, 3))",
)


@dataclass(frozen=True)
class Case:
    """A contraction, a legal schedule for it, and arrays of any strides to run it on."""

    seed: int
    contraction: Contraction
    nest: Nest
    schedule: tuple[Move, ...]
    operands: list[np.ndarray[Any, Any]]
    output: np.ndarray[Any, Any]
    extras: dict[str, np.ndarray[Any, Any]]


def random_case(seed: int) -> Case:
    """The case of a seed: up to five axes; every second one has an extent over 33 and tails in two axes."""
    rng = random.Random(seed)
    contraction = random_contraction(rng, large=seed % 2 == 1)
    nest, schedule = random_schedule(rng, contraction, tails=seed % 2 == 1)
    values = np.random.default_rng(seed)
    dtype = np.dtype(contraction.dtype)
    operands = [random_array(rng, values, shape, dtype) for shape in contraction.operand_shapes]
    output = random_array(rng, values, contraction.output_shape, dtype, writable=True)
    extras = {
        name: random_array(rng, values, shape, dtype)
        for (name, _), shape in zip(contraction.epilogue_operands, contraction.epilogue_shapes, strict=True)
    }
    return Case(seed, contraction, nest, schedule, operands, output, extras)


def random_contraction(rng: random.Random, *, large: bool) -> Contraction:
    """A contraction of one to five axes within a bounded number of points."""
    axes = list("abcde"[: rng.randint(2 if large else 1, 5)])
    rng.shuffle(axes)
    sizes = _sizes(rng, axes, large=large)
    inputs = rng.choice((1, 2, 2, 2, 2))
    outputs = [axis for axis in axes if rng.random() < 0.6]
    where: list[list[str]] = [[] for _ in range(inputs)]
    for axis in axes:
        for holder in rng.sample(range(inputs), rng.randint(1, inputs)):
            where[holder].append(axis)
    subscripts = [_subscript(rng, held) for held in where]
    rng.shuffle(outputs)
    text = f"{' , '.join(' '.join(index) or '' for index in subscripts)} -> {' '.join(outputs)}"
    if not all(subscripts):  # an operand without axes can't be said with blanks: let it have one
        return random_contraction(rng, large=large)
    text = ", ".join(f" {' '.join(index)} " if len(index) > 1 else f"1{index[0]}" for index in subscripts)
    text += " -> " + (" ".join(outputs))
    semiring = rng.choice(("+,*",) * 6 + ("max,+", "min,+", "max,*", "min,*"))
    epilogue = rng.choice((None, None, *EPILOGUES))
    if outputs and rng.random() < 0.3:
        named = " ".join(rng.sample(outputs, rng.randint(0, len(outputs))))
        epilogue = rng.choice((f"x + bias[{named}]", f"relu(x * scale[{named}] + bias[{rng.choice(outputs)}])"))
    return Contraction.parse(
        text,
        sizes=dict(sizes),
        dtype=rng.choice(("float32", "float32", "float64")),
        semiring=semiring,
        accumulate=rng.random() < 0.2,
        epilogue=epilogue,
    )


def _sizes(rng: random.Random, axes: list[str], *, large: bool) -> dict[str, int]:
    while True:
        sizes = {axis: rng.choice((1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17)) for axis in axes}
        if large:
            first, second = rng.sample(axes, 2)
            sizes[first] = rng.randint(34, 150)
            sizes[second] = rng.choice((5, 7, 11, 13, 19, 23, 29))
        if math.prod(sizes.values()) <= MOST_POINTS:
            return sizes


def _subscript(rng: random.Random, axes: list[str]) -> list[str]:
    """Indices over the axes: mostly one each, at times a window of two, at times an axis twice."""
    left, indices = axes[:], []
    rng.shuffle(left)
    while left:
        terms = [left.pop()]
        if left and rng.random() < 0.2:
            terms.append(left.pop())
        if rng.random() < 0.1:
            terms.append(rng.choice(axes))
        coefficient = [rng.choice((1, 1, 1, 2, 3)) for _ in terms]
        indices.append("+".join(f"{c if c > 1 else ''}{axis}" for c, axis in zip(coefficient, terms, strict=True)))
    return indices


def random_array(
    rng: random.Random,
    values: np.random.Generator,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    writable: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of the shape with any order of dimensions, gaps, reversed or (for inputs) repeated dimensions."""
    order = list(range(len(shape)))
    style = rng.random()
    if style > 0.5:
        rng.shuffle(order)
    gaps = [rng.choice((0, 0, 0, 1, 3)) if style > 0.4 else 0 for _ in shape]
    big = np.full([shape[d] + gaps[d] for d in order] or [1], np.nan, dtype)
    view = big[tuple(slice(0, shape[d]) for d in order)] if shape else big.reshape(())
    view = view.transpose(np.argsort(order)) if shape else view
    for d in range(len(shape)):
        if rng.random() < 0.1:
            view = np.flip(view, d)
    view[...] = values.uniform(-1, 1, shape)
    if not writable and shape and min(shape) < 9 and rng.random() < 0.1:
        # A short dimension: adding one value very often rounds worse than the tolerance, made for mixed terms, allows.
        view = np.broadcast_to(view.take([0], axis=shape.index(min(shape))), shape)
    return view


def random_schedule(rng: random.Random, contraction: Contraction, *, tails: bool) -> tuple[Nest, tuple[Move, ...]]:
    """A nest reached by up to nine random legal moves; with `tails`, two axes are split with a rest first."""
    nest = Nest.default(contraction)
    schedule: list[Move] = []

    def make(move: Move) -> None:
        nonlocal nest
        if legal(nest, move) is None:
            nest = move.changed(nest)
            schedule.append(move)

    if tails:
        longest = sorted(contraction.axes, key=contraction.extent)[-2:]
        for axis in longest:
            extent = contraction.extent(axis)
            factors = [f for f in range(2, extent) if extent % f]
            if factors:
                make(Split(f"{axis}.0", rng.choice(factors[:24])))
    for _ in range(rng.randint(0, 9)):
        make(random_move(rng, nest))
    return nest, tuple(schedule)


def random_move(rng: random.Random, nest: Nest) -> Move:
    """A move of any kind, often legal."""
    names = list(nest.names)
    name = rng.choice(names)
    operand = rng.choice("ABC")
    kind = rng.randrange(13)
    if kind in (0, 1):
        return Split(name, rng.choice((2, 3, 4, 5, 6, 8, 14, 16, 24, 32, 48)))
    if kind in (2, 3):
        return Swap(name, rng.choice(names))
    if kind == 4:
        order = names[:]
        rng.shuffle(order)
        levels = {axis: iter(sorted(n for n in names if n.startswith(axis + "."))) for axis in nest.contraction.axes}
        return Reorder(tuple(next(levels[n.partition(".")[0]]) for n in order))
    if kind == 5:
        return Vectorize(name)
    if kind == 6:
        chosen = rng.sample(names, min(len(names), rng.randint(1, 3)))
        return Tile(tuple(chosen), tuple(rng.choice((2, 3, 4, 6, 8, 16)) for _ in chosen))
    if kind == 7:
        return Unroll(name, rng.choice((2, 3, 4, 5, 8)))
    if kind == 8:
        return Accumulators(rng.randint(1, 5))
    if kind == 9:
        return Pack(operand, name)
    if kind == 10:
        return Prefetch(operand, name, rng.randint(1, 4))
    if kind == 11:
        return rng.choice((Balance(name), Parallel(names[0]), Merge(name)))
    return _random_cover(rng, nest, name)


def _random_cover(rng: random.Random, nest: Nest, name: str) -> Move:
    axis = name.partition(".")[0]
    left, pieces = nest.contraction.extent(axis), []
    while left:
        pieces.append(rng.randint(1, min(left, 40)))
        left -= pieces[-1]
    rows = rng.choice(("", *nest.contraction.axes))
    steps = tuple(rng.choice((1, 2, 3, 6)) for _ in pieces) if rows else ()
    return Cover(name, tuple(pieces), rows, steps)
