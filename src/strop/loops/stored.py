"""Stored results as machine code: the schedule is kept, the code is made anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strop.loops.kernel import native_kernel
from strop.loops.moves import Move, replay
from strop.loops.show import assembly as disassembled
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from strop.values.run import Run


def assembly(run: Run, result: Mapping[str, Any]) -> str:
    """The machine code of a run's result, for the arrays and the instruction set that it was tuned for.

    Raises IllegalMove, NativeMissing.
    """
    contraction = Contraction.from_json(run.problem["contraction"])
    if not contraction.points:
        return disassembled(None)
    nest = replay(contraction, tuple(Move.from_json(move) for move in result["schedule"]))
    return disassembled(native_kernel(nest, Layout.from_json(run.problem["layout"]), run.target["isa"]))
