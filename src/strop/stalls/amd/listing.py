"""Decodes AMD code that is there as text only: profiles that carry the disassembly but no binary."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from strop.errors import UnreadableBinary
from strop.stalls.amd.code_object import Architecture, CodeObject, Range
from strop.stalls.amd.decode import decode_lines
from strop.stalls.amd.disassemble import Line
from strop.stalls.amd.lines import Lines
from strop.stalls.amd.sync import immediate
from strop.stalls.instruction import Binary, Function, Source

# What only some families have, most telling first. gfx9 where nothing tells.
TELLING = (
    ("gfx1250", "gfx1250", re.compile(r"^(?:s_wait_xcnt|s_wait_asynccnt|s_wait_tensorcnt|s_add_pc_i64)\b", re.M)),
    ("gfx1201", "gfx12", re.compile(r"^s_wait_(?:loadcnt|kmcnt|dscnt|storecnt|alu)\b", re.M)),
    ("gfx1100", "gfx11", re.compile(r"^(?:s_delay_alu|v_dual_\w+|s_load_b\d+|global_load_b\d+)\b", re.M)),
    ("gfx1030", "gfx10", re.compile(r"^(?:s_waitcnt_vscnt|s_clause|s_inst_prefetch|v_add_nc_u32)\b|\bvcc_lo\b", re.M)),
    ("gfx950", "gfx940", re.compile(r"^(?:v_permlane(?:16|32)_swap|ds_read_b64_tr|v_bitop3)", re.M)),
    ("gfx942", "gfx940", re.compile(r"^v_(?:lshl_add_u64|mfma_f32_\d+x\d+x\d+_(?:fp8|bf8|f16|bf16))|\bsc[01]\b", re.M)),
    ("gfx90a", "gfx90a", re.compile(r"^v_(?:pk_fma_f32|pk_mul_f32|pk_add_f32|pk_mov_b32|fmac_f64)\b", re.M)),
)
# What a disassembler writes for one instruction; a profile may hold anything there, a number of 5,000 digits too.
WRITTEN = re.compile(r"(?!.*\w{80})[\x20-\x7e]{1,400}")
UNREADABLE = ".long"  # as disassemblers write words that they don't know
LARGEST = 1 << 26  # bytes of a function's code
LANES = re.compile(r"\b(?:vcc_lo|exec_lo)\b")


def family_of(texts: Iterable[str]) -> tuple[str, str]:
    """The architecture and family that instructions tell of.

    >>> family_of(["s_waitcnt vmcnt(0)", "v_mfma_f32_16x16x32_fp8_fp8 a[0:3], v[0:1], v[2:3], a[0:3]"])
    ('gfx942', 'gfx940')
    """
    text = "\n".join(texts)
    return next(((isa, family) for isa, family, telling in TELLING if telling.search(text)), ("gfx900", "gfx9"))


def decode_listing(
    functions: Sequence[tuple[str, Sequence[tuple[int, str, Source | None]]]], *, path: str, arch: str = ""
) -> Binary:
    """Decode functions given as (name, rows of address, text and source in order of address).

    Sizes are the distances of addresses; the last instruction of a function is taken to have 4 bytes. Without `arch`
    the architecture is told from the instructions. A function counts as a kernel unless it returns by s_setpc_b64.
    """
    isa, family = family_of(text for _, rows in functions for _, text, _ in rows)
    if arch:
        isa, family = arch, _family(arch) or family
    small = any(LANES.search(text) for _, rows in functions for _, text, _ in rows)
    ranges, said, addresses, sources = [], {}, [], []
    for name, rows in functions:
        if not rows:
            continue
        if rows[-1][0] - rows[0][0] > LARGEST:
            raise UnreadableBinary(path=path, reason=f"the listing of {name!r} spans more than {LARGEST >> 20} MiB")
        lines, code = [], bytearray()
        for place, (address, text, source) in enumerate(rows):
            size = rows[place + 1][0] - address if place + 1 < len(rows) else 4
            text = text if WRITTEN.fullmatch(text) else UNREADABLE
            lines.append(Line(address, size, text))
            word = immediate(text, family)
            code += word.to_bytes(4, "little") + bytes(max(size - 4, 0))
            addresses.append(address)
            sources.append(source)
        ranges.append(Range(name, rows[0][0], bytes(code), None))
        said[rows[0][0]] = tuple(lines)
    order = sorted(range(len(addresses)), key=addresses.__getitem__)
    found = Lines(tuple(addresses[place] for place in order), tuple(sources[place] for place in order))
    wave = 32 if small and not family.startswith("gfx9") else 64
    made = CodeObject(Architecture(isa, family, 0), tuple(ranges), {}, {}, frozenset(), len(ranges), wave)
    digest = hashlib.sha256("\n".join(line.text for lines in said.values() for line in lines).encode()).hexdigest()
    return Binary(
        path=path,
        vendor="amd",
        arch=isa,
        digest=digest,
        functions=tuple(_kernel(function) for function in decode_lines(made, said, found)),
        missing=("the binary (instructions are the profile's text)",),
    )


def _kernel(function: Function) -> Function:
    returns = any(each.opcode == "s_setpc_b64" for each in function.instructions)
    return replace(function, is_kernel=not returns)


def _family(arch: str) -> str | None:
    from strop.stalls.amd.code_object import architectures

    return next((each.family for each in architectures().values() if each.isa == arch), None)
