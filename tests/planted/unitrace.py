"""Samples of a run as unitrace's stall sampling writes them: a table of addresses and reasons."""

from __future__ import annotations

import lzma
import random
from collections.abc import Sequence
from pathlib import Path

from tests.planted.machine import BARRIER, FIXED_WAIT, ISSUED, NOT_SELECTED, PIPE
from tests.planted.program import Program
from tests.planted.sampler import Sample

FIXTURES = Path(__file__).resolve().parents[1] / "stalls" / "fixtures" / "intel"
FETCH_SHARE = 0.01  # of the samples say that the instruction wasn't there yet
# What a sample says in the columns of unitrace; anything else is an operation with a token.
STALLS = ("Control", "Pipe", "Send", "Dist", "Sbid", "Sync", "InstrFetch", "Other")
COLUMNS = ("Active", *(f"{stall}Stall" for stall in STALLS))
WORDS = {ISSUED: "Active", NOT_SELECTED: "OtherStall", BARRIER: "SyncStall", "alu": "DistStall"}


def write(program: Program, samples: Sequence[Sample], folder: Path, *, seed: int) -> Path:
    """Write unitrace's CSV of the samples, and the binary beside it; return the CSV's path."""
    rng = random.Random(seed)
    rows: dict[int, dict[str, int]] = {}
    for each in samples:
        word = "InstrFetchStall" if rng.random() < FETCH_SHARE else _column(program, each)
        row = rows.setdefault(program.steps[each.step].address, dict.fromkeys(COLUMNS, 0))
        row[word] += 1
    names = ["Kernel", "IP[Address]", *(f"{name}[Events]" for name in COLUMNS)]
    table = [", ".join(f"{name:>20}" for name in names)]
    for address, row in sorted(rows.items()):
        place = f"{chr(34) + program.kernel + chr(34):>20}, {f'{address:08x}':>20}"
        table.append(", ".join([place, *(f"{row[name]:>20}" for name in COLUMNS)]))
    path = folder / "stalls.metrics.csv"
    path.write_text("=== Device #0 Metrics ===\n\n" + "\n".join(table) + "\n")
    (folder / program.fixture).write_bytes(lzma.decompress((FIXTURES / f"{program.fixture}.xz").read_bytes()))
    return path


def _column(program: Program, sample: Sample) -> str:
    step = program.steps[sample.step]
    if sample.reason in WORDS:
        return WORDS[sample.reason]
    if sample.reason == FIXED_WAIT:
        return "ControlStall" if sample.step and program.steps[sample.step - 1].op == "branch" else "DistStall"
    if sample.reason == PIPE:
        return "SendStall" if step.pipe == "send" else "PipeStall"
    if sample.reason == "special" and program.arch == "xehpc":
        return "DistStall"  # math has a pipe of its own there
    return "SbidStall"
