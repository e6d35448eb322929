"""What the machine lacks, and processes that don't live."""

from __future__ import annotations

from strop.errors.base import MACHINE, StropError


class NativeMissing(StropError):
    """strop was installed without its native module."""

    code = "native-missing"
    template = "This call needs strop's native module, which isn't there: {reason}."
    fix = "Install a wheel of strop (pip install strop) or build it: a C++20 compiler, CMake, then pip install ."
    exit_code = MACHINE


class IsaMissing(StropError):
    """The forced instruction set isn't one of this CPU's."""

    code = "isa-missing"
    template = "This CPU lacks {isa} (it has {has})."
    fix = "Set STROP_ISA (--isa) to auto, or to one that this CPU has."
    exit_code = MACHINE


class NoExecutableMemory(StropError):
    """The system refuses memory for machine code."""

    code = "no-executable-memory"
    template = "This system gives no memory for machine code: {reason}."
    fix = "Allow memfd_create and executable mappings, or set STROP_ISA=portable (--isa): slower, and needs none."
    exit_code = MACHINE


class WorkerLost(StropError):
    """The process that measures can't be kept alive."""

    code = "worker-lost"
    template = "The measuring worker could not be started {times} times in a row: {reason}."
    fix = "strop doctor shows what this machine lacks; -v shows the worker's own words."
    exit_code = MACHINE


class MissingPackage(StropError):
    """A package that this needs can't be imported."""

    code = "missing-package"
    template = "{what} needs the package {package}, which can't be imported."
    fix = "pip install {install}"
    exit_code = MACHINE


class BadSandbox(StropError):
    """A sandbox is needed, and a layer of it doesn't work here."""

    code = "bad-sandbox"
    template = "The isolation layer {layer!r} doesn't work on this machine: {reason}."
    fix = (
        "Use --sandbox auto (sandbox='auto'), or none where the result may be unverified; strop doctor lists the "
        "layers that work here."
    )
    exit_code = MACHINE


class PeerFailed(StropError):
    """What an answer was to be compared with couldn't be timed."""

    code = "peer-failed"
    template = "{peer} could not be timed: {reason}."
    fix = "strop's own answer stands; strop doctor shows what is installed."
    exit_code = MACHINE
