"""Samples of a run as rocprofv3 writes them: JSON of its two methods, and rocpd.

Its CSV is left out: it has no addresses, so nothing can be blamed with it.
"""

from __future__ import annotations

import json
import lzma
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from tests.planted.machine import BARRIER, FIXED_WAIT, ISSUED, NOT_SELECTED, PIPE
from tests.planted.program import Program, Step
from tests.planted.sampler import Sample

FIXTURES = Path(__file__).resolve().parents[1] / "stalls" / "fixtures" / "amd"
SKID = 2  # instructions that a host trap sample may be off, either way
FETCH_SHARE = 0.01  # of the samples say that the instruction wasn't there yet
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
TYPE = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_"
WORDS = {NOT_SELECTED: "ARBITER_NOT_WIN", PIPE: "ARBITER_WIN_EX_STALL", BARRIER: "BARRIER_WAIT"}
KINDS = {"vmem": "TEX", "lds": "LDS", "smem": "SCALAR", "salu": "SCALAR", "tensor": "MATRIX"}
# pc_sampling.h, in order: rocpd stores the numbers.
NAMES: tuple[str, ...] = (
    "NONE",
    "NO_INSTRUCTION_AVAILABLE",
    "ALU_DEPENDENCY",
    "WAITCNT",
    "INTERNAL_INSTRUCTION",
    "BARRIER_WAIT",
)
NAMES += ("ARBITER_NOT_WIN", "ARBITER_WIN_EX_STALL", "OTHER_WAIT", "SLEEP_WAIT")
KIND_NAMES: tuple[str, ...] = ("NONE", "VALU", "MATRIX", "SCALAR", "TEX", "LDS", "LDS_DIRECT", "FLAT", "EXPORT")
KIND_NAMES += ("MESSAGE", "BARRIER", "BRANCH_NOT_TAKEN", "BRANCH_TAKEN", "JUMP", "OTHER", "NO_INST", "DUAL_VALU")
FORMS = ("stochastic", "host trap", "rocpd")


def write(program: Program, samples: Sequence[Sample], folder: Path, *, seed: int) -> Path:
    """Write rocprofv3's profile of the samples in one of `FORMS`, and the binary beside it; return the profile's path.

    Host trap samples say no reason, and are up to `SKID` instructions off.
    """
    rng = random.Random(seed)
    form = FORMS[seed % len(FORMS)]
    (folder / program.fixture).write_bytes(lzma.decompress((FIXTURES / f"{program.fixture}.xz").read_bytes()))
    rows = []
    for each in samples:
        place = each.step
        if form == "host trap":
            place = min(max(place + rng.randint(-SKID, SKID), 0), len(program.steps) - 1)
        word = "NO_INSTRUCTION_AVAILABLE" if rng.random() < FETCH_SHARE else _word(program, each)
        kind = _kind(program.steps[each.step]) if each.reason == ISSUED else "NO_INST"
        rows.append((program.steps[place], each.reason == ISSUED, kind, word))
    return _rocpd(program, rows, folder) if form == "rocpd" else _json(program, rows, folder, form)


def _word(program: Program, sample: Sample) -> str:
    step = program.steps[sample.step]
    if sample.reason in WORDS:
        return WORDS[sample.reason]
    if sample.reason == FIXED_WAIT or sample.reason == ISSUED:
        return "INTERNAL_INSTRUCTION" if step.text.startswith("s_nop") else "OTHER_WAIT"
    return "WAITCNT" if step.waits else "ALU_DEPENDENCY"


def _kind(step: Step) -> str:
    if step.op == "barrier":
        return "BARRIER"
    if step.op == "branch":
        return "BRANCH_TAKEN" if step.conditional else "JUMP"
    return "FLAT" if step.text.startswith("flat_") else KINDS.get(step.pipe, "VALU")


Row = tuple[Step, bool, str, str]


def _json(program: Program, rows: Sequence[Row], folder: Path, form: str) -> Path:
    texts = {step.address: number for number, step in enumerate(program.steps)}
    records = []
    for number, (step, issued, kind, word) in enumerate(rows):
        record: dict[str, object] = {
            "hw_id": {"chiplet": 0, "wave_id": number % 8, "simd_id": number % 4, "cu_or_wgp_id": 3},
            "pc": {"code_object_id": 2, "code_object_offset": program.base + step.address},
            "exec_mask": 2**64 - 1,
            "timestamp": 1_000_000 + number,
            "dispatch_id": 1,
            "corr_id": {"internal": 1, "external": 0},
            "wrkgrp_id": {"x": 0, "y": 0, "z": 0},
            "wave_in_grp": number % 4,
        }
        if form == "stochastic":
            snapshot = {"stall_reason": REASON + ("NONE" if issued else word), "dual_issue_valu": 0}
            record |= {"wave_issued": int(issued), "inst_type": TYPE + kind, "wave_cnt": 4, "snapshot": snapshot}
        records.append({"record": record, "inst_index": texts[step.address]})
    key = "pc_sample_stochastic" if form == "stochastic" else "pc_sample_host_trap"
    dispatch = {"dispatch_info": {"dispatch_id": 1, "kernel_id": 7}}
    tool = {
        "metadata": {"pid": 1},
        "kernel_symbols": [{"kernel_id": 7, "code_object_id": 2, "kernel_name": f"{program.kernel}.kd"}],
        "strings": {
            "pc_sample_instructions": [step.text for step in program.steps],
            "pc_sample_comments": ["" for _ in program.steps],
        },
        "buffer_records": {"kernel_dispatch": [dispatch], key: records},
    }
    path = folder / "1_results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


def _rocpd(program: Program, rows: Sequence[Row], folder: Path) -> Path:
    path = folder / "1_results.db"
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE rocpd_gpu_pc_sample_1 (id INTEGER PRIMARY KEY, timestamp INTEGER, exec_mask INTEGER,
          dispatch_id INTEGER, code_object_id INTEGER, code_object_offset INTEGER, wave_issued INTEGER,
          inst_type INTEGER, stall_reason INTEGER, wave_count INTEGER);
        CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER PRIMARY KEY, dispatch_id INTEGER, kernel_id INTEGER);
        CREATE TABLE rocpd_info_kernel_symbol_1 (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
        CREATE TABLE rocpd_disassembly_data_1 (id INTEGER PRIMARY KEY, code_object_id INTEGER,
          code_object_offset INTEGER, instruction TEXT, comment TEXT);
    """)
    database.execute("INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 1, 7)")
    database.execute(
        "INSERT INTO rocpd_info_kernel_symbol_1 VALUES (7, ?, ?)", (f"{program.kernel}.kd", program.kernel)
    )
    database.executemany(
        "INSERT INTO rocpd_disassembly_data_1 (code_object_id, code_object_offset, instruction) VALUES (2, ?, ?)",
        [(program.base + step.address, step.text) for step in program.steps],
    )
    said = [
        (program.base + step.address, int(issued), KIND_NAMES.index(kind), 0 if issued else NAMES.index(word))
        for step, issued, kind, word in rows
    ]
    database.executemany(
        "INSERT INTO rocpd_gpu_pc_sample_1 (exec_mask, dispatch_id, code_object_id, code_object_offset, wave_issued,"
        " inst_type, stall_reason, wave_count) VALUES (-1, 1, 2, ?, ?, ?, ?, 4)",
        said,
    )
    database.commit()
    database.close()
    return path
