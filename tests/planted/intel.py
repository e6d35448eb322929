"""Intel's front: iga64's text of a kernel as a program.

Read apart from `strop.stalls`, from IGC's notes on software scoreboarding. An instruction's braces say what it waits
for: `I@2` the second last instruction of the integer pipe, `$3.dst` the result of the operation that holds token 3,
`$3.src` that this one has read its operands; a bare `$3` takes the token, and waits where it isn't free. `python -m
tests.planted.intel` writes `programs/intel.json.xz` from the fixtures.
"""

from __future__ import annotations

import io
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.planted import unitrace
from tests.planted.program import Pend, Program, Step, Wait, save
from tests.planted.sampler import Sample
from tests.planted.unitrace import FIXTURES

# Of the fixtures' kernels those with loops and without functions.
SOURCES = {"planted": None, "kernels": ("chase", "tile", "count", "matrix", "branches")}
LINE = re.compile(r"^/\* \[([0-9A-F]{4,})\]\s*\*/\s*(?:\(([^)]*)\)\s+)?([\w.]+)\s*(.*)$")
LABEL = re.compile(r"\bL(\d+)\b")
OPTIONS = re.compile(r"\{([^}]*)\}")
DISTANCE = re.compile(r"^([AFILM]?)@(\d)$")
TOKEN = re.compile(r"^\$(\d+)(?:\.(dst|src))?$")
MASK = re.compile(r"\(((?:\$\d+,?)+)\)")
DESCRIPTOR = re.compile(r"0x[0-9A-F]+\s+0x([0-9A-F]{8})")
TOKENS = {"pvc": 32, "dg2": 16}
PIPES = {"pvc": "FILM", "dg2": "FIL"}  # math is out of order, with tokens, where it has no pipe of its own
CONTROL = ("goto", "jmpi", "while", "brd", "brc", "break", "cont", "halt", "if", "else", "endif", "join")


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction of the listing: offset, predicate (without the no-mask mark), opcode and the rest as text."""

    address: int
    predicate: str
    opcode: str
    rest: str

    @property
    def options(self) -> list[str]:
        found = OPTIONS.search(self.rest)
        return [option.strip() for option in found[1].split(",")] if found else []

    @property
    def operands(self) -> str:
        return OPTIONS.sub("", self.rest.partition("//")[0])


def lines(text: str) -> Iterator[Line]:
    """Read `iga64 -d -Xprint-pc -Xprint-ldst`.

    >>> next(lines("/* [0118]  */ (W&f0.0) jmpi  L704 {$3.dst}")).predicate
    'f0.0'
    """
    for said in text.splitlines():
        if match := LINE.match(said):
            words = [word for word in (match[2] or "").split("&") if word and word != "W"]
            yield Line(int(match[1], 16), "".join(words), match[3], match[4].strip())


def steps(code: Sequence[Line], start: int, device: str) -> tuple[Step, ...]:
    """Return a kernel's instructions as steps, addresses from its start; the padding behind it left out."""
    made = []
    for line in code:
        if line.opcode == "illegal":
            continue
        made.append(_step(line, start, device))
    return tuple(made)


def _step(line: Line, start: int, device: str) -> Step:
    op = _op(line)
    pipe = _pipe(line, op, device)
    target = _target(line, start)
    return Step(
        address=line.address - start,
        text=" ".join((f"({line.predicate}) " * bool(line.predicate) + line.opcode + " " + line.operands).split()),
        op=op,
        pipe=pipe,
        waits=tuple(dict.fromkeys(_waits(line, pipe, device))),
        pends=tuple(_pends(line, op, pipe, device)),
        slot=_slot(line) if op in ("local load", "local store") else None,
        targets=() if target is None else (target,),
        conditional=target is not None and bool(line.predicate),
        exits="EOT" in line.options or line.opcode == "ret",
    )


def _op(line: Line) -> str:
    opcode, said = line.opcode, line.rest
    if opcode == "sync.bar":
        return "barrier"
    if opcode.startswith("load"):
        return "shared load" if ".slm" in opcode else "global load"
    if opcode.startswith("store"):
        return "shared store" if ".slm" in opcode else "global store"
    if opcode.startswith("atomic"):
        return "atomic"
    if opcode.startswith("send"):
        return "other" if "EOT" in line.options else _message(said)
    if opcode.startswith("math"):
        return "special"
    if opcode.startswith("dpas"):
        return "tensor"
    if opcode.partition(".")[0] in CONTROL:
        return "branch"
    return "other" if opcode.startswith("sync") else "alu"


def _message(said: str) -> str:
    """Return what a message does, as the comment behind it says; shared memory is surface 254."""
    if "scratch block" in said:
        return "local load" if "block read" in said else "local store"
    if "barrier" in said:
        return "other"
    place = "shared" if (match := DESCRIPTOR.search(said)) and match[1].endswith("FE") else "global"
    if re.search(r"\bread\b", said):
        return f"{place} load"
    return f"{place} store" if re.search(r"\bwrite\b", said) else "variable"  # fences


