"""Our kernels, compiled and disassembled once (tests/stalls/kernels/amd/build.py): decoded with no tool at all."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from strop.stalls.amd import code_object, lines
from strop.stalls.amd.decode import decode_lines
from strop.stalls.amd.disassemble import parse, tile
from strop.stalls.instruction import Function

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "amd"
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")


def raw(name: str) -> bytes:
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes())


@cache
def functions(source: str, isa: str) -> dict[str, Function]:
    """The functions by their name without mangling's decoration."""
    data = raw(f"{source}.{isa}.hsaco")
    made = code_object.read(data, path=f"{source}.{isa}.hsaco")
    said = {line.address: line for line in parse(raw(f"{source}.{isa}.txt").decode())}
    tiled = {each.address: tuple(tile(each, said, made.architecture.family)) for each in made.functions}
    decoded = decode_lines(made, tiled, lines.read(data, made))
    return {_plain(function.name): function for function in decoded}


def _plain(name: str) -> str:
    """`_Z5saxpyfPKfPfi` is `saxpy`."""
    if not name.startswith("_Z"):
        return name
    digits = name[2:4].rstrip("abcdefghijklmnopqrstuvwxyz")
    return name[2 + len(digits) : 2 + len(digits) + int(digits)]
