"""What a result depends on besides the problem: the machine, and the versions of generator and protocol."""

from __future__ import annotations

from typing import Any

from strop.bench.machine import machine
from strop.bench.protocol import PROTOCOL
from strop.loops.kernel import native


def target() -> dict[str, Any]:
    """Machine and versions, a part of the key of every stored run. Raises NativeMissing."""
    here = machine()
    return {
        "cpu": here.cpu,
        "machine": here.fingerprint,
        "generator": native().generator_version(),
        "protocol": PROTOCOL,
    }
