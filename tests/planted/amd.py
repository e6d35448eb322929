"""AMD's front: llvm-objdump's text of a code object as a program.

Read apart from `strop.stalls`, from the ISA manuals and LLVM's notes on memory counters. One wave issues in order;
results of ALUs are held back by the hardware, memory by counters that instructions wait on. What each counter counts,
and which of its operations come back in the order of issue, is `_pends`; the immediates of `s_waitcnt` are read from
the encoding. `python -m tests.planted.amd` writes `programs/amd.json.xz` from the fixtures.
"""

from __future__ import annotations

import io
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.planted import rocprofv3
from tests.planted.program import Pend, Program, Step, Wait, save
from tests.planted.rocprofv3 import FIXTURES
from tests.planted.sampler import Sample

# Of the fixtures' kernels those that run on their own; the others call functions.
SOURCES = {"planted": None, "kernels": ("stencil7", "pipelined", "chase", "matmul_tiled", "reduce", "spmv_csr", "mfma")}
LINE = re.compile(r"^\t(.+?)\s*// ([0-9A-F]+): ([0-9A-F ]+)")
REGISTER = re.compile(r"(?<![\w.])-?\|?(vcc|exec|m0|ttmp|[vsa])(?:_lo|_hi)?(?:(\d+)|\[(\d+):(\d+)\])?(?![\w(])")
COUNT = re.compile(r"(\w+)\((\d+)\)")
OFFSET = re.compile(r"offset:(\d+)")
SPECIAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_s_")
LOADS = re.compile(r"^(global|flat|buffer|scratch|tbuffer|image)_(load|gather|sample)")
STORES = re.compile(r"^(global|flat|buffer|scratch|tbuffer|image)_store")
ATOMICS = re.compile(
    r"^(global|flat|buffer|image)_atomic|^ds_((r?sub|add|inc|dec|min|max|and|or|xor)_|mskor|cmpst|wrxchg)"
)
ACCUMULATES = ("v_fmac", "v_mac", "v_mfma", "v_smfmac", "v_dot2c", "v_pk_fmac", "v_dual_fmac", "v_wmma")


def generation(isa: str) -> str:
    """Return the family whose counters an ISA has: `gfx9`, `gfx10`, `gfx11`, `gfx12`."""
    return "gfx9" if isa.startswith("gfx9") else isa[:5]


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction of the disassembly: its address, its encoding's words and its text."""

    address: int
    words: tuple[int, ...]
    text: str

    @property
    def opcode(self) -> str:
        return self.text.split()[0]

    @property
    def operands(self) -> list[str]:
        return [part.strip() for part in self.text.partition(" ")[2].split(",")]


def lines(text: str) -> Iterator[Line]:
    """Read `llvm-objdump -d`.

    >>> next(lines("\\ts_waitcnt vmcnt(0) // 000000001A28: BF8C0F70\\n")).words
    (3213627248,)
    """
    for said in text.splitlines():
        if match := LINE.match(said):
            words = tuple(int(word, 16) for word in match[3].split())
            yield Line(int(match[2], 16), words, " ".join(match[1].split()))


def steps(code: Sequence[Line], start: int, isa: str) -> tuple[Step, ...]:
    """Return a function's instructions as steps, addresses from its start."""
    return tuple(_step(line, start, generation(isa)) for line in code)


def _step(line: Line, start: int, family: str) -> Step:
    opcode = line.opcode
    reads, writes = _registers(line)
    targets: tuple[int, ...] = ()
    if opcode == "s_branch" or opcode.startswith("s_cbranch"):
        jump = line.words[0] & 0xFFFF
        targets = (line.address + 4 + 4 * (jump - 0x10000 if jump & 0x8000 else jump) - start,)
    op = _op(opcode)
    return Step(
        address=line.address - start,
        text=line.text,
        op=op,
        pipe=_pipe(opcode, op),
        issue=_issue(line, family),
        waits=tuple(_waits(line, family)),
        pends=tuple(_pends(opcode, line.text, op, family)),
        reads=reads,
        writes=writes,
        slot=_slot(line) if op in ("local load", "local store") else None,
        targets=targets,
        conditional=opcode.startswith("s_cbranch"),
        exits=opcode == "s_endpgm",
    )


