"""The JSON of `strop tune` against its schema, the trials as CSV, and the command that asks again."""

from __future__ import annotations

import csv
import io
import json
import shlex
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

import strop
from strop.errors import PeerFailed
from strop.loops.document import document, trials_csv
from tests.loops.findings import compared, found

SCHEMAS = files("strop.loops").joinpath("schemas")
TUNE, SCHEDULE = (json.loads(SCHEMAS.joinpath(f"{name}.json").read_text("utf-8")) for name in ("tune", "schedule"))


def valid(tuned: Any, numpy: Any = None) -> dict[str, Any]:
    text = json.dumps(document(tuned, numpy), allow_nan=False)
    value = json.loads(text)
    jsonschema.validate(value, TUNE)
    return dict(value)


def test_a_result() -> None:
    value = valid(found(), compared(1.5))
    assert value["share_of_peak"] == pytest.approx(value["gflops"] / 160)
    assert value["numpy"]["speedup_median"] == pytest.approx(1.5, rel=0.01)
    assert value["numpy_reason"] is None
    assert [each["tie"] for each in value["finalists"]] == [False, True, False]
    assert value["verdicts"] == {"ok": 2, "illegal": 1}
    assert value["nest"].startswith("for n.0 in 131 by 16")


def test_a_result_without_numpy_says_why() -> None:
    value = valid(found(), PeerFailed(peer="NumPy", reason="no luck"))
    assert value["numpy"] is None
    assert "no luck" in value["numpy_reason"]
    assert valid(found())["numpy_reason"]


def test_results_that_have_less() -> None:
    valid(found(from_store=True, age_seconds=3.0))
    valid(found(interrupted=True, finalists=(), peak_gflops=None))
    valid(strop.tune("mk,kn->mn", m=0, k=3, n=4))
    valid(strop.tune("mk,kn->mn", m=5, k=3, n=4, budget="0s", threads=1))
    valid(strop.tune("mk,kn->mn", m=5, k=3, n=4, threads=1, schedule=()))


def test_the_schema_can_fail() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(found()) | {"extra": 1}, TUNE)


def test_a_schedule() -> None:
    jsonschema.validate(found().to_json(), SCHEDULE)
    jsonschema.validate(found(measurement=None).to_json(), SCHEDULE)


def test_trials() -> None:
    rows = list(csv.DictReader(io.StringIO(trials_csv(found()))))
    assert [row["verdict"] for row in rows] == ["ok", "illegal", "ok"]
    assert rows[1]["measured_s"] == ""
    assert float(rows[2]["best_gflops"]) == 155.0


def test_the_command_asks_the_same_again() -> None:
    tuned = strop.tune(
        "n c 2h+r, o c r -> n o h",
        n=2,
        c=3,
        h=5,
        r=3,
        o=4,
        threads=1,
        dtype="float64",
        epilogue="relu(x * gain[o])",
        budget="4evals",
        seed=3,
    )
    assert tuned.findings.command is not None
    words = shlex.split(tuned.findings.command)
    assert words[:3] == ["strop", "tune", "n c 2h+r, o c r -> n o h"]
    assert {"n=2", "c=3", "h=5", "r=3", "o=4", "--fresh"} <= set(words)
    for option, value in (("--dtype", "float64"), ("--budget", "4evals"), ("--seed", "3"), ("--threads", "1")):
        assert words[words.index(option) + 1] == value
    assert words[words.index("--epilogue") + 1] == "relu(x * gain[o])"
