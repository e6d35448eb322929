"""Both targets keep what targets promise."""

from __future__ import annotations

import platform

import pytest

from strop.errors import NoCompiler
from strop.kernels.targets.target import Target, target
from strop.testing import TargetConformance


class TestGemmini(TargetConformance):
    problem_id = "gemmini/gemm-16x16x16"

    def make(self) -> Target:
        from strop.kernels.targets.gemmini.toolchain import toolchain

        try:
            toolchain()
        except NoCompiler as error:
            pytest.skip(str(error))
        return target("gemmini")


@pytest.mark.skipif(platform.system() != "Linux", reason="kernels run natively on Linux")
class TestCpu(TargetConformance):
    problem_id = "cpu/rowsum-64x256"

    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from strop.kernels.targets.cpu import run

        monkeypatch.setattr(run, "LIMIT_S", 3.0)
        monkeypatch.setattr(run, "MOST_S", 0.3)

    def make(self) -> Target:
        return target("cpu")
