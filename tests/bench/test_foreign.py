"""What run_foreign promises of a program that means no harm."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from strop.bench.foreign import ForeignResult, Limits, python_paths, run_foreign


def python(code: str) -> ForeignResult:
    return run_foreign([sys.executable, "-I", "-S", "-c", code], readable=python_paths())


def test_input_output_and_exit_code() -> None:
    done = run_foreign(["sh", "-c", "cat; echo words >&2; exit 3"], stdin=b"data" * 50_000)
    assert done.stdout == b"data" * 50_000
    assert done.stderr == b"words\n"
    assert (done.verdict, done.exit_code, done.signal) == ("crash", 3, None)
    assert "exit code 3" in done.detail


def test_a_program_that_does_not_read_its_input() -> None:
    assert run_foreign(["true"], stdin=b"x" * 1_000_000).verdict == "ok"


def test_files_go_in_and_come_back() -> None:
    done = run_foreign(
        ["sh", "./run.sh"],
        files={
            "run.sh": b"cat in/a.txt > out.txt; mkdir deep; echo b > deep/b; ln -s /usr/bin/env link",
            "in/a.txt": b"A",
        },
        collect=["out.txt", "deep/b", "link", "absent"],
    )
    assert done.verdict == "ok", done.stderr
    assert done.files == {"out.txt": b"A", "deep/b": b"b\n"}


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", ""])
def test_files_stay_inside(name: str) -> None:
    with pytest.raises(ValueError, match="scratch"):
        run_foreign(["true"], files={name: b""})
    with pytest.raises(ValueError, match="scratch"):
        run_foreign(["true"], collect=[name])


def test_the_environment_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "hunter2")
    done = run_foreign(["env"], environment={"OMP_NUM_THREADS": "1"})
    names = {line.split(b"=")[0].decode() for line in done.stdout.splitlines()}
    assert b"hunter2" not in done.stdout
    assert names - {"PWD", "SHLVL", "_"} == {"PATH", "LANG", "HOME", "TMPDIR", "OMP_NUM_THREADS", "STROP_FOREIGN"}


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = run_foreign(["sh", "-c", "echo x > $TMPDIR/a; mkdir -p d/e; chmod 0 d/e d; pwd"])
    assert done.verdict == "ok", done
    assert done.stdout.decode().startswith(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_no_descriptor_of_ours_is_open() -> None:
    code = """
import os
def is_open(n):
    try:
        os.fstat(n)
    except OSError:
        return False
    return True
print([n for n in range(3, 64) if is_open(n)])
"""
    with tempfile.TemporaryFile() as held:
        os.set_inheritable(held.fileno(), True)
        assert python(code).stdout == b"[]\n"


@pytest.mark.parametrize("argv", [["no-such-program"], ["./no-such-file"], ["/etc/hostname"]])
def test_what_cannot_be_started_is_a_verdict(argv: list[str]) -> None:
    done = run_foreign(argv)
    assert done.verdict == "not_run"
    assert "could not be started" in done.detail
    assert done.layers


def test_gcc_works_inside() -> None:
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    built = run_foreign(
        ["gcc", "-O1", "-o", "prog", "prog.c"], files={"prog.c": b"int main(void){return 42;}"}, collect=["prog"]
    )
    assert built.verdict == "ok", built.stderr
    assert run_foreign(["./prog"], files=dict(built.files)).exit_code == 42


def test_threads_may_call_it_at_once() -> None:
    results = []
    threads = [threading.Thread(target=lambda: results.append(run_foreign(["echo", "hi"]).stdout)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"hi\n"] * 4


def test_the_clock_starts_with_the_program() -> None:
    done = run_foreign(["sleep", "0.2"])
    assert 0.19 < done.wall_s < 1.5


def test_json_form() -> None:
    shown = run_foreign(["echo", "hi"]).to_json()
    assert shown["verdict"] == "ok"
    assert shown["stdout"] == "hi\n"


@pytest.mark.parametrize("name", ["wall_s", "processes"])
def test_limits_are_above_zero(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})
