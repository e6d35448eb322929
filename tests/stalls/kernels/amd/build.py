"""Builds our AMD kernels with Debian's clang-19 and lld-19, and writes the fixtures that tests read without them.

    python tests/stalls/kernels/amd/build.py            # writes tests/stalls/fixtures/amd
    python tests/stalls/kernels/amd/build.py corpus gfx942 corpus.hsaco

Needs `apt-get install -y --no-install-recommends clang-19 lld-19 llvm-19`; no ROCm.
"""

from __future__ import annotations

import lzma
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "fixtures" / "amd"
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
TOOLS = ("clang-19", "ld.lld-19", "llvm-objdump-19")


def missing() -> list[str]:
    """The tools that aren't here."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def build(source: str, isa: str, out: Path, *flags: str) -> None:
    """Compile `source` (kernels, corpus, planted, shaders) for an architecture into a code object."""
    if source == "shaders":
        text = subprocess.run([sys.executable, HERE / "shaders.py", isa], check=True, capture_output=True).stdout
        compile_ = [
            "clang-19",
            "-x",
            "ir",
            "-target",
            "amdgcn-amd-amdpal",
            f"-mcpu={isa}",
            "-nogpulib",
            "-O2",
            "-w",
            "-c",
        ]
        with tempfile.TemporaryDirectory() as folder:
            unlinked = f"{folder}/shaders.o"
            subprocess.run([*compile_, "-o", unlinked, "-"], input=text, check=True)
            subprocess.run(["ld.lld-19", "-shared", "-o", out, unlinked], check=True)
        return
    target = [f"--offload-arch={isa}", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc"]
    names = ["-ffile-compilation-dir=.", "-I.", "-o", str(out.resolve()), f"{source}.hip"]
    level = ["-O3", "-gline-tables-only"]
    subprocess.run(["clang-19", "-x", "hip", *target, *level, *flags, *names], check=True, cwd=HERE)


def disassembly(code: Path, isa: str) -> str:
    """The instructions as llvm-objdump prints them, names of targets and padding of columns dropped."""
    argv = ["llvm-objdump-19", "-d", "-z", f"--mcpu={isa}", str(code)]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    lines = (line.partition(" <")[0] for line in said.splitlines() if line.startswith("\t"))
    return "".join("\t" + " // ".join(part.strip() for part in line.split("//")) + "\n" for line in lines)


def fixtures() -> None:
    """Write the code objects and their disassembly, compressed."""
    FIXTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for isa in TARGETS:
            for source in ("kernels", "planted", *(["shaders"] if isa in ("gfx1100", "gfx1201") else [])):
                code = Path(folder) / f"{source}.{isa}.hsaco"
                build(source, isa, code)
                said = disassembly(code, isa).encode()
                (FIXTURES / f"{code.name}.xz").write_bytes(
                    lzma.compress(code.read_bytes(), preset=9 | lzma.PRESET_EXTREME)
                )
                (FIXTURES / f"{source}.{isa}.txt.xz").write_bytes(lzma.compress(said, preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    if absent := missing():
        sys.exit(f"not here: {', '.join(absent)}; apt-get install clang-19 lld-19 llvm-19")
    if len(sys.argv) == 4:
        build(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        fixtures()
