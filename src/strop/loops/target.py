"""What a result depends on besides the problem: the machine, and the versions of what made and measured it."""

from __future__ import annotations

from functools import cache
from typing import Any

from strop.bench.machine import machine
from strop.bench.protocol import PROTOCOL
from strop.loops.kernel import native

RESULT_FORMAT = 1
"""Raise it when `results.recalled` no longer reads what an older strop stored."""


def target() -> dict[str, Any]:
    """Part of the key of every stored run: where any of it differs, a result is no answer. Raises NativeMissing."""
    return {
        "cpu": machine().cpu,
        "machine": fingerprint(),
        "generator": native().generator_version(),
        "protocol": PROTOCOL,
        "result": RESULT_FORMAT,
    }


@cache
def fingerprint() -> str:
    """This machine's, which doesn't change while the process lives."""
    return machine().fingerprint
