"""What this machine can do: the processor's peak and the memory's rates, measured once and kept in a file.

Bandwidth is probed by kernels of our own in the very way in which candidates are timed, so the two compare.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from strop.bench.machine import machine
from strop.bench.timed_foreign import CONTROL_BYTES, TimedForeign
from strop.kernels.targets.cpu.toolchain import compile_candidate, compiler
from strop.settings import setting

PROTOCOL = "cpu-probe/1"
SUSTAINED_BYTES = 64 << 20  # as much as a batch of operands takes: beyond the second-level caches
NEAR_BYTES = 16 << 10  # within the first
NEAR_REPEATS = 2000
BATCHES = 40
PEAK_TRIES, PEAK_S = 12, 5e-3

READ = """
typedef float V __attribute__((vector_size(64), aligned(64)));
void solution(const float *X, float *Y) {
  const V *x = (const V *)X;
  V s[8] = {0};
  for (long again = 0; again < REPEATS; again++) {
    for (long i = 0; i < BYTES / 64; i += 8)
      for (int k = 0; k < 8; k++) s[k] += x[i + k];
    __asm__ volatile("" ::: "memory");
  }
  *(V *)Y = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}
"""
WRITE = """
void *memset(void *, int, unsigned long);
void solution(const float *X, float *Y) {
  for (long again = 0; again < REPEATS; again++) {
    memset(Y, (int)again + 1, BYTES);
    __asm__ volatile("" ::: "memory");
  }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Operations (float32) and bytes per second of one thread: sustained from memory, and the highest of any cache."""

    peak_flops: float
    read_rate: float
    write_rate: float
    highest_read_rate: float
    highest_write_rate: float

    def to_json(self) -> dict[str, float]:
        """All rates."""
        return asdict(self)

    def best(self, other: Probes) -> Probes:
        """The higher of each rate: a probe can be too low, where others used the machine, but not too high."""
        mine, its = asdict(self), asdict(other)
        return Probes(**{name: max(rate, its[name]) for name, rate in mine.items()})


SOURCES = {
    "peak_flops": "multiply-adds on float32 registers, counted as 2, by strop's own code generator",
    "read_rate": f"vector sums over {SUSTAINED_BYTES >> 20} MiB",
    "write_rate": f"memset over {SUSTAINED_BYTES >> 20} MiB",
    "highest_read_rate": f"vector sums over {NEAR_BYTES >> 10} KiB, again and again",
    "highest_write_rate": f"memset over {NEAR_BYTES >> 10} KiB, again and again",
}


@cache
def probes() -> Probes:
    """Return this machine's rates: from the file, else measured (about 2 s)."""
    known = _read()
    if known is not None:
        return known
    found = measure()
    _write(found)
    return found


def again() -> Probes:
    """Measure once more, and keep the higher of each rate."""
    found = probes().best(measure())
    _write(found)
    probes.cache_clear()
    return found


def measure() -> Probes:
    """Measure. Raises NoCompiler, NativeMissing."""
    return Probes(
        peak_flops=_peak(),
        read_rate=_rate(READ, SUSTAINED_BYTES, 1),
        write_rate=_rate(WRITE, SUSTAINED_BYTES, 1),
        highest_read_rate=_rate(READ, NEAR_BYTES, NEAR_REPEATS),
        highest_write_rate=_rate(WRITE, NEAR_BYTES, NEAR_REPEATS),
    )


def _peak() -> float:
    from strop import _native as native

    isa = native.detected_isa()
    return max(float(native.peak_probe(isa, "float32", PEAK_S)) for _ in range(PEAK_TRIES))


def _rate(code: str, size: int, repeats: int) -> float:
    prelude = f"#define BYTES {size}L\n#define REPEATS {repeats}L"
    program = compile_candidate(code, buffers=2, prelude=prelude, trusted=True)
    with TimedForeign(program, buffers=2, room=2 * size, sandbox=_sandbox()) as process:
        row = (CONTROL_BYTES, CONTROL_BYTES + size)
        process.batch([row])
        best = min(process.batch([row]).wall_s for _ in range(BATCHES))
    return size * repeats / best


def _sandbox() -> str:
    """The probes are our own code: where no sandbox works they run without one."""
    from strop.bench.timed_foreign import needed_layers
    from strop.errors import BadSandbox

    try:
        needed_layers("auto")
    except BadSandbox:
        return "none"
    return "auto"


def _key() -> str:
    return f"{PROTOCOL} {machine().fingerprint} {compiler().identity()}"


def _file() -> Path:
    home: Path = setting("home")
    return home / "cpu-probes.json"


def _all() -> dict[str, Mapping[str, Any]]:
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _read() -> Probes | None:
    try:
        return Probes(**{name: float(rate) for name, rate in _all()[_key()].items()})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _write(found: Probes) -> None:
    """Keep the rates; where the file can't be written they are measured again by the next process."""
    text = json.dumps({**_all(), _key(): found.to_json()}, indent=1)
    with contextlib.suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=_file().parent, prefix=".cpu-probes-")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, _file())
