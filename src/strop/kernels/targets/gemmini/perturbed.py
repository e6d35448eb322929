"""The machine a little otherwise: latencies and queues drawn anew, for kernels that lean on one timing."""

from __future__ import annotations

import random
from collections.abc import Mapping

from strop.kernels.targets.gemmini.parameters import values

SPREAD = 0.2  # each parameter is drawn from within so much of its value
# Sizes that must be powers of two, switches, and what isn't time: these stay.
FIXED = (
    "dma.bus_bytes", "dma.packet_most", "execute.hazards", "load.scale_units", "memory.cache_bytes",
    "memory.cache_ways", "memory.fill_bytes", "memory.warm", "mesh.rows_least", "tlb.miss", "tlb.entries",
)  # fmt: skip


def perturbed(preset: str, overrides: Mapping[str, float], seed: int) -> dict[str, float]:
    """Return overrides that make a machine near to this one; equal seeds make equal machines.

    Those of the core (`rocket.*`) stay: its pipeline is known, memory's and the accelerator's queues are modelled.
    """
    rng = random.Random(seed)
    made = dict(overrides)
    for name, value in sorted(values(preset, overrides).items()):
        factor = rng.uniform(1 - SPREAD, 1 + SPREAD)
        if not name.startswith("rocket.") and name not in FIXED and value > 0:
            made[name] = float(max(1, round(value * factor)))
    return made
