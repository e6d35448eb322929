"""iga64: where it is found, how it is run, and what it says, once as text and once as JSON.

It runs in the bench's sandbox with limits. How long each instruction is comes from the bits (one says whether it is
compacted): a listing that disagrees doesn't count, and what it doesn't list comes back as unknown.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from strop.bench.foreign import ForeignResult, Limits, run_foreign
from strop.errors import DisassemblerFailed, DisassemblerMissing
from strop.stalls.intel.listing import listed
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.swsb import Generation
from strop.values.verdict import Verdict

NATIVE, COMPACTED = 16, 8
COMPACT_BIT = 1 << 29
PACKAGE = "libigc-tools"  # Debian's
INSTALL = f"apt-get install {PACKAGE}"
TEXT_OPTIONS = ("-Xprint-pc", "-Xprint-ldst")
JSON_OPTIONS = ("-Xprint-pc", "-Xprint-json")
MIB = 2**20

_LABEL = re.compile(r"\bL(\d+)\b")
_VERSION = re.compile(r"Intel Graphics Assembler (\d[\w.]*)")
_ROW = re.compile(r"/\* \[([0-9A-F]{4,})\]\s*\*/(.*)")


@dataclass(frozen=True, slots=True)
class Tool:
    """The iga64 that is here and the version that it says."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction: offset in the code, size, its first 8 bytes as a number, its text and its JSON (or None)."""

    pc: int
    size: int
    word: int
    text: str
    node: Node | None


def program() -> str | None:
    """The iga64 of this machine: STROP_IGA64, else the PATH's."""
    named = os.environ.get("STROP_IGA64")
    if named and os.access(named, os.X_OK):
        return named
    return shutil.which("iga64")


def tools() -> tuple[Tool, ...]:
    """The iga64 found, or none: it has to run and to say its name."""
    path = program()
    if path is None:
        return ()
    done = run_foreign([path, "-h"], limits=Limits(wall_s=10.0, cpu_s=10.0, memory_bytes=2048 * MIB))
    match = _VERSION.search((done.stdout + done.stderr).decode(errors="replace"))
    return (Tool(path, match[1]),) if match else ()


def sizes(data: bytes) -> list[tuple[int, int]]:
    """Offset and size of each instruction, without the padding at the end."""
    end = len(data.rstrip(b"\0"))
    found, at = [], 0
    while at < end and at + COMPACTED <= len(data):
        word = int.from_bytes(data[at : at + 4], "little")
        size = COMPACTED if word & COMPACT_BIT else NATIVE
        if at + size > len(data):
            break
        found.append((at, size))
        at += size
    return found


def disassemble(codes: Sequence[bytes], generation: Generation, *, path: str) -> list[tuple[Row, ...]]:
    """The instructions of each code. Raises :class:`DisassemblerMissing`, :class:`DisassemblerFailed`."""
    tool = program()
    if tool is None:
        raise DisassemblerMissing(
            arch=f"Intel {generation}", tried="neither STROP_IGA64 nor the PATH has iga64", install=INSTALL
        )
    bounds = [sizes(code) for code in codes]
    # All in one: the program starts once, however many kernels there are. Branches are relative.
    starts, whole = [], bytearray()
    for code, bound in zip(codes, bounds, strict=True):
        starts.append(len(whole))
        whole += code[: bound[-1][0] + bound[-1][1] if bound else 0]
    if not whole:
        return [() for _ in codes]
    text = _run(tool, generation, TEXT_OPTIONS, bytes(whole), path)
    said = _run(tool, generation, JSON_OPTIONS, bytes(whole), path)
    return parse(codes, text, said)


def parse(codes: Sequence[bytes], text: str, said: str) -> list[tuple[Row, ...]]:
    """Rows from the two listings of the codes put one after another. JSON that isn't any counts as empty."""
    texts = {int(match[1], 16): match[2] for line in text.splitlines() if (match := _ROW.match(line))}
    nodes = listed(said)
    rows, start = [], 0
    for code in codes:
        bound = sizes(code)
        found = []
        for pc, size in bound:
            node, written = nodes.get(start + pc), texts.get(start + pc)
            word = int.from_bytes(code[pc : pc + 8], "little")
            if written is None:
                written = f"/* not decoded: {word:#018x} */"
            elif start and "L" in written:
                written = _relative(written, start)
            found.append(Row(pc, size, word, " ".join(written.split()), None if node is None else _moved(node, start)))
        rows.append(tuple(found))
        start += bound[-1][0] + bound[-1][1] if bound else 0
    return rows


def _relative(text: str, start: int) -> str:
    return _LABEL.sub(lambda match: f"L{int(match[1]) - start}", text)


def _moved(node: Node, start: int) -> Node:
    """The node with its targets as offsets in its own code."""
    read = node.get("srcs") or ()
    for source in read:
        if source["kind"] == "LB":
            break
    else:
        return node
    return {**node, "srcs": [_target(source, start) for source in read]}


def _target(source: Node, start: int) -> Node:
    if source["kind"] != "LB" or not isinstance(source["target"], str):
        return source
    return {**source, "target": int(source["target"].lstrip("L")) - start}


def _limits(size: int) -> Limits:
    """Grow with the input: measured, iga64 writes some 100,000 instructions a second and 1 KiB of JSON for each."""
    seconds = 20 + size / 50_000
    return Limits(
        wall_s=seconds,
        cpu_s=seconds,
        memory_bytes=2048 * MIB + 1024 * size,
        file_bytes=64 * MIB + 2 * size,
        output_bytes=MIB + 512 * size,
    )


def _run(tool: str, generation: Generation, options: Sequence[str], code: bytes, path: str) -> str:
    # Exit code 1 is its word for instructions that it couldn't decode: it lists the others.
    done: ForeignResult = run_foreign(
        [tool, "-d", f"-p={generation}", *options, "--output-on-fail", "code.krn"],
        files={"code.krn": code},
        limits=_limits(len(code)),
    )
    if done.exit_code in (0, 1) and done.stdout:
        return done.stdout.decode("utf-8", "replace")
    words = done.stderr.decode(errors="replace").strip().splitlines()
    reason = words[-1] if words and done.verdict is Verdict.CRASH else done.detail
    raise DisassemblerFailed(tool=tool, path=path, reason=reason.rstrip("."))
