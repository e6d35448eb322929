"""Ten thousand judgements take no more memory than a hundred."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from strop.errors import NoCompiler
from strop.kernels.judge import draw
from strop.kernels.registry import problem
from strop.kernels.targets.gemmini.target import TARGET
from tests.conftest import Soak

MOST_GROWTH = 24 << 20  # bytes; one machine's memory is 17 MiB


def resident() -> int:
    """Return the memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_judgements_leave_nothing_behind(soak: Soak) -> None:
    found = problem("gemmini/gemm-16x16x16")
    try:
        built = TARGET.build(found, found.start_code, sandbox="none")
    except NoCompiler as error:
        pytest.skip(str(error))
    after_warm_up = 0
    for seed in soak.seeds(10_000):
        outcomes = list(TARGET.run(found, built, draw(found, TARGET, seed), sandbox="none"))
        assert TARGET.conclude(found, built, outcomes).refusal is None
        if seed == 20:
            gc.collect()
            after_warm_up = resident()
    gc.collect()
    growth = resident() - after_warm_up
    soak.note(growth_bytes=growth)
    assert growth < MOST_GROWTH
