"""NVIDIA's front: nvdisasm's text and the control field of the encoding → programs; samples → Nsight Compute's formats.

Read apart from `strop.stalls`. The control field (bits 105 to 125) holds the issue cycles, the scoreboard that is
released when results are written, the one when operands are read, and the mask of scoreboards to wait for; no text
shows it. `LDGDEPBAR` makes the asynchronous copies before it one group on SB0, groups end in order, `DEPBAR.LE SB0, k`
leaves k of them. `python -m tests.planted.nvidia` writes `programs/nvidia.json.xz` from the committed fixtures.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.planted.machine import BARRIER, FIXED_WAIT, ISSUED, NOT_SELECTED, PIPE
from tests.planted.program import Pend, Program, Step, Wait, save
from tests.planted.sampler import Sample
from tests.stalls.profiles.writers import _entry, message

FOLDER = Path(__file__).resolve().parents[1] / "stalls" / "fixtures" / "nvidia"
FILES = ("memory", "pipeline", "planted")
HOW = "turn"  # one warp of each scheduler a sample
BASE = 0x7F3A10000000  # where the report says the kernel was loaded

OPS = {
    "LDG": "global load",
    "LD": "global load",
    "TEX": "global load",
    "STG": "global store",
    "ST": "global store",
    "LDL": "local load",
    "STL": "local store",
    "LDS": "shared load",
    "LDSM": "shared load",
    "STS": "shared store",
    "LDC": "constant load",
    "LDCU": "constant load",
    "ATOM": "atomic",
    "ATOMG": "atomic",
    "ATOMS": "atomic",
    "RED": "atomic",
    "LDGSTS": "async copy",
    "MUFU": "special",
    "BRA": "branch",
    "EXIT": "branch",
}
CONVERTS = ("F2F", "F2I", "I2F", "FRND", "I2FP")
PIPES = {
    "global load": "lsu",
    "global store": "lsu",
    "local load": "lsu",
    "local store": "lsu",
    "atomic": "lsu",
    "async copy": "lsu",
    "shared load": "mio",
    "shared store": "mio",
    "constant load": "mio",
    "special": "xu",
    "convert": "xu",
    "double": "fp64",
    "tensor": "tensor",
}
NOT_RUN = ("CALL", "BRX", "RET", "JMX", "SYNCS", "UBLKCP", "WARPGROUP", "NANOSLEEP", "BREAK", "YIELD", "BMOV")

_FUNCTION = re.compile(r"^\.text\.(\S+):")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_LINE = re.compile(r'//## File ".*?", line (\d+)')
_CODE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:\{\s*)?(.*?)\s*;\s*/\* 0x[0-9a-f]{16} \*/")
_HIGH = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")
_LOCAL = re.compile(r"\[(R\d+(?:\+-?0x[0-9a-f]+)?)\]")

# The machine's words → Nsight Compute's.
REASONS = {
    ISSUED: "selected",
    NOT_SELECTED: "not_selected",
    FIXED_WAIT: "wait",
    BARRIER: "barrier",
    "global load": "long_scoreboard",
    "global store": "long_scoreboard",
    "local load": "long_scoreboard",
    "local store": "long_scoreboard",
    "atomic": "long_scoreboard",
    "async copy": "long_scoreboard",
}
THROTTLES = {"lsu": "lg_throttle", "mio": "mio_throttle", "xu": "mio_throttle"}
SHORT = {
    "long_scoreboard": "stall_long_sb",
    "short_scoreboard": "stall_short_sb",
    "lg_throttle": "stall_lg",
    "mio_throttle": "stall_mio",
    "math_pipe_throttle": "stall_math",
}


def programs() -> Iterator[Program]:
    """Read the kernels of the committed fixtures that the machine can run."""
    for path in sorted(FOLDER.glob("*.cubin.sass.xz")):
        fixture = path.name.removesuffix(".sass.xz")
        if fixture.split(".")[0] in FILES:
            text = lzma.decompress(path.read_bytes()).decode()
            for kernel, steps in _functions(text):
                if not any(
                    step.text.split(" ")[-1].startswith(NOT_RUN) or _base(step.text) in NOT_RUN for step in steps
                ):
                    arch = fixture.split(".")[1]
                    yield Program(
                        vendor="nvidia", arch=arch, fixture=f"{fixture}.xz", kernel=kernel, steps=steps, base=BASE
                    )


def _functions(text: str) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield each function of a listing with its steps."""
    name, line = "", None
    rows: list[tuple[int, str, int, int | None]] = []
    labels: dict[str, int] = {}
    waiting: list[str] = []
    lines = iter(text.splitlines())
    for row in lines:
        if found := _FUNCTION.match(row):
            if rows:
                yield name, _steps(rows, labels)
            name, line, rows, labels, waiting = found[1], None, [], {}, []
        elif found := _LABEL.match(row):
            waiting.append(found[1])
        elif found := _LINE.search(row):
            line = int(found[1])
        elif found := _CODE.match(row):
            high = _HIGH.match(next(lines))
            assert high is not None, row
            address = int(found[1], 16)
            labels |= dict.fromkeys(waiting, address)
            waiting = []
            rows.append((address, found[2], int(high[1], 16), line))
    if rows:
        yield name, _steps(rows, labels)


