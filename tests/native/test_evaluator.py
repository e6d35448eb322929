"""The evaluator: right kernels pass, wrong ones are told what is wrong, and its float64 reference is NumPy's."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

from strop import _native


def check(evaluator: Any, kernel: Any, threads: int = 1) -> dict[str, Any]:
    names = ("right", "worst", "detail", "inputs_unchanged", "fences_whole")
    return dict(zip(names, evaluator.check(kernel, threads), strict=True))


def memory(evaluator: Any, problem: Any, which: int, names: str) -> Any:
    return np.frombuffer(evaluator.memory(which), problem.dtype).reshape(problem.shape(names))


@pytest.mark.parametrize("accumulate", [False, True])
def test_right_kernels_pass(problem: Any, arithmetic: Any, accumulate: bool, isa: str) -> None:
    dtype, semiring = arithmetic
    problem = problem.but(dtype=dtype, semiring=semiring, accumulate=accumulate)
    found = check(problem.evaluator(), problem.compile(isa))
    assert found["right"], found["detail"]
    assert found["inputs_unchanged"]
    assert found["fences_whole"]
    assert found["worst"] <= 1
    assert found["detail"] == ""


def test_results_are_numpys(problem: Any, arithmetic: Any) -> None:
    """What the portable kernel left in memory, and so the reference it was compared with, is what NumPy says."""
    if problem.text == "ii->i":
        pytest.skip("its operand has gaps")
    dtype, semiring = arithmetic
    problem = problem.but(dtype=dtype, semiring=semiring)
    evaluator = problem.evaluator(seed=5)
    assert check(evaluator, problem.compile("portable"))["right"]
    arrays = [memory(evaluator, problem, i, names) for i, names in enumerate(problem.operands)]
    for array in arrays:
        assert (np.abs(array) <= 1).all()
        assert array.size < 20 or array.std() > 0.3
    got = memory(evaluator, problem, len(arrays), problem.output)
    np.testing.assert_allclose(got, problem.einsum(*arrays), rtol=0, atol=1e-4 if dtype == "float32" else 1e-12)


def test_the_seed_decides(matmul: Any) -> None:
    problem = matmul(4, 5, 6)
    first, same, other = (problem.evaluator(seed=seed) for seed in (1, 1, 2))
    assert first.memory(0) == same.memory(0) != other.memory(0)
    assert first.memory(1) != first.memory(0)


def test_small_errors_are_seen(matmul: Any) -> None:
    """A sum that loses one of its 64 terms, in one row."""
    problem, short = matmul(16, 64, 16), matmul(16, 63, 16)
    strides = [(256, 4, 0), (0, 64, 4)]
    plain = short.plain
    loops = [(axis, 1, False, (), -1, (), 1, False, (), ()) for axis in range(3)]
    loses = _native.compile("portable", *plain[:4], 1, *plain[4:6], strides, plain[7], (), loops, ())
    found = check(problem.evaluator(), loses)
    assert not found["right"]
    assert found["worst"] > 1
    assert "of 256 values compared are wrong" in found["detail"]
    assert found["fences_whole"]
    assert check(problem.evaluator(), problem.compile("portable"))["right"]


def test_unwritten_values_are_seen(matmul: Any) -> None:
    problem = matmul(9, 4, 20)
    part = problem.but(sizes={"m": 8, "k": 4, "n": 20})
    found = check(problem.evaluator(), part.compile("portable"))
    assert not found["right"]
    assert "20 of 180" in found["detail"]
    assert "nothing was written" in found["detail"]
    assert "(8, " in found["detail"]


def test_unwritten_values_are_seen_where_only_a_sample_is_compared(matmul: Any) -> None:
    problem = matmul(1500, 1, 1500)
    evaluator = problem.evaluator()
    assert not evaluator.complete
    assert 4096 <= evaluator.compared < 10_000
    loops = [(axis, 1, False, (), -1, (), 1, False, (), ()) for axis in range(3)]
    plain = problem.plain
    part = _native.compile("portable", *plain[:4], 1, (1499, 1, 1500), *plain[5:9], loops, ())
    assert not check(evaluator, part)["right"]
    assert check(evaluator, problem.compile("portable"))["right"]


def test_writes_outside_are_seen(matmul: Any) -> None:
    problem = matmul(8, 4, 8)
    for sizes in ({"m": 9, "k": 4, "n": 8}, {"m": 8, "k": 4, "n": 9}):
        longer = problem.but(sizes=sizes).plain
        loops = [(axis, 1, False, (), -1, (), 1, False, (), ()) for axis in range(3)]
        kernel = _native.compile("portable", *longer[:4], 1, longer[4], *problem.plain[5:9], loops, ())
        assert not check(problem.evaluator(), kernel)["fences_whole"]


def test_writes_between_rows_are_seen() -> None:
    """An output of 6 columns inside rows of 8: the two others are not the kernel's."""
    tensors = ([(16, 4, 0), (0, 24, 4)], (32, 0, 4))
    problem = ("float32", "+", "*", False, (5, 4, 6), (True, False, True), *tensors, (), ())
    evaluator = _native.Evaluator(*problem, [4, 4, 4], 1)
    loops = [(axis, 1, False, (), -1, (), 1, False, (), ()) for axis in range(3)]
    right = _native.compile("portable", *problem[:4], 1, *problem[4:9], loops, ())
    assert check(evaluator, right) == {**check(evaluator, right), "right": True, "fences_whole": True}
    wide = _native.compile("portable", *problem[:4], 1, (5, 4, 7), *problem[5:9], loops, ())
    found = check(evaluator, wide)
    assert not found["fences_whole"]
    assert check(evaluator, right)["fences_whole"], "the next check starts afresh"


