"""Find out why a GPU kernel stalls, from a profile that somebody else collected: no GPU, no vendor's tool.

Run: .venv/bin/python examples/diagnose.py [PROFILE]

Without PROFILE it takes `examples/spmv`, a listing as the rocprof compute viewer keeps it: code that clang wrote for a
sparse matrix product on gfx942, with samples put in by hand. Such a listing holds its instructions as text, so that not
even a disassembler is needed. The same from a shell: strop diagnose examples/spmv
"""

from __future__ import annotations

import sys
from pathlib import Path

import strop
from strop.stalls.headline import sentence


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "spmv"
    found = strop.diagnose(path)
    print(sentence(found))

    for kernel in found.kernels:
        parts = ", ".join(f"{count:,} {part}" for part, count in kernel.accounting.parts.items())
        print(f"\n{kernel.name} ({kernel.arch}): {parts}")
        for cause in kernel.causes[:4]:
            low, high = cause.share_of_stalls
            print(f"  {low:4.0%} to {high:4.0%}  {cause.cause_class:22}  {cause.stall_site.text}")
            for depth, site in enumerate(cause.chain[1:]):
                print(f"{'':18}{'   ' * depth}└─ {site.text}  (line {site.line})")


if __name__ == "__main__":
    main()