def _steps(rows: list[tuple[int, str, int, int | None]], labels: dict[str, int]) -> tuple[Step, ...]:
    return tuple(_step(*row, labels) for row in rows)


def _base(text: str) -> str:
    words = text.split()
    return (words[1] if words[0].startswith("@") else words[0]).split(".")[0]


def _step(address: int, text: str, high: int, line: int | None, labels: dict[str, int]) -> Step:
    base = _base(text)
    write, read, mask = high >> 46 & 7, high >> 49 & 7, high >> 52 & 63
    waits = [Wait(f"SB{number}") for number in range(6) if mask >> number & 1]
    pends = [Pend(f"SB{write}")] if write != 7 else []
    pends += [Pend(f"SB{read}", "read")] if read != 7 else []
    op = "other" if text.startswith("@!PT ") else OPS.get(base, "alu")  # a hole that the compiler left
    if base == "BAR" and ".ARV" not in text:
        op = "barrier"
    elif op == "alu" and write != 7:
        op = "variable"
        if base in CONVERTS:
            op = "convert"
        elif base in ("DADD", "DMUL", "DFMA", "DSETP"):
            op = "double"
        elif base.endswith("MMA"):
            op = "tensor"
    slot = closes = None
    if base in ("LDL", "STL") and (at := _LOCAL.search(text)):
        slot = f"local {at[1]} {'128' if '.128' in text else '64' if '.64' in text else '32'}"
    if base == "LDGSTS":
        pends.append(Pend("cp.async"))
    elif base == "LDGDEPBAR":
        closes = "cp.async"
        pends = [Pend(pend.resource, order="groups") for pend in pends]
        op = "other"
    elif base == "DEPBAR" and (at := re.search(r"SB(\d), (0x[0-9a-f]+)", text)):
        waits.append(Wait(f"SB{at[1]}", int(at[2], 16)))
    target = re.search(r"`\((\.L_x_\d+)\)", text) if base == "BRA" else None
    guarded = text.startswith("@") or (base == "BRA" and bool(re.match(r"BRA(\.\S+)? !?U?P\d", text)))
    return Step(
        address=address,
        text=text,
        op=op,
        pipe=PIPES.get(op, "alu"),
        issue=max(1, high >> 41 & 15),
        waits=tuple(waits),
        pends=tuple(pends),
        slot=slot,
        closes=closes,
        targets=(labels[target[1]],) if target else (),
        conditional=guarded and base in ("BRA", "EXIT"),
        exits=base == "EXIT",
        line=line,
    )


