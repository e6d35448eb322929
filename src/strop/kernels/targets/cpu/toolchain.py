"""The host's compilers, and how one makes a program of a candidate and the harness, behind the sandbox."""

from __future__ import annotations

import re
import shutil
import struct
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from strop.bench.foreign import Limits, run_foreign
from strop.bench.timed_foreign import LINK, harness
from strop.errors import NoCompiler
from strop.kernels.source_expanded import check_expanded
from strop.kernels.targets.compiler import refusal
from strop.kernels.targets.target import Refused
from strop.values.verdict import Verdict

GCC = ("gcc", *(f"gcc-{number}" for number in range(17, 9, -1)))
CLANG = ("clang", *(f"clang-{number}" for number in range(24, 13, -1)))
INSTALL = "apt-get install gcc"
MACHINE_FLAGS = ("-O3", "-march=native", "-ffast-math")
FLAGS = (
    *("-std=gnu11", "-fno-openmp", "-fno-stack-protector", "-fno-common", "-pie", "-fPIE"),
    *("-Werror=implicit-function-declaration", "-w"),
)
EXPANDED = ("kernel-candidate.i", "candidate.i")  # as compilers name the preprocessed text that they keep
MIB = 2**20
LIMITS = Limits(wall_s=30, cpu_s=30, memory_bytes=4096 * MIB, file_bytes=64 * MIB, output_bytes=MIB // 4, processes=16)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler that is here."""

    name: str  # gcc or clang
    version: str
    path: str

    def identity(self) -> str:
        """What a cached verdict depends on."""
        return f"{self.name} {self.version} {' '.join(MACHINE_FLAGS)}"


@cache
def compilers() -> tuple[Compiler, ...]:
    """Return gcc and clang, as far as they are here; the first makes the candidates."""
    found = []
    for kind, names in (("gcc", GCC), ("clang", CLANG)):
        path = next((path for name in names if (path := shutil.which(name))), None)
        version = _version(kind, path) if path else None
        if path and version:
            found.append(Compiler(kind, version, path))
    return tuple(found)


def compiler() -> Compiler:
    """Return the compiler of candidates. Raises :class:`NoCompiler`."""
    if not compilers():
        raise NoCompiler(target="cpu", tried="gcc, clang", install=INSTALL)
    return compilers()[0]


def _version(kind: str, path: str) -> str | None:
    """Ask a compiler what it is: `gcc` is clang on some systems, and then isn't counted twice."""
    limits = Limits(wall_s=10, cpu_s=10, memory_bytes=2048 * MIB)
    done = run_foreign([path, "--version"], limits=limits, readable=_readable(path))
    said = done.stdout.decode(errors="replace") if done.verdict is Verdict.OK else ""
    if ("clang" in said) is not (kind == "clang"):
        return None
    found = re.search(r"version (\S+)", said) or re.search(r"\) (\d+\.\S+)", said)
    return found[1] if found else None


def _readable(path: str) -> tuple[str, ...]:
    """Where a compiler outside the system's folders keeps its files."""
    return (str(Path(path).resolve().parents[1]),) if not path.startswith(("/usr/", "/bin/")) else ()


@cache
def harness_digest() -> str:
    """Return the hash of what stands beside a candidate: part of a cached verdict's key."""
    return sha256(harness(1)).hexdigest()


def compile_candidate(
    code: str,
    *,
    buffers: int,
    prelude: str = "",
    sandbox: str = "auto",
    chosen: Compiler | None = None,
    trusted: bool = False,
) -> bytes:
    """Compile a candidate whose `solution` takes so many pointers to a program for `TimedForeign`.

    `prelude` is what the problem puts before the code; `trusted` code of our own may hold assembly. Raises
    :class:`Refused` with the compiler's words and the line.
    """
    chosen = chosen or compiler()
    laid = {
        "candidate.c": f'{prelude}\n#line 1 "candidate.c"\n{code}\n'.encode(),
        "harness.c": harness(buffers),
    }
    quiet = ("-Wno-unused-command-line-argument",) if chosen.name == "clang" else ()
    flags = (*MACHINE_FLAGS, *FLAGS, *LINK, *quiet)
    done = run_foreign(
        [chosen.path, "candidate.c", "harness.c", *flags, "-save-temps=cwd", "-o", "kernel"],
        files=laid,
        collect=("kernel", *EXPANDED),
        limits=LIMITS,
        readable=_readable(chosen.path),
        sandbox=sandbox,
    )
    if done.verdict is not Verdict.OK or "kernel" not in done.files:
        raise refusal(done)
    expanded = next((done.files[name] for name in EXPANDED if name in done.files), b"")
    if not expanded:
        raise RuntimeError(f"{chosen.name} kept no preprocessed text")
    if not trusted:
        check_expanded(expanded.decode(errors="replace"), statements=(), headers=True)
    _nothing_before(done.files["kernel"])
    return done.files["kernel"]


# What makes the loader run a program's code before its entry, in the dynamic section of an ELF (elf(5)).
EARLY = {12: "DT_INIT", 25: "DT_INIT_ARRAY", 32: "DT_PREINIT_ARRAY"}
DYNAMIC, DYNAMIC_SYMBOLS = 6, 11  # kinds of sections
FUNCTIONS = (2, 10)  # kinds of symbols: functions, and those whose address a resolver chooses


def _nothing_before(program: bytes) -> None:
    """Refuse a program of which the loader would run a part before the harness has put its filter on.

    Functions that it exports count: the libraries would call a `malloc` of its own while they load.
    """
    table = struct.unpack_from("<Q", program, 40)[0]
    width, count = struct.unpack_from("<HH", program, 58)
    for number in range(count):
        _, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", program, table + width * number)
        if kind == DYNAMIC:
            for at in range(offset, offset + size, 16):
                tag = struct.unpack_from("<Q", program, at)[0]
                if tag in EARLY:
                    raise Refused(Verdict.ILLEGAL, f"a function that runs before `solution` is called ({EARLY[tag]})")
                if tag == 0:
                    break
        elif kind == DYNAMIC_SYMBOLS:
            for at in range(offset, offset + size, 24):
                _, about, _, section = struct.unpack_from("<IBBH", program, at)
                if section and about & 15 in FUNCTIONS:
                    raise Refused(Verdict.ILLEGAL, "a function that libraries could call before `solution` is called")
