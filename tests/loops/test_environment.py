"""The published environment: its seven actions, and what is masked."""

from __future__ import annotations

import random

import pytest

from strop.loops.environment import ACTIONS, MOST_LOOPS, Environment
from strop.loops.moves import replay
from strop.values.contraction import Contraction

MATMUL = Contraction.parse("mk,kn->mn", m=112, k=192, n=128)


def walked(state: Environment, *actions: str) -> Environment:
    for action in actions:
        state = state.act(action)
    return state


def test_the_published_walk_leads_to_its_schedule() -> None:
    """looptune, docs/imgs/optimizing.png: m by 4, n by 16, then k (there from 20 to 78 GFLOP/s)."""
    state = walked(
        Environment.start(MATMUL),
        "split_4",
        "swap_down",
        "swap_down",
        "down",
        "split_16",
        "swap_up",
        "swap_up",
    )
    assert [(loop.axis, loop.step) for loop in state.nest.loops] == [("m", 4), ("n", 16), ("k", 1), ("m", 1), ("n", 1)]
    assert state.nest == replay(MATMUL, state.schedule)


def test_the_cursor_passes_a_loop_of_its_own_axis_without_a_swap() -> None:
    state = walked(Environment.start(MATMUL), "split_4")
    after = state.act("swap_down")
    assert after.nest == state.nest
    assert after.cursor == 1


def test_illegal_actions_are_masked_with_a_reason() -> None:
    state = Environment.start(MATMUL)
    assert state.actions == ("down", "swap_down", "split_4", "split_8", "split_16")
    assert dict(zip(ACTIONS, state.mask, strict=True))["up"] is False
    assert state.reason("up") == "the cursor is on the outermost loop"
    with pytest.raises(ValueError, match="outermost"):
        state.act("up")
    innermost = walked(state, "down", "down")
    assert not {"down", "swap_down"} & set(innermost.actions)
    assert "there is no action merge" in str(state.reason("merge"))


def test_a_split_needs_as_many_iterations() -> None:
    state = Environment.start(Contraction.parse("mk,kn->mn", m=8, k=3, n=128))
    assert {"split_4", "split_8"} < set(state.actions)
    assert "split_16" not in state.actions
    assert not {"split_4", "split_8", "split_16"} & set(state.act("down").actions)


def test_a_convolution_can_be_split() -> None:
    """In the released code its loops, with the write nest's, were as many as allowed: no split ever was."""
    conv = Contraction.parse(
        "n c h+r w+s, o c r s -> n o h w", sizes={"n": 1, "c": 64, "h": 56, "w": 56, "r": 3, "s": 3, "o": 64}
    )
    state = walked(Environment.start(conv), "down")
    assert {"split_4", "split_8", "split_16"} < set(state.actions)
    state = walked(state, "split_4", "split_4", "split_4")
    assert len(state.nest.loops) == MOST_LOOPS
    assert not {"split_4", "split_8", "split_16"} & set(state.actions)


def test_a_contraction_without_loops_has_no_action() -> None:
    assert Environment.start(Contraction.parse(",->")).actions == ()


def test_random_walks_keep_what_is_computed() -> None:
    rng = random.Random(0)
    for _ in range(20):
        state = Environment.start(MATMUL)
        for _ in range(10):
            state = state.act(rng.choice(state.actions))
        assert state.nest == replay(MATMUL, state.schedule)
        assert 0 <= state.cursor < len(state.nest.loops) <= MOST_LOOPS
