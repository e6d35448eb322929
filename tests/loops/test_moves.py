"""Legality beyond the moves' own examples: what no nest may become."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.errors import BadSchedule, IllegalMove, NewerSchedule, WrongSchedule
from strop.loops import schedule as schedules
from strop.loops.moves import (
    Balance,
    Cover,
    Merge,
    Move,
    Pack,
    Parallel,
    Prefetch,
    Reorder,
    Split,
    Swap,
    Tile,
    Unroll,
    Vectorize,
    apply,
    legal,
    replay,
)
from strop.loops.nest import Loop, Nest
from strop.values.contraction import Contraction
from tests.loops import nests

MATMUL = Contraction.parse("mk,kn->mn", m=64, k=32, n=48)


def after(*moves: Move) -> Nest:
    return replay(MATMUL, moves)


@given(st.integers(0, 2**32))
@settings(max_examples=300)
def test_legal_moves_keep_a_nest_whole(seed: int) -> None:
    rng = random.Random(seed)
    contraction = nests.contraction(rng)
    nest, schedule = nests.schedule(rng, Nest.default(contraction), moves=9)
    assert replay(contraction, schedule) == nest
    for at, loop in enumerate(nest.loops):
        last = at == len(nest.loops) - 1
        assert not (last and (loop.pack or loop.prefetch or loop.parallel))
        assert not (loop.parallel and at)
        inner = [other for other in nest.loops[at + 1 :] if other.axis == loop.axis]
        assert inner or (loop.step == 1 and not loop.pieces)
        assert sum(loop.blocks(contraction.extent(loop.axis))) == contraction.extent(loop.axis)
    assert {loop.axis for loop in nest.loops} == set(contraction.axes)


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_schedules_survive_json(seed: int) -> None:
    rng = random.Random(seed)
    contraction = nests.contraction(rng)
    _, schedule = nests.schedule(rng, Nest.default(contraction))
    text = json.dumps(schedules.to_json(contraction, schedule), allow_nan=False)
    assert schedules.from_json(json.loads(text)) == (contraction, schedule)


def test_every_move_has_a_reason_for_nonsense() -> None:
    nest = Nest.default(MATMUL)
    for nonsense in ("", "q.0", "m.7", None, 3, ("m.0",)):
        for move in (Split(nonsense, 2), Merge(nonsense), Swap(nonsense, "m.0"), Vectorize(nonsense)):  # type: ignore[arg-type]
            assert legal(nest, move)
        assert legal(nest, Reorder((nonsense, "k.0", "n.0")))  # type: ignore[arg-type]
        assert legal(nest, Pack("B", nonsense))  # type: ignore[arg-type]
    for factor in (0, -1, 2.0, True, "4", None):
        assert legal(nest, Split("m.0", factor))  # type: ignore[arg-type]
        assert legal(nest, Unroll("k.0", factor))  # type: ignore[arg-type]
        assert legal(nest, Tile(("m.0",), (factor,)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("nest", "move", "reason"),
    [
        (after(Pack("B", "k.0")), Vectorize("k.0"), "would be the vector loop"),
        (after(Pack("B", "k.0")), Swap("k.0", "n.0"), "would be the vector loop"),
        (after(Prefetch("B", "k.0", 2)), Reorder(("m.0", "n.0", "k.0")), "would be the vector loop"),
        (after(Swap("m.0", "k.0"), Pack("A", "k.0")), Swap("k.0", "m.0"), "only one element"),
        (after(Parallel("m.0")), Swap("m.0", "k.0"), "parallel"),
        (after(Split("m.0", 6)), Reorder(("m.1", "m.0", "k.0", "n.0")), "must keep their order"),
        (
            after(Split("m.0", 1), Split("n.0", 16)),
            Cover("n.0", (40, 8), "m", (5, 6)),
            "rows must be|step 1|split once",
        ),
        (after(Split("n.0", 16)), Cover("n.0", (40, 9)), "sum to 49, not 48"),
    ],
)
def test_what_is_said_of_loops_stays_possible(nest: Nest, move: Move, reason: str) -> None:
    found = legal(nest, move)
    assert found is not None
    assert any(part in found for part in reason.split("|"))
    with pytest.raises(IllegalMove):
        apply(nest, move)


def test_a_parallel_loop_is_not_merged_into_the_vector_loop() -> None:
    line = Contraction.parse("m,m->m", m=64)
    nest = replay(line, (Split("m.0", 8), Parallel("m.0")))
    assert "vector loop" in str(legal(nest, Merge("m.0")))


def test_extents_know_the_steps_that_a_cover_gives() -> None:
    nest = after(
        Tile(("m.0", "n.0"), (6, 16)),
        Reorder(("n.0", "m.0", "k.0", "m.1", "n.1")),
        Cover("n.0", (32, 16), "m", (5, 14)),
        Balance("m.0"),
    )
    assert nest.steps(1) == (5, 14)
    assert nest.extent(3) == 14
    assert nest.trips(1) == 13
    assert nest.extent(4) == 32


def test_an_empty_extent_has_no_blocks() -> None:
    assert Loop("m", 4, balanced=True).blocks(0) == []
    assert Loop("m", 4).blocks(0) == []


def test_names_of_many_levels() -> None:
    nest = after(Split("m.0", 16), Split("m.1", 4), Split("m.0", 2))
    assert nest.names == ("m.0", "m.1", "m.2", "m.3", "k.0", "n.0")
    assert [loop.step for loop in nest.loops[:4]] == [32, 16, 4, 1]
    assert nest.find("m") == 0
    assert nest.find("m.3") == 3
    assert nest.find("m.4") is None


def test_nests_that_run_alike_have_one_key() -> None:
    trivial = after(Split("m.0", 64))
    assert trivial.key == Nest.default(MATMUL).key
    assert after(Split("m.0", 32)).key != Nest.default(MATMUL).key


def test_documents_that_are_no_schedules() -> None:
    document = schedules.to_json(MATMUL, (Split("m.0", 6),))
    for broken in (
        {},
        {**document, "schema": "strop.run/1"},
        {**document, "moves": 3},
        {**document, "moves": [{"move": "Spilt", "loop": "m.0", "factor": 6}]},
        {**document, "moves": [{"move": "Split", "loop": "m.0"}]},
    ):
        with pytest.raises(BadSchedule):
            schedules.from_json(broken)
    with pytest.raises(NewerSchedule, match="format '2'"):
        schedules.from_json({**document, "schema": "strop.schedule/2"})
    with pytest.raises(WrongSchedule, match="m=63"):
        schedules.from_json(document, Contraction.parse("mk,kn->mn", m=63, k=32, n=48))
    with pytest.raises(BadSchedule, match="no JSON"):
        schedules.as_schedule("{", MATMUL)
    assert schedules.as_schedule(json.dumps(document), MATMUL) == (Split("m.0", 6),)
