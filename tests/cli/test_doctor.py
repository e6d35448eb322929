"""The command ``strop doctor``: what it says of a machine that can tune, and of machines that can't."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from strop import doctor as examination
from strop.bench.isolation.layers import PURPOSES, Sandbox
from strop.cli.doctor import doctor
from strop.errors import BadSandbox
from strop.settings import TABLE, scope
from strop.stalls.amd import disassemble as amd
from strop.stalls.intel import disassemble as intel
from strop.stalls.nvidia import disassemble as nvidia


def run(*arguments: str) -> Result:
    return CliRunner().invoke(doctor, arguments, catch_exceptions=False)


def as_json() -> dict[str, Any]:
    done = run("--json")
    assert len(done.stdout.splitlines()) == 1
    found = json.loads(done.stdout)
    assert found["schema"] == "strop.doctor/1"
    assert found["ok"] == (done.exit_code == 0)
    return dict(found)


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> None:
    """A native module of a machine with AVX2 only."""

    class Module:
        detected_isa = staticmethod(lambda: "avx2")
        supported_isas = staticmethod(lambda: ["avx2", "portable"])

    monkeypatch.setitem(sys.modules, "strop._native", Module)
    monkeypatch.setattr("strop._native", Module, raising=False)


@pytest.mark.usefixtures("native")
def test_a_machine_that_can_tune() -> None:
    done = run()
    assert done.exit_code == 0
    assert done.stdout.startswith("strop can tune on this machine: avx2 on ")
    for word in ("caches", "memory", "numpy", "sandbox", "seccomp", "store", "settings", "perf map"):
        assert f"\n{word}" in done.stdout or f" {word} " in done.stdout, word
    assert "missing:" not in done.stdout


@pytest.mark.usefixtures("native")
def test_json_has_everything() -> None:
    found = as_json()
    assert found["machine"]["usable_cpus"] >= 1
    assert found["native"] == {
        "present": True,
        "reason": None,
        "detected_isa": "avx2",
        "supported_isas": ["avx2", "portable"],
        "isa": "avx2",
    }
    assert found["peers"]["numpy"]
    assert found["numpy_blas"]
    assert [row["layer"] for row in found["sandbox"]["layers"]] == list(PURPOSES)
    assert set(found["settings"]) == {setting.name for setting in TABLE}
    assert found["settings"]["home"]["source"] == "STROP_HOME"
    assert found["perf_map"] is False
    assert found["faults"] == []


def test_without_the_native_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "strop._native", None)
    monkeypatch.delattr("strop._native", raising=False)
    found = as_json()
    assert not found["native"]["present"]
    assert [fault["code"] for fault in found["faults"]] == ["native-missing"]
    done = run()
    assert done.exit_code == 3
    assert done.stdout.startswith("strop can't tune on this machine: ")
    assert "pip install" in done.stdout


@pytest.mark.usefixtures("native")
def test_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "blas_of_numpy", lambda: None)
    assert [fault["code"] for fault in as_json()["faults"]] == ["missing-package"]


@pytest.mark.usefixtures("native")
def test_an_instruction_set_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_ISA", "avx512")
    found = as_json()
    assert [fault["code"] for fault in found["faults"]] == ["isa-missing"]
    assert run().exit_code == 3


@pytest.mark.usefixtures("native")
def test_a_forced_instruction_set_is_said() -> None:
    with scope(isa="portable"):
        assert "portable (forced)" in run().stdout
        assert any("--isa forces portable" in note for note in as_json()["notes"])


@pytest.mark.usefixtures("native")
def test_settings_that_cannot_be_read_hide_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_THREADS", "many")
    found = as_json()
    assert [fault["code"] for fault in found["faults"]] == ["bad-setting"]
    assert found["machine"]["cpu"]
    assert found["store"] is None
    assert run().exit_code == 3


@pytest.mark.usefixtures("native")
def test_a_home_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STROP_HOME", str(tmp_path / "file" / "home"))
    found = as_json()
    assert not found["store"]["writable"]
    assert "not a directory" in found["store"]["reason"]
    assert any("can't be kept" in note for note in found["notes"])


@pytest.mark.usefixtures("native")
def test_looking_makes_no_store(own_home: Path) -> None:
    found = as_json()
    assert found["store"]["exists"] is False
    assert found["store"]["writable"] is True
    assert list(own_home.iterdir()) == []


@pytest.mark.usefixtures("native")
def test_a_damaged_store(own_home: Path) -> None:
    (own_home / "store.sqlite").write_bytes(b"not a database at all" * 100)
    found = as_json()
    assert [fault["code"] for fault in found["faults"]] == ["corrupt-store"]
    assert not found["store"]["writable"]


@pytest.mark.usefixtures("native")
def test_what_slows_numpy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert any("OPENBLAS_CORETYPE" in note for note in as_json()["notes"])


@pytest.mark.usefixtures("native")
def test_a_sandbox_with_holes_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Sandbox(("session", "environment", "limits"), {"seccomp": "not built in", "landlock": "old"}, {})
    monkeypatch.setattr(examination, "probe", lambda: bare)
    found = as_json()
    assert found["sandbox"]["enough_for_required"] is False
    assert any("can't be fenced" in note for note in found["notes"])
    assert "off seccomp" in run().stdout


@pytest.mark.usefixtures("native")
def test_disassemblers_that_are_missing_are_a_note_with_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in ("nvidia", "amd", "intel"):
        monkeypatch.setattr(f"strop.stalls.disassemblers.{vendor}.tools", tuple)
    command = "apt-get install libigc-tools && pip install 'strop[nvidia,volta,amd]'"
    found = as_json()
    assert found["ok"]
    assert found["disassemblers"]["install"] == command
    assert [row["vendor"] for row in found["disassemblers"]["vendors"]] == ["NVIDIA", "AMD", "Intel"]
    for row in found["disassemblers"]["vendors"]:
        assert row["tools"] == row["covers"] == []
        assert row["missing"]
    done = run()
    assert done.exit_code == 0
    assert done.stdout.count(command) == 1
    assert "AMD     no disassembler" in done.stdout


@pytest.mark.usefixtures("native")
def test_a_disassembler_that_lacks_some_architectures(monkeypatch: pytest.MonkeyPatch) -> None:
    old = (nvidia.Tool("/usr/bin/nvdisasm", (12, 8)),)
    monkeypatch.setattr("strop.stalls.disassemblers.nvidia.tools", lambda: old)
    row = as_json()["disassemblers"]["vendors"][0]
    (tool,) = row["tools"]
    assert (tool["path"], tool["version"]) == ("/usr/bin/nvdisasm", "CUDA 12.8")
    assert "sm_70" in tool["covers"]
    assert "sm_121" in row["missing"]
    assert row["install"] == "pip install 'strop[nvidia]'"
    assert "NVIDIA  sm_70 to sm_120" in run().stdout


@pytest.mark.usefixtures("native")
def test_nothing_is_said_where_every_disassembler_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (nvidia.Tool("/new", (13, 5)), nvidia.Tool("/old", (12, 8)))
    monkeypatch.setattr("strop.stalls.disassemblers.nvidia.tools", lambda: both)
    monkeypatch.setattr("strop.stalls.disassemblers.amd.tools", lambda: (amd.Tool("wheel", "/w", 22, True),))
    monkeypatch.setattr("strop.stalls.disassemblers.intel.tools", lambda: (intel.Tool("/i", "1.1.0"),))
    found = as_json()
    assert found["disassemblers"]["install"] is None
    assert not any("disassembler" in note for note in found["notes"])


@pytest.mark.usefixtures("native")
def test_a_machine_that_runs_no_foreign_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> tuple[Any, ...]:
        raise BadSandbox(layer="user", reason="not permitted")

    monkeypatch.setattr("strop.stalls.disassemblers.intel.tools", fails)
    found = as_json()
    assert found["ok"]
    assert found["disassemblers"]["vendors"][2]["tools"] == []
