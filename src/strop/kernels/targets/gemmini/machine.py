"""The native machine: a core, its memory and Gemmini, put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strop.errors import BadElf, BadParameter, NativeMissing


class Core:
    """A fresh machine. `machine` is the core with its memory, `gemmini` what is on custom-3."""

    def __init__(
        self,
        values: Mapping[str, float],
        *,
        memory_bytes: int,
        timed: bool,
        strict: bool = True,
        poison: int = 0xA5,
        loops: bool = True,
    ) -> None:
        try:
            from strop import _native as native
        except ImportError as error:
            raise NativeMissing(reason=str(error)) from None
        core = {name: int(value) for name, value in values.items() if name.startswith("rocket.")}
        rest = {name: value for name, value in values.items() if not name.startswith("rocket.")}
        if not timed:
            rest = {name: value for name, value in rest.items() if name.startswith("geometry.")}
        self._elf_error = native.ElfError
        kind: Any = native.GemminiTimed if timed else native.GemminiFunctional
        try:
            self.machine = native.Machine(memory_bytes=memory_bytes, parameters=core)
            self.gemmini: Any = kind(self.machine.memory, rest, strict=strict, poison=poison, loops=loops)
        except ValueError as error:
            raise BadParameter(text="--set", reason=str(error)) from None
        self.machine.attach(self.gemmini)

    def load(self, elf: bytes, *, path: str = "the candidate", protect: bool = False) -> dict[str, Any]:
        """Load a program: its entry, segments and symbols. Raises :class:`BadElf`."""
        try:
            loaded: dict[str, Any] = self.machine.load(elf, protect=protect)
        except self._elf_error as error:
            raise BadElf(path=path, reason=str(error)) from None
        return loaded
