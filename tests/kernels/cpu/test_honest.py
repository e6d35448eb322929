"""Honest kernels, from naive to intrinsics: none is refused. A machine that is busy may say that it can't time them."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from strop.kernels.judge import judge_code
from strop.kernels.registry import problem
from strop.kernels.targets.cpu import run
from strop.kernels.targets.target import target
from strop.values.verdict import Verdict
from tests.kernels.cpu.test_cheats import head

HONEST = sorted((Path(__file__).parent / "honest").glob("*.c"))

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="kernels run natively on Linux")


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_an_honest_kernel_is_right(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "MOST_S", 0.3)
    code = path.read_text()
    facts = head(code)
    if facts.get("only", platform.machine()) != platform.machine():
        pytest.skip(f"written for {facts['only']}")
    found = judge_code(problem(facts["problem"]), code, target("cpu"))
    assert found.verdict in (Verdict.OK, Verdict.NOISY), found.reason
    assert "seccomp allow-list" in found.evidence["sandbox"]
    assert set(found.evidence["baselines"]) >= {"numpy"}
