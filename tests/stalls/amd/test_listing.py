"""Code that is there as text only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.stalls.amd.listing import decode_listing
from strop.stalls.flow.coverage import coverage
from tests.stalls.amd.fixtures import TARGETS, functions

CODE = Path(__file__).resolve().parents[4] / "shared/data/gpu/amd/rocprof_compute_viewer_pcsampling/code.json"


@pytest.mark.parametrize("isa", TARGETS)
def test_the_text_alone_decodes_as_the_binary_does(isa: str) -> None:
    kept = functions("kernels", isa)
    rows = [
        (name, [(function.address + each.pc, each.text, each.source) for each in function.instructions])
        for name, function in kept.items()
    ]
    binary = decode_listing(rows, path="text")
    assert binary.arch == isa
    for made in binary.functions:
        for one, two in zip(made.instructions, kept[made.name].instructions, strict=True):
            assert (one.pc, one.waits, one.source) == (two.pc, two.waits, two.source), one.text
            assert one.defs == two.defs or two.opcode == "s_swappc_b64"
            if two.control and two.opcode.startswith(("s_branch", "s_cbranch")):
                assert one.control == two.control


@pytest.mark.skipif(not CODE.is_file(), reason="the real profiles (../shared/data/gpu) aren't here")
def test_a_viewers_code() -> None:
    rows = [(row[5], row[0], None) for row in json.loads(CODE.read_text())["code"] if not row[0].startswith(";")]
    binary = decode_listing([("gemm", rows)], path="code.json")
    assert binary.arch == "gfx942"
    (function,) = binary.functions
    assert all(each.known for each in function.instructions)
    checked = coverage(function)
    assert checked.dependences == checked.covered == 641
    assert checked.waits == checked.explained_waits == 34
