"""What the target `cpu` is on this machine, in rows: for `strop targets cpu`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strop.bench.machine import machine
from strop.bench.timed_foreign import LAYERS, needed_layers
from strop.errors import BadSandbox
from strop.kernels.targets.cpu.probes import SOURCES, probes
from strop.kernels.targets.cpu.run import ALIGNMENT, LIMIT_S, MOST_BYTES
from strop.kernels.targets.cpu.target import HEADERS
from strop.kernels.targets.cpu.toolchain import MACHINE_FLAGS, compiler, compilers


def rows() -> Iterator[dict[str, Any]]:
    """Yield facts, each with `name`, `value`, `source`. Raises NoCompiler."""

    def row(name: str, value: Any, source: str = "") -> dict[str, Any]:
        return {"name": name, "value": value, "source": source}

    here = machine()
    yield row("processor", here.cpu, f"fingerprint {here.fingerprint}")
    yield row("compiler", f"{compiler().name} {compiler().version}", f"of candidates: {' '.join(MACHINE_FLAGS)}")
    for each in compilers():
        yield row(f"baseline {each.name}", each.version, "the problem's start code, by the same flags")
    yield row("headers", ", ".join(f"<{name}>" for name in HEADERS), "that a candidate may include; libm is linked")
    yield row("alignment", ALIGNMENT, "bytes: where each operand begins is a multiple")
    yield row("most_bytes", MOST_BYTES, "bytes of operands in a batch of calls")
    yield row("most_seconds", LIMIT_S, "seconds that a batch may take")
    yield row("sandbox", *_sandbox())
    for name, rate in probes().to_json().items():
        yield row(name, rate, SOURCES[name])


def _sandbox() -> tuple[str, str]:
    try:
        layers = needed_layers("auto")
    except BadSandbox as error:
        return "missing", str(error)
    every = ("session", "environment", "limits", *layers, "seccomp allow-list", *LAYERS)
    return ", ".join(every), "around a candidate while it runs; the compiler has bubblewrap too, where it works"
