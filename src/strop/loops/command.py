"""The command line that asks a question again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strop.loops.question import Question


def command(question: Question) -> str:
    """`strop tune …` with all that was decided, for arrays in C order; measures anew.

    A schedule that was given is called `schedule.json`.
    """
    contraction, budget = question.problem.contraction, question.budget.text
    words = ["strop", "tune", contraction.text, *(f"{axis}={size}" for axis, size in contraction.sizes)]
    options = {
        "--dtype": contraction.dtype if contraction.dtype != "float32" else None,
        "--semiring": contraction.semiring if contraction.semiring != "+,*" else None,
        "--epilogue": contraction.epilogue.text if contraction.epilogue else None,
        "--threads": str(question.problem.threads),
        "--isa": question.problem.isa,
        "--effort": question.effort.name,
        "--search": question.search if "search" in question.explicit else None,
        "--space": question.space if question.space != "full" else None,
        "--budget": budget if "budget" in question.explicit else None,
        "--seed": str(question.seed) if question.seed else None,
        "--schedule": "schedule.json" if question.given is not None else None,
    }
    words += [word for name, value in options.items() if value is not None for word in (name, value)]
    words += ["--accumulate"] if contraction.accumulate else []
    return shlex.join([*words, "--fresh"])
