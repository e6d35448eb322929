"""From addresses to the candidate's source lines, by the compiler's own line table, read when first asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strop.stalls.dwarf_lines import Lines

SOURCE = "candidate.c"


class SourceLines:
    """The lines of one compiled candidate. What the compiler's headers brought in counts where it was used."""

    def __init__(self, elf: bytes) -> None:
        self._elf = elf

    @cached_property
    def _table(self) -> Lines:
        from strop.stalls.dwarf_lines import read

        return read(self._elf, section_names=frozenset({".debug_line"}), size=len(self._elf))

    def at(self, address: int) -> int | None:
        """Return the line of the candidate that an instruction comes from; None where there is none."""
        source = self._table.at(address)
        if source is None:
            return None
        for file, line in ((source.file, source.line), *source.inline):
            if PurePath(file).name == SOURCE:
                return line
        return None
