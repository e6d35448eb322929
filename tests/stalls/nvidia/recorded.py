"""The committed cubins of our own kernels, each with the text that nvdisasm gave of it: tools/build_fixtures.py."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from strop.stalls.instruction import Binary, Function, Instruction
from strop.stalls.nvidia import decode

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "nvidia"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "gpu"
# Without the planted causes' kernels: they are so short that three waits of the compiler's are 3% of a file's.
NAMES = sorted(
    path.name.removesuffix(".xz") for path in FOLDER.glob("*.cubin.xz") if not path.name.startswith("planted.")
)


@cache
def cubin(name: str) -> bytes:
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes())


@cache
def listing(name: str) -> str:
    return lzma.decompress((FOLDER / f"{name}.sass.xz").read_bytes()).decode()


@cache
def binary(name: str) -> Binary:
    return decode(cubin(name), path=name, listing=listing(name))


def function(name: str, part: str) -> Function:
    """The one function whose name holds `part`."""
    (found,) = [each for each in binary(name).functions if part in each.name]
    return found


def opcodes(code: Function, base: str) -> list[Instruction]:
    return [each for each in code.instructions if each.opcode.split(".")[0] == base]
