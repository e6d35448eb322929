"""Binaries are told apart by their first bytes; what is none is said in one sentence."""

import struct

import pytest

from strop.errors import UnreadableBinary
from strop.stalls.binaries import decode, vendor_of


def elf(machine, body=b""):
    return b"\x7fELF\x02\x01\x01" + b"\0" * 9 + struct.pack("<HH", 2, machine) + b"\0" * 44 + body


@pytest.mark.parametrize(
    ("data", "vendor"),
    [
        (elf(190), "nvidia"),
        (elf(224), "amd"),
        (elf(205), "intel"),
        (b"\x50\xed\x55\xba\1\0\x10\0", "nvidia"),
        (b"__CLANG_OFFLOAD_BUNDLE__", "amd"),
        (b"CCOB\1\0", "amd"),
        (elf(62, b"..\x50\xed\x55\xba"), "nvidia"),
        (elf(62, b"..__CLANG_OFFLOAD_BUNDLE__"), "amd"),
        (elf(62), None),
        (b"", None),
        (b"MZ", None),
        (b"\x7fELF", None),
    ],
)
def test_vendor(data, vendor):
    assert vendor_of(data) == vendor


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "empty"), (b"!<arch>\n", "archive"), (elf(62), "machine 62"), (b"\x7fELF", "cut off"), (b"PK", "none of")],
)
def test_what_is_no_gpu_binary_is_said(data, words):
    with pytest.raises(UnreadableBinary, match=words):
        decode(data, path="x.bin")
