"""What the timed machine computes: what the untimed one does, whenever it does it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strop import _native
from tests.native.gemmini.programs import BASE, WHERE, Command, crc
from tests.native.gemmini.random_programs import random_program
from tests.native.gemmini_timed.conftest import FENCE, rows

VECTORS = json.loads((Path(__file__).parents[1] / "gemmini" / "vectors.json").read_text())
RANDOM = range(60)


def prologue() -> list[Command]:
    """What the vectors' description asks for before each program."""
    one = 0x3F800000
    made: list[Command] = [(0, one << 32 | 16 << 16 | 1, 0), (0, 2, one << 32 | 16), (0, 1 << 16 | 4, 1 << 48)]
    made += [(2, 0, row | 64 << 32 | 16 << 48) for row in range(0, 1024, 64)]
    return made + [(2, 0, 1 << 31 | row | 16 << 32 | 16 << 48) for row in range(0, 512, 16)]


def steps(program: dict[str, Any]) -> list[Command]:
    def at(base: str) -> int:
        return WHERE.get(base, 0)

    made = []
    for funct, bases, rs1, rs2 in program["steps"]:
        first, second = (bases[0], bases[1] if len(bases) > 1 else "-")
        made.append((funct, (rs1 + at(first)) % 2**64, (rs2 + at(second)) % 2**64))
    return made


@pytest.mark.parametrize("program", VECTORS["programs"], ids=lambda p: f"{p['kind']}-{p['id']}")
def test_the_golden_vectors_come_out_of_the_timed_machine(program: dict[str, Any], timed: Callable[..., Any]) -> None:
    bench = timed(geometry__raw_output_stationary=1, geometry__reads_padding_of_b=0)
    bench.run(rows([*prologue(), FENCE, *steps(program)]))
    assert crc(bench.read(WHERE["O"], 32768)) == program["crc_O"]
    assert crc(bench.read(WHERE["P"], 16384)) == program["crc_P"]


def fenced(program: list[Command]) -> list[Command]:
    """A fence before each load: two loads in flight may write the same rows in either order, as in the hardware."""
    made: list[Command] = []
    for command in program:
        if command[0] in (1, 2, 14):
            made.append(FENCE)
        made.append(command)
    return made


def same_as_untimed(timed: Callable[..., Any], arrays: dict[str, bytes], seed: int, **values: float) -> None:
    program = random_program(seed)
    untimed = _native.GemminiUntimedBench({}, BASE, 1 << 20, False, 0xA5)
    for name, address in WHERE.items():
        untimed.write(address, arrays[name])
    untimed.execute(program)
    bench = timed(**values)
    bench.run(rows(fenced(program)))
    for name in "OP":
        size = len(arrays[name])
        assert bench.read(WHERE[name], size) == untimed.read(WHERE[name], size), (seed, name)
    assert bench.scratchpad()[: 16 * 1024] == untimed.rows(False, 0, 1024), seed
    assert bench.accumulator()[: 64 * 512] == untimed.rows(True, 0, 512), seed


@pytest.mark.parametrize("seed", RANDOM)
def test_random_programs_leave_what_the_untimed_machine_leaves(
    seed: int, timed: Callable[..., Any], arrays: dict[str, bytes]
) -> None:
    same_as_untimed(timed, arrays, seed)


def test_many_random_programs(timed: Callable[..., Any], arrays: dict[str, bytes], soak: Any) -> None:
    for seed in soak.seeds(20_000):
        same_as_untimed(timed, arrays, 100 + seed)


@pytest.mark.parametrize(
    "values",
    [
        {"memory__hit": 1, "memory__miss": 1},
        {"memory__miss": 700},
        {"dma__requests": 2, "dma__writes": 1},
        {"rs__load_entries": 1, "rs__execute_entries": 2, "rs__store_entries": 1},
        {"mesh__tags": 4, "spad__read_latency": 1},
        {"store__issue_queue": 1, "load__landing_queue": 1, "tlb__miss": 30},
    ],
    ids=lambda v: next(iter(v)),
)
def test_no_parameter_changes_a_result(
    values: dict[str, float], timed: Callable[..., Any], arrays: dict[str, bytes]
) -> None:
    for seed in range(12):
        same_as_untimed(timed, arrays, seed, limit__cycles=10_000_000, **values)


def test_cycles_and_accounts_are_the_same_each_time(timed: Callable[..., Any]) -> None:
    program = rows(random_program(7))
    found = []
    for _ in range(2):
        bench = timed(events=1000)
        found.append((bench.run(program), bench.account()))
    assert found[0] == found[1]


def test_cycles_do_not_depend_on_data_or_poison(timed: Callable[..., Any], arrays: dict[str, bytes]) -> None:
    program = rows(random_program(11))
    plain = timed().run(program)
    other = timed(poison=0x11)
    other.write(WHERE["A"], bytes(len(arrays["A"])))
    assert other.run(program) == plain


def test_two_loads_in_flight_write_in_the_order_of_their_data(
    timed: Callable[..., Any], arrays: dict[str, bytes]
) -> None:
    """The station doesn't hold a load back for another: zeros come before the rows that were asked for first."""
    load = [(0, 0x3F800000 << 32 | 16 << 16 | 1, 16), (2, WHERE["A"], 16 << 32 | 16 << 48), (2, 0, 16 << 32 | 16 << 48)]
    bench = timed()
    bench.run(rows(load))
    assert bench.scratchpad()[:256] == arrays["A"][:256]
    bench.reset()
    bench.run(rows([*load[:2], FENCE, load[2]]))
    assert bench.scratchpad()[:256] == bytes(256)
