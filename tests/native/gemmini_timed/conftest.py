"""A bench: the timed Gemmini with a memory of its own, filled with the data of the golden vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from strop import _native
from tests.native.gemmini.programs import BASE, WHERE, Command, data

FENCE: Command = (_native.GEMMINI_FENCE, 0, 0)


def rows(commands: Iterable[Command], *, cost: int = 1) -> Any:
    """Commands as the machine takes them: pc is the command's number, the host needs `cost` cycles before each."""
    made = [(funct, rs1, rs2, 16 + 4 * n, cost) for n, (funct, rs1, rs2) in enumerate(commands)]
    return np.array(made, dtype=np.uint64).reshape(-1, 5)


@pytest.fixture(scope="session")
def arrays() -> dict[str, bytes]:
    return data()


@pytest.fixture
def timed(arrays: dict[str, bytes]) -> Callable[..., Any]:
    """`timed(events=0, **values)`: memory of 1 MiB at the base, A, B, D, O and P in it; names with `_` for the dot."""

    def make(*, events: int = 0, strict: bool = False, poison: int = 0xA5, **values: float) -> Any:
        named = {name.replace("__", "."): float(value) for name, value in values.items()}
        made = _native.GemminiBench(named, 1 << 20, BASE, strict, poison)
        made.reset(events)
        for name, address in WHERE.items():
            made.write(address, arrays[name])
        return made

    return make
