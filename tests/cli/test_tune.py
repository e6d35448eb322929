"""`strop tune`: what it prints where, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

import strop
from strop.bench.numpy_peer import NumpyComparison
from strop.cli.main import main
from strop.errors import PeerFailed
from strop.loops import comparison
from tests.loops.findings import compared

SCHEMA = json.loads(files("strop.loops").joinpath("schemas/tune.json").read_text("utf-8"))
ERROR = json.loads(files("strop").joinpath("schemas/error.json").read_text("utf-8"))
ASKED = ("mk,kn->mn", "m=30", "n=33", "k=20", "--threads", "1", "--budget", "5evals")
STROP = (sys.executable, "-c", "from strop.cli.main import main; main()")


def tune(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, ["tune", *words])
    assert done.exit_code == code, (words, done.stdout, done.stderr)
    return done


def as_json(*words: str) -> dict[str, Any]:
    done = tune(*words, "--json")
    assert done.stdout.count("\n") == 1
    value = json.loads(done.stdout)
    jsonschema.validate(value, SCHEMA)
    return dict(value)


@pytest.fixture(autouse=True)
def peer(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for timing NumPy, which takes a second; the list has an entry each time."""
    timed: list[str] = []

    def stand_in(contraction: Any, *_: Any, **__: Any) -> NumpyComparison:
        timed.append(contraction.text)
        return compared(1.5)

    monkeypatch.setattr(comparison, "time_against_numpy", stand_in)
    monkeypatch.setattr("numpy.__version__", compared().numpy)
    return timed


def test_sentence_then_table_then_numpy() -> None:
    done = tune(*ASKED)
    first, *rest = done.stdout.splitlines()
    assert "% of this core's peak; schedule " in first
    assert rest[0] == ""
    assert rest[1].split()[:2] == ["median", "best"]
    assert rest[2].startswith("1 ")
    assert "5 candidates tried by search local: 5 ok; run " in done.stdout
    assert rest[-1].startswith("1.50× NumPy (median of 20 interleaved rounds; np.matmul(a, b, out=out), OpenBLAS")
    assert done.stderr == ""


def test_the_answer_stands_before_numpy_is_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def look(*_: Any, **__: Any) -> NumpyComparison:
        seen.append(capsys.readouterr().out)
        return compared(1.5)

    monkeypatch.setattr(comparison, "time_against_numpy", look)
    with pytest.raises(SystemExit) as end:
        main(["tune", *ASKED])
    assert end.value.code == 0
    assert "of this core's peak; schedule " in seen[0]
    assert "candidates tried" in seen[0]


def test_a_stored_answer_says_so_and_times_nothing(peer: list[str]) -> None:
    first = tune(*ASKED).stdout.splitlines()
    second = tune(*ASKED).stdout.splitlines()
    assert second[0] == first[0]
    assert second[1].startswith("from the store, measured ")
    assert second[1].endswith("; --fresh measures anew")
    assert second[-1] == first[-1]
    assert len(peer) == 1
    third = tune(*ASKED, "--fresh")
    assert "from the store" not in third.stdout
    assert len(peer) == 2


def test_quiet_and_verbose() -> None:
    quiet = tune(*ASKED, "-q").stdout.splitlines()
    assert len(quiet) == 2
    loud = tune(*ASKED, "-v").stdout
    assert "for " in loud
    assert "machine id" in loud


def test_json() -> None:
    value = as_json(*ASKED)
    assert value["numpy"]["speedup_median"] == pytest.approx(1.5, rel=0.01)
    assert "1.50× NumPy" in value["sentence"]
    assert value["verdicts"] == {"ok": 5}
    assert not value["from_store"]
    assert as_json(*ASKED)["from_store"]


def test_numpy_that_cannot_be_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise PeerFailed(peer="NumPy", reason="it is not there")

    monkeypatch.setattr(comparison, "time_against_numpy", fail)
    done = tune(*ASKED)
    assert "schedule" in done.stdout
    assert done.stderr.startswith("warning: NumPy could not be timed: it is not there.")
    value = as_json(*ASKED)
    assert value["numpy"] is None
    assert "it is not there" in value["numpy_reason"]


def test_all_artefacts(tmp_path: Path) -> None:
    folder, page = tmp_path / "a" / "b", tmp_path / "page.html"
    value = as_json(*ASKED, "-o", str(folder), "--html", str(page))
    assert sorted(path.name for path in folder.iterdir()) == [
        "kernel.asm",
        "report.html",
        "result.json",
        "schedule.json",
        "trials.csv",
    ]
    assert json.loads((folder / "result.json").read_text()) == value
    assert "1.50× NumPy" in page.read_text()
    assert len((folder / "trials.csv").read_text().splitlines()) == 6
    assert "ret" in (folder / "kernel.asm").read_text() or "portable" in (folder / "kernel.asm").read_text()
    assert strop.load(folder / "schedule.json").schedule
    given = as_json(*ASKED[:6], "--schedule", str(folder / "schedule.json"), "--space", "literal")
    assert given["schedule"] == value["schedule"]
    assert given["search"] is None


def test_each_python_option_has_its_flag() -> None:
    value = as_json(
        "mk,kn->mn",
        *("--sizes", "m=9", "--sizes", "k=5", "n=7", "--dtype", "float64", "--threads", "1", "--effort", "quick"),
        *("--search", "constant", "--space", "literal", "--budget", "2evals", "--seed", "3", "--semiring", "max,+"),
        *("--accumulate", "--epilogue", "relu(x + bias[n])", "--fresh"),
    )
    assert value["contraction"]["sizes"] == {"m": 9, "k": 5, "n": 7}
    assert value["contraction"]["accumulator_dtype"] == "float64"
    assert value["contraction"]["semiring"] == "max,+"
    assert value["contraction"]["accumulate"] is True
    assert value["contraction"]["epilogue"] == "relu(x + bias[n])"
    assert (value["effort"], value["search"], value["threads"]) == ("quick", "constant", 1)


