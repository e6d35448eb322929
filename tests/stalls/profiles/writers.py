"""Writes a small profile of every format but HPCToolkit's, each with the same 50 samples of one kernel."""

from __future__ import annotations

import json
import sqlite3
import struct
from pathlib import Path
from typing import Any

# What renderers must escape and readers must keep: templates, Unicode, markup, an escape sequence.
NAME = "void k<float, 4>(λ const*)<script>alert(1)</script>\x1b[31m"
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
TYPE = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_"
LOAD = 0x7F0000001000  # where the report's function was loaded


def elf(machine: int) -> bytes:
    """The first bytes of an ELF for a machine, and no more: readers hand binaries on unread."""
    return b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine) + b"code of nobody"


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message of varints, texts and submessages."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def _entry(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def ncu_rep(path: Path, *, name: str = NAME, version: int = 7, stalls: dict[str, dict[int, int]] | None = None) -> Path:
    """A report with one cubin, one source, and two launches of one kernel (25 samples each)."""
    if stalls is None:
        stalls = {
            "long_scoreboard": {LOAD + 0x20: 16},
            "long_scoreboard_not_issued": {LOAD + 0x20: 12},
            "not_selected": {LOAD + 0x20: 3},
            "not_selected_not_issued": {LOAD + 0x20: 0},
            "brand_new": {LOAD + 0x30: 1},
            "selected": {LOAD: 5},
            "selected_not_issued": {LOAD: 0},
        }
    names = [f"smsp__pcsamp_warps_issue_stalled_{word}" for word in stalls]
    file = message((1, "/src/k.cu"), (2, "__global__ void k() {}\n"))
    function = message((1, "_Z1kPKf"), (2, LOAD), (3, 1))
    source = message((1, 77), (4, elf(190)), (5, 8), (6, 0x80000), (8, message((1, file))), (9, message((1, function))))

    def value(number: int) -> bytes:
        return message((5, number))

    metrics = [
        message(
            (1, at),
            (2, value(sum(places.values()))),
            *((3, message((1, value(pc)), (2, value(count)))) for pc, count in places.items()),
        )
        for at, places in enumerate(stalls.values())
    ]
    result = message(
        (5, "_Z1kPKf"),
        (6, name),
        (12, message((1, LOAD + 0x20), (2, "FFMA R4, R4, R5, R6"))),
        *((13, metric) for metric in metrics),
        (15, message((1, 77))),
    )
    strings = message(*((1, text) for text in names))
    blocks = b""
    for header, payload in (
        (((1, 1), (2, 0)), _entry(source)),
        (((1, 0), (2, 2), (4, strings)), 2 * _entry(result)),
    ):
        blocks += _entry(message(*header, (5, len(payload)))) + payload
    path.write_bytes(b"NVR\0" + _entry(message((1, version))) + blocks)
    return path


def ncu_csv(path: Path, *, name: str = NAME) -> Path:
    """The source page of one kernel, with a device function at another address."""
    header = ["#", "Address", "Source", "Warp Stall Sampling (All Samples)", "Warp Stall Sampling (Not-issued Samples)"]
    header += ["stall_long_sb", "stall_selected", "stall_new", "stall_long_sb (Not Issued)", "Instructions Executed"]
    rows: list[list[Any]] = [
        [1, "0x7f0000001000", "MOV R1, c[0x0][0x28]", 10, 0, 0, 10, 0, 0, 4],
        [2, "0x7f0000001010", "FFMA R4, R4, R5, R6", 33, 20, 30, 0, 2, 20, "1,306"],
        [3, "0x7f0000002000", "RET.REL.NODEC R20", 7, 7, 7, 0, 0, 7, 0],
    ]
    lines = [["Kernel Name", name], header, *rows]
    return _csv(path, lines, before="==PROF== Connected to process 1\n")