def _pipe(line: Line, op: str, device: str) -> str:
    if op in ("branch", "barrier") or line.opcode.startswith("sync"):
        return "control"
    if line.opcode.startswith(("load", "store", "atomic", "send")):
        return "send"
    if op == "special":
        return "M"
    if op == "tensor":
        return "dpas"
    # The type of what is written decides; of what is read, where nothing is.
    types = re.findall(r"[>)]:(\w+)", line.operands) or re.findall(r":(\w+)", line.operands)
    wide = {"df"} if device == "pvc" else {"df", "q", "uq"}
    if wide & set(types):
        return "L"
    kinds = types[1:] if "null<" in line.operands and len(types) > 1 else types
    return "F" if kinds and kinds[0] in ("f", "hf", "bf") else "I"


def _waits(line: Line, pipe: str, device: str) -> Iterator[Wait]:
    takes = _takes(line)
    for option in line.options:
        if match := DISTANCE.match(option):
            # No letter: the pipe that the instruction itself goes to.
            named = PIPES[device] if match[1] == "A" else match[1] or (pipe if pipe in PIPES[device] else "FIL")
            for each in named:
                yield Wait(f"{each}@", int(match[2]) - 1)
        elif match := TOKEN.match(option):
            if match[2] != "src":
                yield Wait(f"${match[1]}.dst")  # a token that's taken anew must be free
            yield Wait(f"${match[1]}.src")
    if line.opcode in ("sync.allwr", "sync.allrd"):
        masked = MASK.search(line.operands)
        named = re.findall(r"\d+", masked[1]) if masked else [str(number) for number in range(TOKENS[device])]
        for each in named:
            if line.opcode == "sync.allwr":
                yield Wait(f"${each}.dst")
            yield Wait(f"${each}.src")
    assert takes is None or takes in "".join(line.options)


def _takes(line: Line) -> str | None:
    """Return the token that an instruction holds until it's done."""
    if line.opcode.startswith("sync"):
        return None
    return next((option for option in line.options if re.fullmatch(r"\$\d+", option)), None)


def _pends(line: Line, op: str, pipe: str, device: str) -> Iterator[Pend]:
    token = _takes(line)
    if token is not None:
        yield Pend(f"{token}.src", when="read")
        # What writes nothing back is done when its operands are read.
        writes = not op.endswith("store") and not re.match(r"(\([^)]*\)\s+)?(null|\[)", line.rest)
        if writes:
            yield Pend(f"{token}.dst")
    elif pipe in PIPES[device]:
        yield Pend(f"{pipe}@", order=pipe)


def _slot(line: Line) -> str | None:
    """Name the scratch memory by the offset in the message's descriptor (its low 12 bits, in 32 bytes)."""
    match = DESCRIPTOR.search(line.operands)
    return f"scratch {int(match[1], 16) & 0xFFF:#x}" if match else None


def _target(line: Line, start: int) -> int | None:
    """Return where control goes when all lanes go: of two labels the second (the first is where they meet others)."""
    if line.opcode.partition(".")[0] not in ("goto", "jmpi", "while", "brd", "brc"):
        return None
    found = [int(label) for label in LABEL.findall(line.operands)]
    return found[-1] - start if found else None


def programs() -> list[Program]:
    """Return every kernel of the fixtures as a program. Needs pyelftools; no disassembler."""
    made = []
    for path in sorted(FIXTURES.glob("*.zebin.xz")):
        name = path.name.removesuffix(".xz")
        source, device, _ = name.split(".")
        if source not in SOURCES:
            continue
        code = list(lines(lzma.decompress((FIXTURES / f"{source}.{device}.txt.xz").read_bytes()).decode()))
        start = 0
        for kernel, size in sections(lzma.decompress(path.read_bytes())):
            wanted = SOURCES[source]
            if wanted is None or kernel in wanted:
                inside = [line for line in code if start <= line.address < start + size]
                arch = {"pvc": "xehpc", "dg2": "xehpg"}[device]
                part = steps(inside, start, device)
                made.append(Program(vendor="intel", arch=arch, fixture=name, kernel=kernel, steps=part))
            start += size
    return made


def sections(data: bytes) -> list[tuple[str, int]]:
    """Return the kernels of a zebin in their order: name, and size without the zeros behind."""
    from elftools.elf.elffile import ELFFile

    found = []
    for section in ELFFile(io.BytesIO(data)).iter_sections():
        if section.name.startswith(".text."):
            code = section.data().rstrip(b"\0")
            at = 0
            while at < len(code):
                at += 8 if int.from_bytes(code[at : at + 4], "little") & 1 << 29 else 16
            found.append((section.name.removeprefix(".text."), at))
    return found


def write(program: Program, samples: Sequence[Sample], folder: Path, *, seed: int) -> tuple[Path, Path | None]:
    """Write unitrace's table of the samples; the binary lies beside it, none to name."""
    return unitrace.write(program, samples, folder, seed=seed), None


if __name__ == "__main__":
    print(save("intel", programs()))
