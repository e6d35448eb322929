"""The naive model in NumPy: golden vectors of its own, and random programs on which the native machine must agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strop.kernels.targets.gemmini.model import Model
from tests.conftest import Soak
from tests.native.gemmini.programs import BASE, WHERE, crc
from tests.native.gemmini.random_programs import random_program
from tests.native.gemmini.test_vectors import GOLDEN, RANDOM
from tests.native.gemmini.test_vectors import random_program as given_program

PLAIN = {0, 1, 2, 3, 4, 5, 6, 7, 14}
SIZE = 0x60000


def model(arrays: dict[str, bytes]) -> Model:
    memory = bytearray(SIZE)
    for name, address in WHERE.items():
        memory[address - BASE : address - BASE + len(arrays[name])] = arrays[name]
    return Model(memory, BASE)


def test_the_golden_vectors_without_loops(arrays: dict[str, bytes]) -> None:
    made = model(arrays)
    at = WHERE["O"] - BASE
    for commands, size, expected in GOLDEN:
        if not all(command[0] in PLAIN for command in commands):
            break  # the loops are the last
        made.memory[at : at + len(arrays["O"])] = arrays["O"]
        for command in commands:
            made.execute(*command)
        assert crc(bytes(made.memory[at : at + size])) == expected


@pytest.mark.parametrize(
    "program",
    [
        each
        for each in RANDOM["programs"]
        if not each.get("spike_only") and all(step[0] in PLAIN for step in each["steps"])
    ],
    ids=lambda each: f"{each['kind']}-{each['id']}",
)
def test_the_recorded_programs_without_loops(arrays: dict[str, bytes], program: dict[str, Any]) -> None:
    made = model(arrays)
    for command in given_program(program["steps"]):
        made.execute(*command)
    o, p = WHERE["O"] - BASE, WHERE["P"] - BASE
    assert crc(bytes(made.memory[o : o + 32768])) == program["crc_O"]
    assert crc(bytes(made.memory[p : p + 16384])) == program["crc_P"]


@pytest.mark.parametrize("part", range(8))
def test_random_programs_equal_the_native_machine(
    part: int, soak: Soak, arrays: dict[str, bytes], bench: Callable[..., Any]
) -> None:
    for seed in soak.seeds(25_000):
        number = 25_000 * part + seed
        commands = random_program(number)
        native, made = bench(), model(arrays)
        native.execute(commands)
        for command in commands:
            made.execute(*command)
        for name in ("O", "P"):
            at, size = WHERE[name], len(arrays[name])
            assert native.read(at, size) == bytes(made.memory[at - BASE : at - BASE + size]), (
                f"program {number}, {name}"
            )
