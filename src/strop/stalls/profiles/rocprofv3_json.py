"""Reads rocprofv3's JSON with PC samples (`rocprofiler-sdk-tool`), host trap and stochastic.

An address is an offset in a code object, which is the ELF's virtual address; the module is `code_object_N`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strop.errors import CorruptProfile, NoSamples, NotAProfile
from strop.stalls.profiles import rocprofiler
from strop.stalls.profiles.json_stream import JsonStream, open_json
from strop.stalls.profiles.profile import Place, Profile
from strop.stalls.profiles.tally import Tally, integer, shown, source

FORMAT = "rocprofv3 JSON"
ROOT = "rocprofiler-sdk-tool"
_SAMPLES = {"pc_sample_stochastic": True, "pc_sample_host_trap": False}

# code object, offset, dispatch, index of the text, issued (None: host trap), type, reason
Key = tuple[int, int, int, int, bool | None, Any, Any]


@dataclass(slots=True)
class _Tool:
    samples: Counter[Key] = field(default_factory=Counter)
    arrays: int = 0
    instructions: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)  # by kernel
    kernels: dict[int, int] = field(default_factory=dict)  # by dispatch


def read(path: Path) -> Profile:
    """Read the JSON at `path`."""
    tools: list[_Tool] = []
    with open_json(path, format=FORMAT) as stream:
        for key in stream.items():
            if key == ROOT and stream.peek() == "[":
                for _ in stream.elements():
                    tools.append(_tool(stream, path))
            elif key == ROOT:
                tools.append(_tool(stream, path))
            else:
                stream.skip()
    if not tools:
        raise NotAProfile(path=str(path), found=f"it is JSON without {ROOT}")
    if not any(tool.samples for tool in tools):
        why = "its arrays of PC samples are empty" if any(tool.arrays for tool in tools) else "it has no PC samples"
        raise NoSamples(format=FORMAT, path=str(path), why=why, collect=rocprofiler.COLLECT)
    return _profile(path, tools)


def _tool(stream: JsonStream, path: Path) -> _Tool:
    tool = _Tool()
    for key in stream.items():
        if key == "strings":
            for name in stream.items():
                if name in {"pc_sample_instructions", "pc_sample_comments"}:
                    texts = tool.instructions if name == "pc_sample_instructions" else tool.comments
                    for _ in stream.elements():
                        texts.append(str(stream.value()))
                else:
                    stream.skip()
        elif key == "kernel_symbols":
            for _ in stream.elements():
                symbol = _object(stream.value(), "a kernel symbol", path)
                shown_name = symbol.get("formatted_kernel_name") or symbol.get("demangled_kernel_name")
                mangled = str(symbol.get("kernel_name", "")).removesuffix(".kd")
                tool.names[_integer(symbol.get("kernel_id"), "kernel_id", path)] = str(shown_name or mangled)
        elif key == "buffer_records":
            _records(stream, tool, path)
        else:
            stream.skip()
    return tool


def _records(stream: JsonStream, tool: _Tool, path: Path) -> None:
    for key in stream.items():
        if key == "kernel_dispatch":
            for _ in stream.elements():
                dispatch = _object(stream.value(), "a dispatch", path)
                info = _object(dispatch.get("dispatch_info"), "dispatch_info", path)
                at = _integer(info.get("dispatch_id"), "dispatch_id", path)
                tool.kernels[at] = _integer(info.get("kernel_id"), "kernel_id", path)
        elif key in _SAMPLES:
            tool.arrays += 1
            for _ in stream.elements():
                tool.samples[_sample(stream.value(), _SAMPLES[key], path)] += 1
        else:
            stream.skip()


def _sample(value: Any, stochastic: bool, path: Path) -> Key:
    sample = _object(value, "a sample", path)
    record = _object(sample.get("record"), "a sample's record", path)
    pc = _object(record.get("pc"), "a sample's pc", path)
    index = sample.get("inst_index", -1)
    text = index if isinstance(index, int) and index >= 0 else -1
    where = (
        _integer(pc.get("code_object_id"), "code_object_id", path),
        _integer(pc.get("code_object_offset"), "code_object_offset", path),
        _integer(record.get("dispatch_id"), "dispatch_id", path),
        text,
    )
    if not stochastic:
        return (*where, None, None, None)
    issued = record.get("wave_issued")
    if issued not in (0, 1):  # True and False are, too
        raise CorruptProfile(format=FORMAT, path=str(path), what=f"wave_issued is {shown(issued)}")
    snapshot = _object(record.get("snapshot", {}), "a sample's snapshot", path)
    why = snapshot.get("stall_reason", snapshot.get("reason_not_issued", "NONE"))
    return (*where, bool(issued), _word(record.get("inst_type", "")), _word(why))


def _word(value: Any) -> str | int:
    return value if isinstance(value, str | int) else str(value)


def _object(value: Any, what: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CorruptProfile(format=FORMAT, path=str(path), what=f"{what} is {shown(value)}, not an object")
    return value


def _integer(value: Any, what: str, path: Path) -> int:
    return integer(value, path=str(path), format=FORMAT, where=what)


def _profile(path: Path, tools: list[_Tool]) -> Profile:
    tallies: dict[tuple[str, str], Tally] = {}
    dispatches: dict[tuple[str, str], set[tuple[int, int]]] = {}
    trapped = False
    for position, tool in enumerate(tools):
        for (code, offset, dispatch, index, issued, kind, why), samples in tool.samples.items():
            name = rocprofiler.kernel_name(tool.names, tool.kernels, dispatch)
            key = (name, f"code_object_{code}")
            file, line = source(tool.comments[index]) if 0 <= index < len(tool.comments) else (None, None)
            text = tool.instructions[index] if 0 <= index < len(tool.instructions) else None
            place = Place(address=offset, file=file, line=line, text=text or None)
            rocprofiler.add(tallies.setdefault(key, Tally()), place, samples, issued=issued, kind=kind, why=why)
            dispatches.setdefault(key, set()).add((position, dispatch))
            trapped = trapped or issued is None
    launches = {key: len(each) for key, each in dispatches.items()}
    return rocprofiler.profile(path, "rocprofv3-json", tallies, launches, trapped=trapped)
