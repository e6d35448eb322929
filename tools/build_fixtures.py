"""Builds the GPU binaries that tests read from our own kernels, where the compilers are: `build_fixtures.py nvidia`.

The small ones, `tests/stalls/fixtures/<vendor>/`, are committed, each beside the text that the disassembler gives of
it, so that tests need neither compiler nor disassembler. `--corpus FOLDER` builds the full set for the checks that ask
for many instructions. Needs nvcc and nvdisasm (`pip install 'strop[nvidia]'`).
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "tests/stalls/kernels"
FIXTURES = ROOT / "tests/stalls/fixtures"
# Compilers write the folder that they worked in into the binary; this one is put in its place, byte for byte.
NEUTRAL = "/home/user/project/kernels"

NVIDIA = {
    "memory": ("75", "80", "90a", "100", "120"),
    "arithmetic": ("75", "80", "90a", "100", "120"),
    "pipeline": ("75", "80", "90a", "100", "120"),
    "hopper": ("90a",),
    "planted": ("75", "80", "90a", "100", "120"),
}
SMALL = {
    "memory": ("75", "80", "90a", "120"),
    "arithmetic": ("75",),
    "pipeline": ("80", "100"),
    "hopper": ("90a",),
    "planted": ("75", "80", "90a", "120"),
}


def nvidia(folder: Path, *, full: bool) -> None:
    """Compile each kernel file for each architecture and disassemble it."""
    sys.path.insert(0, str(ROOT / "src"))
    from strop.stalls.nvidia.disassemble import OPTIONS, candidates

    nvcc, nvdisasm = shutil.which("nvcc"), next(candidates(), None)
    if nvcc is None or nvdisasm is None:
        sys.exit(f"nvcc: {nvcc}, nvdisasm: {nvdisasm}; both are needed.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kernels-") as parent:
        work = Path(parent, "k" * (len(NEUTRAL) - len(parent) - 1))
        shutil.copytree(KERNELS / "nvidia", work)
        for name, architectures in (NVIDIA if full else SMALL).items():
            for architecture in architectures:
                out = folder / f"{name}.sm_{architecture}.cubin"
                line = [
                    nvcc,
                    "-O3",
                    "-lineinfo",
                    "-std=c++17",
                    f"-DFULL={int(full)}",
                    f"-arch=sm_{architecture}",
                    "-cubin",
                ]
                subprocess.run([*line, "-o", str(out), f"{name}.cu"], cwd=work, check=True, stderr=subprocess.DEVNULL)
                out.write_bytes(out.read_bytes().replace(str(work).encode(), NEUTRAL.encode()))
                text = subprocess.run([nvdisasm, *OPTIONS, str(out)], check=True, capture_output=True).stdout
                keep(out, out.read_bytes(), text, packed=not full)
                print(out.name, len(text.splitlines()))


def keep(out: Path, binary: bytes, text: bytes, *, packed: bool) -> None:
    """Write a binary and its text, the committed ones compressed."""
    if packed:
        out.unlink()
        out.with_name(f"{out.name}.xz").write_bytes(lzma.compress(binary, preset=9))
        out.with_name(f"{out.name}.sass.xz").write_bytes(lzma.compress(text, preset=9))
    else:
        out.with_name(f"{out.name}.sass").write_bytes(text)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vendor", choices=["nvidia"])
    parser.add_argument("--corpus", type=Path, help="build the full set into this folder instead")
    arguments = parser.parse_args()
    folder = arguments.corpus or FIXTURES / arguments.vendor
    {"nvidia": nvidia}[arguments.vendor](folder, full=arguments.corpus is not None)


if __name__ == "__main__":
    main()
