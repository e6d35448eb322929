"""The call path: fast for exactly the arrays it was bound to, everything else goes to the Python method, no leaks."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

from strop import _native

Array = np.ndarray[Any, Any]


@_native.enable_vectorcall
class Recorder(_native.Call):
    """Says what came to the slow path."""

    def __init__(self, note: str = "") -> None:
        self.note = note

    def _call_slowly(self, *args: Any, **kwargs: Any) -> Any:
        return ("slow", len(args), sorted(kwargs))


@pytest.fixture
def call(matmul: Any) -> Any:
    problem = matmul(3, 4, 5)
    return problem.bind(Recorder(), problem.compile("portable"))


@pytest.fixture
def arrays() -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    return random.random((3, 4), np.float32), random.random((4, 5), np.float32)


def slow(result: Any) -> bool:
    return isinstance(result, tuple) and result[0] == "slow"


def test_import_leaves_numpy_alone() -> None:
    code = "import sys; from strop import _native; _native.Call(); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_result_new_or_given(call: Any, arrays: Any) -> None:
    a, b = arrays
    out = np.full((3, 5), np.nan, np.float32)
    assert call(a, b, out=out) is out
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)
    for fresh in (call(a, b), call(a, b, out=None)):
        assert type(fresh) is np.ndarray
        assert (fresh.shape, fresh.dtype) == ((3, 5), np.float32)
        np.testing.assert_array_equal(fresh, out)


class Subclass(np.ndarray[Any, Any]):
    pass


def unaligned(array: Array) -> Array:
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    view = raw.view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.astype(np.float64),
        lambda a: a.astype(">f4"),
        lambda a: a.astype(np.int32),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: a[::-1],
        lambda a: a[:2],
        lambda a: a[None],
        lambda a: a.ravel(),
        lambda a: a.view(Subclass),
        lambda a: unaligned(a),
        lambda a: a.tolist(),
        lambda a: None,
    ],
)
def test_other_arrays_are_slow(change: Any, call: Any, arrays: Any) -> None:
    a, b = arrays
    assert call(change(a), b) == ("slow", 2, [])
    assert call(a, change(b)) == ("slow", 2, [])
    out = change(np.zeros((3, 5), np.float32))
    if out is not None:
        assert call(a, b, out=out) == ("slow", 2, ["out"])
        assert not np.any(out)


def test_other_calls_are_slow(call: Any, arrays: Any) -> None:
    a, b = arrays
    out = np.zeros((3, 5), np.float32)
    assert call() == ("slow", 0, [])
    assert call(a) == ("slow", 1, [])
    assert call(a, b, out) == ("slow", 3, [])
    assert call(a, b, bias=a) == ("slow", 2, ["bias"])
    assert call(*[a] * 40, **{f"k{i}": b for i in range(40)})[1] == 40
    out.flags.writeable = False
    assert call(a, b, out=out) == ("slow", 2, ["out"])
    assert slow(Recorder()(a, b)), "before it is bound"


def test_a_keyword_that_is_no_literal_still_works(call: Any, arrays: Any) -> None:
    a, b = arrays
    out = np.zeros((3, 5), np.float32)
    name = "".join(["o", "ut"])
    result = call(a, b, **{name: out})
    assert result is out or slow(result)


def test_overlap_of_output_and_inputs_is_slow(matmul: Any) -> None:
    problem = matmul(4, 4, 4)
    call = problem.bind(Recorder(), problem.compile("portable"))
    memory = np.zeros(64, np.float32)
    parts = [memory[i : i + 16].reshape(4, 4) for i in (0, 16, 32, 20)]
    assert slow(call(parts[0], parts[1], out=parts[0]))
    assert slow(call(parts[0], parts[1], out=parts[1]))
    assert slow(call(parts[0], parts[1], out=parts[3]))
    assert call(parts[0], parts[1], out=parts[2]) is parts[2]
    assert call(parts[0], parts[0], out=parts[1]) is parts[1], "inputs may be one array"


def test_strides_of_length_one_do_not_count(matmul: Any) -> None:
    problem = matmul(1, 4, 5)
    call = problem.bind(Recorder(), problem.compile("portable"))
    a = np.ones((4, 3), np.float32).T[1:2].copy(order="C")
    strange = np.lib.stride_tricks.as_strided(a, (1, 4), (999 * 4, 4))
    np.testing.assert_array_equal(call(strange, np.ones((4, 5), np.float32)), np.full((1, 5), 4))


def test_negative_strides_can_be_bound(matmul: Any) -> None:
    problem = matmul(6, 4, 5)
    memory = [np.random.default_rng(i).random(shape, np.float32) for i, shape in enumerate([(6, 4), (4, 5), (6, 5)])]
    a, b, out = memory[0][::-1], memory[1][:, ::-1], memory[2][::-1, ::-1]
    head = problem.plain[:6]
    strides = [(a.strides[0], a.strides[1], 0), (0, b.strides[0], b.strides[1]), (out.strides[0], 0, out.strides[1])]
    order = [problem.axes.index(axis) for axis in "mkn"]
    assert order == [0, 1, 2]
    loops = [(axis, 1, False, (), -1, (), 1, False, (), ()) for axis in order]
    kernel = _native.compile("portable", *head[:4], 1, *head[4:], strides[:2], strides[2], (), loops, ())
    call = Recorder()
    forms = [(x.shape, x.strides) for x in (a, b, out)]
    call._bind(kernel, inputs=forms[:2], output=forms[2], extras=[], dtype="float32")
    assert call(a, b, out=out) is out
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)
    assert slow(call(a, b)), "a new result would be in C order"
    # Ranges, not addresses of the first element, decide about overlap.
    assert slow(call(memory[2][:, :4][::-1], b, out=out))


def test_epilogue_operands_by_name(matmul: Any) -> None:
    add_both = (("x",), ("operand", 0), ("add",), ("operand", 1), ("mul",))
    problem = matmul(3, 4, 5, extras=("n", "m"), epilogue=add_both)
    call = problem.bind(Recorder(), problem.compile("portable"))
    a, b = problem.arrays()
    row, column = np.arange(5, dtype=np.float32), np.arange(3, dtype=np.float32)
    want = (a @ b + row) * column[:, None]
    np.testing.assert_allclose(call(a, b, n_=row, m_=column), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(call(a, b, m_=column, out=None, n_=row), want, rtol=1e-5, atol=1e-6)
    assert slow(call(a, b, n_=row))
    assert slow(call(a, b, n_=row, m_=column, z=row))
    assert slow(call(a, b, n_=row, m_=column.astype(np.float64)))
    assert slow(call(a, b, n_=column, m_=row))


def test_accumulates_into_a_given_result_only(matmul: Any) -> None:
    problem = matmul(3, 4, 5, accumulate=True)
    call = problem.bind(Recorder(), problem.compile("portable"), accumulate=True)
    a, b = problem.arrays()
    out = np.ones((3, 5), np.float32)
    call(a, b, out=out)
    call(a, b, out=out)
    np.testing.assert_allclose(out, 1 + 2 * (a @ b), rtol=1e-5)
    assert slow(call(a, b))


def test_a_result_without_axes(matmul: Any) -> None:
    dot = type(matmul(1, 1, 1))("i,i->", {"i": 10})
    call = dot.bind(Recorder(), dot.compile("portable"))
    a, b = dot.arrays()
    result = call(a, b)
    assert result.shape == ()
    assert abs(float(result) - float(a @ b)) < 1e-5


def test_float64(matmul: Any) -> None:
    problem = matmul(3, 4, 5, dtype="float64")
    call = problem.bind(Recorder(), problem.compile("portable"))
    a, b = problem.arrays()
    np.testing.assert_allclose(call(a, b), a @ b, rtol=1e-13)
    assert slow(call(a.astype(np.float32), b))


def test_bind_refuses_what_does_not_fit(matmul: Any) -> None:
    kernel = matmul(2, 2, 2).compile("portable")
    form = ((2, 2), (8, 4))
    good: dict[str, Any] = {"inputs": [form, form], "output": form, "extras": [], "dtype": "float32"}
    call = _native.Call()
    for change in [
        {"dtype": "float64"},
        {"dtype": "int8"},
        {"inputs": [form]},
        {"extras": [("x", *form)]},
        {"output": ((2, 2), (8,))},
        {"output": ((2, 0), (8, 4))},
        {"output": ((1,) * 40, (4,) * 40)},
    ]:
        with pytest.raises(ValueError):
            call._bind(kernel, **{**good, **change})
    for change in [{"inputs": 3}, {"output": (1, 2)}, {"dtype": 7}, {"extras": [(1, *form)]}]:
        with pytest.raises((TypeError, ValueError)):
            call._bind(kernel, **{**good, **change})
    with pytest.raises(TypeError):
        call._bind("kernel", **good)
    with pytest.raises(TypeError):
        call._bind(kernel)
    call._bind(kernel, **good)
    with pytest.raises(TypeError, match="bound to"):
        call(1, 2)


def test_enable_vectorcall() -> None:
    with pytest.raises(TypeError):
        _native.enable_vectorcall(int)
    with pytest.raises(TypeError):
        _native.enable_vectorcall(3)

    class Own(_native.Call):
        def __call__(self) -> str:
            return "own"

    with pytest.raises(TypeError, match="__call__"):
        _native.enable_vectorcall(Own)
    assert Own()() == "own"


def test_attributes_and_weak_references(call: Any) -> None:
    call.note = "kept"
    reference = weakref.ref(call)
    cycle: list[Any] = [call]
    call.cycle = cycle
    assert reference() is call


def test_objects_die(matmul: Any) -> None:
    problem = matmul(3, 4, 5)
    call = problem.bind(Recorder(), problem.compile("portable"))
    reference = weakref.ref(call)
    call.itself = call
    del call
    gc.collect()
    assert reference() is None


def test_no_reference_is_lost_or_kept(matmul: Any) -> None:
    problem = matmul(3, 4, 5, extras=("n",), epilogue=(("x",), ("operand", 0), ("add",)))
    kernel = problem.compile("portable")
    call = problem.bind(Recorder(), kernel)
    (a, b), row, out = problem.arrays(), np.ones(5, np.float32), np.zeros((3, 5), np.float32)
    held = [a, b, row, out, call, None, a.dtype, Recorder, "out"]

    def all_paths() -> None:
        call(a, b, n_=row, out=out)
        call(a, b, n_=row)
        call(a, b, n_=row, out=None)
        call(a, b, out=out)
        call(a, b.T, n_=row)
        call(b, a, 1, 2, 3, x=out)
        problem.bind(call, kernel)
        Recorder()

    for _ in range(10):
        all_paths()
    gc.collect()
    counts = [sys.getrefcount(thing) for thing in held]
    tracemalloc.start()
    all_paths()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        all_paths()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    for thing, count in zip(held, counts, strict=True):
        assert abs(sys.getrefcount(thing) - count) < 50, thing
    assert after - before < 10_000


@pytest.mark.parametrize("release_gil", [False, True])
def test_threads_may_call_and_bind_at_once(release_gil: bool, matmul: Any) -> None:
    problem = matmul(24, 32, 24)
    kernels = [problem.compile("portable") for _ in range(2)]
    call = problem.bind(Recorder(), kernels[0], release_gil=release_gil)
    (a, b), wrong = problem.arrays(), []
    want = a @ b

    def work() -> None:
        out = np.empty((24, 24), np.float32)
        for _ in range(100):
            call(a, b, out=out)
            if not np.allclose(out, want, atol=1e-4):
                wrong.append(out.copy())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(200):
        problem.bind(call, kernels[i % 2], release_gil=release_gil)
    for thread in threads:
        thread.join()
    assert not wrong


def test_machine_code_behind_the_call(isa: str, problem: Any) -> None:
    call = problem.bind(Recorder(), problem.compile(isa))
    arrays = problem.arrays()
    np.testing.assert_allclose(call(*arrays), problem.einsum(*arrays), rtol=0, atol=1e-4)
