"""The command `strop` as a whole: help, every kind of end, start-up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
from click.testing import CliRunner

from strop.cli.main import VERBS, main
from strop.errors import FullStore, StropError, WorkerLost

ERROR = json.loads(files("strop").joinpath("schemas/error.json").read_text("utf-8"))
DOCTOR = json.loads(files("strop").joinpath("schemas/doctor.json").read_text("utf-8"))
STROP = (sys.executable, "-c", "from strop.cli.main import main; main()")


def process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STROP, *words], text=True, capture_output=True, timeout=60, check=False, **options)


def test_help_lists_the_verbs() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0
    assert [
        line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line.split()[0] in VERBS
    ] == [*VERBS]


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_says_in_help_what_the_list_says(verb: str) -> None:
    done = CliRunner().invoke(main, [verb, "--help"])
    assert done.exit_code == 0
    command = main.get_command(click.Context(main), verb)  # type: ignore[attr-defined]
    assert command is not None
    assert command.name == verb


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "runs"])
def test_every_verb_takes_the_shared_options(verb: str) -> None:
    command = main.get_command(click.Context(main), verb)  # type: ignore[attr-defined]
    names = {name for parameter in command.params for name in parameter.opts}
    assert {"--json", "-o", "--html", "-v", "-q", "--seed", "--home", "--isa"} <= names


def test_version() -> None:
    import strop

    done = CliRunner().invoke(main, ["--version"])
    assert (done.exit_code, done.stdout) == (0, f"strop, version {strop.__version__}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tune"], "Missing argument 'TEXT'. See strop tune --help."),
        (["tune", "mk,kn->mn", "m=x"], "'m=x' is not AXIS=N"),
        (["tune", "mk,kn->mn", "m=3", "m=4"], "axis m can't have the sizes 3 and 4"),
        (["bogus"], "No such command 'bogus'. See strop --help."),
        (["--bogus"], "See strop --help."),
        (["runs", "bogus"], "See strop runs --help."),
        (["doctor", "--html", "/nonexistent/page.html"], "there is no directory /nonexistent"),
        (["doctor", "--html", "/tmp"], "it is a directory"),
        (["doctor", "-o", "/dev/null"], "/dev/null can't be made"),
    ],
)
def test_wrong_usage(words: list[str], said: str) -> None:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    as_json = CliRunner().invoke(main, [*words, "--json"])
    assert as_json.exit_code == 2
    assert as_json.stderr == ""
    jsonschema.validate(json.loads(as_json.stdout), ERROR)


def raises(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make `strop doctor` raise."""

    def examine() -> None:
        raise error

    monkeypatch.setattr("strop.doctor.examine", examine)


@pytest.mark.parametrize("error", [FullStore(path="/store"), WorkerLost(times=3, reason="none", words="deep\nwords")])
def test_an_error_of_the_catalogue(error: StropError, monkeypatch: pytest.MonkeyPatch) -> None:
    raises(monkeypatch, error)
    done = CliRunner().invoke(main, ["doctor"])
    assert (done.exit_code, done.stdout, done.stderr) == (3, "", f"strop: {error}\n")
    done = CliRunner().invoke(main, ["doctor", "--json"])
    assert (done.exit_code, json.loads(done.stdout)) == (3, error.to_json())


def test_the_words_of_a_process_only_where_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    raises(monkeypatch, WorkerLost(times=3, reason="none", words="deep\nwords"))
    assert "deep" not in CliRunner().invoke(main, ["doctor"]).stderr
    assert "deep\nwords\n" in CliRunner().invoke(main, ["doctor", "-v"]).stderr


def test_a_bug_leaves_a_report(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    raises(monkeypatch, ZeroDivisionError("by nothing"))
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 70
    assert "Traceback" not in done.stderr
    assert "ZeroDivisionError: by nothing" in done.stderr
    (report,) = (own_home / "bugs").iterdir()
    assert str(report) in done.stderr
    text = report.read_text()
    assert "Traceback" in text
    assert "arguments: ['doctor']" in text
    assert "Traceback" in CliRunner().invoke(main, ["doctor", "-v"]).stderr


def test_a_bug_where_no_report_can_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    raises(monkeypatch, ZeroDivisionError("by nothing"))
    monkeypatch.setenv("STROP_HOME", "/proc/none")
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/proc/none")
    done = CliRunner().invoke(main, ["doctor", "--json"])
    assert done.exit_code == 70
    assert "-v prints" in json.loads(done.stdout)["error"]["fix"]


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    raises(monkeypatch, KeyboardInterrupt())
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 130
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough() -> None:
    for words in ("doctor", "--help"):
        command = (
            f"{sys.executable} -c 'from strop.cli.main import main; main()' {words} | true; echo ${{PIPESTATUS[0]}}"
        )
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
        assert (done.stdout.strip(), done.stderr) == ("0", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_output_that_takes_no_more() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*STROP, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("strop: Standard output can't be written: No space left")
    assert done.stderr.count("\n") == 1


def test_flags_of_settings_reach_the_verb(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["doctor", "--json", "--home", str(tmp_path), "--isa", "portable"])
    found = json.loads(done.stdout)
    assert found["settings"]["home"] == {"value": str(tmp_path), "source": "--home"}
    assert found["settings"]["isa"] == {"value": "portable", "source": "--isa"}
    assert os.environ["STROP_HOME"] != str(tmp_path), "what the flags set ends with the command"
    bad = CliRunner().invoke(main, ["doctor", "--json", "--isa", "neon"])
    assert json.loads(bad.stdout)["faults"][0]["code"] == "bad-setting"


def test_doctor_writes_what_is_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["doctor", "--json", "-o", str(tmp_path / "new" / "folder"), "--html", str(page)])
    found = json.loads(done.stdout)
    jsonschema.validate(found, DOCTOR)
    assert json.loads((tmp_path / "new" / "folder" / "doctor.json").read_text()) == found
    assert "machine" in page.read_text()


def loaded(*words: str) -> set[str]:
    done = process(*words)
    assert done.returncode == 0, done.stderr
    lines = subprocess.run(
        [sys.executable, "-X", "importtime", *STROP[1:], *words], capture_output=True, text=True, check=True
    ).stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def test_help_of_a_verb_loads_nothing_heavy() -> None:
    heavy = {"numpy", "rich", "jinja2", "sqlite3", "strop._native"}
    assert not heavy & loaded("tune", "--help")
    assert "strop.cli.doctor" not in loaded("--help")
