"""A machine with code in it, and runs of a few instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strop import _native
from tests.native.rocket import encoding as e

BASE = 0x80000000
RETURN = e.i_type(e.JALR, 0, 0, 1, 0)


@pytest.fixture
def machine() -> Any:
    return _native.Machine(1 << 20)


@pytest.fixture
def call(machine: Any) -> Callable[..., Any]:
    """call(*instructions, arguments=(), **limits): the result of a function of these instructions and a return."""

    def run(*instructions: int, at: int = BASE, **options: Any) -> Any:
        machine.memory.write(at, e.words(*instructions, RETURN))
        return machine.call(at, **options)

    return run
