"""What a call of `tune` asks: the problem, and how much may be done to answer it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsIndex

from strop.bench.machine import usable_cpus
from strop.errors import BadBudget, BadOption, BadThreads, OperandCount
from strop.loops.kernel import check_space, chosen_isa
from strop.loops.problem import LoopProblem
from strop.settings import setting
from strop.values.budget import Budget
from strop.values.contraction import Contraction
from strop.values.effort import Effort
from strop.values.layout import Layout
from strop.values.run import Run

SEARCH = "local"
"""The search of every effort: the analytic schedule first, then its neighbours for as long as the effort lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A tuning problem with everything decided that the caller left open."""

    problem: LoopProblem
    effort: Effort
    search: str
    budget: Budget
    space: str
    seed: int
    explicit: frozenset[str]
    given: Any = None  # a schedule to measure instead of searching

    @property
    def title(self) -> str:
        """The contraction and its sizes, for people."""
        return str(self.problem.contraction)

    def run(self, target: Mapping[str, Any]) -> Run:
        """The run that answers this on a machine described by `target`."""
        return Run(
            verb="tune",
            problem={
                "contraction": self.problem.contraction.to_json(),
                "layout": self.problem.layout.to_json(),
                "threads": self.problem.threads,
            },
            target={"isa": self.problem.isa, **target},
            search=self.search,
            budget=self.budget,
            seed=self.seed,
            options={"space": self.space},
        )


def read_question(
    text: str,
    operands: tuple[Any, ...],
    *,
    sizes: Mapping[str, int] | None,
    dtype: Any,
    threads: int | None,
    effort: str | None,
    search: str | None,
    space: str,
    budget: str | Budget | None,
    seed: int,
    epilogue: str | None,
    semiring: str,
    accumulate: bool,
    schedule: Iterable[Any] | str | dict[str, Any] | None,
    axis_sizes: Mapping[str, int],
) -> Question:
    """Check a call of `tune` and fill in what it leaves open. Raises the catalogue's errors for what is wrong."""
    contraction, layout = read_problem(
        text,
        operands,
        sizes=sizes,
        dtype=dtype,
        epilogue=epilogue,
        semiring=semiring,
        accumulate=accumulate,
        axis_sizes=axis_sizes,
    )
    number = whole(seed)
    if number is None or number < 0:
        raise BadOption(option="seed", value=seed, allowed="a whole number from 0 on")
    preset = Effort.of(effort or setting("effort"))
    limits = read_budget(budget) if budget is not None else None
    named = {"search": search is not None, "budget": limits is not None, "seed": number != 0}
    return Question(
        problem=LoopProblem(contraction, layout, chosen_isa(), thread_count(threads)),
        effort=preset,
        search=search or SEARCH,
        budget=preset.limits(limits),
        space=check_space(space),
        seed=number,
        explicit=frozenset(name for name, said in named.items() if said),
        given=schedule,
    )


def read_problem(
    text: str,
    operands: tuple[Any, ...],
    *,
    sizes: Mapping[str, int] | None,
    dtype: Any,
    epilogue: str | None,
    semiring: str,
    accumulate: bool,
    axis_sizes: Mapping[str, int],
) -> tuple[Contraction, Layout]:
    """The contraction and where its values lie: of the operands if there are any, else C order at any alignment."""
    from strop.loops.operands import adopt_operands, layout_of

    options: dict[str, Any] = {"epilogue": epilogue, "semiring": semiring, "accumulate": accumulate, "sizes": sizes}
    options |= axis_sizes
    if not operands:
        contraction = Contraction.parse(text, dtype="float32" if dtype is None else dtype, **options)
        return contraction, Layout.default(contraction)
    arrays = adopt_operands(operands, dtype=dtype)
    shapes = [array.shape for array in arrays]
    contraction = Contraction.parse(text, dtype=arrays[0].dtype.name, shapes=shapes, **options)
    if len(arrays) != len(contraction.operands):
        raise OperandCount(text=text, expected=len(contraction.operands), found=len(arrays))
    return contraction, layout_of(contraction, arrays)


def thread_count(threads: int | None) -> int:
    """Threads to use: those asked for, else the settings', else the CPUs this process may use. Raises BadThreads."""
    wanted = setting("threads") if threads is None else threads
    most = usable_cpus()
    if wanted is None:
        return most
    number = whole(wanted)
    if number is None or not 1 <= number <= most:
        raise BadThreads(threads=wanted, most=most)
    return number


def whole(value: SupportsIndex) -> int | None:
    """A whole number, NumPy's too, as an ``int``; None for anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def read_budget(budget: str | Budget) -> Budget:
    """A budget that bounds a search for schedules. Raises BadBudget."""
    limits = Budget.parse(budget)
    if limits.seconds is None and limits.evaluations is None:
        raise BadBudget(text=limits.text, reason="a search for schedules uses time and candidates, no tokens or money")
    return limits
