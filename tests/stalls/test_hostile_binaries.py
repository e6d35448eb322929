"""Small files that ask for much: each ends in one sentence, at once and within the memory."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Iterator

import pytest

from strop.errors import UnreadableBinary
from strop.stalls import binaries
from strop.stalls.amd.bundle import BUNDLE
from strop.stalls.amd.code_object import read as read_code_object
from strop.stalls.amd.disassemble import parse
from strop.stalls.amd.listing import decode_listing
from strop.stalls.intel.zebin import read as read_zebin
from strop.stalls.nvidia.elf import read_cubin
from strop.stalls.nvidia.fatbin import MAGIC, ZSTD, cubins
from tests.stalls.amd import fixtures as amd
from tests.stalls.intel import fixtures as intel
from tests.stalls.mutations import confined
from tests.stalls.nvidia import recorded as nvidia
from tests.stalls.nvidia.test_files import container, entry
from tests.stalls.test_mutated_binaries import compressed

ROW, SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")
SYMTAB, STRTAB = 2, 3


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with confined():
        yield


def elf(head: bytes, rows: list[tuple[int, ...]], body: bytes) -> bytes:
    """An ELF file with the head of another; sections lie in the body, which begins at 64."""
    out = bytearray(head[:64] + body)
    struct.pack_into("<Q", out, 40, len(out))
    struct.pack_into("<HHH", out, 58, 64, len(rows), 0)
    return bytes(out) + b"".join(ROW.pack(*row) for row in rows)


def cubin() -> bytes:
    return nvidia.cubin("pipeline.sm_80.cubin")


def code_object() -> bytes:
    return amd.raw("small.gfx942.hsaco")


def zebin() -> bytes:
    return intel.raw("kernels.pvc.zebin")


@pytest.mark.parametrize("made", [cubin, code_object, zebin])
def test_sections_that_each_claim_the_whole_file(made: Callable[[], bytes]) -> None:
    body = bytes(1 << 20)
    rows = [(0, STRTAB, 0, 0, 64, len(body), 0, 0, 0, 0)] + [(0, SYMTAB, 0, 0, 64, len(body), 0, 0, 0, 0)] * 20_000
    with pytest.raises(UnreadableBinary, match="overlap"):
        binaries.decode(elf(made(), rows, body), path="hostile")


NOTE = struct.pack("<III12sI", 12, 4, 2, b"IntelGT", 0x0C08)  # of a zebin: Xe-HPC
NAMES = b"\0.text.k\0.note.intelgt.compat\0"


def with_names(head: bytes, names: bytes, tables: int, symbols: bytes) -> bytes:
    """An ELF file with one section of code, and tables of these symbols, whose names are in the file's only table."""
    rows = [
        (0, STRTAB, 0, 0, 64, len(names), 0, 0, 0, 0),
        *[(0, SYMTAB, 0, 0, 64 + len(names), len(symbols), 0, 0, 0, 24)] * tables,
        (9, 7, 0, 0, 64 + len(names) + len(symbols), len(NOTE), 0, 0, 0, 4),
        (1, 1, 6, 0, 64, 64, 0, 0, 0, 0),
    ]
    return elf(head, rows, names + symbols + NOTE)


@pytest.mark.parametrize("made", [cubin, zebin])
def test_symbols_that_share_one_long_name(made: Callable[[], bytes]) -> None:
    symbols = b"".join(SYMBOL.pack(len(NAMES) + at, 2, 0, 3, 0, 16) for at in range(20_000))
    with pytest.raises(UnreadableBinary, match="names in it overlap"):
        binaries.decode(with_names(made(), NAMES + b"n" * 500_000 + b"\0", 1, symbols), path="hostile")


@pytest.mark.parametrize("reader", [read_cubin, read_zebin])
def test_tables_of_symbols_that_share_one_table_of_names(reader: Callable[..., object]) -> None:
    """Each is small: a copy of the names for each isn't."""
    head = cubin() if reader is read_cubin else zebin()
    names = NAMES + b"k\0" + bytes(8 << 20)
    data = with_names(head, names, 20_000, SYMBOL.pack(len(NAMES), 2, 0, 20_002, 0, 16))
    begun = time.process_time()
    reader(data, path="hostile")
    assert time.process_time() - begun < 2


