"""Decoding of whole binaries: our kernels' fixtures, hand-made code, damaged files, and the real profile's zebin."""

from __future__ import annotations

import os
import shutil
import struct

import pytest

from strop.errors import DisassemblerMissing, UnknownArchitecture, UnreadableBinary
from strop.stalls.binaries import decode, vendor_of
from strop.stalls.flow.cfg import Graph
from strop.stalls.instruction import Control, Direction, Flow, Instruction, Register, Role, Wait, When
from strop.stalls.intel import disassemble, zebin
from tests.stalls.intel.fixtures import DEVICES, REAL, functions, made, program, raw

needs_iga64 = pytest.mark.skipif(shutil.which("iga64") is None, reason="iga64 isn't here (Debian: libigc-tools)")


def found(name: str, device: str = "pvc", **wanted: object) -> list[Instruction]:
    return [
        each
        for each in functions(device)[name].instructions
        if all(getattr(each, key) == value for key, value in wanted.items())
    ]


def one(opcode: str, platform: str = "xehpc") -> Instruction:
    return next(each for each in program(platform).instructions if each.opcode.startswith(opcode))


@pytest.mark.parametrize("device", DEVICES)
def test_every_instruction_is_known_and_none_is_lost(device: str) -> None:
    for code in made(device).codes:
        parts = [
            each for name, each in functions(device).items() if name == code.name or name.startswith(f"{code.name}+")
        ]
        at = 0
        for function in parts:
            assert function.address == code.address + at
            for instruction in function.instructions:
                assert instruction.known, instruction.text
                assert function.address - code.address + instruction.pc == at
                at += instruction.size
        assert not code.data[at:].strip(b"\0")


@pytest.mark.parametrize("device", DEVICES)
def test_large_kernels_are_known(device: str) -> None:
    every = [each for function in functions(device, "large").values() for each in function.instructions]
    assert len(every) > 7000
    assert all(each.known for each in every)


def test_messages_say_which_memory_and_how_wide() -> None:
    loads = found("saxpy", kind="load")
    assert {(each.memory.space, each.memory.width_bytes) for each in loads if each.memory} >= {("global", 4)}
    block = next(each for each in loads if "d32x32t" in each.text)
    assert block.memory
    assert block.memory.width_bytes == 128
    assert dict(block.notes)["message"] == "block"
    # One lane: one address, of 4 bytes, in a payload of a whole register.
    assert [use for use in block.uses if use.role is Role.ADDRESS] == [use for use in block.uses if use.register.space]
    stores = [each for each in found("tile") if each.memory and each.memory.space == "shared"]
    assert {each.memory.direction for each in stores if each.memory} == {Direction.LOAD, Direction.STORE}
    assert [each for each in found("count") if each.memory and each.memory.direction is Direction.ATOMIC]
    assert {each.memory.space for each in found("spill") if each.memory} == {"scratch", "global"}
    assert [each for each in found("halves", "dg2") if each.memory and each.memory.width_bytes == 2]


def test_payloads_are_whole_registers() -> None:
    load = next(each for each in found("chase", kind="load") if each.opcode == "load.ugm.d32.a64")
    assert len(load.defs) == 32  # two registers of 64 bytes
    assert len(load.uses) == 64  # four registers of addresses
    assert {use.role for use in load.uses} == {Role.ADDRESS}
    store = next(each for each in found("chase", kind="store"))
    assert not store.defs
    assert {use.role for use in store.uses} == {Role.ADDRESS, Role.DATA}


def test_tokens_wait_and_pend() -> None:
    load = next(each for each in found("chase", kind="load") if each.opcode == "load.ugm.d32.a64")
    token = next(pend.resource for pend in load.pends)
    assert {(pend.when, pend.in_order) for pend in load.pends} == {(When.RESULT, False), (When.OPERANDS_READ, False)}
    assert Wait(token, 0, None) in load.waits
    assert load.variable
    assert [each for each in found("chase") if Wait(token, 0, When.RESULT) in each.waits]


