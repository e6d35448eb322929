"""Right kernels, none of which the judge may refuse; and random schedules of a right one."""

from __future__ import annotations

import pytest

from strop.kernels.judge import judge_code
from strop.kernels.registry import problem
from strop.kernels.targets.gemmini.toolchain import toolchains
from strop.kernels.targets.target import target
from tests.conftest import Soak
from tests.kernels.gemmini.kernels import honest, random_gemm

KERNELS = {name: (id, code) for name, id, code in honest()}

pytestmark = pytest.mark.skipif(next(toolchains(), None) is None, reason="there is no compiler for RISC-V here")


def test_there_are_enough() -> None:
    assert len(KERNELS) >= 60


@pytest.mark.parametrize("name", KERNELS)
def test_honest_kernels_are_right(name: str) -> None:
    id, code = KERNELS[name]
    found = judge_code(problem(id), code, target("gemmini"))
    assert found.ok, found.reason
    assert found.cycles is not None
    assert found.cycles >= problem(id).bound or problem(id).rewrites
    assert found.account is not None
    accounting = found.account.kernels[0].accounting
    assert sum(accounting.parts.values()) == accounting.total == found.cycles


def test_work_after_the_return_is_counted() -> None:
    id, code = KERNELS["start-32x32x32"]
    fenced = judge_code(problem(id), code, target("gemmini"))
    unfenced = judge_code(problem(id), code.replace("  fence();\n}", "}"), target("gemmini"))
    assert fenced.cycles is not None
    assert unfenced.cycles is not None
    assert unfenced.cycles >= fenced.cycles - 20


@pytest.mark.parametrize("part", range(4))
def test_random_schedules_are_right(part: int, soak: Soak) -> None:
    for seed in soak.seeds(250):
        id, code = random_gemm(250 * part + seed)
        found = judge_code(problem(id), code, target("gemmini"))
        assert found.ok, f"{id}, seed {250 * part + seed}: {found.reason}\n{code}"
