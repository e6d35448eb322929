"""Recognises a GPU binary, whoever made it, and has its vendor's package decode it."""

from __future__ import annotations

import struct
from importlib import import_module

from strop.errors import UnreadableBinary
from strop.stalls.instruction import Binary

ELF = b"\x7fELF"
# e_machine of the vendors' ELF files; 62 and 183 are hosts (x86-64, AArch64) whose programs carry GPU code
MACHINES = {190: "nvidia", 224: "amd", 205: "intel"}
FATBIN = b"\x50\xed\x55\xba"  # NVIDIA's container
BUNDLES = (b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")  # clang's, plain and compressed
AR = b"!<arch>\n"


def vendor_of(data: bytes) -> str | None:
    """The vendor (`nvidia amd intel`) whose binary this is, by its first bytes; of host programs, by what they carry.

    None where nothing is recognised. Costs one search through the file for host programs, nothing else.
    """
    if data.startswith(FATBIN):
        return "nvidia"
    if data.startswith(BUNDLES):
        return "amd"
    if not data.startswith(ELF) or len(data) < 20:
        return None
    (machine,) = struct.unpack_from("<H", data, 18)
    if machine in MACHINES:
        return MACHINES[machine]
    if data.find(FATBIN) >= 0:
        return "nvidia"
    return "amd" if any(data.find(mark) >= 0 for mark in BUNDLES) else None


def decode(data: bytes, *, path: str) -> Binary:
    """Decode a cubin, fat binary, AMDGPU code object, offload bundle, zebin, or a host program with such in it.

    Raises :class:`UnreadableBinary` where it is none of these, and what the vendor's `decode` raises.
    """
    vendor = vendor_of(data)
    if vendor is None:
        raise UnreadableBinary(path=path, reason=_what(data))
    # Only the one vendor's tables are loaded.
    binary: Binary = import_module(f"strop.stalls.{vendor}.decode").decode(data, path=path)
    if not any(function.instructions for function in binary.functions):
        raise UnreadableBinary(path=path, reason="it holds no instruction")
    return binary


def _what(data: bytes) -> str:
    if not data:
        return "it is empty"
    if data.startswith(AR):
        return "it is an archive: extract its members first"
    if data.startswith(ELF):
        if len(data) < 64:
            return "it is an ELF file that was cut off"
        (machine,) = struct.unpack_from("<H", data, 18)
        return f"it is an ELF file for machine {machine} without GPU code in it"
    return "it is none of cubin, fat binary, AMDGPU code object, offload bundle and zebin"
