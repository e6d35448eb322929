"""Against a real nvdisasm, where there is one: the recorded texts, its own live ranges, real binaries."""

import re
import struct
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


VOLTA = any(covers(release_of(each), 70) for each in candidates())


@pytest.mark.skipif(not VOLTA, reason="no nvdisasm that knows sm_70 (pip install 'strop[volta]')")
@pytest.mark.skipif(not SHARED.exists(), reason="the real profiles aren't here")
def test_a_real_volta_binary():
    report = (SHARED / "nvidia" / "ncu_rep" / "MW_Baseline.ncu-rep").read_bytes()
    start = report.index(b"\x7fELF")
    tables = struct.unpack_from("<QQ", report, start + 32)
    widths = struct.unpack_from("<HHHH", report, start + 54)
    end = max(tables[0] + widths[0] * widths[1], tables[1] + widths[2] * widths[3])
    found = decode(report[start : start + end], path="MW_Baseline.ncu-rep")
    assert found.arch == "sm_70"
    assert not found.missing
    (waiting,) = [
        each
        for code in found.functions
        for each in code.instructions
        if each.text.startswith("DFMA R4, R4, c[0x0][0x198], R6") and each.source and each.source.line == 257
    ]
    assert [wait.resource for wait in waiting.waits] == ["SB2"]
