"""`strop.tune` as a user meets it: answers, the store, what is kept when it is stopped, odd inputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strop
from strop.errors import (
    BadBudget,
    BadOption,
    BadSearch,
    BadThreads,
    ContradictedSize,
    IllegalMove,
    IsaMissing,
    MissingOutput,
    MissingSize,
    OverlappingOutput,
    ReadOnlyOutput,
    WrongSchedule,
)
from strop.loops.moves import Reorder, Split, Tile
from strop.store.store import open_store

SMALL = {"m": 30, "n": 33, "k": 20}
FEW = {"budget": "6evals", "threads": 1}


def matmul(m: int = 30, n: int = 33, k: int = 20, dtype: str = "float32") -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (m, k)).astype(dtype), rng.uniform(-1, 1, (k, n)).astype(dtype)


def test_a_tuned_matmul_runs_and_knows_how_fast_it_is() -> None:
    a, b = matmul()
    tuned = strop.tune("mk,kn->mn", a, b, **FEW)
    np.testing.assert_allclose(tuned(a, b), a.astype("d") @ b, rtol=1e-5, atol=1e-6)
    assert tuned.gflops > 0
    assert 0 < tuned.share_of_peak < 1.2
    assert tuned.measurement.machine
    assert len(tuned.trace) == 6
    assert sum(tuned.findings.verdicts.values()) == 6


def test_out_is_filled_and_returned() -> None:
    a, b = matmul()
    kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", **SMALL), ())
    out = np.full((30, 33), np.nan, "f")
    assert kernel(a, b, out=out) is out
    np.testing.assert_allclose(out, a.astype("d") @ b, rtol=1e-5, atol=1e-6)


def test_any_strides_run_without_a_copy_being_asked_for() -> None:
    a, b = matmul(60, 66, 40)
    kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", m=30, n=33, k=20), ())
    views = [a[::2, ::2], a[::-2, ::-2], np.asfortranarray(a[::2, ::2])]
    for left in views:
        right = b[::-2, 1::2]
        np.testing.assert_allclose(kernel(left, right), left.astype("d") @ right, rtol=1e-5, atol=1e-5)


def test_a_second_tune_is_answered_from_the_store_and_says_so() -> None:
    first = strop.tune("mk,kn->mn", **SMALL, effort="quick", threads=1)
    second = strop.tune("mk,kn->mn", **SMALL, effort="quick", threads=1)
    assert not first.findings.from_store
    assert second.findings.from_store
    assert second.schedule == first.schedule
    assert second.measurement == first.measurement
    assert [trial.id for trial in second.trace] == [trial.id for trial in first.trace]
    assert not strop.tune("mk,kn->mn", **SMALL, effort="quick", threads=1, fresh=True).findings.from_store


def test_an_explicit_budget_is_answered_only_by_an_equal_run() -> None:
    strop.tune("mk,kn->mn", **SMALL, effort="quick", threads=1)
    assert not strop.tune("mk,kn->mn", **SMALL, effort="quick", **FEW).findings.from_store
    assert strop.tune("mk,kn->mn", **SMALL, effort="quick", **FEW).findings.from_store


def test_other_layouts_are_other_questions() -> None:
    a, b = matmul()
    strop.tune("mk,kn->mn", a, b, **FEW)
    assert not strop.tune("mk,kn->mn", np.asfortranarray(a), b, **FEW).findings.from_store


def test_a_schedule_saved_is_loaded(tmp_path: Path) -> None:
    a, b = matmul()
    tuned = strop.tune("mk,kn->mn", a, b, **FEW)
    tuned.save(tmp_path / "kept.json")
    loaded = strop.load(tmp_path / "kept.json")
    assert loaded.schedule == tuned.schedule
    assert loaded.measurement == tuned.measurement
    np.testing.assert_array_equal(loaded(a, b), tuned(a, b))
    again = strop.tune("mk,kn->mn", a, b, schedule=(tmp_path / "kept.json").read_text(), threads=1)
    assert again.nest == tuned.nest


def test_a_schedule_of_ones_own_is_measured_as_it_is_in_the_literal_space() -> None:
    moves = (Tile(("m.0", "n.0"), (6, 16)), Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")))
    tuned = strop.tune("mk,kn->mn", **SMALL, schedule=moves, space="literal", threads=1)
    assert tuned.schedule == moves
    assert tuned.gflops > 0


@pytest.mark.parametrize("search", ["default", "constant", "analytic", "greedy1", "beam2-bfs", "random", "local"])
@pytest.mark.parametrize("space", ["full", "literal"])
def test_every_search_tunes(search: str, space: str) -> None:
    a, b = matmul()
    tuned = strop.tune("mk,kn->mn", a, b, search=search, space=space, **FEW)
    np.testing.assert_allclose(tuned(a, b), a.astype("d") @ b, rtol=1e-5, atol=1e-6)
    if search == "default":
        assert tuned.schedule == ()


def test_nothing_measured_with_a_budget_of_0() -> None:
    tuned = strop.tune("mk,kn->mn", **SMALL, budget="0s", threads=1)
    assert tuned.measurement is None
    assert tuned.gflops is None
    assert any("0" in warning for warning in tuned.findings.warnings)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_zero_sizes_are_empty_results(m: int, n: int, k: int) -> None:
    a, b = np.ones((m, k), "f"), np.ones((k, n), "f")
    np.testing.assert_array_equal(strop.tune("mk,kn->mn", a, b, threads=1)(a, b), a @ b)


def test_nan_and_infinity_go_where_they_would() -> None:
    a, b = matmul()
    a[3, 4], b[5, 6], a[7, 8] = np.nan, np.inf, -np.inf
    kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", **SMALL), ())
    expected = np.einsum("mk,kn->mn", a.astype("d"), b)
    result = kernel(a, b)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))


def test_bad_questions() -> None:
    a, b = matmul()
    with pytest.raises(MissingSize):
        strop.tune("mk,kn->mn", m=3, n=4)
    with pytest.raises(ContradictedSize):
        strop.tune("mk,kn->mn", a, b, m=31)
    with pytest.raises(BadBudget):
        strop.tune("mk,kn->mn", **SMALL, budget="soon")
    with pytest.raises(BadSearch):
        strop.tune("mk,kn->mn", **SMALL, search="annealing")
    with pytest.raises(BadThreads):
        strop.tune("mk,kn->mn", **SMALL, threads=0)
    with pytest.raises(BadThreads):
        strop.tune("mk,kn->mn", **SMALL, threads=4096)
    with pytest.raises(BadOption):
        strop.tune("mk,kn->mn", **SMALL, space="wide")
    with pytest.raises(IllegalMove):
        strop.tune("mk,kn->mn", **SMALL, schedule=(Split("q.0", 2),))
    document = strop.compile(strop.Contraction.parse("mk,kn->mn", m=4, n=4, k=4), ()).to_json()
    with pytest.raises(WrongSchedule):
        strop.tune("mk,kn->mn", **SMALL, schedule=document)


def test_bad_outputs() -> None:
    a, b = matmul(20, 20, 20)
    kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", m=20, n=20, k=20), ())
    with pytest.raises(OverlappingOutput):
        kernel(a, b, out=a)
    frozen = np.zeros((20, 20), "f")
    frozen.flags.writeable = False
    with pytest.raises(ReadOnlyOutput):
        kernel(a, b, out=frozen)
    adding = strop.compile(strop.Contraction.parse("mk,kn->mn", m=20, n=20, k=20, accumulate=True), ())
    with pytest.raises(MissingOutput):
        adding(a, b)


def test_interleaved_arrays_that_share_no_element_are_fine() -> None:
    both = np.zeros((40, 20), "f")
    a, out = both[::2], both[1::2]
    a[...] = 1
    b = np.ones((20, 20), "f")
    kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", m=20, n=20, k=20), ())
    kernel(a, b, out=out)
    assert (out == 20).all()
    assert (a == 1).all()


def test_a_forced_instruction_set_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strop._native.supported_isas", lambda: ["portable"])
    monkeypatch.setenv("STROP_ISA", "avx512")
    with pytest.raises(IsaMissing):
        strop.tune("mk,kn->mn", **SMALL, **FEW)


def test_the_portable_path_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_ISA", "portable")
    a, b = matmul()
    tuned = strop.tune("mk,kn->mn", a, b, **FEW)
    assert tuned.isa == "portable"
    assert "portable" in tuned.asm()
    np.testing.assert_allclose(tuned(a, b), a.astype("d") @ b, rtol=1e-5, atol=1e-6)


def test_calls_from_many_threads_agree() -> None:
    a, b = matmul(128, 128, 128)
    kernel = strop.tune("mk,kn->mn", a, b, budget="3evals")
    expected = kernel(a, b)
    wrong: list[int] = []

    def call() -> None:
        for _ in range(50):
            if not np.array_equal(kernel(a, b), expected):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_einsum_like_numpys() -> None:
    a, b = matmul(dtype="float64")
    bias = np.ones(33)
    np.testing.assert_allclose(strop.einsum("mk,kn->mn", a, b, budget="2evals"), a @ b)
    fused = strop.einsum("mk,kn->mn", a, b, budget="2evals", epilogue="relu(x + bias[n])", bias=bias)
    np.testing.assert_allclose(fused, np.maximum(a @ b + bias, 0))


COMMAND = (
    "import strop, sys; t = strop.tune('mk,kn->mn', m=96, n=80, k=64, threads=1, budget='400evals', seed=7);"
    "print(len(t.trace))"
)


@pytest.mark.soak
def test_kills_at_random_points_lose_nothing(soak: Any, own_home: Path) -> None:
    """Each kill may lose the batch in flight, never what was journalled; the last run goes on and ends."""
    rng = np.random.default_rng(1)
    seen = 0
    for _ in soak.seeds(50):
        process = subprocess.Popen([sys.executable, "-c", COMMAND], stdout=subprocess.DEVNULL)
        time.sleep(float(rng.uniform(0.15, 0.5)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        with open_store() as store:
            runs = store.runs()
            if runs and runs[0].status != "finished":
                assert runs[0].trials >= seen
                assert len(list(store.trials(runs[0].id))) == runs[0].trials
                seen = runs[0].trials
    done = subprocess.run([sys.executable, "-c", COMMAND], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) >= seen
    with open_store() as store:
        assert [run.status for run in store.runs()].count("finished") >= 1


def test_ctrl_c_keeps_the_best_so_far(own_home: Path) -> None:
    command = COMMAND.replace("400evals", "60s")
    process = subprocess.Popen([sys.executable, "-c", command], stderr=subprocess.PIPE, env={**os.environ})
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        time.sleep(0.1)
        with open_store() as store:
            if store.runs() and store.runs()[0].trials > 8:
                break
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in words
    with open_store() as store:
        (run,) = store.runs()
        assert run.status == "interrupted"
        result = store.result(run.id)
        assert result is not None
        assert json.dumps(result["schedule"])
        assert result["measurement"]["median"] > 0
