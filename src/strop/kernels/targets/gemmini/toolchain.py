"""The compilers that make RISC-V programs: which are here, and how one compiles a candidate, behind the sandbox."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from strop.errors import NoCompiler
from strop.kernels.source_expanded import check_expanded
from strop.kernels.targets.compiler import refusal
from strop.values.verdict import Verdict

GCC = ("riscv64-unknown-elf-gcc", "riscv64-elf-gcc", "riscv-none-elf-gcc")
CLANG = ("clang", *(f"clang-{number}" for number in range(24, 13, -1)))
INSTALL = "apt-get install gcc-riscv64-unknown-elf, or pip install 'strop[gemmini]'"
FLAGS = (
    *("-O2", "-g", "-std=gnu11", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-mno-relax"),
    *("-ffreestanding", "-fno-common", "-fno-pic", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-ffp-contract=off", "-fmax-errors=20", "-Werror=implicit-function-declaration"),
)
LINK = ("-nostdlib", "-nostartfiles", "-static", "-Wl,--build-id=none", "-Wl,-z,norelro")
MIB = 2**20
SECONDS = 20.0  # that a compiler may take
EXPANDED = ("candidate.elf-candidate.i", "candidate-candidate.i", "candidate.i")  # as compilers call them
REFUSED_NAMES = {"__builtin_trap": "end by returning"}
HEADERS = ("gemmini.h", "start.S", "candidate.ld", "program.ld", "runtime.c")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler that is here. `command` compiles and links, with `options` of its own; `readable` is what it needs."""

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """What it says of itself: a process of its own, once."""
        return _version(self)

    def identity(self) -> str:
        """What a cached verdict depends on: the program by its size and time, so that no process is needed."""
        found = os.stat(self.command[0])
        return f"{self.name} {os.path.realpath(self.command[0])} {found.st_size} {found.st_mtime_ns}"

    def said(self) -> str:
        """Name and version, for people."""
        return f"{self.name} {self.version}"


def toolchains() -> Iterator[Toolchain]:
    """Yield the compilers for RISC-V that are here, the preferred first; each is looked for when it is asked for."""
    for name in GCC:
        if path := shutil.which(name):
            yield Toolchain(name, (path,))
    linkers = ("ld.lld", *(f"ld.lld-{number}" for number in range(24, 13, -1)), "riscv64-unknown-elf-ld")
    linker = next((path for name in linkers if (path := shutil.which(name))), None)
    for name in CLANG if linker else ():
        if (path := shutil.which(name)) and "riscv64" in _asked((path, "--print-targets")):
            options = ("--target=riscv64-unknown-elf", f"--ld-path={linker}", "-Wno-unused-command-line-argument")
            yield Toolchain("clang", (path,), options)
            break
    if (spec := importlib.util.find_spec("ziglang")) is not None and spec.submodule_search_locations:
        folder = Path(next(iter(spec.submodule_search_locations)))
        if os.access(folder / "zig", os.X_OK):
            options = ("-target", "riscv64-freestanding-none", "-Wno-unused-command-line-argument")
            yield Toolchain("zig", (str(folder / "zig"), "cc"), options, (str(folder),))


@cache
def toolchain() -> Toolchain:
    """Return the compiler to use. Raises :class:`NoCompiler`."""
    found = next(toolchains(), None)
    if found is None:
        tried = f"{GCC[0]}, a clang with the RISC-V target, the ziglang wheel"
        raise NoCompiler(target="gemmini", tried=tried, install=INSTALL)
    return found


@cache
def _asked(argv: tuple[str, ...], readable: tuple[str, ...] = ()) -> str:
    from strop.bench.foreign import Limits, run_foreign

    done = run_foreign(argv, limits=Limits(wall_s=10, cpu_s=10, memory_bytes=2048 * MIB), readable=readable)
    return done.stdout.decode(errors="replace") if done.verdict is Verdict.OK else ""


def _version(chosen: Toolchain) -> str:
    asked = {"clang": "--version", "zig": "version"}.get(chosen.name, "-dumpfullversion")
    said = _asked((chosen.command[0], asked), chosen.readable)
    found = re.search(r"\d+(?:\.\d+)+", said)
    return found[0] if found else "unknown"


