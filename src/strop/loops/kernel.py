"""Compile a schedule: from a nest to a native kernel for arrays of one layout."""

from __future__ import annotations

from typing import Any

from strop.errors import BadOption, IllegalMove, IsaMissing, NativeMissing, NoExecutableMemory
from strop.loops.lower import lower
from strop.loops.moves import Schedule, apply
from strop.loops.nest import Nest
from strop.settings import setting
from strop.values.layout import Layout

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
    forced: str = setting("isa")
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
    if setting("perf_map"):
        kernel.note_for_perf(f"strop {nest.contraction.text} {nest.summary}")
    return kernel
