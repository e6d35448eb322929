"""Executable memory: never writable and executable at once, reused, and each process's own after a fork."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from strop import _native

JIT = pytest.param("avx2", marks=pytest.mark.isa("avx2"))


@pytest.fixture(autouse=True)
def clean() -> None:
    gc.collect()


@pytest.mark.parametrize("isa", [JIT])
def test_no_mapping_is_writable_and_executable(isa: str, matmul: Any) -> None:
    kernel = matmul(8, 8, 8).compile(isa)
    maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    assert not [fields for fields in maps if "w" in fields[1] and "x" in fields[1]]
    (holder,) = [f for f in maps if int(f[0].split("-")[0], 16) <= kernel.address < int(f[0].split("-")[1], 16)]
    assert holder[1].startswith("r-x")
    assert len(kernel.code()) == kernel.code_bytes > 0


@pytest.mark.parametrize("isa", [JIT])
def test_released_code_is_used_again(isa: str, matmul: Any) -> None:
    sizes = [(m, k, n) for m in (1, 5, 9) for k in (3, 8) for n in (4, 17, 40)]
    kernels = [matmul(*size).compile(isa) for size in sizes]
    mapped, live = _native.arena_use()
    for _ in range(200):
        kernels = [matmul(*size).compile(isa) for size in reversed(sizes)]
        kernels = [matmul(*size).compile(isa) for size in sizes]
    assert _native.arena_use() == (mapped, live)
    del kernels
    assert _native.arena_use()[1] < live


@pytest.mark.parametrize("isa", [JIT])
def test_a_forked_child_keeps_its_kernels(isa: str, matmul: Any) -> None:
    """Parent and child share the pages: neither may overwrite what the other may still call."""
    problem = matmul(16, 16, 16)
    evaluator, kernel = problem.evaluator(), problem.compile(isa)
    assert evaluator.check(kernel)[0]
    to_child, to_parent = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            own = [matmul(9, k, 31).compile(isa) for k in range(1, 20)]  # must not land on the parent's code
            os.write(to_parent[1], b"1")
            os.read(to_child[0], 1)  # the parent has dropped `kernel` and compiled others
            good = evaluator.check(kernel)[0]
            good &= all(matmul(9, k, 31).evaluator().check(one)[0] for k, one in enumerate(own, 1))
            del own, kernel
            code = 0 if good and _native.arena_use()[1] == 0 else 2
        finally:
            os._exit(code)
    os.read(to_parent[0], 1)
    assert evaluator.check(kernel)[0]
    del kernel
    others = [matmul(m, 16, 16).compile(isa) for m in range(1, 30)]
    os.write(to_child[1], b"1")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(matmul(m, 16, 16).evaluator().check(one)[0] for m, one in enumerate(others, 1))
    for end in (*to_child, *to_parent):
        os.close(end)


@pytest.mark.parametrize("isa", [JIT])
def test_perf_learns_the_name(isa: str, matmul: Any) -> None:
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    kernel = matmul(8, 8, 8).compile(isa)
    try:
        assert kernel.note_for_perf("strop mk,kn->mn 8 8 8")
        start, size, name = path.read_text().splitlines()[-1].split(" ", 2)
    finally:
        path.unlink(missing_ok=True)
    assert (int(start, 16), int(size, 16)) == (kernel.address, kernel.code_bytes)
    assert name == "strop mk,kn->mn 8 8 8"


def test_the_portable_path_has_no_code(matmul: Any) -> None:
    kernel = matmul(2, 2, 2).compile("portable")
    assert (kernel.code(), kernel.code_bytes, kernel.address) == (b"", 0, 0)
    assert not kernel.note_for_perf("nothing")


def test_instruction_sets_are_those_of_the_machine() -> None:
    names = _native.supported_isas()
    assert names[0] == _native.detected_isa()
    assert names[-1] == "portable"
    assert all(_native.peak_probe(isa, dtype, 0.001) > 1e8 for isa in names for dtype in ("float32", "float64"))


@pytest.mark.parametrize("isa", [JIT])
def test_a_system_that_refuses_says_so(isa: str) -> None:
    """With a file size limit of 0 no memory file can grow."""
    code = textwrap.dedent(f"""
        import resource
        from strop import _native
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        loops = [(0, 1, False, (), -1, (), 1, False, (), ())]
        one = ("float32", "+", "*", False, 1, (5,), (True,), [(4,)], (4,), (), loops, ())
        try:
            _native.compile("{isa}", *one)
        except RuntimeError as error:
            print(error)
        print(_native.compile("portable", *one).isa)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "refuses executable memory" in done.stdout
    assert done.stdout.endswith("portable\n")