def test_an_empty_contraction(peer: list[str]) -> None:
    done = tune("mk,kn->mn", "m=0", "n=4", "k=3")
    assert done.stdout == "nothing to compute: the result is empty\n"
    assert done.stderr == ""
    assert as_json("mk,kn->mn", "m=0", "n=4", "k=3")["numpy"] is None
    assert not peer


def test_a_budget_of_nothing() -> None:
    done = tune(*ASKED[:6], "--budget", "0s")
    assert done.stdout.strip().endswith("not measured")
    assert "nothing was measured" in done.stderr


def test_a_store_that_cannot_be_written() -> None:
    done = tune(*ASKED, "--home", "/proc/none")
    assert "schedule" in done.stdout
    assert done.stderr.startswith("warning: Going on without saving.")
    assert "; run " not in done.stdout, "no run is there to show"
    assert as_json(*ASKED, "--home", "/proc/none")["warnings"]


def test_more_than_memory_holds() -> None:
    done = tune("mk,kn->mn", "m=10000000", "k=1", "n=10000000", code=3)
    assert "GiB for its arrays; this machine has" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("mk,kn->mq", "m=3", "k=3", "n=3"), "output-axis-not-in-inputs"),
        (("mk,kn->mn", "m=3", "k=3"), "missing-size"),
        ((*ASKED, "q=3"), "unknown-axis"),
        ((*ASKED, "--dtype", "int8"), "bad-dtype"),
        ((*ASKED, "--effort", "slow"), "bad-effort"),
        ((*ASKED, "--search", "luck"), "bad-search"),
        ((*ASKED[:6], "--budget", "6"), "bad-budget"),
        ((*ASKED, "--space", "outer"), "bad-option"),
        ((*ASKED, "--threads", "0"), "bad-threads"),
        ((*ASKED, "--seed", "-1"), "bad-option"),
        ((*ASKED, "--epilogue", "system(x)"), "bad-epilogue"),
        ((*ASKED, "--semiring", "*,+"), "bad-semiring"),
        ((*ASKED, "--schedule", "/nonexistent.json"), "bad-file"),
        ((*ASKED, "--isa", "neon"), "bad-setting"),
    ],
)
def test_wrong_input(words: tuple[str, ...], code: str) -> None:
    done = tune(*words, code=2)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    value = json.loads(tune(*words, "--json", code=2).stdout)
    jsonschema.validate(value, ERROR)
    assert value["error"]["code"] == code


def test_candidates_that_all_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_WORKER_HOOK", "strop.testing.faults")
    monkeypatch.setenv("STROP_FAULTS", "crash:1.0")
    done = tune(*ASKED, code=1)
    assert done.stdout == ""
    assert "No candidate came out right: 5 crash." in done.stderr


# Ctrl-C ---------------------------------------------------------------------------------------------------------------


def trials_stored() -> int:
    from strop.errors import StropError
    from strop.store.store import open_store

    try:
        with open_store(read_only=True) as store:
            return sum(run.trials for run in store.runs())
    except StropError:  # it is just being made
        return 0


def interrupted(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a long search and interrupt it once the store has trials of it."""
    asked, before = ("tune", *ASKED[:6], "--budget", "50s", *words), trials_stored()
    with subprocess.Popen([*STROP, *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while trials_stored() <= before and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess(asked, process.returncode, out, err)


def test_ctrl_c_prints_the_best_so_far_and_the_run_goes_on() -> None:
    done = interrupted()
    assert done.returncode == 130, done.stderr
    assert "schedule" in done.stdout.splitlines()[0]
    assert "Traceback" not in done.stderr
    assert "Run the same command again to go on." in done.stderr
    again = interrupted("--json")
    assert again.returncode == 130
    value = json.loads(again.stdout)
    jsonschema.validate(value, SCHEMA)
    assert value["interrupted"]
    assert value["trials"] > 8
    listed = json.loads(CliRunner().invoke(main, ["runs", "--json"]).stdout)["runs"]
    assert [run["status"] for run in listed] == ["interrupted"], "one run, gone on with"


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_ctrl_c_while_numpy_is_timed(form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "time_against_numpy", stop)
    done = tune(*ASKED, *form, code=130)
    assert "schedule" in done.stdout
    assert "Traceback" not in done.stderr
    if form:
        jsonschema.validate(json.loads(done.stdout), SCHEMA)


# On a terminal --------------------------------------------------------------------------------------------------------


def on_terminal(*words: str, **environment: str) -> tuple[str, int]:
    """Run with a terminal on all three; what it wrote and the exit code."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": "120", **environment})
        os.execv(STROP[0], [*STROP, *words])
    written = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        written += part
    os.close(terminal)
    return written.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_terminal_sees_the_search() -> None:
    text, code = on_terminal("tune", *ASKED[:6], "--effort", "quick")
    assert code == 0
    for said in ("tuning  mk,kn->mn m=30 k=20 n=33", "best    ", "tried   ", "timing NumPy …", "\x1b[1m"):
        assert said in text, said
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")
    assert "NumPy (" in text.splitlines()[-1]


def test_no_colour_where_it_is_not_wanted() -> None:
    text, code = on_terminal("tune", *ASKED, "-q", NO_COLOR="1")
    assert code == 0
    assert "\x1b" not in text
