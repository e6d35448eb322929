"""The main path of `strop tune`: ask the store, else search, measure, decide, remember."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from strop.loops.kernel import completed
from strop.loops.moves import replay
from strop.loops.question import Question, read_question
from strop.loops.schedule import as_schedule

if TYPE_CHECKING:
    from strop.loops.hunt import Observer
    from strop.loops.problem import LoopProblem
    from strop.loops.tuned import Tuned
    from strop.store.store import Store
    from strop.values.budget import Budget


def tune(
    text: str,
    *operands: Any,
    sizes: Mapping[str, int] | None = None,
    dtype: Any = None,
    threads: int | None = None,
    effort: str | None = None,
    search: str | None = None,
    space: str = "full",
    budget: str | Budget | None = None,
    fresh: bool = False,
    seed: int = 0,
    epilogue: str | None = None,
    semiring: str = "+,*",
    accumulate: bool = False,
    schedule: Iterable[Any] | str | dict[str, Any] | None = None,
    _observer: Observer | None = None,
    **axis_sizes: int,
) -> Tuned:
    """Find a fast schedule for a contraction on this CPU, and return it as a callable that runs machine code.

    `text` is the contraction (`mk,kn->mn`, `n c 2h+r 2w+s, o c r s -> n o h w`); sizes come from keywords, `sizes`, or
    the operands, of which only shape, type, strides and alignment are read. Effort `quick` takes about 0.1 s,
    `standard` (the default) 1 s, `thorough` 10 s; `budget` (`"6s"`, `"200evals"`, both joined by a comma) overrides its
    limits. A stored result answers at once; `fresh` measures anew. With `schedule` nothing is searched: that schedule
    is measured. `space="literal"` adds nothing to the nests that a search proposes.

    Raises the errors of the catalogue for wrong input, NothingMeasured when no candidate came out right.
    """
    question = read_question(
        text,
        operands,
        sizes=sizes,
        dtype=dtype,
        threads=threads,
        effort=effort,
        search=search,
        space=space,
        budget=budget,
        seed=seed,
        epilogue=epilogue,
        semiring=semiring,
        accumulate=accumulate,
        schedule=schedule,
        axis_sizes=axis_sizes,
    )
    if not question.problem.contraction.points:
        return unmeasured(question)
    check_memory(question.problem)
    if schedule is not None:
        return measure_given(question)
    return answer(question, fresh=fresh, observer=_observer)


def answer(question: Question, *, fresh: bool, observer: Observer | None) -> Tuned:
    """The stored answer where there is one; otherwise the run's, begun or gone on with."""
    from strop.bench.process import prestart
    from strop.loops import results
    from strop.loops.target import fingerprint, target
    from strop.store.request import Request

    request = Request(
        run=question.run(target()), title=question.title, effort=question.effort.name, explicit=question.explicit
    )
    with open_or_do_without() as store:
        handle = store.open_run(request, fresh=fresh, machine=fingerprint())
        warnings = (store.warning,) if store.warning else ()
        if handle.origin == "answered":
            assert handle.answer is not None
            return results.recalled(question, store, handle, warnings)
        with handle:
            prestart()  # the worker gets ready while what only a search needs is imported
            from strop.loops.hunt import hunt

            return hunt(question, handle, observer=observer, warnings=warnings)


def check_memory(problem: LoopProblem) -> None:
    """Raise OutOfMemory where this machine can't hold the arrays that the worker measures on."""
    from math import prod

    from strop.bench.machine import machine
    from strop.errors import OutOfMemory

    contraction, have = problem.contraction, machine().memory_bytes
    result = prod(contraction.output_shape)
    held = sum(map(prod, (*contraction.operand_shapes, *contraction.epilogue_shapes))) + result
    need = held * contraction.itemsize + result * 8  # the reference is in float64
    if have is not None and need > have:
        raise OutOfMemory(what=str(contraction), need=f"{need / 2**30:,.1f} GiB", have=f"{have / 2**30:,.1f} GiB")


def open_or_do_without() -> Store:
    """The store, or where it can't be written one in memory that says so."""
    from strop.errors import FullStore, ReadOnlyStore, StoreBusy
    from strop.store.store import Store, open_store

    try:
        return open_store()
    except (ReadOnlyStore, FullStore, StoreBusy) as problem:
        return Store.in_memory(problem)


def unmeasured(question: Question) -> Tuned:
    """A contraction that has nothing to compute, or a question whose budget is 0: what the model says, unmeasured."""
    from strop.loops.moves import Schedule
    from strop.loops.nest import Nest
    from strop.loops.tuned import Tuned

    problem = question.problem
    schedule: Schedule = ()
    nest = Nest.default(problem.contraction)
    if problem.contraction.points:
        nest, schedule = completed(nest, problem.layout, problem.isa, problem.threads)
    return Tuned(
        contraction=problem.contraction,
        layout=problem.layout,
        schedule=schedule,
        nest=nest,
        isa=problem.isa,
        threads=problem.threads,
    )


def measure_given(question: Question) -> Tuned:
    """The user's schedule, completed unless the space is literal, and measured."""
    from strop.loops.hunt import measured

    problem = question.problem
    moves = as_schedule(question.given, problem.contraction)
    nest = replay(problem.contraction, moves)
    if question.space == "full":
        nest, added = completed(nest, problem.layout, problem.isa, problem.threads)
        moves += added
    return measured(question, moves, nest)
