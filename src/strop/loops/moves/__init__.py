"""The moves: each a frozen value that changes a nest. A schedule is a tuple of them.

`legal(nest, move)` says why a move can't be made, `apply` makes it, `replay` makes a whole schedule.
"""

from __future__ import annotations

from typing import Any

from strop.loops.moves.annotate import Accumulators, Pack, Parallel, Prefetch, Unroll
from strop.loops.moves.base import Move, Schedule, apply, legal, replay
from strop.loops.moves.merge import Merge
from strop.loops.moves.order import Reorder, Swap, Vectorize
from strop.loops.moves.split import Split
from strop.loops.moves.tile import Balance, Cover, Tile
from strop.loops.nest import Nest
from strop.values.contraction import Contraction

__all__ = [
    "Accumulators",
    "Balance",
    "Cover",
    "Merge",
    "Move",
    "Pack",
    "Parallel",
    "Prefetch",
    "Reorder",
    "Schedule",
    "Split",
    "Swap",
    "Tile",
    "Unroll",
    "Vectorize",
    "apply",
    "legal",
    "replay",
    "show",
]


def show(text: str, *moves: Move, **sizes: Any) -> None:
    """Print the nest before and after the last move: the form of the moves' examples."""
    nest = Nest.default(Contraction.parse(text, **sizes))
    for move in moves[:-1]:
        nest = apply(nest, move)
    print(nest)
    print("becomes")
    print(apply(nest, moves[-1]))