def test_sections_of_code_and_symbols_without_number() -> None:
    """Each symbol is looked at once, not once for each section."""
    count = 20_000
    names = NAMES + b"k\0"
    symbols = SYMBOL.pack(len(NAMES), 2, 0, 1, 0, 4) * count
    body = names + symbols + b"\x7f\x00\x8c\xbf" * count  # s_waitcnt
    rows = [(0, STRTAB, 0, 0, 64, len(names), 0, 0, 0, 0)]
    rows += [(1, 1, 6, 4 * at, 64 + len(names) + len(symbols) + 4 * at, 4, 0, 0, 0, 0) for at in range(count)]
    rows.append((0, SYMTAB, 0, 0, 64 + len(names), len(symbols), 0, 0, 0, 24))
    begun = time.process_time()
    assert len(read_code_object(elf(code_object(), rows, body), path="hostile").functions) == count
    assert time.process_time() - begun < 2


def test_bundle_entries_that_are_all_the_same_code() -> None:
    held, count = code_object() + bytes(1 << 20), 4000
    head = BUNDLE + struct.pack("<Q", count) + struct.pack("<3Q", 24 + 8 + 24 * count, len(held), 0) * count
    with pytest.raises(UnreadableBinary, match="overlap"):
        binaries.decode(head + held, path="hostile")


def test_a_compressed_bundle_in_a_compressed_bundle() -> None:
    held = compressed(compressed(BUNDLE + struct.pack("<Q", 0)))
    with pytest.raises(UnreadableBinary, match="is no offload bundle"):
        binaries.decode(held, path="hostile")


def test_sections_of_code_at_one_address() -> None:
    data = bytearray(code_object())
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    rows = [ROW.unpack_from(data, table + 64 * at) for at in range(count)]
    (code,) = [row for row in rows if row[1] == 1 and row[2] & 4]
    rows[rows.index(code) + 1] = code
    for at, row in enumerate(rows):
        ROW.pack_into(data, table + 64 * at, *row)
    with pytest.raises(UnreadableBinary, match="sections of code overlap"):
        binaries.decode(bytes(data), path="hostile")


def test_containers_within_a_container() -> None:
    inside = (MAGIC + struct.pack("<HHQ", 1, 16, 0)) * 50_000
    data = b"\x7fELF" + bytes(60) + container(entry(inside, kind=1))
    assert list(cubins(data, path="hostile")) == []


def test_a_frame_that_claims_all_memory() -> None:
    zstandard = pytest.importorskip("zstandard")
    compressor = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    frame = compressor.compress(b"x" * 1000) + compressor.flush()
    with pytest.raises(UnreadableBinary, match="doesn't decompress to its size"):
        list(cubins(container(entry(frame, flags=ZSTD, size=(1 << 31) - 1)), path="hostile"))


def test_listings_that_no_disassembler_wrote() -> None:
    texts = ["v_add_f32 v" + "9" * 5000 + ", v1, v2", "s_waitcnt vmcnt(" + "1" * 5000 + ")", "s_nop " + "7" * 5000]
    texts += ["buffer_load_dword v1, off, s[0:3], ²", "s_nop vmcnt", "v_add_f32 v1, \0, \u202e", ""]
    rows = [(8 * at, text, None) for at, text in enumerate([*texts, "global_load_dword v1, v[2:3], off offset:08"])]
    (function,) = decode_listing([("k", rows)], path="hostile", arch="gfx942").functions
    assert [each.known for each in function.instructions] == [False, False, False, False, True, False, False, True]
    with pytest.raises(UnreadableBinary, match="spans more than"):
        decode_listing([("k", [rows[0], (1 << 62, "s_endpgm", None)])], path="hostile")


def test_instructions_without_their_operands() -> None:
    """Whatever is left of a text, it isn't a crash."""
    words = ("off", "v1", "s[0:1]", "0", "vcc", "", "[v1, v2]", "0x10", "exec", "null", "a3", "lit(1)", "v[1:99999]")
    listed = {line.text for line in parse(amd.raw("kernels.gfx90a.txt").decode())}
    chance, texts = random.Random(0), []
    for text in sorted(listed):
        opcode, _, rest = text.partition(" ")
        operands = rest.split(", ")
        chance.shuffle(operands)
        texts += [opcode, f"{opcode} {', '.join(operands[: chance.randrange(len(operands) + 1)])}"]
        texts.append(f"{opcode} {', '.join(chance.choice(words) for _ in operands)}")
    for isa in amd.TARGETS:
        rows = [(8 * at, text.strip(), None) for at, text in enumerate(texts)]
        (function,) = decode_listing([("k", rows)], path="hostile", arch=isa).functions
        assert len(function.instructions) == len(texts)
