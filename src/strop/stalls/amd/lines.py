"""Source lines of a code object."""

from __future__ import annotations

from strop.stalls import dwarf_lines
from strop.stalls.amd.code_object import CodeObject
from strop.stalls.dwarf_lines import Lines

__all__ = ["Lines", "read"]


def read(data: bytes, made: CodeObject) -> Lines:
    """The line table and the inlined calls of a code object; `missing` says in words what it lacks."""
    return dwarf_lines.read(data, section_names=made.section_names, size=made.debug_bytes)