@cache
def include(name: str) -> bytes:
    """Return one of the files that stand beside a candidate."""
    return files("strop.kernels.targets.gemmini").joinpath("include", name).read_bytes()


@cache
def headers_digest() -> str:
    """Return the hash of all of them: part of a cached verdict's key."""
    return sha256(b"\0".join(include(name) for name in HEADERS)).hexdigest()


def compile_candidate(
    code: str, *, parameters: str, prelude: str = "", sandbox: str = "auto", chosen: Toolchain | None = None
) -> bytes:
    """Compile a candidate to an ELF whose entry is `solution`.

    `parameters` is the text of gemmini_params.h (the geometry's), `prelude` what the problem puts before the code.
    Raises :class:`Refused` with the compiler's words and the line.
    """
    laid = {
        "candidate.c": code.encode(),
        "prelude.h": f'#include "gemmini.h"\n{prelude}\n'.encode(),
        "gemmini_params.h": parameters.encode(),
    }
    chosen = chosen or toolchain()
    options = ("-include", "prelude.h", "-T", "candidate.ld", "candidate.c", "runtime.c")
    if chosen.name == "zig":  # keeps no intermediate files
        expand = ("-E", "-include", "prelude.h", "candidate.c")
        expanded = _compile(laid, expand, sandbox=sandbox, chosen=chosen, makes="candidate.i")["candidate.i"]
        made = _compile(laid, options, sandbox=sandbox, chosen=chosen)
    else:
        made = _compile(laid, ("-save-temps=cwd", *options), sandbox=sandbox, chosen=chosen, also=EXPANDED)
        expanded = next((made[name] for name in EXPANDED if name in made), b"")
        if not expanded:
            raise RuntimeError(f"{chosen.name} kept no preprocessed text")
    check_expanded(expanded.decode(errors="replace"), statements=_statements(), names=REFUSED_NAMES)
    return made["candidate.elf"]


@cache
def _statements() -> frozenset[str]:
    """Return the assembly of our own header, as string literals."""
    return frozenset(re.findall(r'__asm__ volatile\(("[^"]*")', include("gemmini.h").decode()))


def compile_program(sources: Mapping[str, bytes], *, parameters: str, sandbox: str = "auto") -> bytes:
    """Compile a bare-metal program with a `main` to an ELF for `strop simulate`. Raises :class:`Refused`."""
    options = ("-T", "program.ld", "start.S", "runtime.c", *(name for name in sources if name.endswith((".c", ".S"))))
    laid = {**sources, "gemmini_params.h": parameters.encode()}
    return _compile(laid, options, sandbox=sandbox, chosen=toolchain())["candidate.elf"]


def _compile(
    laid: Mapping[str, bytes],
    options: Sequence[str],
    *,
    sandbox: str,
    chosen: Toolchain,
    makes: str = "candidate.elf",
    also: Sequence[str] = (),
) -> Mapping[str, bytes]:
    """Run the compiler in the sandbox: the file that it makes, and those of `also` that are there."""
    from strop.bench.foreign import Limits, run_foreign

    limits = Limits(
        wall_s=SECONDS, cpu_s=SECONDS, memory_bytes=2048 * MIB, file_bytes=32 * MIB, output_bytes=MIB // 4, processes=16
    )
    flags = [flag for flag in FLAGS if chosen.name not in ("clang", "zig") or flag != "-fmax-errors=20"]
    done = run_foreign(
        [*chosen.command, *chosen.options, *flags, *LINK, "-I.", *options, "-o", makes],
        files={**{name: include(name) for name in HEADERS}, **laid},
        collect=(makes, *also),
        limits=limits,
        readable=chosen.readable,
        environment={"ZIG_GLOBAL_CACHE_DIR": "tmp", "ZIG_LOCAL_CACHE_DIR": "tmp"} if chosen.name == "zig" else None,
        sandbox=sandbox,
    )
    if done.verdict is Verdict.OK and makes in done.files:
        return done.files
    raise refusal(done)
