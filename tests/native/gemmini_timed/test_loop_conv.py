"""Convolutions by loop_conv_ws on the timed machine, against convolutions by their definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.native.gemmini.programs import Command
from tests.native.gemmini.test_loop_conv import CASES, Conv, run
from tests.native.gemmini_timed.conftest import rows

# Long stretches of steps that a dilated input passes over: the unroller gives no command in them and isn't at rest.
MORE = {
    "dilated, long gaps": Conv(input_dilated=True, rows=9, columns=9, kernel=4, padding=3, channels=16, filters=16),
    "dilated, wide": Conv(input_dilated=True, rows=2, columns=17, kernel=3, padding=1, channels=3, filters=4),
}


class Fenced:
    """The timed bench as the untimed one is driven: each list of commands runs until nothing is in flight."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench

    def write(self, address: int, data: Any) -> None:
        self.bench.write(address, bytes(data))

    def read(self, address: int, n: int) -> bytes:
        return bytes(self.bench.read(address, n))

    def execute(self, commands: list[Command]) -> None:
        self.bench.run(rows(commands))


@pytest.mark.parametrize("case", [*CASES.values(), *MORE.values()], ids=[*CASES, *MORE])
def test_convolution(timed: Callable[..., Any], case: Conv) -> None:
    run(Fenced(timed(limit__cycles=10_000_000)), case, times=2)
