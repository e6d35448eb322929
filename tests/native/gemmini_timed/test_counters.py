"""The COUNTER command of the timed machine: what it counts, shows, resets and keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.native.gemmini.programs import ACC, GARBAGE, WHERE, Command, ex, flip, ld, local, mvin, mvout, preload, st
from tests.native.gemmini_timed.conftest import FENCE, rows

RESET, DROP, TAKE = 1, 2, 4
LOAD_ACTIVE, STORE_ACTIVE, EXECUTE_ACTIVE, STATION_ACTIVE, LOOP_ACTIVE = 9, 12, 24, 42, 43
LOADS, BYTES_READ, BYTES_WRITTEN, READ_LATENCY, WRITE_LATENCY = 1, 4, 5, 6, 7
SET = [ld(0, 0, 16, 1, 64), st(0, 1, 64), ex(1, 0, 0, 0, 1, 1, 0)]
STEPS: list[Command] = [preload(local(0), local(ACC)), flip(local(4096), local(GARBAGE))]
WORK = [*(mvin(WHERE["A"] + 1024 * n, local(64 * n, 64)) for n in range(4)), mvout(WHERE["O"], local(0, 64))]


def configure(number: int, event: int, *, shown: bool = False) -> int:
    return number << 4 | 8 | event << 12 | shown << 31


def read(number: int) -> int:
    return number << 4


def test_a_counter_counts_its_event_from_when_it_is_set(timed: Callable[..., Any]) -> None:
    bench = timed()
    bench.run(rows([*SET, *WORK]))
    bench.counter(configure(0, LOAD_ACTIVE))
    assert bench.counter(read(0)) == 0
    bench.run(rows(WORK))
    assert 4 * 16 <= bench.counter(read(0)) <= 1000
    counted = bench.counter(read(0))
    bench.run(rows([FENCE]))
    assert bench.counter(read(0)) == counted
    bench.counter(configure(0, LOAD_ACTIVE))
    assert bench.counter(read(0)) == 0


def test_events_are_those_of_the_account(timed: Callable[..., Any]) -> None:
    bench = timed()
    bench.run(rows([*SET, mvin(0, local(0, 64)), mvin(0, local(4096, 64)), FENCE]))
    events = {
        12: "store_active",
        25: "execute_flush",
        26: "control_queue_block",
        27: "preload_hazard",
        41: "station_full",
    }
    for number, event in enumerate(events):
        bench.counter(configure(number, event))
    before = bench.account()["counters"]
    bench.run(rows([*WORK, *STEPS * 12, mvout(WHERE["P"], local(ACC, 16)), FENCE]))
    found = {name: bench.counter(read(number)) for number, name in enumerate(events.values())}
    after = bench.account()["counters"]
    assert found == {name: after[name] - before[name] for name in events.values()}
    assert found["store_active"]
    assert found["station_full"]


def test_bytes_and_latencies_are_shown(timed: Callable[..., Any]) -> None:
    bench = timed()
    for number, value in enumerate((BYTES_READ, BYTES_WRITTEN, READ_LATENCY, WRITE_LATENCY)):
        bench.counter(configure(number, value, shown=True))
    bench.run(rows([*SET, *WORK]))
    read_bytes, written, reading, writing = (bench.counter(read(number)) for number in range(4))
    assert (read_bytes, written) == (4096, 1024)
    assert reading >= 64 * 40
    assert writing >= 16 * 40
    bench.counter(RESET)
    assert [bench.counter(read(number)) for number in range(4)] == [0, 0, 0, 0]


def test_the_station_s_loads_are_shown_while_they_are_there(timed: Callable[..., Any]) -> None:
    bench = timed()
    bench.counter(configure(7, LOADS, shown=True))
    bench.run(rows([*SET, *WORK[:4]]), fence=False)
    assert 1 <= bench.counter(read(7)) <= 8
    bench.run(rows([FENCE]))
    assert bench.counter(read(7)) == 0


def test_a_snapshot_stands_until_it_is_dropped(timed: Callable[..., Any]) -> None:
    bench = timed()
    bench.counter(configure(0, STATION_ACTIVE))
    bench.run(rows([*SET, *WORK]), fence=False)
    bench.counter(TAKE)
    kept = bench.counter(read(0))
    bench.run(rows([*WORK, FENCE]))
    assert bench.counter(read(0)) == kept > 0
    bench.counter(DROP)
    assert bench.counter(read(0)) > kept + 50
    bench.counter(RESET)
    assert bench.counter(read(0)) == 0


@pytest.mark.parametrize("event", [0, 19, 22, 29, 37, 38, 40])
def test_events_without_a_signal_read_zero(event: int, timed: Callable[..., Any]) -> None:
    bench = timed()
    bench.counter(configure(3, event))
    bench.run(rows([*SET, *WORK]))
    assert bench.counter(read(3)) == 0


def test_counting_takes_no_time_from_the_machine(timed: Callable[..., Any]) -> None:
    took = []
    for event in (0, LOAD_ACTIVE):
        bench = timed()
        bench.counter(configure(0, event))
        took.append(bench.run(rows([*SET, *WORK])))
    assert took[0] == took[1]


def test_each_busy_cycle_is_of_one_mixture(timed: Callable[..., Any]) -> None:
    """Loads, stores and the array, alone or together: the seven events never count one cycle twice."""
    bench = timed()
    bench.run(rows([*SET, mvin(0, local(0, 64)), mvin(0, local(4096, 64)), FENCE]))
    for event in range(1, 8):
        bench.counter(configure(event, event))
    start = bench.run(rows([]))
    end = bench.run(rows([*WORK, *STEPS * 4, mvout(WHERE["P"], local(ACC, 16)), FENCE]))
    mixtures = [bench.counter(read(event)) for event in range(1, 8)]
    assert 0 < sum(mixtures) <= end - start
    assert sum(count > 0 for count in mixtures) >= 3
