"""Cubins and fat binaries, whole, in both layouts, and damaged; disassemblers that aren't there."""

import random
import struct
from contextlib import suppress

import pytest

from strop.errors import DisassemblerMissing, MissingPackage, StropError, UnknownArchitecture, UnreadableBinary
from strop.stalls.nvidia import decode, disassemble
from strop.stalls.nvidia.elf import is_cubin, read_cubin
from strop.stalls.nvidia.fatbin import LZ4, MAGIC, ZSTD, cubins
from tests.stalls.nvidia.recorded import NAMES, cubin, listing

NAME = "pipeline.sm_80.cubin"
SOAK = 2000


@pytest.mark.parametrize("name", NAMES)
def test_architecture(name):
    assert read_cubin(cubin(name), path=name).sm == int(name.split("sm_")[1].split(".")[0].rstrip("a"))


def test_both_layouts_of_the_flags():
    data = bytearray(cubin(NAME))
    data[7], data[8] = 0x33, 7
    struct.pack_into("<I", data, 48, 0x460546)
    assert read_cubin(bytes(data), path="old").sm == 70
    data[7], data[8] = 65, 8
    struct.pack_into("<I", data, 48, 0xA005A04)
    assert read_cubin(bytes(data), path="new").sm == 90


def test_an_architecture_without_128_bit_instructions():
    data = bytearray(cubin(NAME))
    data[8] = 7
    struct.pack_into("<I", data, 48, 61)
    with pytest.raises(UnknownArchitecture, match="sm_61"):
        decode(bytes(data), path="pascal.cubin", listing="")


def test_damaged_files_end_in_one_sentence():
    whole, text, dice = cubin(NAME), listing(NAME), random.Random(3)
    for turn in range(SOAK):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 9)):
            # half of them among the headers and tables, where they hurt
            at = dice.randrange(64) if dice.random() < 0.5 else dice.randrange(len(data))
            data[at] = dice.randrange(256)
        if turn % 3 == 0:
            del data[dice.randrange(len(data)) :]
        with suppress(StropError):  # anything else is a defect
            if is_cubin(bytes(data)):
                read_cubin(bytes(data), path="damaged")
            else:
                list(cubins(bytes(data), path="damaged"))
    for turn in range(20):  # and a listing that was cut off
        cut = text[: dice.randrange(len(text))]
        try:
            found = decode(whole, path="cut", listing=cut)
        except UnreadableBinary:
            continue
        assert turn >= 0
        assert any("disassembly" in words for words in found.missing) or cut.count("/*") > text.count("/*") - 8


def entry(payload, *, sm=80, flags=0, size=0, kind=2):
    packed = len(payload) if size else 0
    return (
        struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), packed, 0, 8, 1, sm, 0, 0, flags, 0, size)
        + payload
    )


def container(*entries):
    body = b"".join(entries)
    return MAGIC + struct.pack("<HHQ", 1, 16, len(body)) + body


def lz4_literals(data):
    out = bytearray([0xF0])
    rest = len(data) - 15
    out += b"\xff" * (rest // 255) + bytes([rest % 255])
    return bytes(out) + data


def test_containers():
    data = cubin(NAME)
    ptx = entry(b".version 9.0", kind=1)
    found = list(cubins(container(entry(data), ptx, entry(lz4_literals(data), flags=LZ4, size=len(data))), path="f"))
    assert found == [(80, data), (80, data)]
    host = b"\x7fELF\x02" + b"\0" * 100 + container(entry(data)) + b"\0" * 7 + container(entry(data, sm=90))
    assert [sm for sm, _ in cubins(host, path="host")] == [80, 90]


def test_lz4_matches():
    # three literals, then a match of 9 that overlaps itself, then the end's literals
    block = bytes([0x35]) + b"abc" + bytes([3, 0]) + bytes([0x50]) + b"abcab"
    plain = b"abc" * 4 + b"abcab"
    assert list(cubins(container(entry(block, flags=LZ4, size=len(plain))), path="f")) == [(80, plain)]


@pytest.mark.parametrize(
    "bad",
    [
        container(entry(b"\xf0\xff", flags=LZ4, size=5000)),
        container(entry(bytes([0x01, 9, 9]), flags=LZ4, size=5)),
        container(entry(b"x", flags=LZ4, size=2**40)),
        container(entry(b"abcdef"))[:-9],
        MAGIC,
        MAGIC + b"\1\0\x10\0" + b"\xff" * 8,
        b"\x7fELF\x02" + b"\0" * 100,
    ],
)
def test_damaged_containers(bad):
    with pytest.raises(UnreadableBinary):
        decode(bad, path="bad.fatbin")


def test_zstd_needs_a_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(MissingPackage, match="zstandard"):
        list(cubins(container(entry(b"\x28\xb5\x2f\xfd", flags=ZSTD, size=9)), path="f"))


def test_a_missing_disassembler_says_what_to_install(monkeypatch):
    monkeypatch.setattr(disassemble, "candidates", lambda: iter(()))
    with pytest.raises(DisassemblerMissing, match=r"sm_80.*strop\[nvidia\]") as caught:
        decode(cubin(NAME), path=NAME)
    assert caught.value.exit_code == 3
    with pytest.raises(DisassemblerMissing, match=r"strop\[volta\]"):
        disassemble.disassemble(b"", path="v", sm=70)


def test_a_disassembler_that_is_too_new_for_volta_is_named(monkeypatch):
    monkeypatch.setattr(disassemble, "candidates", lambda: iter(("/opt/nvdisasm",)))
    monkeypatch.setattr(disassemble, "release_of", lambda program: (13, 5))
    with pytest.raises(DisassemblerMissing, match=r"nvdisasm of CUDA 13\.5"):
        disassemble.disassemble(b"", path="v", sm=70)
