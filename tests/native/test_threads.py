"""The pool: right for any number of threads, from several callers, after a fork, with scratch of its own each."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

from strop import _native


def parallel_matmul(matmul: Any, make_loop: Any, isa: str, step: int = 1, **options: Any) -> tuple[Any, Any]:
    problem = matmul(37, 20, 33)
    loops = [make_loop(0, step, parallel=True, **options), make_loop(0), make_loop(1), make_loop(2)]
    return problem, problem.compile(isa, loops if step > 1 else [loops[0], *loops[2:]])


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 8, 64])
@pytest.mark.parametrize("step", [1, 5, 37, 100])
def test_any_number_of_threads(threads: int, step: int, isa: str, matmul: Any, make_loop: Any) -> None:
    problem, kernel = parallel_matmul(matmul, make_loop, isa, step)
    assert kernel.parallel_iterations == -(-37 // step)
    right, worst, detail, unchanged, whole = problem.evaluator().check(kernel, threads)
    assert (right, unchanged, whole) == (True, True, True), detail
    assert worst <= 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_balanced_and_pieces(threads: int, isa: str, matmul: Any, make_loop: Any) -> None:
    for options in ({"balanced": True}, {"pieces": (10, 10, 9, 8)}):
        problem, kernel = parallel_matmul(matmul, make_loop, isa, 10, **options)
        assert kernel.parallel_iterations == 4
        for _ in range(20):
            assert problem.evaluator().check(kernel, threads)[0]


def test_accumulate_and_epilogue_once_each(isa: str, make_loop: Any, matmul: Any) -> None:
    problem = matmul(37, 20, 33, accumulate=True, extras=("m",), epilogue=(("x",), ("operand", 0), ("mul",)))
    kernel = problem.compile(isa, [make_loop(0, parallel=True), make_loop(1), make_loop(2)])
    evaluator = problem.evaluator()
    for threads in (1, 2, 4) * 10:
        right, _, detail, *_ = evaluator.check(kernel, threads)
        assert right, detail


def test_scratch_is_not_shared(isa: str, matmul: Any, make_loop: Any) -> None:
    """Packing writes to scratch: two threads on one would spoil each other's panels."""
    problem = matmul(96, 64, 96)
    loops = [make_loop(2, 16, parallel=True, pack=(1,)), make_loop(0, 4), make_loop(1), make_loop(0), make_loop(2)]
    try:
        kernel = problem.compile(isa, loops)
    except _native.SpecError as error:
        pytest.skip(f"no such packing: {error}")
    evaluator = problem.evaluator()
    for _ in range(200):
        right, _, detail, *_ = evaluator.check(kernel, 4)
        assert right, detail


def test_several_callers_at_once(isa: str, matmul: Any, make_loop: Any) -> None:
    problem, kernel = parallel_matmul(matmul, make_loop, isa)
    call = problem.bind(_native.Call(), kernel, threads=3, release_gil=True)
    (a, b), wrong = problem.arrays(), []
    want = a @ b

    def work() -> None:
        out = np.empty((37, 33), np.float32)
        for _ in range(200):
            out.fill(np.nan)
            call(a, b, out=out)
            if not np.allclose(out, want, atol=1e-4):
                wrong.append(out.copy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "deadlock"
    assert not wrong


def test_a_forked_child_makes_its_own_pool(matmul: Any, make_loop: Any) -> None:
    problem, kernel = parallel_matmul(matmul, make_loop, "portable")
    evaluator = problem.evaluator()
    assert evaluator.check(kernel, 4)[0]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if all(evaluator.check(kernel, 4)[0] for _ in range(20)) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert evaluator.check(kernel, 4)[0]
