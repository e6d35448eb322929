"""The core equals another implementation, qemu's user mode, on random programs."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from strop import _native
from tests.conftest import Soak
from tests.native.rocket.programs import BASE, MEMORY_BYTES, RECORD, program_elf

QEMU = shutil.which("qemu-riscv64-static") or shutil.which("qemu-riscv64")
RECORDED = Path(__file__).with_name("recorded.json")
PER_ELF = 500
RECORDED_SEEDS, RECORDED_PROGRAMS = range(1_000_000, 1_000_040), 50

needs_qemu = pytest.mark.skipif(QEMU is None, reason="no qemu-riscv64 (Debian: qemu-user-static); see the recorded set")


def run_here(elf: bytes, programs: int, *, timed: bool) -> bytes:
    machine = _native.Machine(MEMORY_BYTES, BASE)
    machine.reset(machine.load(elf)["entry"])
    result = machine.resume(timed=timed, output_bytes=programs * RECORD)
    assert (result.outcome, result.code) == ("exited", 0), result.text
    return bytes(result.output)


def run_in_qemu(elf: bytes, folder: Path) -> bytes:
    assert QEMU is not None
    path = folder / "programs.elf"
    path.write_bytes(elf)
    path.chmod(0o755)
    done = subprocess.run([QEMU, path], capture_output=True, check=True, timeout=300)
    return done.stdout


@needs_qemu
def test_random_programs_equal_qemu(soak: Soak, tmp_path: Path) -> None:
    programs = len(soak.seeds(100_000))
    for seed in range(programs // PER_ELF):
        elf = program_elf(seed, programs=PER_ELF)
        here, there = run_here(elf, PER_ELF, timed=seed % 2 == 1), run_in_qemu(elf, tmp_path)
        assert len(here) == len(there) == PER_ELF * RECORD
        differing = [k for k in range(PER_ELF) if here[k * RECORD :][:RECORD] != there[k * RECORD :][:RECORD]]
        assert not differing, f"seed {seed}, first differing program {differing[0]} of {len(differing)}"


@pytest.mark.parametrize("timed", [False, True])
def test_random_programs_equal_what_qemu_gave(timed: bool, tmp_path: Path, update_golden: bool) -> None:
    if update_golden and not timed:
        hashes = {
            str(seed): hashlib.sha256(run_in_qemu(program_elf(seed, programs=RECORDED_PROGRAMS), tmp_path)).hexdigest()
            for seed in RECORDED_SEEDS
        }
        record = {"schema": "strop.rocket-programs/1", "programs": RECORDED_PROGRAMS, "sha256": hashes}
        RECORDED.write_text(json.dumps(record, indent=1) + "\n")
    recorded = json.loads(RECORDED.read_text())
    assert len(recorded["sha256"]) == len(RECORDED_SEEDS)
    for seed, expected in recorded["sha256"].items():
        elf = program_elf(int(seed), programs=recorded["programs"])
        output = run_here(elf, recorded["programs"], timed=timed)
        assert hashlib.sha256(output).hexdigest() == expected, seed