def word(program: Program, sample: Sample) -> str:
    """Return Nsight Compute's word for a sample's reason."""
    if sample.reason == PIPE:
        return THROTTLES.get(program.steps[sample.step].pipe, "math_pipe_throttle")
    return REASONS.get(sample.reason.removeprefix("read "), "short_scoreboard")


def write(program: Program, samples: Sequence[Sample], folder: Path, *, seed: int) -> Path:
    """Write the samples as a report with the cubin inside, or as CSV beside the cubin.

    The seed decides which.
    """
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for each in samples:
        counts[word(program, each)][program.steps[each.step].address] += 1
    binary = lzma.decompress((FOLDER / program.fixture).read_bytes())
    if seed % 2:
        return _report(program, counts, binary, folder / "profile.ncu-rep")
    (folder / program.fixture.removesuffix(".xz")).write_bytes(binary)
    return _csv(program, counts, folder / "profile.csv")


def _csv(program: Program, counts: dict[str, Counter[int]], path: Path) -> Path:
    """The source page: a row an instruction, a column a reason, and those columns again without issued samples."""
    names = {word: SHORT.get(word, f"stall_{word}") for word in sorted(counts)}
    exposed = [word for word in names if word != "selected"]
    header = ["#", "Address", "Source", "Warp Stall Sampling (All Samples)", "Warp Stall Sampling (Not-issued Samples)"]
    header += [names[word] for word in names] + [f"{names[word]} (Not Issued)" for word in exposed]
    rows = [f'"Kernel Name","{program.kernel}"', ",".join(f'"{name}"' for name in header)]
    for number, step in enumerate(program.steps):
        every = {word: counts[word][step.address] for word in names}
        row = [str(number), hex(program.base + step.address), '"' + step.text.replace('"', '""') + '"']
        row += [str(sum(every.values())), str(sum(every[word] for word in exposed))]
        rows.append(",".join(row + [str(every[word]) for word in names] + [str(every[word]) for word in exposed]))
    path.write_text("\n".join(rows) + "\n")
    return path


def _report(program: Program, counts: dict[str, Counter[int]], binary: bytes, path: Path) -> Path:
    """A report of one launch: the kernel's SASS, a metric a reason with an instance an address, and the cubin."""
    metrics: dict[str, Counter[int]] = {}
    for reason, places in sorted(counts.items()):
        metrics[reason] = places
        metrics[f"{reason}_not_issued"] = Counter() if reason == "selected" else places
    function = message((1, program.kernel), (2, program.base), (3, 1))
    source = message((1, 77), (4, binary), (5, 8), (6, int(program.arch[3:5]) << 16), (9, message((1, function))))
    result = message(
        (5, program.kernel),
        (6, program.kernel),
        *((12, message((1, program.base + step.address), (2, step.text))) for step in program.steps),
        *((13, _metric(number, program.base, places)) for number, places in enumerate(metrics.values())),
        (15, message((1, 77))),
    )
    strings = message(*((1, f"smsp__pcsamp_warps_issue_stalled_{name}") for name in metrics))
    blocks = b""
    for header, payload in (
        (((1, 1), (2, 0)), _entry(source)),
        (((1, 0), (2, 1), (4, strings)), _entry(result)),
    ):
        blocks += _entry(message(*header, (5, len(payload)))) + payload
    path.write_bytes(b"NVR\0" + _entry(message((1, 7))) + blocks)
    return path


def _metric(number: int, base: int, places: Counter[int]) -> bytes:
    def value(of: int) -> bytes:
        return message((5, of))

    instances = ((3, message((1, value(base + at)), (2, value(count)))) for at, count in sorted(places.items()))
    return message((1, number), (2, value(sum(places.values()))), *instances)


if __name__ == "__main__":
    made = list(programs())
    print(save("nvidia", made), len(made), "programs", sum(len(each.steps) for each in made), "steps")
