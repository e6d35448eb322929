"""A profile of one of our own kernels, made by hand: all stalls are where a load is waited for."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strop.errors import DisassemblerMissing
from strop.stalls.binaries import decode
from strop.stalls.instruction import Function, Instruction

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "nvidia"
COLUMNS = (
    "Warp Stall Sampling (All Samples)",
    "Warp Stall Sampling (Not-issued Samples)",
    "stall_long_sb",
    "stall_selected",
)


def fixture(name: str = "memory.sm_80.cubin") -> bytes:
    """The bytes of a cubin of ours."""
    return lzma.decompress((FIXTURES / f"{name}.xz").read_bytes())


def own_kernel(
    folder: Path, *, change: Callable[[bytes], bytes] = lambda data: data, name: str | None = None
) -> tuple[Path, Path, int]:
    """A profile of one of our own kernels (90 samples), its binary after a `change`, and the pc that stalls."""
    data = fixture()
    binary = folder / "memory.cubin"
    try:
        functions = decode(data, path=str(binary)).functions
    except DisassemblerMissing as error:
        pytest.skip(str(error))
    binary.write_bytes(change(data))
    for function in functions:
        code = function.instructions
        for index, load in enumerate(code):
            if load.opcode.startswith("LDG"):
                use = next((one for one in code[index + 1 :] if _reads(one, load)), None)
                if use is not None and use.waits:
                    page = source_page(folder / "source.csv", function, use.pc, name=name or function.name)
                    return page, binary, use.pc
    pytest.fail("the fixture has no load that is waited for")


def _reads(one: Instruction, load: Instruction) -> bool:
    return bool({use.register for use in one.uses} & set(load.defs))


def source_page(path: Path, function: Function, pc: int, *, name: str) -> Path:
    """Nsight Compute's source page, with 90 stalled samples at `pc` and one issued at each instruction."""
    rows: list[list[Any]] = [["Kernel Name", name], ["#", "Address", "Source", *COLUMNS]]
    for number, one in enumerate(function.instructions):
        stalled = 90 if one.pc == pc else 0
        rows.append([number, hex(0x7F0000000000 + one.pc), one.text, stalled + 1, stalled, stalled, 1])
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path
