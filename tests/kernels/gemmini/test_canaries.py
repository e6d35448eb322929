"""Cheats, each of which the judge must refuse, with the right verdict, the reason, and where it can the line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from strop.kernels.judge import judge_code
from strop.kernels.registry import problem
from strop.kernels.targets.gemmini.toolchain import toolchains
from strop.kernels.targets.target import target

HERE = Path(__file__).parent
TABLE: dict[str, dict[str, Any]] = tomllib.loads((HERE / "canaries.toml").read_text("utf-8"))

pytestmark = pytest.mark.skipif(next(toolchains(), None) is None, reason="there is no compiler for RISC-V here")


def test_every_file_is_in_the_table() -> None:
    assert {path.stem for path in (HERE / "canaries").glob("*.c")} == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_refused(name: str) -> None:
    row = TABLE[name]
    code = (HERE / "canaries" / f"{name}.c").read_text("utf-8")
    found = judge_code(problem(row["problem"]), code, target("gemmini"))
    assert not found.ok, "a cheat passed"
    assert found.verdict in row["verdict"], found.reason
    assert re.search(row.get("reason", ""), found.reason)
    assert found.reason.isprintable()
    assert len(found.reason) <= 500
    assert found.measurement is None
    assert found.cycles is None
    if "line" in row:
        assert found.line == row["line"], found.reason
