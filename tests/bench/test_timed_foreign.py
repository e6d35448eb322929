"""Timing from outside: the process stands still, ends when it must, and can do nothing but compute."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from strop.bench import timed_foreign
from strop.bench.isolation import layers, seccomp, syscalls
from strop.bench.timed_foreign import CONTROL_BYTES, LINK, Ended, TimedForeign, harness
from strop.errors import BadSandbox
from strop.values.verdict import Verdict

CC = shutil.which("gcc") or shutil.which("clang")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="kernels run natively on Linux"),
    pytest.mark.skipif(CC is None, reason="no C compiler"),
]
X, Y = CONTROL_BYTES, CONTROL_BYTES + 4096
Build = Callable[[str], bytes]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def made(body: str) -> bytes:
        (tmp_path / "harness.c").write_bytes(harness(2))
        (tmp_path / "kernel.c").write_text(f"void solution(const float *X, float *Y) {{\n{body}\n}}\n")
        subprocess.run([str(CC), "-O1", "kernel.c", "harness.c", *LINK, "-o", "kernel"], cwd=tmp_path, check=True)
        return (tmp_path / "kernel").read_bytes()

    return made


def floats(process: TimedForeign, offset: int, count: int) -> np.ndarray:
    return np.frombuffer(process.memory, np.float32, count=count, offset=offset)


def test_each_call_gets_its_operands(build: Build) -> None:
    with TimedForeign(build("*Y = *X + 1;"), buffers=2, room=1 << 16) as process:
        x, y = floats(process, X, 8), floats(process, Y, 8)
        x[:] = np.arange(8)
        done = process.batch([(X + 4 * i, Y + 4 * (7 - i)) for i in range(8)])
        assert list(y) == [8, 7, 6, 5, 4, 3, 2, 1]
        assert 0 < done.cpu_s <= done.wall_s * 1.02 + 1e-3
        assert 0 < process.overhead_s < 1
        del x, y


def test_it_stands_still_between_batches(build: Build) -> None:
    with TimedForeign(build("*Y = *X;"), buffers=2, room=1 << 16) as process:
        for _ in range(3):
            process.batch([(X, Y)])
            state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            assert state == "T"


def test_the_stack_holds_the_poison(build: Build) -> None:
    body = "volatile unsigned char left[512];\n*(unsigned char *)Y = left[64];"
    with TimedForeign(build(body), buffers=2, room=1 << 16) as process:
        for poison in (0xA5, 0x3C):
            process.batch([(X, Y)], poison=poison)
            assert process.memory[Y] == poison


@pytest.mark.parametrize(
    ("body", "verdict", "said"),
    [
        ("extern void _exit(int); _exit(0);", Verdict.CRASH, "exit code 0"),
        ("*(volatile int *)8 = 1;", Verdict.CRASH, "SIGSEGV"),
        ("volatile int on = 1; while (on) {}", Verdict.RUN_TIMEOUT, "most time"),
        ("extern int getppid(void); getppid();", Verdict.ILLEGAL, "getppid"),
        ('extern int open(const char *, int, ...); open("/dev/null", 0);', Verdict.ILLEGAL, "openat"),
    ],
)
def test_how_it_ends(build: Build, body: str, verdict: Verdict, said: str) -> None:
    with TimedForeign(build(body), buffers=2, room=1 << 16) as process:
        with pytest.raises(Ended, match=said) as ended:
            process.batch([(X, Y)], limit_s=1.0)
        assert ended.value.verdict is verdict
        pid = process.pid
    assert not Path(f"/proc/{pid}").exists()


def test_memory_of_its_own_is_allowed(build: Build) -> None:
    body = """
    extern void *malloc(unsigned long), *realloc(void *, unsigned long);
    extern void free(void *);
    for (int i = 1; i < 30; i++) {
      float *part = malloc(1 << i % 24);
      part = realloc(part, 1 << (i % 24 + 1));
      part[0] = *X;
      *Y = part[0];
      free(part);
    }"""
    with TimedForeign(build(body), buffers=2, room=1 << 16) as process:
        floats(process, X, 1)[:] = 3
        process.batch([(X, Y)])
        assert floats(process, Y, 1)[0] == 3


def test_it_has_no_descriptor_and_two_filters(build: Build) -> None:
    with TimedForeign(build(""), buffers=2, room=1 << 16) as process:
        assert os.listdir(f"/proc/{process.pid}/fd") == []
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "Seccomp:\t2" in status
        assert "NoNewPrivs:\t1" in status
        assert {"no-new-privs", "seccomp", "seccomp allow-list"} <= set(process.layers)


def test_it_ends_with_its_parent(build: Build, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(build(""))
    script = textwrap.dedent("""
        import os, sys
        from strop.bench.timed_foreign import TimedForeign
        process = TimedForeign(open(sys.argv[1], "rb").read(), buffers=2, room=1 << 16)
        print(process.pid, flush=True)
        os.kill(os.getpid(), 9)
    """)
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "program")], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    until = time.monotonic() + 10
    while time.monotonic() < until and Path(f"/proc/{pid}").exists():
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


def test_offsets_are_looked_at(build: Build) -> None:
    with TimedForeign(build(""), buffers=2, room=1 << 16) as process:
        for rows in ([(X,)], [(0, Y)], [(X, CONTROL_BYTES + (1 << 16))]):
            with pytest.raises(ValueError, match=r"offset|outside"):
                process.batch(rows)


@pytest.mark.parametrize("layer", timed_foreign.NEEDED)
def test_without_the_least_nothing_runs(layer: str, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    found = layers.probe()
    less = layers.Sandbox(tuple(each for each in found.layers if each != layer), {layer: "switched off"}, {})
    monkeypatch.setattr(layers, "probe", lambda: less)
    monkeypatch.setattr(timed_foreign, "probe", lambda: less)
    program = build("*Y = 7;")
    with pytest.raises(BadSandbox, match="switched off") as refused:
        TimedForeign(program, buffers=2, room=1 << 16)
    assert refused.value.exit_code == 3
    with TimedForeign(program, buffers=2, room=1 << 16, sandbox="none") as process:
        process.batch([(X, Y)])
        assert floats(process, Y, 1)[0] == 7
        assert "seccomp" not in process.layers


@pytest.mark.parametrize("architecture", syscalls.ARCHITECTURES)
def test_the_filter_is_a_program_that_ends(architecture: str) -> None:
    """Every jump lands inside, and the last instruction returns."""
    code = seccomp.timed(architecture, pid=4711)
    for at, (operation, yes, no, _) in enumerate(code):
        if operation in (seccomp.EQUAL, seccomp.ANY_BIT):
            assert at + 1 + max(yes, no) < len(code)
    assert code[-1] == (seccomp.RETURN, 0, 0, seccomp.TRAP)
    assert len(seccomp.packed(code)) == 8 * len(code) <= 8 * (timed_foreign.TABLE - timed_foreign.CODE)
