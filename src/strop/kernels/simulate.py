"""Bare-metal programs on the simulated machine, as they are: no operands, no judge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strop.errors import BadElf, BadParameter

MOST_BYTES = 256 << 20  # of an ELF file
OUTPUT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """How a program ended: `outcome` is exited, returned, trap or limit; `cycles` is None without timing."""

    outcome: str
    code: int
    text: str
    pc: int
    instructions: int
    commands: int
    cycles: int | None
    output: bytes
    account: Mapping[str, Any] | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with exit code 0."""
        return self.outcome == "exited" and self.code == 0

    @property
    def ended(self) -> str:
        """How it ended, in words."""
        if self.outcome == "exited":
            return f"ended with exit code {self.code}"
        return f"stopped at 0x{self.pc:x}: {self.text}"

    def to_json(self) -> dict[str, Any]:
        """The form of the schema `strop.simulation/1`."""
        return {
            "schema": "strop.simulation/1",
            "ok": self.ok,
            "outcome": self.outcome,
            "exit_code": self.code if self.outcome == "exited" else None,
            "ended": self.ended,
            "pc": self.pc,
            "instructions": self.instructions,
            "commands": self.commands,
            "cycles": self.cycles,
            "output": self.output.decode(errors="replace"),
            "parts": dict(self.account["classes"]) if self.account else None,
        }


def simulate(
    path: str | Path,
    *,
    geometry: str = "int8-16x16",
    preset: str = "firesim",
    parameters: Mapping[str, float] | None = None,
    timed: bool = True,
    strict: bool = False,
    memory_bytes: int = 256 << 20,
    most_instructions: int = 2_000_000_000,
) -> Simulation:
    """Run a bare-metal ELF. Raises BadElf, BadParameter, NativeMissing."""
    from strop.kernels.targets.gemmini import parameters as named
    from strop.kernels.targets.gemmini.geometry import geometries
    from strop.kernels.targets.gemmini.geometry import geometry as find
    from strop.kernels.targets.gemmini.machine import Core

    if geometry not in geometries():
        raise BadParameter(text=geometry, reason=f"there are the geometries {', '.join(geometries())}")
    values = {**named.values(preset), **find(geometry).values, **named.checked(parameters or {})}
    core = Core(values, memory_bytes=memory_bytes, timed=timed, strict=strict)
    core.load(read(path), path=str(path))
    done = core.machine.run(
        instructions=most_instructions, output_bytes=OUTPUT_BYTES, timed=timed, cycles=50 * most_instructions
    )
    limit = f"it ran into the limit of {done.limit}" if done.outcome == "limit" else done.text
    return Simulation(
        outcome=done.outcome,
        code=done.code if done.outcome in ("exited", "returned") else 0,
        text=limit,
        pc=done.pc,
        instructions=done.instructions,
        commands=done.commands,
        cycles=max(done.cycles, done.idle_cycle) if timed else None,
        output=done.output,
        account=core.gemmini.account() if timed else None,
    )


def read(path: str | Path) -> bytes:
    """Return an ELF file's bytes. Raises :class:`BadElf`."""
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise BadElf(path=str(path), reason="it is no file")
        if os.path.getsize(path) > MOST_BYTES:
            raise BadElf(path=str(path), reason=f"it is longer than {MOST_BYTES >> 20} MiB")
        return Path(path).read_bytes()
    except OSError as error:
        raise BadElf(path=str(path), reason=error.strerror or "it can't be read") from None
