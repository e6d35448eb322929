"""What takes how long: the effects that a kernel's author reckons with, in sign and size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.native.gemmini.programs import (
    ACC,
    ACCA,
    GARBAGE,
    WHERE,
    Command,
    ex,
    flip,
    ld,
    local,
    mvin,
    mvout,
    preload,
    st,
)
from tests.native.gemmini_timed.conftest import FENCE, rows

BANK = 4096  # rows of a scratchpad bank
A, B, O = WHERE["A"], WHERE["B"], WHERE["O"]  # noqa: E741
SET = [ld(0, 0, 16, 1, 64), st(0, 1, 16), ex(1, 0, 0, 0, 1, 1, 0)]


def cycles(bench: Any, commands: list[Command], *, before: list[Command] | None = None, cost: int = 1) -> int:
    start = bench.run(rows([*SET, *(before or []), FENCE]))
    return int(bench.run(rows(commands, cost=cost)) - start)


def step(a: int, b: int, c: int) -> list[Command]:
    return [preload(local(b), local(c)), flip(local(a), local(GARBAGE))]


def zeros(*starts: int) -> list[Command]:
    return [mvin(0, local(start, 64)) for start in starts]


def test_steps_follow_each_other_every_16_cycles(timed: Callable[..., Any]) -> None:
    many = [command for n in range(64) for command in step(16 * n % 256, BANK + 16 * n % 256, ACC | 16 * n % 512)]
    few = many[:16]
    filled = zeros(*range(0, 256, 64), *range(BANK, BANK + 256, 64))
    difference = cycles(timed(), many, before=filled) - cycles(timed(), few, before=filled)
    assert difference == (64 - 8) * 16


def test_a_and_weights_in_one_bank_take_twice_as_long(timed: Callable[..., Any]) -> None:
    filled = zeros(*range(0, 256, 64), *range(BANK, BANK + 256, 64))
    apart = [command for n in range(32) for command in step(16 * n % 256, BANK, ACC | 16 * n % 512)]
    together = [command for n in range(32) for command in step(16 * n % 256, 64, ACC | 16 * n % 512)]
    ratio = cycles(timed(), together, before=filled) / cycles(timed(), apart, before=filled)
    assert 1.8 < ratio < 2.05


def test_narrow_loads_are_several_times_slower(timed: Callable[..., Any]) -> None:
    """The same bytes by rows of 16 and by rows of 64: a packet for each row of either."""
    wide = [mvin(A + 1024 * n, local(64 * n, 64)) for n in range(16)]
    narrow = [mvin(A + 1024 * n + 16 * j, local(64 * n + 16 * j)) for n in range(16) for j in range(4)]
    warm = timed()
    warm.warm(A, 32768)
    slow = cycles(warm, narrow)
    warm.reset()
    warm.warm(A, 32768)
    assert 1.5 < slow / cycles(warm, wide) < 4.5


def test_misaligned_rows_cost_a_packet_more(timed: Callable[..., Any]) -> None:
    aligned = [mvin(A + 1024 * n, local(64 * n, 64)) for n in range(8)]
    askew = [mvin(A + 1024 * n + 8, local(64 * n, 64)) for n in range(8)]
    bench = timed()
    cycles(bench, aligned)
    packets = bench.account()["counters"]["read_packets"]
    bench.reset()
    cycles(bench, askew)
    assert bench.account()["counters"]["read_packets"] == 2 * packets


def test_a_store_from_the_bank_that_accumulates_gets_the_gaps_only(timed: Callable[..., Any]) -> None:
    filled = [*zeros(*range(0, 256, 64), *range(BANK, BANK + 256, 64))]
    filled += [mvin(0, local(ACC | row)) for row in (0, 64, 512)]
    many = [command for n in range(24) for command in step(16 * n % 256, BANK + 16 * n % 256, ACCA | 64)]
    found = []
    for source in (ACC, ACC | 512):
        bench = timed(events=200)
        # Eight stores, so that they meet the results of the steps around them.
        program = many[:4]
        for n in range(8):
            program = [*program, mvout(O + 256 * n, local(source)), *many[4 + 2 * n : 6 + 2 * n]]
        cycles(bench, [*program, *many[20:]], before=filled)
        stores = [event for event in bench.account()["events"] if event["funct"] == 3]
        found.append(stores[-1]["end"] - stores[0]["start"])
        stalls = bench.account()["counters"]["store_port_stalls"]
        assert (stalls > 50) == (source == ACC)
    assert found[0] > found[1] + 50


def test_double_buffering_by_hand_gains_nothing_where_the_station_overlaps(timed: Callable[..., Any]) -> None:
    """Load tile n + 1 before or after computing tile n: the station starts it when its rows are free all the same."""

    def tile(n: int) -> tuple[list[Command], list[Command]]:
        a, b = n % 2 * 64, 2 * BANK + n % 2 * 64
        loads = [mvin(A + 1024 * n, local(a, 64)), mvin(B + 1024 * n, local(b, 64))]
        return loads, [c for j in range(4) for c in step(a + 16 * j, b + 16 * j, ACC | 16 * j)]

    plain, ahead = [], []
    for n in range(12):
        loads, computes = tile(n)
        plain += loads + computes
    ahead += tile(0)[0]
    for n in range(12):
        ahead += (tile(n + 1)[0] if n < 11 else []) + tile(n)[1]
    ratio = cycles(timed(), ahead) / cycles(timed(), plain)
    assert 0.93 < ratio < 1.07


def test_loads_that_fill_the_station_keep_computes_away(timed: Callable[..., Any]) -> None:
    """Eight loads wait; the ninth stands before a compute that waits for none of them."""
    filled = zeros(0, BANK)
    loads = [mvin(A + 1024 * n, local(2 * BANK + 64 * n, 64)) for n in range(12)]
    bench = timed(events=200)
    cycles(bench, [*loads, *step(0, BANK, ACC)], before=filled)
    events = list(bench.account()["events"])[len(filled) :]
    compute = next(event for event in events if event["funct"] == 4)
    third = sorted(event["end"] for event in events if event["funct"] == 2)[2]
    assert compute["allocated"] >= third
    assert bench.account()["counters"]["station_full"] > 50


def test_a_config_of_the_array_waits_until_it_is_empty(timed: Callable[..., Any]) -> None:
    filled = zeros(0, BANK)
    one = step(0, BANK, ACC)
    plain = [*one, *one, *one]
    drained = [*one, SET[2], *one, SET[2], *one]
    bench = timed()
    slower = cycles(bench, drained, before=filled) - cycles(timed(), plain, before=filled)
    assert 2 * 32 < slower < 2 * 120
    assert bench.account()["counters"]["flushes"] >= 2


def test_a_slow_host_halves_the_array(timed: Callable[..., Any]) -> None:
    """A compute alone and its preload alone take 16 cycles each: fused they need a third command in sight."""
    filled = zeros(*range(0, 256, 64), *range(BANK, BANK + 256, 64))
    many = [command for n in range(32) for command in step(16 * n % 256, BANK + 16 * n % 256, ACC | 16 * n % 512)]
    fast = cycles(timed(), many, before=filled)
    bench = timed()
    slow = cycles(bench, many, before=filled, cost=12)
    assert 1.4 < slow / fast < 2.1
    assert bench.account()["classes"]["host"] > 0


def test_short_strips_are_limited_by_tags(timed: Callable[..., Any]) -> None:
    """Four rows a step: six matrix products in flight over about 40 cycles, so six to seven cycles a step."""
    filled = zeros(*range(0, 256, 64), *range(BANK, BANK + 256, 64))
    kept = [
        c
        for n in range(64)
        for c in (
            preload(local(GARBAGE), local(ACC | 4 * n % 512, 16, 4)),
            (5, *flip(local(16, 16, 4), local(GARBAGE))[1:]),
        )
    ]
    first = step(0, BANK, ACC)
    long = cycles(timed(), first + kept, before=filled)
    short = cycles(timed(), first + kept[:32], before=filled)
    assert 6 < (long - short) / 48 < 7.5


@pytest.mark.parametrize("program", ["loads", "steps", "stores", "mixed"])
def test_every_cycle_is_accounted_once(program: str, timed: Callable[..., Any]) -> None:
    parts = {
        "loads": [mvin(A + 1024 * n, local(64 * n, 64)) for n in range(8)],
        "steps": [c for n in range(8) for c in step(16 * n, BANK, ACC | 16 * n)],
        "stores": [mvout(O + 256 * n, local(16 * n)) for n in range(8)],
    }
    commands = parts.get(program) or [c for part in parts.values() for c in part]
    bench = timed()
    end = bench.run(rows([*SET, *zeros(0, 64, BANK), *commands]))
    account = bench.account()
    assert account["cycles"] == sum(account["classes"].values()) == end
    assert sum(sum(spent.values()) for spent in account["lines"].values()) == end
    assert sum(sum(spent.values()) for spent in account["commands"].values()) == end


def test_a_wait_names_the_command_it_waits_for(timed: Callable[..., Any]) -> None:
    program = [*SET, *zeros(BANK), mvin(A, local(0, 64)), *step(0, BANK, ACC)]
    bench = timed()
    bench.run(rows(program))
    wait = next(w for w in bench.account()["waits"] if w["funct"] == 4)
    assert wait["wait"] == "on_load"
    assert (wait["index"], wait["cause_index"]) == (6, 4)
    assert (wait["pc"], wait["cause_pc"]) == (16 + 4 * 6, 16 + 4 * 4)
    assert wait["cycles"] > 50


def test_a_row_read_before_it_landed_is_an_internal_error(timed: Callable[..., Any]) -> None:
    """With the station's dependences off the array would read rows that are on their way."""
    program = rows([*SET, mvin(A, local(0, 64)), mvin(B, local(BANK, 64)), *step(0, BANK, ACC)])
    timed().run(program)
    with pytest.raises(RuntimeError, match=r"internal: .*before the load that fills it has landed"):
        timed(fault__ignore_dependences=1).run(program)


def test_an_unknown_parameter_is_refused(timed: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"memory\.latency"):
        timed(memory__latency=3)
    with pytest.raises(ValueError, match=r"memory\.hit must be a whole number"):
        timed(memory__hit=0.5)
