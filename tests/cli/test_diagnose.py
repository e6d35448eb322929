"""`strop diagnose` as a command: on made-up profiles without code, and on real ones where they are."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from strop.cli.main import main
from tests.stalls.profiles import writers
from tests.stalls.sampled import own_kernel

SCHEMA = json.loads(files("strop.stalls").joinpath("schemas/diagnosis.json").read_text("utf-8"))
ERROR = json.loads(files("strop").joinpath("schemas/error.json").read_text("utf-8"))
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "gpu"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["diagnose", *map(str, words)])


def checked(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert found["kernels"]
    for kernel in found["kernels"]:
        assert sum(kernel["accounting"]["parts"].values()) == kernel["accounting"]["total"] > 0
        assert kernel["causes"]
    return found


def test_samples_without_code_give_causes_without_sites(tmp_path: Path) -> None:
    path = writers.rocprofv3_csv(tmp_path / "s.csv")
    done = run(path, "--json")
    assert done.exit_code == 0, done.output
    (kernel,) = checked(done.stdout)["kernels"]
    best = kernel["causes"][0]
    assert (best["class"], best["cause_site"], best["needs"]) == ("global_load_latency", None, ["binary"])
    text = run(path).stdout
    assert text.startswith("75% of this kernel's stall samples are at k.hip:8 (s_waitcnt vmcnt(0)): a load from memory")
    assert "--binary FILE" in text


def test_a_folder_gets_all_artefacts(tmp_path: Path) -> None:
    path = writers.rocprofv3_csv(tmp_path / "s.csv")
    done = run(path, "-o", tmp_path / "out", "--html", tmp_path / "page.html", "-q")
    assert done.exit_code == 0, done.output
    names = {"diagnosis.json", "report.html", "blame.folded", "blame.speedscope.json"}
    assert {one.name for one in (tmp_path / "out").iterdir()} == names
    checked((tmp_path / "out" / "diagnosis.json").read_text("utf-8"))
    assert (tmp_path / "page.html").read_text("utf-8") == (tmp_path / "out" / "report.html").read_text("utf-8")
    total = sum(int(line.rpartition(" ")[2]) for line in (tmp_path / "out" / "blame.folded").read_text().splitlines())
    assert total == 50


def test_names_from_a_file_reach_neither_terminal_nor_page(tmp_path: Path) -> None:
    rows = (writers.rocprofv3_csv(tmp_path / "s.csv", trace=False)).read_text("utf-8")
    path = tmp_path / "evil\x1b[31m.csv"
    path.write_text(rows.replace("/a/k.hip", "/a/<script>\x1b[2J.hip"), "utf-8")
    done = run(path, "--html", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "\x1b" not in done.output
    assert "\x1b" not in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("gone.csv",), "missing-profile"),
        (("s.csv", "--method", "gpa"), "unknown-method"),
        (("s.csv", "--kernel", "\x1b[31mnone"), "unknown-kernel"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    writers.rocprofv3_csv(tmp_path / "s.csv")
    path, *rest = words
    done = run(tmp_path / path, *rest)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "\x1b[31mnone" not in done.stderr
    found = json.loads(run(tmp_path / path, *rest, "--json").stdout)
    jsonschema.Draft202012Validator(ERROR).validate(found)
    assert found["error"]["code"] == code


@pytest.mark.parametrize("option", ["--binary", "--html", "-o"])
def test_an_empty_path_is_none(tmp_path: Path, option: str) -> None:
    """As `--binary "$UNSET"` gives it: not the folder that one is in."""
    profile = writers.rocprofv3_csv(tmp_path / "s.csv")
    for done in (run(profile, option, ""), run("")):
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "it is empty; name a path" in done.stderr


def test_what_no_file_may_replace_is_written_to(tmp_path: Path) -> None:
    profile = writers.rocprofv3_csv(tmp_path / "s.csv")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link").symlink_to("page.html")
    (tmp_path / "loop").symlink_to("loop")
    for name, why in (("pipe", "nobody reads it"), ("loop", "symbolic links")):
        done = run(profile, "--html", tmp_path / name)
        assert (done.exit_code, done.stdout) == (2, "")
        assert why in done.stderr
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run(profile, "--html", tmp_path / "pipe").exit_code == 0
        assert os.read(reader, 9) == b"<!DOCTYPE"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert run(profile, "--html", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!DOCTYPE")


def test_a_binary_that_is_no_file(tmp_path: Path) -> None:
    profile = writers.rocprofv3_csv(tmp_path / "s.csv")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        (tmp_path / "pipe", "pipe or a device"),
        ("/dev/zero", "pipe or a device"),
        (tmp_path, "directory"),
    ):
        done = run(profile, "--binary", name)
        assert (done.exit_code, done.stdout) == (2, "")
        assert why in done.stderr
    done = run(profile, "--binary", tmp_path / "new\nline\x1b[31m")
    assert (done.stderr.count("\n"), "\x1b" in done.stderr) == (1, False)


def test_diagnose_loads_no_tuner() -> None:
    script = "import strop, sys; strop.diagnose; print(*(m for m in sys.modules if m in ('numpy', 'strop._native')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_own_kernel_from_samples_to_load(tmp_path: Path) -> None:
    profile, binary, pc = own_kernel(tmp_path)
    done = run(profile, "--binary", binary, "--json", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    (kernel,) = checked(done.stdout)["kernels"]
    best = kernel["causes"][0]
    assert best["stall_site"]["pc"] == pc
    assert best["cause_site"]["opcode"].startswith("LDG")
    assert kernel["accounting"]["parts"]["attributed"] == 90
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert 'class="arrow"' in page
    said = run(profile, "--binary", binary).stdout.split("\n")[0]
    assert "wait for the load at" in said
    assert "(LDG" in said


def test_the_example_says_what_the_readme_says() -> None:
    root = Path(__file__).resolve().parents[2]
    said = run(root / "examples" / "spmv").stdout.splitlines()[0]
    claim = "wait for the load at spmv.hip:6 (global_load_dwordx2, 1 per iteration, dependent address chain of depth 2)"
    assert claim in said
    assert claim in " ".join((root / "README.md").read_text("utf-8").split())


def real() -> list[Path]:
    if not DATA.is_dir():
        return []
    found = [*DATA.glob("*/hpctoolkit_leo_ae/database"), *DATA.glob("nvidia/hpctoolkit_stock/*.d")]
    found += [
        *DATA.glob("amd/rocprofv3_pc_sampling_csv/*.csv"),
        *DATA.glob("amd/*/code.json"),
        *DATA.glob("*/*/*.ncu-rep"),
    ]
    return sorted(found)


@pytest.mark.skipif(not DATA.is_dir(), reason="no real profiles beside the project")
@pytest.mark.parametrize("path", real(), ids=lambda path: "/".join(path.parts[-3:]))
def test_real_profiles_are_closed_and_say_something(path: Path, tmp_path: Path) -> None:
    done = run(path, "--json", "-o", tmp_path)
    if done.exit_code == 3:
        pytest.skip(json.loads(done.stdout)["error"]["message"])
    assert done.exit_code == 0, done.output
    found = checked(done.stdout)
    total = sum(int(line.rpartition(" ")[2]) for line in (tmp_path / "blame.folded").read_text("utf-8").splitlines())
    assert total == sum(kernel["accounting"]["total"] for kernel in found["kernels"])
    page = (tmp_path / "report.html").read_text("utf-8")
    anchors = re.findall(r' id="([^"]+)"', page)
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(anchors)
    assert not re.findall(r'href="[^#]', page)
