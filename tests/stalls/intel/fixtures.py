"""Our kernels, compiled and disassembled once (tests/stalls/kernels/intel/build.py): decoded with no tool at all."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from strop.stalls.instruction import Function
from strop.stalls.intel import disassemble, lines, zebin
from strop.stalls.intel.decode import decode_rows
from strop.stalls.intel.swsb import Generation

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "intel"
REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "gpu" / "intel"
SETS = ("kernels", "large")
DEVICES = {"pvc": Generation.XE_HPC, "dg2": Generation.XE_HPG}


def raw(name: str) -> bytes:
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes())


def loaded(name: str) -> Any:
    return json.loads(raw(f"{name}.json"))


@cache
def made(device: str, name: str = "kernels") -> zebin.Zebin:
    return zebin.read(raw(f"{name}.{device}.zebin"), path=device)


@cache
def functions(device: str, name: str = "kernels") -> dict[str, Function]:
    """The functions of our OpenCL kernels (`kernels`, or the longer ones of `large`), by name."""
    read = made(device, name)
    codes = [code.data for code in read.codes]
    rows = disassemble.parse(codes, raw(f"{name}.{device}.txt").decode(), raw(f"{name}.{device}.json").decode())
    return {function.name: function for function in decode_rows(read, rows, lines.Lines())}


@cache
def program(platform: str) -> Function:
    """The hand-made code."""
    code = zebin.Code("program", 0, raw(f"program.{platform}.krn"), True, {})
    listing = (raw(f"program.{platform}.txt").decode(), raw(f"program.{platform}.json").decode())
    read = zebin.Zebin(Generation(platform), (code,), frozenset())
    return next(decode_rows(read, disassemble.parse([code.data], *listing), lines.Lines()))
