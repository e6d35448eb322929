"""What surrounds a command and isn't as it should be: closed streams, other letters, stores that can't be read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STROP = f"{sys.executable} -c 'from strop.cli.main import main; main()'"
TUNE = f"{STROP} tune 'mk,kn->mn' m=4 k=3 n=5 --budget 0s"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | environment
    return subprocess.run(["bash", "-c", line], text=True, capture_output=True, timeout=60, check=False, env=env)


@pytest.mark.parametrize("stream", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_closed_stream_is_no_failure(stream: str) -> None:
    done = shell(f"{TUNE} {stream}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stream", ["2>/dev/full", "2>&-", "--json >/dev/full"])
def test_the_exit_code_stands_where_the_error_can_not_be_written(stream: str) -> None:
    assert shell(f"{STROP} tune nonsense {stream}").returncode == 2


def test_letters_that_a_stream_lacks_are_replaced() -> None:
    shell(f"{STROP} tune 'mk,kn->mn' m=64 k=64 n=64 --budget 1evals")
    done = shell(f"{STROP} runs", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    document = shell(f"{TUNE} --json", PYTHONIOENCODING="ascii")
    assert "?" not in document.stdout, "JSON escapes what a stream lacks"
    assert json.loads(document.stdout)["schema"] == "strop.tune/1"


def test_without_a_verb_the_help_is_all_that_is_said() -> None:
    done = shell(STROP)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: strop")


def test_a_question_of_clicks_keeps_its_mark() -> None:
    assert "'--verbose'? See strop tune --help." in shell(f"{TUNE} --bogus").stderr


def test_a_flag_overrides_a_setting_that_is_no_good() -> None:
    assert shell(f"{TUNE} --threads 1 --effort quick", STROP_THREADS="x", STROP_EFFORT="y").returncode == 0
    assert "--threads" in shell(TUNE, STROP_THREADS="x").stderr


def test_no_flag_is_promised_that_is_not_there() -> None:
    assert "--perf-map" not in shell(TUNE, STROP_PERF_MAP="x").stderr


@pytest.mark.parametrize("kind", ["fifo", "directory", "unreadable", "home"])
def test_a_store_that_can_not_be_read(kind: str, tmp_path: Path) -> None:
    if kind in ("unreadable", "home") and os.geteuid() == 0:
        pytest.skip("root reads everything")
    store = tmp_path / "store.sqlite"
    match kind:
        case "fifo":
            os.mkfifo(store)
        case "directory":
            store.mkdir()
        case "unreadable":
            store.touch(mode=0)
        case "home":
            tmp_path.chmod(0)
    try:
        runs = shell(f"{STROP} runs", STROP_HOME=str(tmp_path))
        tune = shell(f"{STROP} tune 'mk,kn->mn' m=4 k=3 n=5 --budget 1evals", STROP_HOME=str(tmp_path))
    finally:
        tmp_path.chmod(0o700)
    assert runs.returncode == 3
    assert runs.stderr.startswith("strop: The store")
    assert tune.returncode == 0, "a result without saving is a result"
    assert "Going on without saving" in tune.stderr


@pytest.mark.parametrize("after_s", [0.15, 0.3, 0.5])
def test_an_early_ctrl_c_ends_in_json_where_that_is_asked_for(after_s: float) -> None:
    words = ["tune", "mk,kn->mn", "m=64", "k=64", "n=61", "--budget", "20s", "--json"]
    running = subprocess.Popen(
        [sys.executable, "-c", "from strop.cli.main import main; main()", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(after_s)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=30)
    if running.returncode == 130 and out:
        assert json.loads(out).keys() & {"error", "schema"}
    else:  # Python itself was still starting
        assert running.returncode in (130, 1, -signal.SIGINT)
