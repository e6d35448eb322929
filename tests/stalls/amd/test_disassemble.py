"""The disassemblers: chosen by architecture, run in the sandbox, and what they leave out is `.long`."""

from __future__ import annotations

from pathlib import Path

import pytest

from strop.errors import DisassemblerMissing
from strop.stalls.amd import code_object, disassemble
from strop.stalls.amd.code_object import Range
from strop.stalls.amd.decode import decode
from strop.stalls.amd.disassemble import Line, Tool, parse, tile
from strop.stalls.amd.encoding import length
from tests.stalls.amd.fixtures import TARGETS, functions, raw

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "gpu" / "amd" / "hpctoolkit_leo_ae"


def needs_tool(isa: str) -> None:
    architecture = next(each for each in code_object.architectures().values() if each.isa == isa)
    try:
        disassemble.pick(architecture)
    except DisassemblerMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("isa", TARGETS)
def test_a_disassembler_gives_what_the_fixture_holds(isa: str) -> None:
    needs_tool(isa)
    binary = decode(raw(f"kernels.{isa}.hsaco"), path="k.hsaco")
    kept = list(functions("kernels", isa).values())
    assert binary.arch == isa
    assert [function.name for function in binary.functions] == [function.name for function in kept]
    for made, wanted in zip(binary.functions, kept, strict=True):
        for one, two in zip(made.instructions, wanted.instructions, strict=True):
            assert (one.pc, one.size, one.waits, one.pends) == (two.pc, two.size, two.waits, two.pends)
            assert one.defs == two.defs


def test_without_a_disassembler_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassemble, "tools", lambda: (Tool("llvm-objdump-14", "/x", 14),))
    architectures = {each.isa: each for each in code_object.architectures().values()}
    with pytest.raises(DisassemblerMissing, match=r"gfx950.*LLVM 20.*pip install 'strop\[amd\]'") as raised:
        disassemble.pick(architectures["gfx950"])
    assert raised.value.exit_code == 3
    with pytest.raises(DisassemblerMissing, match="apt-get install llvm-19"):
        disassemble.pick(architectures["gfx942"])


def test_words_that_nobody_decodes_are_kept_at_full_length() -> None:
    """v_add_co_u32 as LLVM 24 writes it: two words that LLVM 19 refuses; the second may read as an instruction."""
    add = bytes.fromhex("0d6a00d780020402")
    held = Range("f", 0x100, add + bytes.fromhex("000080bf0101"), None)
    said = {
        0x100: Line(0x100, 4, ".long 0xd7006a0d"),
        0x104: Line(0x104, 4, "v_nothing"),
        0x108: Line(0x108, 4, "s_nop 0"),
    }
    tiled = list(tile(held, said, "gfx11"))
    assert [(line.address, line.size) for line in tiled] == [(0x100, 8), (0x108, 4), (0x10C, 2)]
    assert tiled[0].text == ".long 0xd7006a0d, 0x02040280"


@pytest.mark.parametrize("isa", TARGETS)
def test_lengths_by_encoding_are_the_disassemblers(isa: str) -> None:
    made = code_object.read(raw(f"kernels.{isa}.hsaco"), path="k")
    kept = {function.name: function for function in functions("kernels", isa).values()}
    for each in made.functions:
        for one in kept[each.name].instructions:
            assert length(each.data[one.pc : one.pc + 16], made.architecture.family) == one.size, one.text


def test_only_instructions_count_in_what_is_printed() -> None:
    said = "0000 <\ts_endpgm // 0000000000AA: 00000000>:\n; \x1b[31mfile:1\n\ts_nop 0   // 000000000010: BF800000 \n"
    assert list(parse(said)) == [Line(0x10, 4, "s_nop 0")]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real profiles (../shared/data/gpu) aren't here")
def test_the_real_code_objects() -> None:
    """MI300A: the hottest wait, and the load that it is for, by counting (gpu.md, section 4.1)."""
    needs_tool("gfx942")
    counts = {}
    for file in sorted((DATA / "measurements" / "gpubins").glob("*.gpubin")):
        binary = decode(file.read_bytes(), path=file.name)
        code = {function.address + each.pc: each for function in binary.functions for each in function.instructions}
        assert all(each.known for each in code.values())
        counts[len(code)] = code
    assert sorted(counts) == [52, 1808]
    code = counts[52]
    assert [(wait.resource, wait.pending) for wait in code[0x19B0].waits] == [("vmcnt", 1)]
    assert code[0x1998].opcode == "global_load_dwordx2"
    assert code[0x1998].source is not None
    assert (code[0x1998].source.file.rpartition("/")[2], code[0x1998].source.line) == ("compute.h", 67)


@pytest.mark.parametrize("isa", ["gfx1100", "gfx1201"])
def test_code_without_a_kernel_descriptor_is_taken_for_waves_of_32(isa: str) -> None:
    """Dual issue exists in those only: as waves of 64 it wouldn't be decoded."""
    needs_tool(isa)
    binary = decode(raw(f"shaders.{isa}.hsaco"), path="s.hsaco")
    assert all(each.known for function in binary.functions for each in function.instructions)
    assert any(dict(each.notes).get("dual") for function in binary.functions for each in function.instructions)
