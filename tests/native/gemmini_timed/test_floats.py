"""fp32 4 x 4 on the timed machine: what the untimed one leaves, the same each time, with its own sizes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from strop import _native
from strop.kernels.targets.gemmini.geometry import geometry
from tests.native.gemmini.programs import (
    ACC,
    ACCA,
    BASE,
    GARBAGE,
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

A, O = BASE + 0x10000, BASE + 0x40000  # noqa: E741
SIZES = {name: value for name, value in geometry("fp32-4x4").values.items() if name.startswith("geometry.")}
DATA = np.random.default_rng(4).standard_normal(4096).astype(np.float32).tobytes()


def program(seed: int) -> list[Command]:
    """Tiles brought in, multiplied, summed and stored, in random order over 64 rows of each local memory."""
    rng = random.Random(seed)
    made: list[Command] = [ld(0, 0, 4, 1, 64), st(0, 1, 64), ex(1, 0, 0, 0, 1, 1, 0), FENCE]
    made += [mvin(A + 64 * row, local(row, 16, 4)) for row in range(0, 64, 16)]
    made += [mvin(0, local(ACC | row, 4, 4)) for row in range(0, 64, 4)]
    for _ in range(rng.randint(5, 30)):
        tile = [4 * rng.randrange(16) for _ in range(3)]
        what = rng.randrange(3)
        if what == 0:
            made += [FENCE, mvin(A + 16 * rng.randrange(256), local(tile[0], 4, rng.randint(1, 4)))]
        elif what == 1:
            to = rng.choice((ACC, ACCA)) | tile[2]
            made += [preload(local(tile[0], 4, 4), local(to, 4, 4)), flip(local(tile[1], 4, 4), local(GARBAGE, 4, 4))]
        else:
            made.append(mvout(O + 16 * rng.randrange(256), local(ACC | tile[0], 4, 4)))
    return [*made, FENCE, *(mvout(O + 0x4000 + 256 * row, local(ACC | row, 4, 4)) for row in range(0, 64, 4))]


def timed(**values: float) -> Any:
    sizes = {**geometry("fp32-4x4").values, **{name.replace("__", "."): value for name, value in values.items()}}
    bench = _native.GemminiBench(sizes, 1 << 20, BASE, False, 0xA5)
    bench.write(A, DATA)
    return bench


@pytest.mark.parametrize("seed", range(20))
def test_fenced_programs_leave_what_the_untimed_machine_leaves(seed: int) -> None:
    made = program(seed)
    untimed = _native.GemminiUntimedBench(SIZES, BASE, 1 << 20, False, 0xA5)
    untimed.write(A, DATA)
    untimed.execute([command for command in made if command != FENCE])
    bench = timed()
    bench.run(rows(made))
    assert bench.read(O, 0x8000) == untimed.read(O, 0x8000)
    assert bench.scratchpad()[: 16 * 64] == untimed.rows(False, 0, 64)
    assert bench.accumulator()[: 16 * 64] == untimed.rows(True, 0, 64)


def test_cycles_are_the_same_each_time() -> None:
    made = rows(program(3))
    found = []
    for _ in range(2):
        bench = timed()
        found.append((bench.run(made), bench.account(), bench.read(O, 0x8000)))
    assert found[0] == found[1]


def test_five_loads_are_under_way_at_once_unless_told_otherwise() -> None:
    made = rows([ld(0, 0, 4, 1, 64), *(mvin(A + 256 * n, local(4 * n, 4, 4)) for n in range(40))])
    usual = timed().run(made)
    assert timed(load__commands=5).run(made) == usual
    assert timed(load__commands=1).run(made) > usual
