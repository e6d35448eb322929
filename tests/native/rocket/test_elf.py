"""The ELF loader: what it reads, what it refuses, and that no file harms it."""

from __future__ import annotations

import random
import resource
import struct
import time
from typing import Any

import pytest

from strop import _native
from tests.conftest import Soak
from tests.native.rocket import encoding as e
from tests.native.rocket.conftest import BASE
from tests.native.rocket.programs import program_elf

CODE = e.words(e.addi(17, 0, 93), e.addi(10, 0, 7), e.ECALL)
GOOD = e.elf(
    [(BASE, CODE, 5), (BASE + 0x2000, b"data", 6)], entry=BASE, symbols={"main": BASE, "tohost": BASE + 0x2000}
)


def test_a_file_is_loaded_and_run(machine: Any) -> None:
    machine.memory.fill(BASE, machine.memory.size, 0xA5)
    file = e.elf([(BASE, CODE, 5), (BASE + 0x2000, b"data", 6)], entry=BASE, symbols={"main": BASE}, zeros=100)
    loaded = machine.load(file)
    assert loaded["entry"] == BASE
    assert loaded["segments"] == [(BASE, len(CODE), 5), (BASE + 0x2000, 104, 3)]
    assert loaded["symbols"] == {"main": BASE}
    assert loaded["end"] == BASE + 0x2000 + 104
    assert machine.memory.read(BASE + 0x2000, 105) == b"data" + bytes(100) + b"\xa5"
    result = machine.run()
    assert (result.outcome, result.code) == ("exited", 7)


def test_pages_are_protected_when_asked(machine: Any) -> None:
    writes = e.words(e.u_type(e.AUIPC, 5, 0), e.s_type(e.STORE, 3, 5, 5, 0))
    machine.load(e.elf([(BASE, writes, 5)], entry=BASE), protect=True)
    assert machine.run().trap == "store-access"
    machine.load(e.elf([(BASE, writes, 7)], entry=BASE), protect=True)
    assert machine.run().trap != "store-access"


def patched(offset: int, form: str, value: int) -> bytes:
    data = bytearray(GOOD)
    struct.pack_into(form, data, offset, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (b"", "ends within"),
        (b"MZ" + bytes(100), "not an ELF"),
        (patched(4, "B", 1), "64-bit"),
        (patched(18, "<H", 62), "not for RISC-V"),
        (patched(16, "<H", 3), "static executable"),
        (patched(56, "<H", 0), "no segments"),
        (patched(54, "<H", 8), "too small"),
        (patched(32, "<Q", 1 << 63), "outside the file"),
        (patched(32, "<Q", len(GOOD)), "ends within"),
        (patched(64 + 8, "<Q", 1 << 62), "outside the file"),
        (patched(64 + 24, "<Q", 0x1000), "outside the machine's memory"),
        (patched(64 + 24, "<Q", (1 << 64) - 4), "outside the machine's memory"),
        (patched(64 + 32, "<Q", 1 << 40), "larger in the file"),
        (patched(64 + 40, "<Q", 1 << 40), "outside the machine's memory"),
        (GOOD[:200], "outside the file"),
    ],
)
def test_a_bad_file_is_refused_with_a_reason(machine: Any, file: bytes, text: str) -> None:
    machine.memory.fill(BASE, 64, 0x5A)
    with pytest.raises(_native.ElfError, match=text):
        machine.load(file)
    assert machine.memory.read(BASE, 64) == b"\x5a" * 64


def test_segments_that_overlap_without_end_are_refused(machine: Any) -> None:
    segment = struct.pack("<IIQQQQQQ", 1, 7, 0, BASE, BASE, 64, 1 << 20, 4096)
    header = GOOD[:56] + struct.pack("<H", 60000) + GOOD[58:64]
    begin = time.monotonic()
    with pytest.raises(_native.ElfError, match="larger than"):
        machine.load(header + segment * 60000)
    assert time.monotonic() - begin < 1


AWKWARD = [0, 1, 7, 56, 64, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, BASE, BASE + (1 << 20), 1 << 32, 1 << 62,
           1 << 63, (1 << 64) - 1, (1 << 64) - 4096]  # fmt: skip


def mutated(source: random.Random, originals: list[bytes]) -> bytes:
    if source.randrange(16) == 0:
        return b"\x7fELF\x02\x01\x01" + source.randbytes(source.randrange(2000))
    data = bytearray(source.choice(originals))
    for _ in range(source.randrange(8)):
        if not data:
            break
        at = source.randrange(min(len(data), 240) if source.random() < 0.6 else len(data))
        kind = source.randrange(5)
        if kind == 0:
            data[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            data[at] = source.randrange(256)
        elif kind == 2:
            value = struct.pack("<Q", source.choice(AWKWARD))[: source.choice([1, 2, 4, 8])]
            data[at : at + len(value)] = value
        elif kind == 3:
            del data[at:]
        else:
            data[at:at] = data[at : at + source.randrange(4096)]
    return bytes(data)


def test_no_file_crashes_hangs_or_eats_memory(soak: Soak) -> None:
    program = program_elf(3, programs=2).replace(struct.pack("<Q", 0x10000), struct.pack("<Q", BASE))
    originals = [GOOD, GOOD, program]
    limit = 20_000
    outcomes: dict[str, int] = {}
    longest, before = 0.0, 0
    for seed in soak.seeds(100_000):
        file = mutated(random.Random(seed), originals)
        begin = time.process_time()
        machine = _native.Machine(1 << 20)
        try:
            loaded = machine.load(file, protect=seed % 2 == 0)
        except _native.ElfError:
            outcome = "refused"
        else:
            assert len(loaded["symbols"]) <= len(file) / 24
            result = machine.run(instructions=limit, output_bytes=4096, timed=seed % 3 == 0)
            assert result.instructions <= limit
            assert len(result.output) <= 4096
            outcome = result.outcome
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        longest = max(longest, time.process_time() - begin)
        if seed == 200:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert longest < 1
    assert min(outcomes.get(kind, 0) for kind in ("refused", "trap", "exited")) > 0, outcomes
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 32 * 1024  # KiB on Linux; macOS counts bytes, which is stricter
