"""A bench: the untimed Gemmini with a memory of its own, filled with the data of the golden vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strop import _native
from tests.native.gemmini.programs import BASE, WHERE, data


@pytest.fixture(scope="session")
def arrays() -> dict[str, bytes]:
    return data()


@pytest.fixture
def bench(arrays: dict[str, bytes]) -> Callable[..., Any]:
    """`bench(strict=True, poison=0xA5, **geometry)`: memory of 1 MiB, A, B, D, O and P at `WHERE`."""

    def make(*, strict: bool = True, poison: int = 0xA5, **geometry: float) -> Any:
        values = {f"geometry.{name}": float(value) for name, value in geometry.items()}
        made = _native.GemminiUntimedBench(values, BASE, 1 << 20, strict, poison)
        for name, address in WHERE.items():
            made.write(address, arrays[name])
        return made

    return make
