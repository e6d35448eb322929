"""Compile a schedule: from a nest to a native kernel for arrays of one layout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from strop.errors import BadOption, IllegalMove, IsaMissing, NativeMissing, NoExecutableMemory
from strop.loops.lower import lower
from strop.loops.moves import Schedule, apply, replay
from strop.loops.nest import Nest
from strop.loops.schedule import as_schedule
from strop.settings import settings
from strop.values.contraction import Contraction
from strop.values.layout import Layout

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned

SPACES = ("full", "literal")


def native() -> Any:
    """The code generator's module. Raises NativeMissing where it wasn't built."""
    try:
        from strop import _native
    except ImportError as problem:
        raise NativeMissing(reason=str(problem)) from None
    return _native


def chosen_isa() -> str:
    """The instruction set to compile for: the best this CPU has, or the one that STROP_ISA forces.

    Raises IsaMissing where this CPU hasn't the forced one, NativeMissing.
    """
    forced = settings().isa
    have = native().supported_isas()
    if forced == "auto":
        return str(have[0])
    if forced not in have:
        raise IsaMissing(isa=forced, has=", ".join(have))
    return forced


def check_space(space: str) -> str:
    """The space if it is one. Raises BadOption."""
    if space not in SPACES:
        raise BadOption(option="space", value=space, allowed=" or ".join(SPACES))
    return space


def completed(nest: Nest, layout: Layout, isa: str, threads: int) -> tuple[Nest, Schedule]:
    """The nest after the moves that the machine model recommends, and those moves."""
    from strop.loops.complete import complete
    from strop.loops.machine import Machine

    moves = complete(nest, layout, Machine.here(isa), threads)
    for move in moves:
        nest = apply(nest, move)
    return nest, moves


def native_kernel(nest: Nest, layout: Layout, isa: str) -> Any:
    """The nest as a native kernel. Raises IllegalMove where the generator can't compile it (too much code)."""
    module = native()
    try:
        kernel = module.compile(*lower(nest, layout, isa))
    except module.SpecError as problem:
        raise IllegalMove(move=nest.summary, reason=str(problem)) from None
    except RuntimeError as problem:
        raise NoExecutableMemory(reason=str(problem)) from None
    if settings().perf_map:
        kernel.note_for_perf(f"strop {nest.contraction.text} {nest.summary}")
    return kernel


def compile(
    contraction: Contraction, schedule: Iterable[Any] | str | dict[str, Any], space: str = "full", *, threads: int = 1
) -> Tuned:
    """The contraction compiled by a schedule, unmeasured, for arrays in C order (others are compiled for when called).

    `schedule` is a tuple of moves, their JSON, or a document written by `Tuned.save`. With `space="literal"` nothing is
    added to it. Raises BadSchedule, WrongSchedule, NewerSchedule, IllegalMove, IsaMissing, NativeMissing.

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
    isa, layout = chosen_isa(), Layout.default(contraction)
    moves = as_schedule(schedule, contraction)
    nest = replay(contraction, moves)
    if space == "full":
        nest, added = completed(nest, layout, isa, threads)
        moves += added
    from strop.loops.tuned import Tuned  # needs the native module, whose absence has been told of by now

    return Tuned(contraction=contraction, layout=layout, schedule=moves, nest=nest, isa=isa, threads=threads)
