"""Disassembles AMD code: `llvm-objdump`, or LLVM's C interface in the wheel rocm-llvm-python (extra `[amd]`).

Both run in the bench's sandbox with limits, on bytes that nobody vouches for. What they print is data: only lines of
the expected form inside the asked ranges count, and words that neither decodes come back as `.long`.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from strop.bench.foreign import Limits, python_paths, run_foreign
from strop.errors import DisassemblerFailed, DisassemblerMissing
from strop.stalls.amd.code_object import Architecture, CodeObject, Range
from strop.stalls.amd.encoding import length
from strop.values.verdict import Verdict

MIB = 2**20
SMALLEST = 4  # bytes of the shortest instruction
LINE = re.compile(r"^\t(.*?)\s*// ([0-9A-F]{8,16}): ((?:[0-9A-F]{8}\s?)+)")
VERSION = re.compile(r"LLVM version (\d+)|version (\d+)\.")
NEWEST, OLDEST = 30, 14  # llvm-objdump-N that are looked for

# Runs apart, under Python's own interpreter: prints "address size text" for each instruction of the ranges in `ranges`.
WITH_WHEEL = """
import ctypes, sys
library, triple, cpu, features = sys.argv[1:5]
llvm = ctypes.CDLL(library)
for name in ("TargetInfo", "Target", "TargetMC", "Disassembler", "AsmPrinter"):
    start = getattr(llvm, "LLVMInitializeAMDGPU" + name, None)
    if start is not None:
        start()
create = llvm.LLVMCreateDisasmCPUFeatures
create.restype = ctypes.c_void_p
create.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
context = create(triple.encode(), cpu.encode(), features.encode(), None, 0, None, None)
if not context:
    sys.exit("this LLVM has no disassembler for " + cpu)
decode = llvm.LLVMDisasmInstruction
decode.restype = ctypes.c_size_t
decode.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
text = ctypes.create_string_buffer(1024)
code = open("code", "rb").read()
out = []
for line in open("ranges"):
    start, offset, size = map(int, line.split())
    held = ctypes.create_string_buffer(code[offset : offset + size], size)
    base, at = ctypes.addressof(held), 0
    while at < size:
        text.value = b""
        used = decode(context, base + at, size - at, start + at, text, len(text))
        if used == 0:
            used = min(4, size - at)
            said = ".long 0x%08x" % int.from_bytes(held.raw[at : at + used], "little")
        else:
            said = " ".join(text.value.decode(errors="replace").split())
        out.append("%x %d %s" % (start + at, used, said))
        at += used
sys.stdout.write("\\n".join(out))
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A disassembler that is here. `llvm` is its release; `path` the program, or the wheel's library."""

    name: str
    path: str
    llvm: int
    is_wheel: bool = False

    def covers(self, architecture: Architecture) -> bool:
        """Whether its release is said to know the architecture."""
        return self.llvm >= architecture.llvm


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction as text; `.long 0x…` where the disassembler doesn't know the word."""

    address: int
    size: int
    text: str


@cache
def tools() -> tuple[Tool, ...]:
    """The disassemblers found: llvm-objdump, newest first, then the wheel."""
    found: dict[str, Tool] = {}
    names = [*(f"llvm-objdump-{number}" for number in range(NEWEST, OLDEST - 1, -1)), "llvm-objdump"]
    for name in [*names, "/opt/rocm/llvm/bin/llvm-objdump"]:
        path = shutil.which(name)
        if path is None:
            continue
        real = str(Path(path).resolve())
        if real not in found and (release := _release(real)):
            found[real] = Tool(Path(name).name, real, release)
    wheel = _wheel()
    ordered = sorted(found.values(), key=lambda tool: -tool.llvm)
    return (*ordered, *([Tool("rocm-llvm-python", wheel, 22, True)] if wheel else []))


def _release(path: str) -> int:
    said = run_foreign([path, "--version"], limits=Limits(memory_bytes=4096 * MIB)).stdout.decode(errors="replace")
    match = VERSION.search(said)
    return int(match[1] or match[2]) if match else 0


def _wheel() -> str | None:
    try:
        spec = find_spec("rocm.llvm")
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (library := Path(folder) / "librocmllvm.so").is_file():
            return str(library)
    return None


def pick(architecture: Architecture) -> Tool:
    """The disassembler for an architecture. Raises :class:`DisassemblerMissing`."""
    for tool in tools():
        if tool.covers(architecture):
            return tool
    have = ", ".join(f"{tool.name} (LLVM {tool.llvm})" for tool in tools()) or "neither llvm-objdump nor the wheel"
    debian = "apt-get install llvm-19, or " if architecture.llvm <= 19 else ""
    raise DisassemblerMissing(
        arch=architecture.isa,
        tried=f"here: {have}; needed: LLVM {architecture.llvm} or newer",
        install=f"{debian}pip install 'strop[amd]'",
    )