def rocprofv3_csv(path: Path, *, stochastic: bool = True, trace: bool = True) -> Path:
    """50 samples as rows; with the kernel trace of the run beside."""
    header = ["Sample_Timestamp", "Exec_Mask", "Dispatch_Id", "Instruction", "Instruction_Comment", "Correlation_Id"]
    header += ["Wave_Issued_Instruction", "Instruction_Type", "Stall_Reason", "Wave_Count"] if stochastic else []

    def row(dispatch: int, text: str, comment: str, issued: int, kind: str, why: str) -> list[Any]:
        start = [123, 65535, dispatch, text, comment, 1]
        return start + ([issued, TYPE + kind, REASON + why, 4] if stochastic else [])

    rows = [row(1, "v_add_f32 v1, v2, v3", "/a/k.hip:7", 1, "VALU", "OTHER_WAIT")] * 10
    rows += [row(2, "s_waitcnt vmcnt(0)", "/a/k.hip:8 -> /a/main.hip:3", 0, "NO_INST", "WAITCNT")] * 30
    rows += [row(2, "v_mul_f32 v1, v1, v1", "", 0, "NO_INST", "ARBITER_NOT_WIN")] * 10
    if trace:
        _csv(
            path.parent / "1_kernel_trace.csv", [["Kind", "Dispatch_Id", "Kernel_Name"], ["K", 1, NAME], ["K", 2, NAME]]
        )
    return _csv(path, [header, *rows])


def rocprofv3_json(path: Path, *, stochastic: bool = True, empty: bool = False) -> Path:
    """50 samples; what names them stands after them, as the order of keys is nobody's promise."""

    def sample(offset: int, index: int, issued: bool, why: str) -> dict[str, Any]:
        pc = {"code_object_id": 5, "code_object_offset": offset}
        record = {"pc": pc, "dispatch_id": 9, "exec_mask": 2**64 - 1}
        if stochastic:
            record |= {"wave_issued": issued, "inst_type": TYPE + "VALU", "snapshot": {"stall_reason": REASON + why}}
        return {"inst_index": index, "record": record}

    samples = [sample(0x1600, 0, True, "NONE")] * 10 + [sample(0x1610, 1, False, "WAITCNT")] * 30
    samples += [sample(0x1610, 1, False, "ARBITER_NOT_WIN")] * 10
    key = "pc_sample_stochastic" if stochastic else "pc_sample_host_trap"
    tool = {
        "metadata": {"pid": 42, "text": 'a "quoted" \\ [ { text'},
        "buffer_records": {
            key: [] if empty else samples,
            "kernel_dispatch": [{"dispatch_info": {"dispatch_id": 9, "kernel_id": 3}}],
        },
        "strings": {
            "callback_records": [],
            "pc_sample_instructions": ["v_add_f32 v1, v2, v3", "s_waitcnt vmcnt(0)"],
            "pc_sample_comments": ["/a/k.hip:7", "/a/k.hip:8"],
        },
        "kernel_symbols": [{"kernel_id": 3, "kernel_name": "k.kd", "formatted_kernel_name": NAME}],
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}, indent=1), encoding="utf-8")
    return path


