"""A winner is judged again on machines near to the target's."""

from __future__ import annotations

import pytest

from strop.kernels.judge import confirm
from strop.kernels.registry import problem
from strop.kernels.targets.gemmini import parameters
from strop.kernels.targets.gemmini.perturbed import FIXED, SPREAD, perturbed
from strop.kernels.targets.gemmini.toolchain import toolchains
from strop.kernels.targets.target import target

PROBLEM = "gemmini/gemm-32x32x32"


def test_machines_are_near_and_reproducible() -> None:
    own = parameters.values()
    for seed in range(50):
        made = perturbed("firesim", {}, seed)
        assert made == perturbed("firesim", {}, seed)
        assert not set(made) & set(FIXED)
        assert any(made[name] != own[name] for name in made)
        for name, value in made.items():
            assert abs(value - own[name]) <= SPREAD * own[name] + 0.5, name
            assert value >= 1
        parameters.checked(made)


@pytest.mark.skipif(next(toolchains(), None) is None, reason="there is no compiler for RISC-V here")
def test_confirm() -> None:
    asked = problem(PROBLEM)
    found = confirm(PROBLEM, asked.start_code)
    assert [each.verdict for each in found] == ["ok"] * 5
    assert len({each.evidence["seed"] for each in found}) == 5
    assert len({each.evidence["perturbation"] for each in found}) == 5
    assert len({each.cycles for each in found}) > 1
    wrong = confirm(PROBLEM, asked.start_code.replace("k < K", "k < K / 2"))
    assert [each.verdict for each in wrong] == ["wrong_result"]


@pytest.mark.skipif(next(toolchains(), None) is None, reason="there is no compiler for RISC-V here")
def test_a_cost_of_one_machine_only(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = target("gemmini")
    monkeypatch.setattr(
        type(machine), "perturbed", lambda self, seed: self.changed({"memory.miss": 2000, "memory.hit": 2000})
    )
    found = confirm(PROBLEM, problem(PROBLEM).start_code)
    assert {each.verdict for each in found} == {"implausible"}
    assert all(each.measurement is None for each in found)
