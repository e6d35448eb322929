"""strop names the planted culprit in at least nine cases of ten; the machine and the cases are what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strop.errors import DisassemblerMissing
from tests.conftest import Soak
from tests.planted import nvidia
from tests.planted.case import FOLDER, MOST_SAMPLES, SCHEMA, Case, from_json, read, to_json
from tests.planted.culprit import savings
from tests.planted.kinds import KINDS
from tests.planted.machine import Machine, Plant, Settings
from tests.planted.program import Pend, Program, Step, Wait, load
from tests.planted.score import ask, files

VENDORS = sorted(KINDS)
SHARES = ("dev", "held-out")
BAR = 0.9


def cases(vendor: str) -> list[Case]:
    found = [case for share in SHARES for path in files(share) for case in read(path)]
    return [case for case in found if case.vendor == vendor]


def program(*steps: Step) -> Program:
    return Program(vendor="none", arch="none", fixture="none", kernel="none", steps=steps)


def step(address: int, **what: object) -> Step:
    return Step(address=address, text=str(address), **what)  # type: ignore[arg-type]


def wrong(asked: list[Case]) -> list[str]:
    """Return the ids of the cases whose culprit strop doesn't name; skip where strop can't read the binaries."""
    if not asked:
        pytest.skip("no cases of this vendor")
    try:
        return [case.id for case in asked if ask(case, methods=("strop",))[0].address != case.culprit]
    except DisassemblerMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("vendor", VENDORS)
def test_strop_names_the_culprit(vendor: str) -> None:
    assert len(wrong(cases(vendor)[::20])) <= 1


@pytest.mark.parametrize("vendor", VENDORS)
def test_strop_names_nine_culprits_of_ten(vendor: str, soak: Soak) -> None:
    known = cases(vendor)
    asked = [known[number] for number in soak.seeds(len(known))] if known else []
    assert len(wrong(asked)) <= (1 - BAR) * len(asked) + (not soak.full), "python -m tests.planted.score names them"


@pytest.mark.parametrize("vendor", VENDORS)
def test_cases_are_within_their_limits(vendor: str) -> None:
    for case in cases(vendor)[::7]:
        assert from_json(json.loads(json.dumps(to_json(case)))) == case
        assert 100 <= len(case.samples()) <= MOST_SAMPLES, case.id
        assert case.culprit in {each.address for each in case.code().steps}


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_culprit_is_found_again(vendor: str) -> None:
    for case in cases(vendor)[::35]:
        machine = Machine(case.code(), case.settings)
        (most, address), *rest = savings(machine, machine.run(spans=True))
        assert address == case.culprit, case.id
        assert round(most, 3) == case.savings[0]
        assert all(most >= 1.5 * second for second, _ in rest)


def test_nvidias_programs_are_those_of_the_fixtures() -> None:
    made = {each.id: each for each in nvidia.programs()}
    assert made == load("nvidia"), "run python -m tests.planted.nvidia"


def test_a_warp_waits_until_at_most_k_are_pending() -> None:
    loads = [step(at, op="global load", pends=(Pend("c", order="loads"),)) for at in (0, 1, 2)]
    for left, cycles in ((0, 102), (1, 101), (2, 100)):
        code = program(*loads, step(3, waits=(Wait("c", left),)))
        assert Machine(code, Settings(seed=1, latency={"global load": (100, 100)}, warps=1)).run().cycles == cycles + 1


def test_a_slow_one_holds_back_those_of_its_order() -> None:
    first, second = (step(at, op="global load", pends=(Pend("c", order="loads"),)) for at in (0, 1))
    code = program(first, second, step(2, waits=(Wait("c", 0),)))
    settings = Settings(
        seed=1, latency={"global load": (50, 50)}, plants=(Plant(address=0, cycles=(500, 500)),), warps=1
    )
    machine = Machine(code, settings)
    (_, worst), *_ = savings(machine, machine.run(spans=True))
    assert worst == 0


def test_warps_meet_at_a_barrier() -> None:
    code = program(step(0, op="global load", pends=(Pend("c"),)), step(1, waits=(Wait("c"),)), step(2, op="barrier"))
    late = Plant(address=0, cycles=(900, 900), warps=(1,))
    run = Machine(code, Settings(seed=1, latency={"global load": (10, 10)}, plants=(late,), warps=2)).run(spans=True)
    ((early, _),) = run.spans
    assert [span.reason for span in early if span.step == 2 and span.end - span.start > 800] == ["barrier"]


def test_a_group_of_copies_is_done_when_its_last_is() -> None:
    copies = [step(at, op="async copy", pends=(Pend("open"),)) for at in (0, 1)]
    commit = step(2, op="other", closes="open", pends=(Pend("SB0", order="groups"),))
    code = program(*copies, commit, step(3, waits=(Wait("SB0"),)))
    slow = Plant(address=1, cycles=(400, 400))
    run = Machine(code, Settings(seed=1, latency={"async copy": (10, 10)}, plants=(slow,), warps=1)).run(spans=True)
    assert [span.culprit for span in run.spans[0][0] if span.reason == "async copy"] == [1]
    assert 400 < run.cycles < 405


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"schema": "other", "cases": []}))
    with pytest.raises(ValueError, match=SCHEMA):
        read(path)


def test_held_out_cases_have_their_own_seed() -> None:
    for vendor in VENDORS:
        paths = [FOLDER / f"{vendor}-{share}.json" for share in SHARES]
        seeds = [json.loads(path.read_text())["seed"] for path in paths if path.exists()]
        assert len(set(seeds)) == len(seeds)