def disassemble(data: bytes, made: CodeObject, *, path: str) -> dict[int, tuple[Line, ...]]:
    """The instructions of every function, by the function's address; each byte of a function is in exactly one.

    Words that the first disassembler doesn't know are asked of the others here: compilers write encodings that older
    (or newer) releases of LLVM refuse. Raises :class:`DisassemblerMissing`, :class:`DisassemblerFailed`.
    """
    found: dict[int, tuple[Line, ...]] = {}
    first = pick(made.architecture)
    for tool in (first, *(each for each in tools() if each != first and each.covers(made.architecture))):
        wanted = [each for each in made.functions if each.address not in found or _unknown(found[each.address])]
        for wave in sorted({_wave(each, made) for each in wanted}):
            group = [each for each in wanted if _wave(each, made) == wave]
            run = _by_wheel if tool.is_wheel else _by_objdump
            try:
                said = {line.address: line for line in run(tool, data, made.architecture, group, wave, path)}
            except DisassemblerFailed:
                if tool == first:
                    raise
                continue
            for function in group:
                tiled = tuple(tile(function, said, made.architecture.family))
                before = found.get(function.address)
                if before is None or _unknown(tiled) < _unknown(before):
                    found[function.address] = tiled
    return found


def _wave(function: Range, made: CodeObject) -> int:
    return function.descriptor.wave if function.descriptor else made.wave


def _unknown(lines: Sequence[Line]) -> int:
    return sum(line.text.startswith(".long") for line in lines)


def tile(function: Range, said: dict[int, Line], family: str) -> Iterator[Line]:
    """The function's bytes as instructions without gap or overlap; what wasn't said becomes `.long`, at full length."""
    at, end = function.address, function.address + len(function.data)
    while at < end:
        line = said.get(at)
        if line is None or line.text.startswith(".long") or not 0 < line.size <= end - at:
            held = function.data[at - function.address :]
            size = length(held[:16], family)
            words = (held[place : min(place + 4, size)] for place in range(0, size, 4))
            text = ".long " + ", ".join(f"0x{int.from_bytes(word, 'little'):08x}" for word in words)
            line = Line(at, size, text)
        yield line
        at += line.size


def _features(architecture: Architecture, wave: int) -> str:
    if wave == 64 and not architecture.family.startswith("gfx9"):
        return "+wavefrontsize64"
    return ""


def _limits(size: int, instructions: int) -> Limits:
    """Grow with the input: measured, LLVM disassembles some 100,000 instructions a second."""
    seconds = 20 + instructions / 5_000
    return Limits(
        wall_s=seconds,
        cpu_s=seconds,
        memory_bytes=4096 * MIB + 4 * size,
        file_bytes=64 * MIB + 2 * size,
        output_bytes=MIB + 256 * instructions,
    )


def _run(tool: Tool, argv: list[str], files: dict[str, bytes], readable: list[str], count: int, path: str) -> str:
    limits = _limits(sum(map(len, files.values())), count)
    done = run_foreign(argv, files=files, readable=readable, limits=limits)
    if done.verdict is not Verdict.OK:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        reason = f"{done.detail.rstrip('.')} {words[0][:200] if words else ''}".strip()
        raise DisassemblerFailed(tool=tool.name, path=path, reason=reason)
    return done.stdout.decode(errors="replace")


def _by_objdump(
    tool: Tool, data: bytes, architecture: Architecture, group: Sequence[Range], wave: int, path: str
) -> Iterator[Line]:
    argv = [tool.path, "-d", "-z", f"--mcpu={architecture.isa}"]
    if features := _features(architecture, wave):
        argv.append(f"--mattr={features}")
    count = len(data) // SMALLEST
    said = _run(tool, [*argv, "code"], {"code": data}, [str(Path(tool.path).parent.parent)], count, path)
    return parse(said)


def parse(said: str) -> Iterator[Line]:
    """The instructions in what `llvm-objdump -d` printed.

    >>> list(parse("\\ts_endpgm    // 000000001A28: BF810000\\n"))
    [Line(address=6696, size=4, text='s_endpgm')]
    """
    for line in said.splitlines():
        match = LINE.match(line)
        if match:
            yield Line(int(match[2], 16), 4 * len(match[3].split()), " ".join(match[1].split()))


def _by_wheel(
    tool: Tool, data: bytes, architecture: Architecture, group: Sequence[Range], wave: int, path: str
) -> Iterator[Line]:
    ranges, offset = [], 0
    for function in group:
        ranges.append(f"{function.address} {offset} {len(function.data)}")
        offset += len(function.data)
    files = {"code": b"".join(each.data for each in group), "ranges": "\n".join(ranges).encode()}
    triple = "amdgcn-amd-amdhsa"
    argv = [sys.executable, "-I", "-c", WITH_WHEEL, tool.path, triple, architecture.isa, _features(architecture, wave)]
    readable = [*python_paths(), str(Path(tool.path).parent)]
    for line in _run(tool, argv, files, readable, offset // SMALLEST, path).splitlines():
        address, size, text = line.split(" ", 2)
        yield Line(int(address, 16), int(size), text)
