"""Canaries: one file a cheat; each must be refused, with the verdict that its head names."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from strop.kernels.judge import judge_code
from strop.kernels.registry import problem
from strop.kernels.targets.cpu import run
from strop.kernels.targets.target import target

CHEATS = sorted((Path(__file__).parent / "cheats").glob("*.c"))

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="kernels run natively on Linux")


def head(code: str) -> dict[str, str]:
    """Return the fields of a fixture's first lines."""
    lines = [line[3:] for line in code.splitlines() if line.startswith("// ")]
    return {key: value for key, _, value in (line.partition(": ") for line in lines)}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LIMIT_S", 3.0)
    monkeypatch.setattr(run, "MOST_S", 0.5)


@pytest.mark.parametrize("path", CHEATS, ids=lambda path: path.stem)
def test_a_cheat_is_refused(path: Path) -> None:
    code = path.read_text()
    facts = head(code)
    if facts.get("only", platform.machine()) != platform.machine():
        pytest.skip(f"a cheat on {facts['only']}")
    found = judge_code(problem(facts["problem"]), code, target("cpu"))
    assert (str(found.verdict), facts["says"] in found.reason) == (facts["verdict"], True), found.reason
    assert found.measurement is None
