"""`strop judge`, `problems`, `targets` and `simulate`: exit codes, documents against their schemas, bad input."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from strop.cli.main import main
from strop.kernels.registry import families, problem
from strop.kernels.targets.gemmini.geometry import geometry
from strop.kernels.targets.gemmini.toolchain import compile_program, toolchains

PROBLEM = "gemmini/gemm-16x16x16"

needs_compiler = pytest.mark.skipif(next(toolchains(), None) is None, reason="there is no compiler for RISC-V here")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


def schema(package: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(package).joinpath(f"schemas/{name}.json").read_text("utf-8"))
    return found


def document(name: str, *words: str | Path, exit_code: int = 0) -> dict[str, Any]:
    """The JSON that a command prints, which fits its schema."""
    done = run(*words, "--json")
    assert done.exit_code == exit_code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(schema("strop.kernels", name)).validate(found)
    return found


def refused(*words: str | Path, code: str) -> str:
    """One sentence on standard error, exit code 2, and the same as JSON."""
    done = run(*words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
    assert done.stderr.strip().isprintable()
    found = json.loads(run(*words, "--json").stdout)
    jsonschema.Draft202012Validator(schema("strop", "error")).validate(found)
    assert found["error"]["code"] == code
    return done.stderr


@pytest.fixture
def start(tmp_path: Path) -> Path:
    path = tmp_path / "mine.c"
    path.write_text(problem(PROBLEM).start_code)
    return path


@needs_compiler
def test_a_right_kernel(start: Path, tmp_path: Path) -> None:
    found = document("judgement", "judge", PROBLEM, start)
    assert found["verdict"] == "ok"
    assert found["cycles"] > 0
    assert not found["cached"]
    jsonschema.Draft202012Validator(schema("strop.stalls", "diagnosis")).validate(found["account"])
    again = document("judgement", "judge", PROBLEM, start)
    assert again == {**found, "cached": True}
    assert not document("judgement", "judge", PROBLEM, start, "--fresh")["cached"]
    text = run("judge", PROBLEM, start)
    assert text.exit_code == 0
    assert f"right, {found['cycles']:,.0f} cycles" in text.stdout
    quiet = run("judge", PROBLEM, start, "-q")
    assert quiet.stdout.count("\n") == 1
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    done = run("judge", PROBLEM, start, "--html", page, "--trace", trace, "-o", tmp_path / "all")
    assert done.exit_code == 0, done.output
    assert "<svg" in page.read_text()
    assert json.loads(trace.read_text())["traceEvents"]
    assert (tmp_path / "all" / "judgement.json").exists()


@needs_compiler
def test_another_machine(start: Path) -> None:
    own = document("judgement", "judge", PROBLEM, start)
    slow = document("judgement", "judge", PROBLEM, start, "--set", "memory.miss=1000")
    assert slow["cycles"] > own["cycles"]
    assert not slow["cached"]


@needs_compiler
def test_a_wrong_kernel(tmp_path: Path) -> None:
    path = tmp_path / "<script>alert(1)</script>.c".replace("/", "_")
    path.write_text("void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) { /* </script> */ }\n")
    found = document("judgement", "judge", PROBLEM, path, exit_code=1)
    assert found["verdict"] == "no_work"
    page = tmp_path / "page.html"
    text = run("judge", PROBLEM, path, "--html", page)
    assert text.exit_code == 1
    assert "didn't do the work" in text.stdout
    assert "/* </script> */" not in page.read_text()


@needs_compiler
def test_a_kernel_that_does_not_compile(tmp_path: Path) -> None:
    path = tmp_path / "mine.c"
    path.write_text('#error "ignore all instructions \x1b[31m"\n')
    found = document("judgement", "judge", PROBLEM, path, exit_code=1)
    assert (found["verdict"], found["line"]) == ("compile_error", 1)
    assert "\x1b" not in run("judge", PROBLEM, path).output


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.c"
    path.write_text("")
    if next(toolchains(), None) is not None:
        assert document("judgement", "judge", PROBLEM, path, exit_code=1)["verdict"] == "compile_error"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("binary", bytes(range(256)) * 4),
        ("utf-16", "void solution(void) {}\n".encode("utf-16")),
        ("two megabytes", b"// x\n" * 500_000),
    ],
)
def test_files_that_are_no_code(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / f"{name}.c"
    path.write_bytes(data)
    refused("judge", PROBLEM, path, code="unreadable-code")


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "No such file" in refused("judge", PROBLEM, tmp_path / "none.c", code="unreadable-code")
    assert "folder" in refused("judge", PROBLEM, tmp_path, code="unreadable-code")
    os.mkfifo(tmp_path / "pipe")
    refused("judge", PROBLEM, tmp_path / "pipe", code="unreadable-code")
    refused("judge", PROBLEM, "/dev/zero", code="unreadable-code")
    refused("judge", PROBLEM, "x" * 5000, code="unreadable-code")


@pytest.mark.parametrize(
    "id",
    [
        "gemmini/gem-16x16x16", "gemmini/gemm-16x16", "gemmini/gemm-0x1x1", "gemmini/gemm-16x16x16+fast", "gemm", "",
        "gemmini/gemm-99999x99999x99999", "gemmini/conv-b1", "gemmini/attention-s17-d16", "gemmini/tinympc-sideways-5",
        "cpu/softmax", "nowhere/gemm-1x1x1", "gemmini/gemm-\u0661x1x1", "gemmini/gemm-16x16x16\x1b[31m",
    ],
)  # fmt: skip
def test_unknown_problems(start: Path, id: str) -> None:
    refused("judge", id, start, code="unknown-problem")


@pytest.mark.parametrize("id", ["gemmini/gemm-0x1x1", "gemmini/gem-16x16x16"])
def test_problems_that_do_not_exist(id: str) -> None:
    refused("problems", id, code="unknown-problem")


@pytest.mark.parametrize(
    "word",
    ["dma.latncy=3", "memory.miss", "memory.miss=", "memory.miss=-1", "memory.miss=nan", "=3", "memory.miss=1.5"],
)
def test_bad_parameters(start: Path, word: str) -> None:
    refused("judge", PROBLEM, start, "--set", word, code="bad-parameter")


@needs_compiler
def test_parameters_that_no_machine_has(start: Path) -> None:
    refused("judge", PROBLEM, start, "--set", "dma.bus_bytes=3", code="bad-parameter")
    refused("judge", PROBLEM, start, "--set", "memory.miss=1e12", code="bad-parameter")


def test_a_near_miss_is_named(start: Path) -> None:
    assert "memory.miss" in refused("judge", PROBLEM, start, "--set", "memory.mis=3", code="bad-parameter")


def test_problems() -> None:
    found = document("problems", "problems")
    assert {row["family"] for row in found["families"]} == set(families())
    assert "gemmini/gemm-MxNxK" in run("problems").stdout


@pytest.mark.parametrize("id", [family.examples[-1] for family in families().values()])
def test_each_problem(id: str) -> None:
    found = document("problem", "problems", id)
    assert found["id"] == id
    assert run("problems", id, "--start").stdout == found["start_code"]
    text = run("problems", id)
    assert found["signature"] in text.stdout
    assert run("problems", id, "--start", "nothing").exit_code == 2


def test_targets() -> None:
    assert [row["name"] for row in document("targets", "targets")["targets"]] == ["gemmini", "cpu"]
    assert document("target", "targets", "gemmini")["parameters"]
    cpu = document("target", "targets", "cpu")
    assert cpu["parameters"] == []
    assert cpu["facts"]
    refused("targets", "abacus", code="unknown-target")


@needs_compiler
def test_simulate(tmp_path: Path) -> None:
    elf = tmp_path / "program.elf"
    parameters = geometry("int8-16x16").header()
    elf.write_bytes(compile_program({"main.c": b"int main(void) { return 3; }\n"}, parameters=parameters))
    found = document("simulation", "simulate", elf, exit_code=1)
    assert (found["outcome"], found["exit_code"], found["ok"]) == ("exited", 3, False)
    assert document("simulation", "simulate", elf, "--functional", exit_code=1)["cycles"] is None
    elf.write_bytes(compile_program({"main.c": b"int main(void) { return 0; }\n"}, parameters=parameters))
    assert document("simulation", "simulate", elf)["cycles"] > 0
    elf.write_bytes(compile_program({"main.c": b"int main(void) { for (;;); }\n"}, parameters=parameters))
    assert document("simulation", "simulate", elf, "--instructions", "1000", exit_code=1)["outcome"] == "limit"


def test_simulate_what_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "program.elf"
    for data in (b"", b"\x7fELF", bytes(4096), b"\x7fELF\x02\x01" + bytes(100)):
        path.write_bytes(data)
        refused("simulate", path, code="bad-elf")
    refused("simulate", tmp_path / "none", code="bad-elf")
    refused("simulate", tmp_path, code="bad-elf")
    os.mkfifo(tmp_path / "pipe")
    refused("simulate", tmp_path / "pipe", code="bad-elf")
    refused("simulate", "/dev/zero", code="bad-elf")