def _op(opcode: str) -> str:
    if opcode in ("s_barrier", "s_barrier_wait"):
        return "barrier"
    if opcode == "s_branch" or opcode.startswith("s_cbranch"):
        return "branch"
    if opcode.startswith(("s_load", "s_buffer_load")):
        return "scalar load"
    if opcode.startswith("scratch_"):
        return "local load" if "_load" in opcode else "local store"
    if opcode.startswith(("global_load_lds", "buffer_load_lds")):
        return "async copy"
    if ATOMICS.match(opcode):
        return "atomic"
    if opcode.startswith("ds_"):
        return "shared store" if opcode.startswith(("ds_write", "ds_store")) else "shared load"
    if LOADS.match(opcode) or opcode == "global_inv":
        return "global load"
    if STORES.match(opcode) or opcode == "global_wb":
        return "global store"
    if opcode.startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")):
        return "tensor"
    if opcode.startswith(SPECIAL):
        return "special"
    if "_f64" in opcode and opcode.startswith("v_"):
        return "double"
    known = opcode.startswith("v_") or (opcode.startswith("s_") and not opcode.startswith(("s_wait", "s_nop")))
    return "alu" if known else "other"


def _pipe(opcode: str, op: str) -> str:
    if op in ("global load", "global store", "local load", "local store", "async copy"):
        return "vmem"
    if op == "atomic":
        return "lds" if opcode.startswith("ds_") else "vmem"
    if op.startswith("shared"):
        return "lds"
    if op == "scalar load":
        return "smem"
    if op in ("tensor", "special"):
        return op
    return "salu" if opcode.startswith("s_") else "valu"


def _issue(line: Line, family: str) -> int:
    if line.opcode == "s_nop":
        return 1 + (line.words[0] & 0xF)
    return 4 if family == "gfx9" and line.opcode.startswith("v_") else 1  # 64 lanes on 16


def _waits(line: Line, family: str) -> Iterator[Wait]:
    """Give the counters that an instruction waits for; a counter at its largest value waits for nothing."""
    opcode, low = line.opcode, line.words[0] & 0xFFFF
    if opcode == "s_waitcnt":
        fields = _immediate(low, family)
    elif opcode.startswith("s_waitcnt_"):  # gfx10, 11: s_waitcnt_vscnt null, 0x0
        fields = {opcode.removeprefix("s_waitcnt_"): low} if opcode != "s_waitcnt_depctr" else {}
    elif opcode in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        first = opcode.removeprefix("s_wait_").partition("_")[0]
        fields = {first: low >> 8 & 0x3F, "dscnt": low & 0x3F}
    elif opcode.startswith("s_wait_") and opcode.endswith("cnt"):
        fields = {opcode.removeprefix("s_wait_"): low}
    else:
        return
    for name, value in fields.items():
        most = {"lgkmcnt": 15 if family == "gfx9" else 63, "expcnt": 7}.get(name, 63)
        if value < most:
            yield Wait(name, value)


def _immediate(low: int, family: str) -> dict[str, int]:
    """Split the immediate of `s_waitcnt`.

    >>> _immediate(0x0F74, "gfx9"), _immediate(0xFC07, "gfx11")["lgkmcnt"]
    ({'vmcnt': 4, 'expcnt': 7, 'lgkmcnt': 15}, 0)
    """
    if family == "gfx11":
        return {"vmcnt": low >> 10 & 0x3F, "expcnt": low & 7, "lgkmcnt": low >> 4 & 0x3F}
    lanes = 0xF if family == "gfx9" else 0x3F
    return {"vmcnt": (low >> 10 & 0x30) | (low & 0xF), "expcnt": low >> 4 & 7, "lgkmcnt": low >> 8 & lanes}


def _pends(opcode: str, text: str, op: str, family: str) -> Iterator[Pend]:
    """Give the counters that an instruction raises until it's done; `order`: such come back in the order of issue."""
    new = family == "gfx12"
    if op == "scalar load":
        yield Pend("kmcnt" if new else "lgkmcnt")  # in any order
    elif opcode.startswith("ds_"):
        yield Pend("dscnt" if new else "lgkmcnt", order="lds")
    elif op in ("global load", "global store", "local load", "local store", "atomic", "async copy"):
        returns = op in ("global load", "local load", "async copy") or (
            op == "atomic" and bool(re.search(r"\b(glc|sc0|th:TH_ATOMIC_RETURN)\b", text))
        )
        if family == "gfx9":
            yield Pend("vmcnt", order="vm")  # stores, too
        elif returns:
            yield Pend("loadcnt" if new else "vmcnt", order="vm")
        else:
            yield Pend("storecnt" if new else "vscnt", order="vs")
        if opcode.startswith("flat_"):
            yield Pend("dscnt" if new else "lgkmcnt")


def _slot(line: Line) -> str | None:
    """Name the scratch memory: base and offset; nothing where a vector register says where."""
    values = [part for part in line.operands if part]
    base = [part.split()[0] for part in (values[0], values[-1]) if part.split()[0] not in ("off",)]
    places = [part for part in base if part.startswith("s")]
    if line.opcode.startswith("scratch_load"):
        places = [part for part in values[1:] if part.startswith("s")]
        if any(part.startswith("v") for part in values[1:]):
            return None
    elif line.opcode.startswith("scratch_store") and values[0].startswith("v"):
        return None
    match = OFFSET.search(line.text)
    return f"scratch {' '.join(places) or 'off'}+{int(match[1]) if match else 0}"