def test_distances_count_in_their_pipe() -> None:
    every = [each for name in functions("pvc") for each in functions("pvc")[name].instructions]
    assert {pend.resource for each in every for pend in each.pends if pend.resource.endswith("@")} == {
        "float@",
        "int@",
        "long@",
        "math@",
    }
    three = next(each for each in every if "{Compacted,A@3}" in each.text)
    assert {wait.pending for wait in three.waits} == {2}
    assert len(three.waits) == 4
    assert all(not pend.resource.endswith("@") for each in every if each.memory for pend in each.pends)


def test_barrier_is_signalled_and_waited_for() -> None:
    signals = [each for each in found("tile") if any(pend.resource == "barrier" for pend in each.pends)]
    waits = [each for each in found("tile") if Wait("barrier") in each.waits]
    assert len(signals) == len(waits) == 2
    assert all(each.control == Control(Flow.BARRIER) for each in waits)


def test_calls_are_functions_of_their_own() -> None:
    names = [name for name in functions("pvc") if name.startswith("called")]
    assert len(names) == 2
    callee = functions("pvc")[names[1]]
    assert not callee.is_kernel
    calls = [each.control for each in found("called") if each.control and each.control.flow is Flow.CALL]
    assert calls == [Control(Flow.CALL, (names[1],))] * 2
    assert callee.instructions[-1].control == Control(Flow.RETURN)


@pytest.mark.parametrize("device", DEVICES)
def test_control_flow_stays_inside(device: str) -> None:
    for function in functions(device).values():
        graph = Graph(function)
        assert not graph.unknown
        assert not graph.outside
    assert any(each.control and each.control.flow is Flow.EXIT for each in functions(device)["saxpy"].instructions)


@pytest.mark.parametrize("platform", ["xehpc", "xehpg"])
def test_structured_control_flow(platform: str) -> None:
    code = program(platform).instructions
    where = {each.opcode.partition(".")[0]: each for each in code}
    assert where["if"].control == Control(Flow.BRANCH, where["if"].control.targets, True)  # type: ignore[union-attr]
    loop = where["while"].control
    assert loop is not None
    assert loop.targets is not None
    assert loop.conditional
    assert loop.targets[0] < where["while"].pc  # type: ignore[operator]
    for name in ("break", "cont"):
        assert where[name].control is not None
        assert where[name].guard is not None
    assert where["endif"].control is None
    assert one("send.gtwy", platform).kind == "barrier"
    assert code[-1].control == Control(Flow.EXIT)
    assert not Graph(program(platform)).outside


def test_parts_of_registers() -> None:
    halves = one("add (16|M0)"[:3])
    assert halves.defs
    words = next(each for each in program("xehpc").instructions if "r15.1<2>:uw" in each.text)
    assert {register.space for register in words.defs} == {"r+2"}  # upper halves only
    assert {register.index for register in words.defs} == set(range(15 * 16, 16 * 16))


def test_selection_reads_its_flag_and_writes_none() -> None:
    chosen, least = (each for each in program("xehpc").instructions if each.opcode == "sel")
    assert chosen.guard is None
    assert {use.register for use in chosen.uses if use.role is Role.PREDICATE} == {Register("f", 0), Register("f", 1)}
    for each in (chosen, least, one("csel")):
        assert not [register for register in each.defs if register.space == "f"]
    compare = one("cmp")
    assert [register for register in compare.defs if register.space == "f"] == [Register("f", 2), Register("f", 3)]


def test_indirect_registers_are_said() -> None:
    moved = next(each for each in program("xehpc").instructions if "r[a0.0]" in each.text)
    assert "indirect" in dict(moved.notes)
    assert Register("a", 0) in {use.register for use in moved.uses}


