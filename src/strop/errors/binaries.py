"""GPU binaries that can't be read, and disassemblers that aren't there."""

from __future__ import annotations

from strop.errors.base import MACHINE, StropError
from strop.errors.plain import _Plain


class UnreadableBinary(_Plain, StropError):
    """A file isn't a GPU binary of a known kind, or is a damaged one."""

    code = "unreadable-binary"
    template = "{path} can't be read as a GPU binary: {reason}."
    fix = "Name the code object that the profiled program loaded with --binary (binary=...)."


class UnknownArchitecture(_Plain, StropError):
    """A GPU binary is for an architecture without tables here."""

    code = "unknown-architecture"
    template = "{path} is for {arch}, which strop doesn't know (it knows {known})."
    fix = "Profile on one of these, or use a newer strop; --binary (binary=...) names another binary."


class DisassemblerMissing(_Plain, StropError):
    """No program on this machine disassembles the binary's architecture."""

    code = "disassembler-missing"
    template = "No disassembler for {arch} was found ({tried})."
    fix = "Install one: {install}. strop doctor lists what is here."
    exit_code = MACHINE


class DisassemblerFailed(_Plain, StropError):
    """The disassembler ended badly on a binary."""

    code = "disassembler-failed"
    template = "{tool} did not disassemble {path}: {reason}."
    fix = "Check that the file is whole; --binary (binary=...) names another one."
