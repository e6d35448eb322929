"""The fronts of AMD and Intel: what the encoding says agrees with the text, and programs are those of the fixtures."""

from __future__ import annotations

import random
import re

import pytest

from tests.planted import amd, intel
from tests.planted.loops import hottest, outcomes
from tests.planted.machine import Machine, Settings
from tests.planted.program import Program, load

LATENCY = {"global load": (300, 400), "shared load": (20, 30), "scalar load": (50, 60), "read": (5, 9)}


@pytest.mark.parametrize("front", [amd, intel], ids=["amd", "intel"])
def test_programs_are_those_of_the_fixtures(front: object) -> None:
    name = "amd" if front is amd else "intel"
    made = (amd if front is amd else intel).programs()
    assert {program.id: program for program in made} == load(name), f"run python -m tests.planted.{name}"


@pytest.mark.parametrize("vendor", ["amd", "intel"])
def test_every_branch_goes_to_a_step_and_every_program_ends(vendor: str) -> None:
    for program in load(vendor).values():
        places = {step.address for step in program.steps}
        assert all(target in places for step in program.steps for target in step.targets), program.id
        assert any(step.exits for step in program.steps), program.id


def test_counters_of_the_encoding_are_those_of_the_text() -> None:
    seen = 0
    for program in load("amd").values():
        for step in program.steps:
            if step.text.startswith("s_waitcnt "):
                said = {name: int(count) for name, count in re.findall(r"(\w+)\((\d+)\)", step.text)}
                assert {wait.resource: wait.pending for wait in step.waits} == said, step.text
                seen += 1
    assert seen > 200


def test_tokens_that_are_waited_for_were_taken() -> None:
    for program in load("intel").values():
        taken = {pend.resource for step in program.steps for pend in step.pends}
        for step in program.steps:
            named = {wait.resource for wait in step.waits if wait.resource.startswith("$")}
            if not step.text.startswith("sync.all"):
                assert named <= taken | {name.replace(".src", ".dst") for name in taken}, (program.id, step)


@pytest.mark.parametrize("vendor", ["amd", "intel"])
def test_runs_enter_every_loop_and_end(vendor: str) -> None:
    for program in load(vendor).values():
        if program.fixture.startswith("planted") and len(program.steps) < 200:
            inside = hottest(program)
            ran = _run(program)
            assert inside, program.id
            assert inside <= ran.keys(), program.id


def _run(program: Program) -> dict[int, int]:
    branches = outcomes(program, 4, 3, rng=random.Random(1))
    settings = Settings(seed=1, latency=LATENCY, branches=branches, warps=1)
    return Machine(program, settings).run().executed


def test_a_store_before_a_load_holds_its_counter_where_stores_share_it() -> None:
    """gfx9 counts stores with loads, in order; later ones count them apart."""
    gfx9 = list(amd._pends("global_store_dword", "", "global store", "gfx9"))
    gfx12 = list(amd._pends("global_store_b32", "", "global store", "gfx12"))
    assert [pend.resource for pend in gfx9] == ["vmcnt"]
    assert [pend.resource for pend in gfx12] == ["storecnt"]
