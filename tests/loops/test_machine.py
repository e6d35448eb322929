from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import strop.loops.machine
from strop.loops.machine import Machine, best_isa
from strop.loops.problem import ISAS

TABLE = tomllib.loads((Path(strop.loops.machine.__file__).parent / "machines.toml").read_text())


def test_this_machine_is_known_for_each_instruction_set() -> None:
    for isa in ISAS:
        here = Machine.here(isa)
        assert here.isa == isa
        assert 0 < here.l1_bytes < here.l2_bytes
        assert Machine.here(isa) is here
    assert Machine.here().isa == best_isa()


def test_loads_of_512_bits_by_model() -> None:
    """Ice Lake was measured at about one a cycle; its successors do two."""
    ice_lake, emerald = (Machine.of("GenuineIntel", 6, model, "avx512") for model in (0x6A, 0xCF))
    assert ice_lake.loads_per_cycle == 1.05
    assert emerald.loads_per_cycle == 2
    assert Machine.of("AuthenticAMD", 0x1A, 0x44, "avx512").name == "Zen 5"


def test_an_unknown_cpu_gets_the_default() -> None:
    machine = Machine.of("Nobody", 1, 2, "avx2", {"l1_bytes": 12345})
    assert machine.name == "unknown"
    assert machine.l1_bytes == 12345
    assert machine.lanes(4) == 8
    assert machine.lanes(8) == 4
    assert Machine.of("Nobody", 1, 2, "portable").lanes(4) == 1


@pytest.mark.parametrize("entry", TABLE["machine"], ids=lambda entry: entry["name"])
def test_each_entry_names_fields_that_there_are(entry: dict[str, object]) -> None:
    known = {"name", "vendor", "family", "models", *TABLE["default"]}
    assert set(entry) <= known
    for isa in ISAS:
        assert set(entry.get(isa, {})) <= set(TABLE["default"][isa])  # type: ignore[call-overload]
