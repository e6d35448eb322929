"""The hazard check at length: thousands of dependences a target, compiled here. Runs under `make soak`."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from strop.stalls.amd.decode import decode
from strop.stalls.flow.coverage import coverage
from strop.stalls.flow.pending import touched_resources

BUILD = Path(__file__).resolve().parents[1] / "kernels" / "amd" / "build.py"
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
FEWEST = {"corpus": 10_000, "order": 700}  # dependences
EXPLAINED = 0.98


def builder() -> Any:
    spec = spec_from_file_location("amd_build", BUILD)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("isa", TARGETS)
@pytest.mark.parametrize("source", ["order", "corpus"])
def test_the_compilers_waits_cover_every_dependence(source: str, isa: str, soak: Any, tmp_path: Path) -> None:
    if not soak.full:
        pytest.skip("compiles for up to a minute: runs under make soak")
    build = builder()
    if absent := build.missing():
        pytest.skip(f"not here: {', '.join(absent)} (Debian: clang-19 lld-19 llvm-19)")
    code = tmp_path / f"{source}.{isa}.hsaco"
    build.build(source, isa, code)
    binary = decode(code.read_bytes(), path=code.name)
    assert all(each.known for function in binary.functions for each in function.instructions)
    callees = touched_resources(binary.functions)
    checked = [coverage(function, callees=callees) for function in binary.functions]
    dependences = sum(each.dependences for each in checked)
    soak.seeds(dependences)
    assert dependences > FEWEST[source]
    assert sum(each.covered for each in checked) == dependences
    assert sum(each.explained_waits for each in checked) >= EXPLAINED * sum(each.waits for each in checked)
