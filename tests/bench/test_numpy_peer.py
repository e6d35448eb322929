"""NumPy timed against a stand-in for a tuned kernel, in a real process of its own."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from strop.bench import numpy_peer
from strop.bench.numpy_peer import NumpyComparison, time_against_numpy
from strop.errors import PeerFailed
from strop.values.contraction import Contraction
from strop.values.layout import Layout

# What strop.load would give: a callable with out= and the epilogue's operands by name.
STAND_IN = """
import os, sys, time
import numpy as np

def load(path):
    options = open(path).read().split()
    assert "OPENBLAS_CORETYPE" not in os.environ and os.environ["OPENBLAS_NUM_THREADS"] == "1"
    print("noise on standard output")
    os.write(1, b"more noise")

    def call(*operands, out, **extra):
        if "die" in options:
            os.kill(os.getpid(), 11)
        if "hang" in options:
            time.sleep(600)
        if "slow" in options:
            time.sleep(0.002)
        made = np.einsum(options[0], *operands)
        made = out + made if "accumulate" in options else made
        if extra:
            made = np.maximum(made + extra["bias"], 0)
        out[...] = made + 1 if "wrong" in options else made
        return out

    return call
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")

    def compare(options: str, contraction: Contraction, **more: Any) -> NumpyComparison:
        saved = tmp_path / "tuned"
        saved.write_text(options)
        return time_against_numpy(contraction, saved, loader="stand_in:load", **{"rounds": 6, "seconds": 0.1, **more})

    return compare


MATMUL = Contraction.parse("mk,kn->mn", m=32, k=48, n=16)


def test_both_sides_of_one_run(stand_in: Any) -> None:
    done = stand_in("mk,kn->mn slow", MATMUL)
    assert len(done.ours) == len(done.theirs) >= 2
    assert min(done.ours) > 0.002
    assert done.speedup_best < 0.2
    assert done.interval[0] <= done.speedup_median <= done.interval[1] < 1
    assert "matmul" in done.way or "dot" in done.way or "einsum" in done.way
    assert done.blas
    assert len(done.cpus) == 1
    json.dumps(done.to_json(), allow_nan=False)


@pytest.mark.parametrize("semiring_epilogue", [{"epilogue": "relu(x + bias[n])"}, {"accumulate": True}])
def test_the_whole_is_timed(stand_in: Any, semiring_epilogue: dict[str, Any]) -> None:
    contraction = Contraction.parse("mk,kn->mn", m=8, k=8, n=8, **semiring_epilogue)
    done = stand_in("mk,kn->mn" + " accumulate" * contraction.accumulate, contraction)
    assert done.speedup_median > 0


def test_a_result_of_one_element(stand_in: Any) -> None:
    assert stand_in("ii->", Contraction.parse("ii->", i=50)).speedup_median > 0


def test_other_strides(stand_in: Any) -> None:
    layout = Layout(operands=((1, 32), (-16, 1)), output=(16, 1), epilogue=(), alignment=(4, 4, 4))
    assert stand_in("mk,kn->mn", MATMUL, layout=layout).speedup_median > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("mk,kn->mn wrong", "differs from strop's"),
        ("mk,kn->mn die", f"ended with -{int(signal.SIGSEGV)}"),
        ("mk,kn->nm", "ValueError"),
    ],
)
def test_what_goes_wrong_is_said(stand_in: Any, options: str, words: str) -> None:
    with pytest.raises(PeerFailed, match="NumPy could not be timed") as caught:
        stand_in(options, MATMUL)
    assert words in str(caught.value)


def test_no_answer(stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_peer, "START_S", 2.0)
    with pytest.raises(PeerFailed, match="no answer within"):
        stand_in("mk,kn->mn hang", MATMUL)


def test_nothing_to_time(stand_in: Any) -> None:
    with pytest.raises(PeerFailed, match="empty"):
        stand_in("mk,kn->mn", Contraction.parse("mk,kn->mn", m=0, k=4, n=4))
