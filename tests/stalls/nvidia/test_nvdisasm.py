"""Against a real nvdisasm, where there is one: the recorded texts, its own live ranges, real binaries."""

import re
import subprocess

import pytest

from strop.stalls.nvidia import decode
from strop.stalls.nvidia.disassemble import candidates, covers, disassemble, release_of
from strop.stalls.nvidia.elf import read_cubin
from tests.stalls.nvidia.recorded import NAMES, SHARED, binary, cubin, listing

PROGRAM = next((each for each in candidates() if covers(release_of(each), 80)), None)
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no nvdisasm here (pip install 'strop[nvidia]')")

SPACES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
# Of these nvdisasm's ranges show something else: the whole calling convention, nothing of masks.
OTHERWISE = ("CALL", "R2P", "P2R", "TLD")


def test_in_the_sandbox_it_gives_the_recorded_text():
    name = "pipeline.sm_80.cubin"
    fresh = decode(cubin(name), path=name)
    assert fresh.functions == binary(name).functions
    assert disassemble(cubin(name), path=name, sm=80).count("/* 0x") == listing(name).count("/* 0x")


@pytest.mark.parametrize("name", NAMES)
def test_registers_are_those_of_its_live_ranges(name, tmp_path):
    file = tmp_path / "x.cubin"
    file.write_bytes(cubin(name))
    text = subprocess.run([PROGRAM, "-c", "-plr", str(file)], capture_output=True, text=True, check=True).stdout
    offsets = {section.name: section.offset for section in read_cubin(cubin(name), path=name).sections}
    mine = {code.address + each.pc: each for code in binary(name).functions for each in code.instructions}
    compared, differ = 0, []
    for address, writes, reads in live_ranges(text, offsets):
        each = mine[address]
        if each.opcode.startswith(OTHERWISE):
            continue
        compared += 1
        guard = {str(each.guard.register)} if each.guard else set()
        defs = {str(register) for register in each.defs if register.space != "B"}
        uses = {str(use.register) for use in each.uses if use.register.space != "B"} | guard
        if (defs, uses) != (writes, reads):
            differ.append((each.text, defs ^ writes, uses ^ reads))
    assert compared > 500
    assert not differ, differ[:5]


def live_ranges(text, offsets):
    """What -plr draws: columns of registers, `^` written, `v` read, `x` both."""
    kinds, columns, base = [], {}, None
    for line in text.splitlines():
        left, bar, right = line.partition("// |")
        if not bar:
            continue
        row = re.match(r"\s+/\*([0-9a-f]+)\*/", left)
        if row is None:
            if match := re.match(r"^(\.text\.\S+):", left):
                base = offsets[match[1]]
            if names := re.findall(r"\b(GPR|PRED|UGPR|UPRED)\b", right):
                kinds = names
            elif "#" in right:
                columns, at = {}, 0
                for kind, part in zip(kinds, right.split("|"), strict=False):
                    for number in re.finditer(r"\d+", part):
                        columns[at + number.start()] = columns[at + number.end() - 1] = SPACES[kind] + number[0]
                    at += len(part) + 1
        elif base is not None:
            marks = [(columns[mark.start()], mark[0]) for mark in re.finditer(r"[\^vx]", right)]
            writes = {register for register, mark in marks if mark in "^x"}
            reads = {register for register, mark in marks if mark in "vx"}
            yield base + int(row[1], 16), writes, reads


@pytest.mark.skipif(not SHARED.exists(), reason="the real profiles aren't here")
@pytest.mark.parametrize("path", sorted(SHARED.glob("nvidia/**/*.gpubin")), ids=lambda path: path.name)
def test_real_binaries(path):
    found = decode(path.read_bytes(), path=str(path))
    assert found.functions
    assert not [words for words in found.missing if "line information" not in words]