@pytest.mark.parametrize("size", [8, 1100])
def test_changed_inputs_are_seen(size: int, matmul: Any) -> None:
    """Another hand changes an input; large ones are compared in parts, all of them in 16 checks."""
    problem = matmul(4, size, size)
    evaluator, kernel = problem.evaluator(), problem.compile("portable")
    assert check(evaluator, kernel)["inputs_unchanged"]
    ctypes.memset(evaluator.address(1) + 4 * (size * size // 2), 0xFF, 4)
    assert not all(check(evaluator, kernel)["inputs_unchanged"] for _ in range(16))
    found = check(evaluator, kernel)
    assert found["right"], "what was found changed is put back"
    assert found["inputs_unchanged"]


def test_sample_of_a_large_problem(matmul: Any) -> None:
    problem = matmul(520, 300, 520)
    evaluator = problem.evaluator()
    assert not evaluator.complete
    assert evaluator.compared >= 4096
    arrays = [memory(evaluator, problem, i, names) for i, names in enumerate(problem.operands)]
    assert arrays[0].shape == (520, 300)


@pytest.mark.parametrize("alignment", [4, 16, 32, 64])
def test_alignment_classes(alignment: int, matmul: Any) -> None:
    for shape in ((3, 4, 5), (200, 300, 400)):
        evaluator = matmul(*shape).evaluator(alignment=alignment)
        assert [evaluator.address(i) % 64 for i in range(3)] == [alignment % 64] * 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "epilogue",
    [
        (("x",), ("relu",)),
        (("x",), ("operand", 0), ("add",), ("gelu",)),
        (("x",), ("tanh",), ("operand", 0), ("mul",)),
        (("x",), ("neg",), ("exp",), ("number", 1.0), ("add",), ("number", 2.5), ("operand", 0), ("sub",), ("div",)),
        (("x",), ("sigmoid",), ("x",), ("mul",), ("number", 0.25), ("max",), ("number", 0.75), ("min",)),
        (("number", 1.0), ("x",), ("div",)),
        (("x",), ("number", 1000.0), ("mul",), ("exp",)),
    ],
)
def test_epilogues(dtype: str, epilogue: Any, isa: str, matmul: Any) -> None:
    problem = matmul(17, 9, 21, dtype=dtype, extras=("n",), epilogue=epilogue)
    found = check(problem.evaluator(), problem.compile(isa))
    assert found["right"], found["detail"]


def test_a_wrong_epilogue_is_seen(matmul: Any) -> None:
    problem = matmul(17, 9, 21, epilogue=(("x",), ("gelu",)))
    assert not check(problem.evaluator(), problem.but(epilogue=(("x",), ("tanh",))).compile("portable"))["right"]


def test_times_are_a_table(matmul: Any) -> None:
    problem = matmul(16, 16, 16)
    evaluator = problem.evaluator()
    fast, slow = matmul(16, 4, 16), problem
    kernels = [slow.compile("portable"), fast.compile("portable")]
    rows = evaluator.time(kernels, 5, 1e-4, 1, True)
    assert [len(row) for row in rows] == [5, 5]
    assert all(seconds > 0 for row in rows for seconds in row)
    assert min(rows[0]) > min(rows[1]), "four times the work takes longer"
    assert evaluator.time([], 3, 1e-4) == []
    assert evaluator.time(kernels, 0, 1e-4) == [[], []]


def test_what_is_no_problem_is_refused(matmul: Any) -> None:
    plain = matmul(2, 3, 4).plain
    with pytest.raises(ValueError, match="alignments"):
        _native.Evaluator(*plain, [4, 4], 0)
    with pytest.raises(ValueError, match="guard"):
        _native.Evaluator(*plain, [4, 4, 4], 0, "around")
    with pytest.raises(ValueError, match="element type"):
        _native.Evaluator("float16", *plain[1:], [4, 4, 4], 0)
    with pytest.raises(ValueError, match="along a reduced axis"):
        _native.Evaluator(*plain[:7], (4, 4, 4), *plain[8:], [4, 4, 4], 0)


@pytest.mark.parametrize("guard", ["after", "before"])
def test_guard_pages_stop_a_step_outside(guard: str, isa: str, matmul: Any) -> None:
    problem = matmul(5, 7, 19)
    assert check(problem.evaluator(guard=guard), problem.compile(isa))["right"]


@pytest.mark.parametrize("guard", ["after", "before"])
def test_guard_pages_are_where_they_should_be(guard: str) -> None:
    """One byte beyond the operand is a fault: the process that reads it dies."""
    code = textwrap.dedent(f"""
        import ctypes
        from strop import _native
        plain = ("float32", "+", "*", False, (5, 7), (True, False), [(28, 4), (0, 4)], (4, 0), (), ())
        evaluator = _native.Evaluator(*plain, [4, 4, 4], 1, "{guard}")
        low = [evaluator.address(which) for which in range(3)]
        high = [start + len(evaluator.memory(which)) for which, start in enumerate(low)]
        edges = high if "{guard}" == "after" else [start - 1 for start in low]
        inside = [edge - 1 if "{guard}" == "after" else edge + 1 for edge in edges]
        print([ctypes.string_at(place, 1) for place in inside] != [], flush=True)
        ctypes.string_at(edges[1], 1)
        print("alive")
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True"
    assert done.returncode == -11


def test_the_worker_needs_no_numpy() -> None:
    code = textwrap.dedent("""
        import sys
        from strop import _native
        plain = ("float32", "+", "*", False, (5, 7), (True, False), [(28, 4), (0, 4)], (4, 0), (), ())
        loops = [(axis, 1, False, (), -1, (), 1, False, (), ()) for axis in range(2)]
        kernel = _native.compile("portable", *plain[:4], 1, *plain[4:9], loops, ())
        evaluator = _native.Evaluator(*plain, [64, 64, 64], 1)
        assert evaluator.check(kernel, 1)[0]
        evaluator.time([kernel], 2, 1e-5, 1, True)
        sys.exit("numpy" in sys.modules)
    """)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
