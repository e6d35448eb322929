"""What a user can hand the Python API that it can't take: one sentence each, or the right value."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strop
from strop.bench.machine import usable_cpus
from strop.errors import (
    BadBudget,
    BadContraction,
    BadDtype,
    BadEffort,
    BadFile,
    BadOption,
    BadSchedule,
    BadSemiring,
    BadThreads,
    IllegalMove,
    NotAnArray,
    StropError,
    TooLarge,
)
from strop.loops.moves import Prefetch, Split

SIZES: dict[str, Any] = {"m": 4, "k": 3, "n": 5}
MATMUL = strop.Contraction.parse("mk,kn->mn", **SIZES)
DOCUMENT = {"schema": "strop.schedule/1", "moves": [], "contraction": MATMUL.to_json()}


def parse(**options: Any) -> strop.Contraction:
    return strop.Contraction.parse("mk,kn->mn", **SIZES, **options)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: strop.Contraction.parse("9" * 5000 + "m k, k -> m", m=1, k=1), BadContraction),
        (lambda: strop.Contraction.parse("99999999999999999999m -> m", m=1), BadContraction),
        (lambda: strop.Contraction.parse("4000000000000000000m+k -> m k", m=1, k=1), TooLarge),
        (lambda: strop.Contraction.parse("m->m", m=10**5000), TooLarge),
        (lambda: strop.Contraction.parse(" ".join(f"a{i}" for i in range(33)) + " -> a0"), BadContraction),
        (lambda: parse(sizes=5), BadOption),
        (lambda: parse(sizes="m=4"), BadOption),
        (lambda: parse(semiring=["+,*"]), BadSemiring),
        (lambda: parse(accumulate="no"), BadOption),
        (lambda: parse(accumulate=np.ones(2)), BadOption),
        (lambda: parse(dtype=np.dtype("float32").newbyteorder()), BadDtype),
        (lambda: strop.tune("mk,kn->mn", budget="9" * 500 + "s", **SIZES), BadBudget),
        (lambda: strop.tune("mk,kn->mn", budget="50ktok", **SIZES), BadBudget),
        (lambda: strop.tune("mk,kn->mn", effort=["quick"], **SIZES), BadEffort),  # type: ignore[arg-type]
        (lambda: strop.tune("mk,kn->mn", seed=1.0, **SIZES), BadOption),  # type: ignore[arg-type]
        (lambda: strop.einsum(["mk,kn->mn"], np.ones((2, 2), "f"), np.ones((2, 2), "f")), BadContraction),  # type: ignore[arg-type]
        (lambda: strop.compile("mk,kn->mn", ()), BadContraction),  # type: ignore[arg-type]
        (lambda: strop.compile(MATMUL, (), threads=0), BadThreads),
        (lambda: strop.compile(MATMUL, (), threads="2"), BadThreads),  # type: ignore[arg-type]
        (lambda: strop.compile(MATMUL, (), threads=10**6), BadThreads),
        (lambda: strop.compile(MATMUL, {Split("m.0", 2)}), BadSchedule),  # a set has no order
        (lambda: strop.compile(MATMUL, "[" * 100_000), BadSchedule),
        (lambda: strop.compile(MATMUL, [{"move": ["Split"]}]), BadSchedule),
        (lambda: strop.compile(MATMUL, [Prefetch("A", "m", 2**70)]), IllegalMove),
        (lambda: strop.compile(MATMUL, DOCUMENT | {"schema": "strop.schedule/²"}), BadSchedule),
        (lambda: strop.compile(MATMUL, DOCUMENT | {"contraction": {}}), BadSchedule),
        (lambda: strop.compile(MATMUL, DOCUMENT | {"contraction": [1]}), BadSchedule),
        (lambda: strop.load(5), BadFile),  # type: ignore[arg-type]
        (lambda: strop.compile(MATMUL, ()).save("/"), BadFile),
        (lambda: strop.compile(MATMUL, ()).save("a" * 300), BadFile),
        (lambda: strop.compile(MATMUL, ()).save("a\0"), BadFile),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence(call: Callable[[], Any], error: type[StropError]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_newer_format_is_told_of_however_it_is_written() -> None:
    with pytest.raises(StropError, match="format"):
        strop.compile(MATMUL, DOCUMENT | {"schema": "strop.schedule/" + "9" * 5000})


def test_numpys_numbers_count_as_numbers() -> None:
    numbers: dict[str, Any] = {"seed": np.int64(3), "threads": np.int64(1)}
    tuned = strop.tune("mk,kn->mn", budget="0s", **numbers, **SIZES)
    assert tuned.threads == 1
    assert parse(accumulate=np.True_).accumulate is True


def test_numpys_type_names_the_type_of_operands() -> None:
    a, b = np.ones((4, 3), "f"), np.ones((3, 5), "f")
    assert strop.einsum("mk,kn->mn", a, b, dtype=np.float32, budget="0s").tolist() == (a @ b).tolist()


def test_a_schedule_may_be_any_iterable() -> None:
    moves = (move for move in [Split("m.0", 2)])
    assert strop.compile(MATMUL, moves, "literal").schedule == (Split("m.0", 2),)


def test_a_number_of_the_epilogue_may_be_as_large_as_a_float() -> None:
    kernel = strop.compile(strop.Contraction.parse("m->m", m=2, epilogue="x * alpha"), ())
    assert kernel(np.ones(2, "f"), alpha=1e300).tolist() == [np.inf, np.inf]
    with pytest.raises(NotAnArray, match="larger than any float"):
        kernel(np.ones(2, "f"), alpha=10**400)


def test_an_operand_of_the_epilogue_may_be_called_text() -> None:
    a = np.ones(3, "f")
    assert strop.einsum("m->m", a, epilogue="x * text", text=2.0, budget="0s").tolist() == [2.0] * 3


def test_an_axis_longer_than_memory_compiles() -> None:
    assert strop.compile(strop.Contraction.parse("mk,kn->mn", m=2**40, k=1, n=1), ()).nest is not None


def test_fresh_is_heard_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from strop.loops import einsum

    asked: list[Any] = []

    def tune(text: str, *operands: Any, **options: Any) -> Any:
        asked.append(options)
        return strop.compile(strop.Contraction.parse(text, m=3), ())

    monkeypatch.setattr(einsum, "tune", tune)
    for _ in range(2):
        strop.einsum("m->m", np.ones(3, "f"), fresh=True)
    assert len(asked) == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_runs(copied: Callable[[Any], Any]) -> None:
    tuned = strop.compile(strop.Contraction.parse("mk,kn->mn", epilogue="x + b[n]", **SIZES), (Split("m.0", 2),))
    a, b, bias = np.ones((4, 3), "f"), np.ones((3, 5), "f"), np.ones(5, "f")
    again = copied(tuned)
    assert (again.contraction, again.schedule) == (tuned.contraction, tuned.schedule)
    assert again(a, b, b=bias).tolist() == (a @ b + 1).tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"layout": {"operands": [[3, 1]], "output": [5, 1], "epilogue": [], "alignment_bytes": [4, 4, 4]}},
        {"layout": {"operands": [[3, 1, 1], [5]], "output": [5, 1], "epilogue": [], "alignment_bytes": [4, 4, 4]}},
        {"layout": {"operands": [["a", 1], [5, 1]], "output": [5, 1], "epilogue": [], "alignment_bytes": [4, 4, 4]}},
        {"layout": {"operands": [[3, 1], [5, 1]], "output": [10**30, 1], "epilogue": [], "alignment_bytes": [4, 4, 4]}},
        {"layout": {"operands": [[3, 1], [5, 1]], "output": [0, 0], "epilogue": [], "alignment_bytes": [4, 4, 4]}},
        {"layout": {"operands": [[3, 1], [5, 1]], "output": [5, 1], "epilogue": [], "alignment_bytes": [3, 4, 4]}},
        {"layout": {"operands": [[3, 1], [5, 1]], "output": [5, 1], "epilogue": [[1]], "alignment_bytes": [4, 4, 4]}},
        {"threads": None},
        {"measurement": {"samples": []}},
    ],
)
def test_a_damaged_file_is_told_of(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    tuned = strop.compile(MATMUL, ())
    path.write_text(json.dumps(tuned.to_json() | change))
    with pytest.raises(BadSchedule):
        strop.load(path)


def test_a_file_for_more_threads_than_cpus_gets_as_many(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text(json.dumps(strop.compile(MATMUL, ()).to_json() | {"threads": 10**30}))
    assert strop.load(path).threads == usable_cpus()