def _registers(line: Line) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the registers that an instruction reads and writes: near enough for what ALUs hold back."""
    opcode = line.opcode
    halves = [line.text.partition(" ")[2]]
    names = [opcode]
    if "::" in line.text:  # two operations in one instruction
        first, second = (part.strip() for part in line.text.split("::"))
        halves = [first.partition(" ")[2], second.partition(" ")[2]]
        names = [opcode, second.split()[0]]
    reads: list[str] = []
    writes: list[str] = []
    for name, half in zip(names, halves, strict=True):
        parts = [list(_named(part)) for part in half.split(",")]
        results = _results(name, half)
        for place, registers in enumerate(parts):
            (writes if place < results else reads).extend(registers)
            if place == 0 and results and name.startswith(ACCUMULATES):
                reads.extend(registers)
    if opcode.startswith(("s_cmp", "s_bitcmp")):
        writes.append("scc")
    elif opcode.startswith(("s_cbranch_scc", "s_cselect", "s_addc", "s_subb", "s_add_co_ci", "s_sub_co_ci")):
        reads.append("scc")
    elif opcode.startswith(("s_cbranch_vcc", "s_cbranch_exec")):
        reads.append(opcode[10:].rstrip("nz"))
    if opcode.startswith(("s_add_", "s_sub_", "s_addc", "s_and_", "s_or_", "s_xor_", "s_andn", "s_lsh", "s_ash")):
        writes.append("scc")
    if opcode.startswith("v_cmpx") or "saveexec" in opcode:
        writes.append("exec")
    elif opcode.startswith("v_"):
        reads.append("exec")
    return tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes))


def _results(opcode: str, half: str) -> int:
    """Return how many operands from the left are written."""
    stores = STORES.match(opcode) or opcode.startswith(("ds_write", "ds_store", "scratch_store"))
    if stores or opcode.startswith(("s_wait", "s_nop", "s_cmp", "s_bitcmp", "s_branch", "s_cbranch", "s_barrier")):
        return 0
    if opcode.startswith(
        ("s_endpgm", "s_sendmsg", "s_delay", "s_clause", "s_set", "global_wb", "global_inv", "buffer_gl")
    ):
        return 0
    if ATOMICS.match(opcode) and not re.search(r"\b(glc|sc0|_rtn_)|TH_ATOMIC_RETURN", opcode + half):
        return 0
    return 2 if "_co_" in opcode or "div_scale" in opcode else 1


def _named(part: str) -> Iterator[str]:
    for space, one, first, last in REGISTER.findall(part):
        if one:
            yield space + one
        elif first:
            yield from (f"{space}{number}" for number in range(int(first), int(last) + 1))
        elif space in ("vcc", "exec", "m0"):
            yield space


def programs() -> list[Program]:
    """Return every kernel of the fixtures as a program. Needs pyelftools; no disassembler."""
    made = []
    for path in sorted(FIXTURES.glob("*.hsaco.xz")):
        name = path.name.removesuffix(".xz")
        source, isa, _ = name.split(".")
        if source not in SOURCES:
            continue
        code = list(lines(lzma.decompress((FIXTURES / f"{source}.{isa}.txt.xz").read_bytes()).decode()))
        for kernel, start, size in symbols(lzma.decompress(path.read_bytes())):
            wanted = SOURCES[source]
            if wanted is not None and not any(f"{len(each)}{each}P" in kernel for each in wanted):
                continue
            inside = [line for line in code if start <= line.address < start + size]
            made.append(
                Program(
                    vendor="amd",
                    arch=isa,
                    fixture=name,
                    kernel=kernel,
                    steps=steps(inside, start, isa),
                    base=start,
                    interlocked=True,
                )
            )
    return made


def symbols(data: bytes) -> list[tuple[str, int, int]]:
    """Return the kernels of a code object: name, address, size."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    table = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab") or ELFFile(io.BytesIO(data)).get_section_by_name(
        ".dynsym"
    )
    assert isinstance(table, SymbolTableSection)
    found = list(table.iter_symbols())
    kernels = {each.name.removesuffix(".kd") for each in found if each.name.endswith(".kd")}
    return sorted((each.name, each["st_value"], each["st_size"]) for each in found if each.name in kernels)


def write(program: Program, samples: Sequence[Sample], folder: Path, *, seed: int) -> tuple[Path, Path | None]:
    """Write rocprofv3's profile of the samples, its form chosen by `seed`; the binary lies beside it, none to name."""
    return rocprofv3.write(program, samples, folder, seed=seed), None


if __name__ == "__main__":
    print(save("amd", programs()))
