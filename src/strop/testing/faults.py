"""Faults for tests: candidates that really crash, hang or err inside the measuring worker.

    monkeypatch.setenv("STROP_WORKER_HOOK", "strop.testing.faults")   # the worker then asks this module
    service.evaluate([("a", fault("crash")), ("b", spec), ("c", fault("hang-timed", spec))])

A service whose problem is ``("fault",)`` needs no code generator at all, as long as its candidates are faults.

For whole commands, where specs come from a search: ``STROP_FAULTS=crash:0.1,hang:0.02`` makes a tenth of all specs
crash and a fiftieth hang, the same ones each time.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn
from zlib import crc32

MARK = "fault"
SHARES = "STROP_FAULTS"


def fault(kind: str, spec: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
    """A spec whose candidate meets with ``kind``; apart from that it is ``spec``, or does nothing at all.

    While being compiled: ``illegal``, ``crash-compiling``, ``hang-compiling``, ``no-memory``. In its first run:
    ``crash`` (a call to address zero), ``hang``, ``sleep`` (a hang that uses no processor), ``exit``, ``killed``,
    ``wrong``, ``changes-input``, ``writes-outside``, ``prints``. When timed: ``crash-timed``, ``hang-timed``, and
    ``takes:SECONDS,…``, which isn't run: those are its samples, over and over.
    """
    return (MARK, kind, spec)


def wrap(native: Any) -> Any:
    """What the worker uses in place of the native module."""
    return _Native(native, _shares(os.environ.get(SHARES, "")))


def crash() -> NoReturn:
    """Call address zero, as code gone astray would."""
    ctypes.CFUNCTYPE(None)(0)()
    raise AssertionError("the call returned")


def hang() -> NoReturn:
    """Use the processor for ever."""
    while True:
        pass


class _Kernel:
    """A kernel with a fault; ``real`` is what else it is."""

    def __init__(self, kind: str, real: Any) -> None:
        self.kind, self.real = kind, real

    def samples(self, rounds: int) -> list[float]:
        script = [float(sample) for sample in self.kind.partition(":")[2].split(",") if sample] or [1e-4]
        return [script[i % len(script)] for i in range(rounds)]


class _Native:
    def __init__(self, native: Any, shares: Sequence[tuple[str, float]]) -> None:
        self.native, self.shares = native, shares
        self.SpecError = getattr(native, "SpecError", ValueError)
        self.version = native.version

    def peak_probe(self, isa: str, dtype: str, seconds: float) -> float:
        return 0.0 if dtype == MARK else float(self.native.peak_probe(isa, dtype, seconds))

    def Evaluator(self, *arguments: Any) -> _Evaluator:
        return _Evaluator(self.native.Evaluator(*arguments) if arguments[0] != MARK else None)

    def compile(self, *spec: Any) -> Any:
        if spec[0] == MARK:
            _, kind, inner = spec
        elif (drawn := self._drawn(spec)) is not None:
            kind, inner = drawn, spec
        else:
            return self.native.compile(*spec)
        if kind == "illegal":
            raise self.SpecError("an illegal fault")
        if kind == "no-memory":
            raise MemoryError
        if kind == "crash-compiling":
            crash()
        if kind == "hang-compiling":
            hang()
        return _Kernel(kind, self.native.compile(*inner) if inner is not None else None)

    def _drawn(self, spec: tuple[Any, ...]) -> str | None:
        point = crc32(repr(spec).encode()) / 2**32
        for kind, share in self.shares:
            if point < share:
                return kind
            point -= share
        return None


class _Evaluator:
    def __init__(self, real: Any) -> None:
        self.real = real

    def check(self, kernel: Any, threads: int) -> tuple[bool, float, str, bool, bool]:
        if not isinstance(kernel, _Kernel):
            checked: tuple[bool, float, str, bool, bool] = self.real.check(kernel, threads)
            return checked
        match kernel.kind:
            case "crash":
                crash()
            case "hang":
                hang()
            case "sleep":
                time.sleep(1e6)
            case "exit":
                os._exit(3)
            case "killed":
                os.kill(os.getpid(), 9)
            case "prints":
                print("a stray line")
                sys.stdout.flush()
        kind = kernel.kind
        return kind != "wrong", 7.5 if kind == "wrong" else 0.1, "", kind != "changes-input", kind != "writes-outside"

    def time(
        self, kernels: Sequence[Any], rounds: int, sample_s: float, threads: int, rotate: bool
    ) -> list[list[float]]:
        rows: list[list[float]] = []
        real = [kernel.real if isinstance(kernel, _Kernel) else kernel for kernel in kernels]
        timed = [kernel for kernel in real if kernel is not None]
        measured = iter(self.real.time(timed, rounds, sample_s, threads, rotate) if timed else ())
        for kernel, inner in zip(kernels, real, strict=True):
            row = next(measured) if inner is not None else kernel.samples(rounds)
            if isinstance(kernel, _Kernel):
                if kernel.kind == "crash-timed":
                    crash()
                if kernel.kind == "hang-timed":
                    hang()
                row = kernel.samples(rounds) if kernel.kind.startswith("takes:") else row
            rows.append(row)
        return rows


def _shares(text: str) -> list[tuple[str, float]]:
    pairs = [pair.partition(":") for pair in text.split(",") if pair]
    return [(kind, float(share)) for kind, _, share in pairs]
