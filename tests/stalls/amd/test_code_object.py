"""Code objects and bundles taken apart; damaged ones end in one sentence."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from strop.errors import StropError, UnknownArchitecture, UnreadableBinary
from strop.stalls.amd import lines
from strop.stalls.amd.bundle import BUNDLE, code_objects, holds_code_objects
from strop.stalls.amd.code_object import architectures, read
from strop.stalls.amd.msgpack import unpack
from tests.stalls.amd.fixtures import TARGETS, raw

SOAK = 20_000


def bundle(*parts: tuple[str, bytes]) -> bytes:
    head = BUNDLE + struct.pack("<Q", len(parts))
    size = len(head) + sum(24 + len(name) for name, _ in parts)
    entries, body = b"", b""
    for name, data in parts:
        entries += struct.pack("<3Q", size + len(body), len(data), len(name)) + name.encode()
        body += data
    return head + entries + body


@pytest.mark.parametrize("isa", TARGETS)
def test_what_a_code_object_says(isa: str) -> None:
    made = read(raw(f"kernels.{isa}.hsaco"), path="k")
    assert made.architecture.isa == isa
    assert made.named == len(made.functions) > 20
    spills = next(each for each in made.functions if "spills" in each.name)
    assert spills.descriptor is not None
    assert spills.descriptor.scratch_bytes > 0
    assert spills.descriptor.wave == (64 if isa.startswith("gfx9") else 32)
    names = {kernel[".name"] for kernel in made.metadata["amdhsa.kernels"]}
    assert names == {each.name for each in made.functions if each.descriptor}


def test_machines_are_those_that_llvm_writes(tmp_path: Path) -> None:
    tool = shutil.which("llvm-mc-19")
    if tool is None:
        pytest.skip("llvm-mc-19 isn't here (Debian: llvm-19)")
    checked = 0
    for number, architecture in architectures().items():
        if architecture.llvm > 19:
            continue
        out = tmp_path / "o"
        argv = [tool, "-triple=amdgcn-amd-amdhsa", f"-mcpu={architecture.isa}", "-filetype=obj", "-o", str(out)]
        subprocess.run(argv, input=b"s_endpgm\n", check=True)
        assert struct.unpack_from("<I", out.read_bytes(), 48)[0] & 0xFF == number, architecture
        checked += 1
    assert checked > 30


def test_bundles() -> None:
    one, two = raw("kernels.gfx90a.hsaco"), raw("kernels.gfx1100.hsaco")
    whole = bundle(("host-x86_64-unknown-linux--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a", one), ("hipv4-b", two))
    assert code_objects(whole, path="b") == [one, two]
    assert holds_code_objects(whole)
    packed = zlib.compress(whole)
    head = b"CCOB" + struct.pack("<2H2IQ", 2, 0, 24 + len(packed), len(whole), 0)
    assert code_objects(head + packed, path="b") == [one, two]
    host = b"\x7fELF\x02\x01\x01" + bytes(11) + struct.pack("<H", 62) + bytes(100)
    assert code_objects(host + whole, path="program") == [one, two]
    assert code_objects(host + BUNDLE + b"a program's own string" + whole, path="program") == [one, two]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "holds no AMDGPU code object"),
        (b"\x7fELF" + bytes(100), "holds no AMDGPU code object"),
        (BUNDLE, "cut off"),
        (BUNDLE + struct.pack("<Q", 10**9), "1000000000 entries"),
        (BUNDLE + struct.pack("<4Q", 1, 0, 10**12, 0), "past its end"),
        (b"CCOB" + struct.pack("<2H2IQ", 2, 1, 100, 100, 0), "zstd"),
        (b"CCOB" + struct.pack("<2H2IQ", 9, 0, 100, 100, 0), "version 9"),
    ],
)
def test_what_is_no_bundle_says_why(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableBinary, match=words):
        code_objects(data, path="x")


def test_an_unknown_machine_is_named() -> None:
    data = bytearray(raw("kernels.gfx942.hsaco"))
    data[48] = 0xEE
    with pytest.raises(UnknownArchitecture, match="0xee"):
        read(bytes(data), path="x")


def test_stripped_code_keeps_its_kernels_and_all_its_bytes() -> None:
    data = bytearray(raw("kernels.gfx942.hsaco"))
    whole = read(bytes(data), path="x")
    offset = struct.unpack_from("<Q", data, 40)[0]
    for index in range(struct.unpack_from("<H", data, 60)[0]):
        if struct.unpack_from("<I", data, offset + 64 * index + 4)[0] == 2:  # the symbol table
            struct.pack_into("<I", data, offset + 64 * index + 4, 0)
    stripped = read(bytes(data), path="x")
    assert {each.name for each in stripped.functions if each.descriptor} == {
        each.name for each in whole.functions if each.descriptor
    }
    assert sum(each.name.startswith("unnamed@") for each in stripped.functions) == 1  # both device functions in one
    assert sum(len(each.data) for each in stripped.functions) >= sum(len(each.data) for each in whole.functions)


@pytest.mark.parametrize("isa", ["gfx942", "gfx1201"])
@pytest.mark.soak
def test_damaged_code_objects_end_in_a_sentence(isa: str, soak: object) -> None:
    whole, said = raw(f"kernels.{isa}.hsaco"), set[str]()
    for seed in soak.seeds(SOAK // 2):
        chance = random.Random(seed)
        data = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            place = chance.randrange(len(data)) if chance.random() < 0.5 else chance.randrange(4096)
            data[place] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        try:
            for each in code_objects(bytes(data), path="x"):
                made = read(each, path="x")
                if seed % 20 == 0:
                    lines.read(each, made)
        except StropError as error:
            said.add(str(error))
    assert not any("\n" in each for each in said)


def test_messagepack() -> None:
    assert unpack(b"\x83\xa1a\xcd\x01\x00\xa1b\xc0\xa1c\xd0\xff") == {"a": 256, "b": None, "c": -1}
    for cut in (b"", b"\x92\x01", b"\xdf\xff\xff\xff\xff", b"\x91" * 100, b"\xc1"):
        with pytest.raises(ValueError):
            unpack(cut)
