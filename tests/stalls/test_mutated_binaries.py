"""Soak: damaged GPU binaries of every container. Only errors of the catalogue may come, and no success without code.

A disassembler takes a tenth of a second, and its sandbox is tested elsewhere: here it says what it said of the whole
file, damaged now and then as well.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pytest

from strop.stalls import binaries
from strop.stalls.amd.code_object import CodeObject
from strop.stalls.amd.disassemble import Line, tile
from strop.stalls.amd.disassemble import parse as parse_objdump
from strop.stalls.code import Code
from strop.stalls.instruction import Binary
from strop.stalls.intel.disassemble import parse as parse_iga
from strop.stalls.intel.listing import listed
from strop.stalls.kernel import diagnose_kernel
from strop.stalls.profiles.profile import Count, KernelProfile, Place, Profile, Reason
from tests.conftest import Soak
from tests.stalls.amd import fixtures as amd
from tests.stalls.amd.test_code_object import bundle
from tests.stalls.elf_files import shrunk
from tests.stalls.intel import fixtures as intel
from tests.stalls.mutations import endure, mutated
from tests.stalls.nvidia import recorded as nvidia
from tests.stalls.nvidia.test_files import container, entry

CUBIN, LISTED = "pipeline.sm_80.cubin", 60  # lines of the listing: more of them cost time and show nothing else
SMALL, SMALL_BYTES = "small.gfx942", 0x80  # of code, without the padding
DEVICE, KERNEL, KERNEL_BYTES = "pvc", "saxpy", 192  # the first of its kernels, and how much of it
DIAGNOSED = 20  # of the damaged binaries that can be read, one in so many is diagnosed
MOST_SAMPLED = 200  # instructions
LISTING_TOO = 4  # of the mutants, one in so many has a damaged listing as well


@dataclass
class Words:
    """What the disassemblers say."""

    whole: tuple[str, ...]
    now: tuple[str, ...] = ()

    def mutate(self, chance: random.Random) -> None:
        self.now = self.whole
        if chance.randrange(LISTING_TOO) == 0:
            self.now = tuple(mutated(each.encode(), chance).decode(errors="replace") for each in self.whole)


def nvdisasm() -> tuple[str, ...]:
    return ("\n".join(nvidia.listing(CUBIN).splitlines()[:LISTED]),)


def objdump() -> tuple[str, ...]:
    return (amd.raw(f"{SMALL}.txt").decode()[:1500],)


def iga() -> tuple[str, ...]:
    rows = intel.raw(f"kernels.{DEVICE}.txt").decode().splitlines()
    every = listed(intel.raw(f"kernels.{DEVICE}.json").decode())
    nodes = [{**node, "pc": pc} for pc, node in every.items() if pc < KERNEL_BYTES]
    return "\n".join(rows[: len(nodes) + 1]), json.dumps({"insts": nodes})


def cubin() -> bytes:
    dropped = (".nv_debug", ".debug", ".rel", ".nv.constant", ".nv.info")
    return shrunk(
        nvidia.cubin(CUBIN),
        lambda name, size: 0 if name.startswith(dropped) else min(size, 480) if name.startswith(".text") else size,
    )


def code_object() -> bytes:
    dropped = (".comment", ".debug_frame")
    return shrunk(
        amd.raw(f"{SMALL}.hsaco"),
        lambda name, size: 0 if name in dropped else SMALL_BYTES if name == ".text" else size,
    )


def zebin() -> bytes:
    kept = {
        f".text.{KERNEL}": KERNEL_BYTES,
        ".strtab": 5000,
        ".symtab": 5000,
        ".note.intelgt.compat": 100,
        ".ze_info": 800,
    }
    return shrunk(intel.raw(f"kernels.{DEVICE}.zebin"), lambda name, size: min(size, kept.get(name, 0)))


def host(payload: bytes) -> bytes:
    """A host program with a container in it."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, 62) + bytes(236) + payload


def compressed(payload: bytes) -> bytes:
    """A compressed offload bundle, version 2."""
    body = zlib.compress(payload, 1)
    return b"CCOB" + struct.pack("<HHII", 2, 0, 24 + len(body), len(payload)) + bytes(8) + body


CONTAINERS: dict[str, tuple[Callable[[], tuple[str, ...]], Callable[[], bytes]]] = {
    "cubin": (nvdisasm, cubin),
    "fatbin": (nvdisasm, lambda: host(container(entry(b"ptx", kind=1), entry(cubin())))),
    "code-object": (objdump, code_object),
    "offload-bundle": (objdump, lambda: bundle(("host-x86_64", b""), ("hipv4--gfx942", code_object()))),
    # Damage to what is compressed ends at its checksum: what it holds is damaged.
    "compressed-bundle": (objdump, lambda: bundle(("hipv4--gfx942", code_object()))),
    "zebin": (iga, zebin),
}


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    found = Words(())

    def objdumped(raw: bytes, made: CodeObject, *, path: str) -> dict[int, tuple[Line, ...]]:
        said = {line.address: line for line in parse_objdump(found.now[0])}
        return {each.address: tuple(tile(each, said, made.architecture.family)) for each in made.functions}

    said: dict[str, Callable[..., Any]] = {
        "nvidia": lambda part, *, path, sm: found.now[0],
        "amd": objdumped,
        "intel": lambda codes, generation, *, path: parse_iga(codes, *found.now),
    }
    for vendor, disassemble in said.items():
        monkeypatch.setattr(import_module(f"strop.stalls.{vendor}.decode"), "disassemble", disassemble)
    return found


def check(binary: Binary) -> None:
    """A binary that is read despite its damage has code."""
    assert any(function.instructions for function in binary.functions)
    for function in binary.functions:
        assert function.address >= 0
        assert all(0 <= each.pc < function.size for each in function.instructions)


def check_diagnosis(binary: Binary) -> None:
    """Samples on damaged code are accounted for like others."""
    function = next(each for each in binary.functions if each.instructions)
    reasons = (Reason.GLOBAL_MEMORY, Reason.DEPENDENCY, Reason.ISSUED)
    counts = {
        Place(function=function.name, pc=each.pc): (Count(reasons[number % 3], "test", 7),)
        for number, each in enumerate(function.instructions[:MOST_SAMPLED])
    }
    kernel = KernelProfile(name=function.name, module=None, counts=counts)
    profile = Profile(path="test", format="test", vendor=binary.vendor, unit="samples", kernels=(kernel,))
    found = diagnose_kernel(kernel, Code(binary), profile=profile, method="strop")
    assert found.accounting.total == kernel.samples


@pytest.mark.parametrize("kind", CONTAINERS)
def test_damage_never_crashes_hangs_or_grows(kind: str, words: Words, soak: Soak) -> None:
    words.whole, whole = CONTAINERS[kind][0](), CONTAINERS[kind][1]()
    words.now = words.whole
    check(binaries.decode(whole, path=kind))
    decoded = 0

    def case(chance: random.Random) -> None:
        nonlocal decoded
        data = mutated(whole, chance)
        if kind == "compressed-bundle":
            data = compressed(data) if chance.random() < 0.7 else mutated(compressed(whole), chance)
        words.mutate(chance)
        binary = binaries.decode(data, path=kind)
        check(binary)
        decoded += 1
        if decoded % DIAGNOSED == 0:
            check_diagnosis(binary)

    counts = endure(soak.seeds(50_000), case)
    soak.note(**counts)
    assert counts["refused"], "no mutation did any harm: the soak tests nothing"
