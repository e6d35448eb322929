"""Golden vectors of the functional reference: V1 to V22, and random programs with the checksums of what they leave."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.native.gemmini.programs import (
    ACC,
    ACCA,
    FULL,
    GARBAGE,
    WHERE,
    Command,
    crc,
    ex,
    flip,
    ld,
    local,
    loop_ws,
    mvin,
    mvin2,
    mvin3,
    mvout,
    pool,
    preload,
    st,
    stay,
)

A, B, D, O = (WHERE[name] for name in "ABDO")  # noqa: E741 - the arrays' names in the vectors
RANDOM = json.loads((Path(__file__).parent / "vectors.json").read_text())

LOADS = [ld(0, 0, 16, 1, 61), ld(1, 0, 16, 1, 23), ld(2, 0, 16, 1, 256)]
LOOP = ((3, 2, 4), (5, 9, 3))
PLAIN = ex(1, 0, 0, 0, 1, 1, 0)

# Commands, bytes of the output that are summed, their CRC-32. State carries over from one to the next.
GOLDEN: list[tuple[list[Command], int, str]] = [
    ([ld(0, 0, 16, 1, 37), st(0, 1, 41), mvin(A, local(100, 7, 5)), mvout(O, local(100, 7, 5))], 205, "7b1b9387"),
    ([ld(0, 0, 16, 0.5, 16), st(0, 1, 16), mvin(A, local(0)), mvout(O, local(0))], 256, "560f0266"),
    ([ld(0, 0, 16, -1.75, 16), mvin(A, local(0)), mvout(O, local(0))], 256, "65db4c5c"),
    ([ld(1, 0, 48, 1, 64), mvin2(A, local(0, 64, 16)), mvout(O, local(144))], 256, "3b7f7152"),
    ([ld(0, 0, 16, 1, 64), st(0, 1, 64), mvin(A, local(200, 64)), mvout(O, local(200, 64))], 1024, "9095e70c"),
    ([ld(0, 0, 16, 1, 0), st(0, 1, 16), mvin(A + 32, local(300)), mvout(O, local(300))], 256, "aeff5404"),
    ([ld(0, 0, 16, 1, 16), mvin(A, local(300)), mvin(0, local(300, 16, 8)), mvout(O, local(300))], 256, "bf7f229a"),
    ([ld(0, 0, 16, 1, 64), st(0, 1, 64), mvin(D, local(ACC)), mvout(O, local(ACC | FULL))], 1024, "8fa6e657"),
    (
        [st(1, 0.003, 16), mvin(D, local(ACC | 16)), mvin(D + 1024, local(ACCA | 16)), mvout(O, local(ACC | 16))],
        256,
        "251361c4",
    ),
    (
        [ld(2, 1, 16, 1, 16), mvin3(B, local(ACCA | 16)), st(0, 1, 64), mvout(O, local(ACC | FULL | 16))],
        1024,
        "ae344f1f",
    ),
    (
        [
            ld(0, 0, 16, 1, 16),
            PLAIN,
            mvin(A, local(0)),
            mvin(B, local(16)),
            preload(local(16), local(ACC | 32)),
            flip(local(0), local(GARBAGE)),
            mvout(O, local(ACC | FULL | 32)),
        ],
        1024,
        "4c9e46de",
    ),
    (
        [
            mvin(A + 256, local(48)),
            preload(local(GARBAGE), local(ACCA | 32, 16, 9)),
            stay(local(48, 13, 9), local(GARBAGE)),
            mvout(O, local(ACC | FULL | 32)),
        ],
        1024,
        "a6b19826",
    ),
    (
        [
            ex(1, 1, 0, 0, 1, 1, 0),
            st(0, 1, 16),
            mvin(A + 512, local(64)),
            preload(local(16), local(80)),
            flip(local(0), local(64)),
            mvout(O, local(80)),
        ],
        256,
        "601649d8",
    ),
    (
        [
            ex(1, 0, 1, 0, 1, 1, 0),
            st(0, 1, 64),
            preload(local(16), local(ACC | 48)),
            flip(local(0), local(GARBAGE)),
            mvout(O, local(ACC | FULL | 48)),
        ],
        1024,
        "9d86760b",
    ),
    (
        [
            ex(1, 0, 0, 1, 1, 1, 0),
            preload(local(16), local(ACC | 48)),
            flip(local(0), local(GARBAGE)),
            mvout(O, local(ACC | FULL | 48)),
        ],
        1024,
        "f2161cc0",
    ),
    (
        [
            ex(0, 0, 0, 0, 1, 1, 5),
            st(0, 1, 16),
            preload(local(GARBAGE), local(96)),
            flip(local(0), local(16)),
            mvout(O, local(96)),
        ],
        256,
        "6f94edef",
    ),
    (
        [
            PLAIN,
            st(0, 0.01, 6),
            preload(local(16, 6, 11), local(ACC | 64, 6, 5)),
            flip(local(0, 11, 5), local(GARBAGE, 6, 5)),
            mvout(O, local(ACC | 64, 6, 5)),
        ],
        30,
        "64545bf9",
    ),
    (
        [ld(0, 0, 16, 1, 16), mvin(A, local(400)), mvin(A + 256, local(416)), ex(1, 0, 0, 0, 2, 3, 0), st(0, 1, 64)]
        + [mvin(0, local(ACC | row)) for row in (96, 112, 128)]
        + [preload(local(16), local(ACC | 96)), flip(local(400), local(GARBAGE))]
        + [mvout(O + 1024 * n, local(ACC | FULL | 96 + 16 * n)) for n in range(3)],
        3072,
        "11034d8b",
    ),
    (
        [ld(0, 0, 16, 1, 64)]
        + [mvin(D + 1024 * n, local(ACC | 160 + 16 * n)) for n in range(4)]
        + [pool(stride=2, size=3, up=1, left=1, out_dim=4, pooled=(4, 4), image=(8, 8), row=16, scale=0.004)]
        + [mvout(O, local(ACC | 160, 16, 0))],
        256,
        "0d3ca377",
    ),
    # Strides and transposition of a loop are those of config_ex: set here, where the list leaves them out.
    (
        [PLAIN, st(1, 0.002, 23), *LOADS, *loop_ws(*LOOP, (A, B, D, O), (61, 23, 64, 23), 1 << 8)],
        989,
        "09f5dd9a",
    ),
    (
        [
            ex(1, 0, 0, 1, 1, 1, 0),
            st(0, 1, 92),
            ld(1, 0, 16, 1, 61),
            *loop_ws(*LOOP, (A, B, 0, O), (61, 61, 64, 23), 2, 2),
        ],
        3956,
        "8641ad26",
    ),
    (
        [PLAIN, st(1, 0.002, 23), *LOADS, *loop_ws(*LOOP, (A, B, D, O), (61, 23, 64, 23), 1 << 8 | 1)],
        989,
        "5f312d1f",
    ),
]


@pytest.mark.parametrize("strict", [True, False])
def test_v1_to_v22_in_order(bench: Callable[..., Any], arrays: dict[str, bytes], strict: bool) -> None:
    machine = bench(strict=strict)
    machine.execute([(7, 0, 0)])
    found = []
    for commands, size, _ in GOLDEN:
        machine.write(O, arrays["O"])
        machine.execute(commands)
        found.append(crc(machine.read(O, size)))
    assert found == [expected for _, _, expected in GOLDEN]


def random_program(steps: list[tuple[int, str, int, int]]) -> list[Command]:
    """The prologue that `vectors.json` describes, then the steps with the arrays' addresses put in."""
    commands = [ld(0, 0, 16, 1, 0), st(0, 1, 16), PLAIN]
    commands += [mvin(0, local(row, 64)) for row in range(0, 1024, 64)]
    commands += [mvin(0, local(ACC | row)) for row in range(0, 512, 16)]
    for funct, bases, rs1, rs2 in steps:
        added = [WHERE.get(name, 0) for name in bases.ljust(2, "0")]
        commands.append((funct, rs1 + added[0], rs2 + added[1]))
    return commands


@pytest.mark.parametrize("program", RANDOM["programs"], ids=lambda p: f"{p['kind']}-{p['id']}")
def test_random_programs(bench: Callable[..., Any], program: dict[str, Any]) -> None:
    # Spike sends output-stationary results to the accumulator unshifted; the hardware doesn't.
    machine = bench(raw_output_stationary=bool(program.get("spike_only")))
    machine.execute(random_program(program["steps"]))
    assert crc(machine.read(WHERE["O"], 32768)) == program["crc_O"]
    assert crc(machine.read(WHERE["P"], 16384)) == program["crc_P"]


def test_spike_only_programs_differ_here(bench: Callable[..., Any]) -> None:
    spike = [p for p in RANDOM["programs"] if p.get("spike_only")]
    assert spike
    for program in spike:
        machine = bench()
        machine.execute(random_program(program["steps"]))
        sums = crc(machine.read(WHERE["O"], 32768)), crc(machine.read(WHERE["P"], 16384))
        assert sums != (program["crc_O"], program["crc_P"])
