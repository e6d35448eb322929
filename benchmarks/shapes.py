"""The shapes that all benchmarks share: 25 matmuls drawn from {64, 80, ..., 256}³ by a seed, the same list for all."""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

TEXT = "mk,kn->mn"
EXTENTS = range(64, 257, 16)
COUNT = 25
SEED = 0


class Shape(NamedTuple):
    """Extents of `mk,kn->mn`, written as m x n x k."""

    m: int
    n: int
    k: int

    @property
    def flops(self) -> int:
        """Multiplications and additions of one call."""
        return 2 * self.m * self.n * self.k

    @property
    def sizes(self) -> dict[str, Any]:
        """As `strop.tune` takes them."""
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


def seeded_shapes(count: int = COUNT) -> list[Shape]:
    """The first `count` of the 25, the smallest first: 25 of the 2197 triples without repetition, by seed 0."""
    triples = list(itertools.product(EXTENTS, repeat=3))
    drawn = [Shape(*triple) for triple in random.Random(SEED).sample(triples, COUNT)]
    ordered = sorted(drawn, key=lambda shape: (shape.flops, shape))
    return ordered[:count]


def spread_shapes(count: int) -> list[Shape]:
    """`count` of the 25, evenly spread from the smallest to the largest."""
    ordered = seeded_shapes()
    return [ordered[(2 * i + 1) * COUNT // (2 * count)] for i in range(count)]


if __name__ == "__main__":
    print("\n".join(map(str, seeded_shapes())))
