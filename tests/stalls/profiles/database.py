"""Writes small HPCToolkit databases as FORMATS.md (v4.0) describes them, so that tests need nobody's data."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

PERIOD = 4096
EXECUTION, POINT = 2, 1


@dataclass
class Node:
    """A context: `own` are its own values (not its children's), in samples but for metrics that aren't sampled."""

    function: str | None = None
    line: tuple[str, int] | None = None
    point: tuple[str, int] | None = None
    relation: int = 0
    kind: int = 0
    own: dict[str, int] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    id: int = 0

    def total(self, metric: str) -> int:
        return self.own.get(metric, 0) + sum(child.total(metric) for child in self.children)

    def walk(self) -> Iterable[Node]:
        yield self
        for child in self.children:
            yield from child.walk()


class Image:
    """Bytes that grow, with the offsets of what was put."""

    def __init__(self, size: int) -> None:
        self.data = bytearray(size)
        self._texts: dict[str, int] = {}

    def put(self, data: bytes) -> int:
        self.data += b"\0" * (-len(self.data) % 8)
        at = len(self.data)
        self.data += data
        return at

    def text(self, text: str | None) -> int:
        if text is None:
            return 0
        if text not in self._texts:
            self._texts[text] = self.put(text.encode() + b"\0")
        return self._texts[text]

    def set(self, at: int, layout: str, *values: float) -> None:
        struct.pack_into(layout, self.data, at, *values)


UNSAMPLED = {"GKER:COUNT", "GSAMP:PER (cyc)", "GSAMP:TOT"}  # metrics that aren't multiplied by the period


def write(folder: Path, root: Node, metrics: list[str], *, minor: int = 0) -> Path:
    """Write meta.db, profile.db and cct.db of one tree."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, node in enumerate(root.walk(), 1):
        node.id = number
    scale = {metric: 1 if metric in UNSAMPLED else PERIOD for metric in metrics}
    (folder / "meta.db").write_bytes(_meta(root, metrics, minor))
    (folder / "profile.db").write_bytes(_profile(root, metrics, scale))
    (folder / "cct.db").write_bytes(_cct(root, metrics, scale))
    return folder


def _header(image: Image, kind: bytes, sections: list[tuple[int, int]], minor: int = 0) -> None:
    image.data[:16] = b"HPCTOOLKIT" + kind + bytes([4, minor])
    for number, (size, at) in enumerate(sections):
        image.set(0x10 + 16 * number, "<QQ", size, at)


def _meta(root: Node, metrics: list[str], minor: int) -> bytes:
    image = Image(0x90)
    title, kinds = image.put(bytes(16)), image.put(bytes(16))
    modules, files, functions, section_context = (image.put(bytes(16)) for _ in range(4))

    nodes = list(root.walk())
    module_names = dict.fromkeys(node.point[0] for node in nodes if node.point)
    file_names = dict.fromkeys(node.line[0] for node in nodes if node.line)
    function_names = dict.fromkeys(node.function for node in nodes if node.function)
    at_module = _paths(image, modules, module_names)
    at_file = _paths(image, files, file_names)
    texts = {name: image.text(name) for name in function_names}
    array = image.put(b"".join(struct.pack("<QQQQII", texts[name], 0, 0, 0, 0, 0) for name in function_names))
    image.set(functions, "<QIH", array, len(function_names), 40)
    at_function = {name: array + 40 * number for number, name in enumerate(function_names)}

    section_metrics = _metrics(image, metrics)

    def context(node: Node) -> bytes:
        children = array_of(node.children)
        flex = b""
        flags = 0
        if node.function:
            flags |= 1
            flex += struct.pack("<Q", at_function[node.function])
        if node.line:
            flags |= 2
            flex += struct.pack("<QII", at_file[node.line[0]], node.line[1], 0)
        if node.point:
            flags |= 4
            flex += struct.pack("<QQ", at_module[node.point[0]], node.point[1])
        head = (*children, node.id, flags, node.relation, node.kind, len(flex) // 8, 0, 0)
        return struct.pack("<QQIBBBBHIxx", *head) + flex

    def array_of(children: list[Node]) -> tuple[int, int]:
        data = b"".join([context(child) for child in children])
        return (len(data), image.put(data)) if data else (0, 0)

    size, at = array_of(root.children)
    entry = image.put(struct.pack("<QQIHxxQ", size, at, root.id, 1, image.text("main thread")))
    image.set(section_context, "<QHB", entry, 1, 32)
    sections = [title, kinds, section_metrics, section_context, title, modules, files, functions]
    _header(image, b"meta", [(16, at) for at in sections], minor)
    return bytes(image.data) + b"_meta.db"


def _paths(image: Image, section: int, names: Iterable[str]) -> dict[str, int]:
    names = list(names)
    texts = [image.text(name) for name in names]
    array = image.put(b"".join(struct.pack("<IIQ", 0, 0, text) for text in texts))
    image.set(section, "<QIH", array, len(names), 16)
    return {name: array + 16 * number for number, name in enumerate(names)}


def _metrics(image: Image, metrics: list[str]) -> int:
    scope_names = [image.text("point"), image.text("execution")]
    scopes = image.put(
        struct.pack("<QBB6x", scope_names[0], POINT, 255) + struct.pack("<QBB6x", scope_names[1], EXECUTION, 255)
    )
    formula = image.text("$$")
    rows = b""
    for number, name in enumerate(metrics):
        text = image.text(name)
        ids = (2 * number, 2 * number + 1)
        instances = image.put(b"".join(struct.pack("<QH6x", scopes + 16 * one, ids[one]) for one in (0, 1)))
        summaries = image.put(
            b"".join(struct.pack("<QQBxH4x", scopes + 16 * one, formula, 0, ids[one]) for one in (0, 1))
        )
        rows += struct.pack("<QQQHH4x", text, instances, summaries, 2, 2)
    array = image.put(rows)
    return image.put(struct.pack("<QIBBBxQHB", array, len(metrics), 32, 16, 24, scopes, 2, 16))


def _profile(root: Node, metrics: list[str], scale: dict[str, int]) -> bytes:
    image = Image(0x30)
    values, rows, count = b"", b"", 0
    for node in root.walk():
        mine = [
            struct.pack("<Hd", 2 * number + 1, node.total(metric) * scale[metric])
            for number, metric in enumerate(metrics)
            if node.total(metric)
        ]
        if mine:
            rows += struct.pack("<IQ", node.id, count)
            values += b"".join(mine)
            count += len(mine)
    at_values, at_rows = image.put(values), image.put(rows)
    block = struct.pack("<QQIxxxxQ", count, at_values, len(rows) // 12, at_rows)
    summary = image.put(block + struct.pack("<QIxxxx", 0, 1))
    section = image.put(struct.pack("<QIB", summary, 1, 48))
    _header(image, b"prof", [(16, section), (0, section)])
    return bytes(image.data) + b"_prof.db"


def _cct(root: Node, metrics: list[str], scale: dict[str, int]) -> bytes:
    """Write the values of two threads that sum to the tree's."""
    image = Image(0x20)
    blocks = [struct.pack("<QQHxxxxxxQ", 0, 0, 0, 0)]
    for node in root.walk():
        values, rows, count = b"", b"", 0
        for number, metric in enumerate(metrics):
            total = node.total(metric) * scale[metric]
            if total:
                rows += struct.pack("<HQ", 2 * number + 1, count)
                values += struct.pack("<Id", 1, total // 4) + struct.pack("<Id", 2, total - total // 4)
                count += 2
        block = (count, image.put(values), len(rows) // 10, image.put(rows))
        blocks.append(struct.pack("<QQHxxxxxxQ", *block))
    array = image.put(b"".join(blocks))
    section = image.put(struct.pack("<QIB", array, len(blocks), 32))
    _header(image, b"ctxt", [(16, section)])
    return bytes(image.data) + b"__ctx.db"


def fork(*, name: str = "kernel", module: str = "gpubins/m.gpubin", at: int = 0x1780) -> tuple[Node, list[str]]:
    """LEO's fork with instructions under their lines: 10 samples at one, 40 at the next, 4 launches."""
    metrics = ["GCYCLES", "GCYCLES:ISU", "GCYCLES:ISU:VEC", "GCYCLES:STL", "GCYCLES:STL:GMEM", "GCYCLES:STL:HID"]
    metrics += ["GCYCLES:STL:NEWW", "GKER:COUNT", "GSAMP:PER (cyc)"]
    one = Node(
        kind=3, point=(module, at), own={"GCYCLES": 10, "GCYCLES:ISU": 10, "GCYCLES:ISU:VEC": 7}
    )  # 3 issued without a word
    two = Node(
        kind=3,
        point=(module, at + 16),
        own={"GCYCLES": 40, "GCYCLES:STL": 40, "GCYCLES:STL:GMEM": 30, "GCYCLES:STL:HID": 8, "GCYCLES:STL:NEWW": 2},
    )
    line = Node(kind=2, line=("src/a.cu", 41), children=[one, two])
    inlined = Node(function="inlined()", relation=2, children=[line])
    kernel = Node(function=name, relation=1, own={"GKER:COUNT": 4}, children=[inlined])
    placeholder = Node(function="<gpu kernel>", relation=1, own={"GSAMP:PER (cyc)": PERIOD}, children=[kernel])
    host = Node(function="main", relation=1, children=[Node(kind=2, line=("src/main.cc", 5), children=[placeholder])])
    return Node(children=[host]), metrics


def stock(*, structured: bool) -> tuple[Node, list[str]]:
    """Stock HPCToolkit: 50 samples, at lines with structure files, at instructions of a nameless kernel without."""
    metrics = ["GINS", "GINS:STL_ANY", "GINS:STL_IDEP", "GINS:STL_NONE", "GSAMP:PER (cyc)"]
    own = {"GINS": 50, "GINS:STL_ANY": 30, "GINS:STL_IDEP": 30, "GINS:STL_NONE": 20}
    module = "/builds/m.gpubin"
    if structured:
        loop = Node(kind=1, line=("a.cu", 20), point=(module, 0x2E60), children=[Node(kind=2, line=("a.cu", 21))])
        loop.children[0].own = own
        kernel = Node(function="kernmain()", relation=1, children=[loop])
    else:
        kernel = Node(kind=3, relation=1, point=(module, 0x2E00), own=own)
    placeholder = Node(function="<gpu kernel>", relation=1, own={"GSAMP:PER (cyc)": PERIOD}, children=[kernel])
    return Node(children=[placeholder]), metrics