def test_sync_waits_for_tokens_by_mask() -> None:
    some, every = one("sync.allrd"), one("sync.allwr")
    assert some.waits == (Wait("$0", 0, When.OPERANDS_READ), Wait("$1", 0, When.OPERANDS_READ))
    assert len(every.waits) == 32
    assert {wait.when for wait in every.waits} == {When.RESULT}
    assert len(one("sync.allwr", "xehpg").waits) == 16


def test_atomics() -> None:
    atomic = next(each for each in program("xehpc").instructions if each.memory)
    assert atomic.memory is not None
    assert atomic.memory.direction is Direction.ATOMIC
    assert atomic.memory.space == "global"


def test_undecodable_words_are_kept_as_unknown() -> None:
    code = made("pvc").codes[0].data
    rows = disassemble.parse([code], "", "not json")[0]
    assert sum(row.size for row in rows) == sum(size for _, size in disassemble.sizes(code))
    assert all(row.node is None for row in rows)


def test_bare_words_in_json() -> None:
    said = '{"insts":[{"kind":"I","pc":0,"op":"mov","subop":null,"es":1,"dst":null, "opts":[NoAccSBSet, "Compacted"]}]}'
    assert disassemble.listed(said)[0]["opts"] == ["NoAccSBSet", "Compacted"]


def test_damaged_files() -> None:
    data = raw("kernels.pvc.zebin")
    assert vendor_of(data) == "intel"
    for cut in (30, 64, 5000, len(data) - 1):
        with pytest.raises(UnreadableBinary):
            zebin.read(data[:cut], path="cut")
    other = bytearray(data)
    product = b"IntelGT\0" + struct.pack("<I", 1271)
    at = data.index(product) + 8
    other[at : at + 4] = struct.pack("<I", 1275)
    with pytest.raises(UnknownArchitecture):
        zebin.read(bytes(other), path="new")


def test_flipped_bits_are_an_error_or_a_result() -> None:
    import random

    chance, data = random.Random(7), raw("kernels.pvc.zebin")
    header = [*range(64), *range(len(data) - 0x600, len(data))]
    for _ in range(300):
        flipped = bytearray(data)
        for _ in range(3):
            flipped[chance.choice(header)] ^= 1 << chance.randrange(8)
        try:
            zebin.read(bytes(flipped), path="flipped")
        except (UnreadableBinary, UnknownArchitecture):
            continue


def test_without_iga64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("STROP_IGA64", raising=False)
    with pytest.raises(DisassemblerMissing, match="libigc-tools"):
        decode(raw("kernels.pvc.zebin"), path="kernels")


@needs_iga64
@pytest.mark.parametrize("device", DEVICES)
def test_the_tool_says_what_was_recorded(device: str) -> None:
    binary = decode(raw(f"kernels.{device}.zebin"), path=device)
    assert binary.functions == tuple(functions(device).values())


@needs_iga64
@pytest.mark.skipif(not REAL.is_dir(), reason="the real profiles aren't here")
def test_real_zebin_with_lines() -> None:
    path = next(REAL.glob("*/measurements/gpubins/*.gpubin"))
    binary = decode(path.read_bytes(), path=str(path))
    assert binary.arch == "xehpc"
    assert not binary.missing
    assert len(binary.functions) == 2
    code = [each for function in binary.functions for each in function.instructions]
    assert all(each.known for each in code)
    assert sum(each.source is not None for each in code) > 0.9 * len(code)
    assert any(each.source.inline for each in code if each.source)


@needs_iga64
@pytest.mark.skipif(not REAL.is_dir(), reason="the real profiles aren't here")
def test_every_sampled_address_is_an_instruction() -> None:
    from strop.stalls.profiles.recognise import read

    folder = REAL / "hpctoolkit_leo_ae"
    binary = decode(next(folder.glob("measurements/gpubins/*.gpubin")).read_bytes(), path="gpubin")
    known = {function.address + each.pc for function in binary.functions for each in function.instructions}
    sampled = {place.address for kernel in read(folder / "database").kernels for place in kernel.counts}
    assert len(sampled) == 77
    assert sampled <= known