def rocpd(path: Path, *, rows: int = 50) -> Path:
    """The tables of rocprofv3's schema 3 that a diagnosis reads, and a view that must not run."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    run = "_0000abcd"
    database.executescript(f"""
        CREATE TABLE "rocpd_gpu_pc_sample{run}" (id INTEGER PRIMARY KEY, timestamp INTEGER, exec_mask INTEGER,
          dispatch_id INTEGER, code_object_id INTEGER, code_object_offset INTEGER, wave_issued INTEGER,
          inst_type INTEGER, stall_reason INTEGER, wave_count INTEGER);
        CREATE TABLE "rocpd_kernel_dispatch{run}" (id INTEGER PRIMARY KEY, dispatch_id INTEGER, kernel_id INTEGER);
        CREATE TABLE "rocpd_info_kernel_symbol{run}" (id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
        CREATE TABLE "rocpd_disassembly_data{run}" (id INTEGER PRIMARY KEY, code_object_id INTEGER,
          code_object_offset INTEGER, instruction TEXT, comment TEXT);
        CREATE VIEW rocpd_gpu_pc_sample AS SELECT 1;
    """)
    database.execute(f'INSERT INTO "rocpd_kernel_dispatch{run}" VALUES (1, 9, 3)')
    database.execute(f'INSERT INTO "rocpd_info_kernel_symbol{run}" VALUES (3, ?, ?)', ("k.kd", NAME))
    database.execute(f'INSERT INTO "rocpd_disassembly_data{run}" VALUES (1, 5, 5648, ?, ?)', ("s_waitcnt", "/a/k:8"))
    samples = [(9, 5, 0x1600, 1, 1, 0)] * 10 + [(9, 5, 0x1610, 0, 15, 3)] * 30 + [(9, 5, 0x1610, 0, 15, 6)] * 10
    insert = (
        f'INSERT INTO "rocpd_gpu_pc_sample{run}" (dispatch_id, code_object_id, code_object_offset, wave_issued,'
        " inst_type, stall_reason) VALUES (?, ?, ?, ?, ?, ?)"
    )
    database.executemany(insert, samples[:rows])
    database.commit()
    database.close()
    return path


def code_json(path: Path, *, sampled: bool = True, version: str = "3.0.0") -> Path:
    """A listing of the viewer, with a source beside it; without samples it holds the thread trace's cycles."""
    header = ["ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle"]
    header += ["PC_Issued", "PC_Stalled", "Stall_Reasons"]
    none = [0] * 10
    waits = [0, 0, 0, 30, 0, 0, 8, 0, 0, 0]
    rows: list[list[Any]] = [
        ["; _Z1kPKf", 0, 0, NAME, 2, 0x1600, 0, 0, 0, 0, 0, 0, none],
        ["v_add_f32 v1, v2, v3", 0, 1, "/a/k.hip:7", 2, 0x1600, 1, 20, 10, 5, 10, 0, none],
        ["s_waitcnt vmcnt(0)", 0, 2, "/a/k.hip:8 -> /a/main.hip:3", 2, 0x1608, 1, 40, 35, 0, 0, 40, waits],
    ]
    if not sampled:
        rows = [[*row[:10], 0, 0, none] for row in rows]
    document = {"code": rows, "header": header, "version": version}
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    (path.parent / "snapshots.json").write_text(json.dumps({"/": {"a": {"k.hip": "source_0_k.hip", "x": "gone"}}}))
    (path.parent / "source_0_k.hip").write_text("__global__ void k() {}\n")
    return path


def att_csv(path: Path, *, sampled: bool = False) -> Path:
    """The statistics of a thread trace: 65 cycles; with PC samples in newer versions' columns."""
    header = ["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Issued", "Stalled", "Source"]
    rows: list[list[Any]] = [
        [2, 0x1600, "; _Z1kPKf", 0, 0, 0, 0, 0, 0, NAME],
        [2, 0x1600, "v_add_f32 v1, v2, v3", 1, 20, 10, 5, 10, 0, "/a/k.hip:7"],
        [2, 0x1608, "s_waitcnt vmcnt(0)", 1, 40, 35, 0, 0, 40, "/a/k.hip:8"],
    ]
    lines = [header, *rows]
    return _csv(path, lines if sampled else [[*row[:7], row[9]] for row in lines])


def unitrace(path: Path) -> Path:
    """Two devices with one kernel each, names right-aligned with blanks before the quote."""
    header = ["Kernel", "IP[Address]", "Active[Events]", "PSDepStall[Events]", "ControlStall[Events]"]
    header += ["PipeStall[Events]", "SendStall[Events]", "DistStall[Events]", "SbidStall[Events]"]
    header += ["SyncStall[Events]", "InstrFetchStall[Events]", "OtherStall[Events]"]
    table = ", ".join(f"{name:>8}" for name in header) + "\n"
    rows = f'   "{NAME}",  000000c0, 10, 0, 0, 0, 0,  2, 0, 0, 0, 0\n   "{NAME}",  d0, 0, 0, 0, 0, 0, 0, 33, 0, 0, 5\n'
    second = '  "other",  10, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0\n'
    blocks = [f"=== Device #{device} Metrics ===\n\n{table}{body}" for device, body in enumerate((rows, second))]
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


def _csv(path: Path, lines: list[list[Any]], *, before: str = "") -> Path:
    text = "\n".join(
        ",".join(str(field) if isinstance(field, int) else '"' + field.replace('"', '""') + '"' for field in line)
        for line in lines
    )
    path.write_text(before + text + "\n", encoding="utf-8")
    return path
