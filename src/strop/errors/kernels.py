"""Problems, targets, candidates, and programs for simulated machines."""

from __future__ import annotations

from strop.errors.base import MACHINE, StropError


class UnknownProblem(StropError):
    """No problem has that id."""

    code = "unknown-problem"
    template = "There is no problem {problem!r}{reason}."
    fix = "See `strop problems`; ids look like gemmini/gemm-512x512x512 or cpu/softmax-512x1024."


class UnknownTarget(StropError):
    """No target has that name."""

    code = "unknown-target"
    template = "There is no target {target!r}."
    fix = "The targets are {targets}: see `strop targets`."


class NoCompiler(StropError):
    """No compiler for a target is installed."""

    code = "no-compiler"
    template = "No compiler for {target} was found ({tried})."
    fix = "Install one: {install}. `strop doctor` says what is there."
    exit_code = MACHINE


class UnreadableCode(StropError):
    """A candidate's file can't be read."""

    code = "unreadable-code"
    template = "The candidate {path} can't be read: {reason}."
    fix = "Give the path of a C file in UTF-8 (a str with a newline is code itself)."


class BadElf(StropError):
    """A program isn't one that the simulated machine can load."""

    code = "bad-elf"
    template = "{path} is no program for this machine: {reason}."
    fix = "Give a static bare-metal RISC-V ELF (rv64gc), linked for memory at 0x80000000."


class BadParameter(StropError):
    """A parameter of a simulated machine can't be set so."""

    code = "bad-parameter"
    template = "The parameter {text!r} can't be set: {reason}."
    fix = "Write --set NAME=NUMBER with a name of `strop targets gemmini`."
