"""A schedule of one's own, compiled without measuring."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from strop.errors import BadContraction
from strop.loops.kernel import check_space, chosen_isa, completed
from strop.loops.moves import replay
from strop.loops.question import thread_count
from strop.loops.schedule import as_schedule
from strop.values.contraction import Contraction
from strop.values.layout import Layout

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned


def compile(
    contraction: Contraction, schedule: Iterable[Any] | str | dict[str, Any], space: str = "full", *, threads: int = 1
) -> Tuned:
    """The contraction compiled by a schedule, unmeasured, for arrays in C order (others are compiled for when called).

    `schedule` is a tuple of moves, their JSON, or a document written by `Tuned.save`. With `space="literal"` nothing is
    added to it. Raises BadContraction, BadThreads, BadSchedule, WrongSchedule, NewerSchedule, IllegalMove, IsaMissing,
    NativeMissing.

    >>> import numpy as np
    >>> from strop.loops.moves import Tile, Reorder
    >>> c = Contraction.parse("mk,kn->mn", m=30, k=20, n=40)
    >>> tile = (Tile(("m.0", "n.0"), (6, 16)), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))
    >>> kernel = compile(c, tile, space="literal")
    >>> a, b = np.ones((30, 20), "f"), np.ones((20, 40), "f")
    >>> float(kernel(a, b).sum())
    24000.0
    """
    check_space(space)
    if not isinstance(contraction, Contraction):
        raise BadContraction(
            where=contraction, reason="strop.compile takes what strop.Contraction.parse makes of a text"
        )
    threads = thread_count(threads)
    isa, layout = chosen_isa(), Layout.default(contraction)
    moves = as_schedule(schedule, contraction)
    nest = replay(contraction, moves)
    if space == "full":
        nest, added = completed(nest, layout, isa, threads)
        moves += added
    from strop.loops.tuned import Tuned  # needs the native module, whose absence has been told of by now

    return Tuned(contraction=contraction, layout=layout, schedule=moves, nest=nest, isa=isa, threads=threads)
