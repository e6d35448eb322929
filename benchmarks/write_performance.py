"""Writes the figures of docs/performance.md from the records of `make bench`, and keeps their source beside the page.

    .venv/bin/python benchmarks/write_performance.py

Reads build/bench/*.json, writes docs/performance.json (the records without single samples) and, between the page's
marks, what it says. With `--page-only` the page is written anew from docs/performance.json. README.md gets its figures
the same way where it has the marks. Records of smoke runs, or of different machines, are refused.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from record import ROOT, SCHEMA, Column, Table

RECORDS = ROOT / "build" / "bench"
SOURCE = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- begin figures -->\n).*?(<!-- end figures -->)", re.DOTALL)
ORDER = (
    *("matmul", "matmul_aligned", "constant_schedules", "code_generation"),
    *("ranking", "latency", "footprint", "diagnose", "judge"),
)
TITLES = {
    "matmul": "Matmuls against NumPy",
    "matmul_aligned": "The same with arrays at 64 bytes",
    "constant_schedules": "Constant schedules against C intrinsics",
    "code_generation": "Code generation, candidates per second",
    "ranking": "Quick and careful measurements",
    "latency": "Waiting times",
    "footprint": "Size",
    "diagnose": "Diagnosis: time and memory",
    "judge": "Judgements",
}
MARKS = {True: "reached", False: "**missed**", None: "not measured"}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--records", type=Path, default=RECORDS, metavar="FOLDER", help="where the records lie")
    asked.add_argument("--page-only", action="store_true", help="write the pages from docs/performance.json")
    arguments = asked.parse_args()
    if not arguments.page_only:
        records = gathered(arguments.records)
        SOURCE.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    records = json.loads(SOURCE.read_text())
    for path, text in ((PAGE, page(records)), (README, headlines(records))):
        path.write_text(filled(path.read_text(), text))
    print("\n\n".join([origin(records), bars(records), verdicts(records)]))


def gathered(folder: Path) -> list[dict[str, Any]]:
    """The records of a folder in the page's order, without single samples; SystemExit for what can't be shown."""
    records = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        if record.get("schema") != SCHEMA or record["benchmark"] not in ORDER:
            raise SystemExit(f"{path.name} is no record of these benchmarks")
        if record["smoke"]:
            raise SystemExit(f"{path.name} is of a smoke run: its figures mean nothing; the pages stay as they are")
        records[record["benchmark"]] = without_samples(record)
    if not records:
        raise SystemExit("there are no records: run `make bench`")
    if len({record["machine"]["fingerprint"] for record in records.values()}) > 1:
        raise SystemExit("the records are of different machines: run `make bench` on one")
    return [records[name] for name in ORDER if name in records]


def without_samples(value: Any) -> Any:
    """The value without the keys that hold single samples."""
    if isinstance(value, dict):
        return {key: without_samples(each) for key, each in value.items() if not key.startswith("samples")}
    return [without_samples(each) for each in value] if isinstance(value, list) else value


def filled(text: str, figures: str) -> str:
    """A page with the figures between its marks; as it is where it has none."""
    return BLOCK.sub(lambda match: f"{match[1]}{figures}\n{match[2]}", text)


def page(records: list[dict[str, Any]]) -> str:
    """All figures: where they come from, every bar, every table."""
    parts = [origin(records), "## The bars", bars(records), verdicts(records)]
    for record in records:
        parts += [f"## {TITLES[record['benchmark']]}", record["claim"]]
        parts += [table(Table(each["title"], columns_of(each), each["rows"])) for each in record["tables"]]
        parts += [f"Not measured: {each['what']}: {each['reason'].rstrip('.')}." for each in record["skipped"]]
        parts.append(f"Measured {record['date']} in {record['took_s']:.0f} s by `benchmarks/{script(record)}`.")
    return "\n\n".join(parts)


def headlines(records: list[dict[str, Any]]) -> str:
    """What the README shows: a few bars, and how many of all were reached."""
    said = f"{verdicts(records)} All of them: [docs/performance.md](docs/performance.md)."
    machine, versions = records[0]["machine"], records[0]["versions"]
    where = f"Measured on {machine['cpu']}, {machine['cores']} cores, with NumPy {versions['numpy']}:"
    return "\n\n".join([where, bars(records, only="headline"), said])


def script(record: dict[str, Any]) -> str:
    """The command that made a record."""
    name = record["benchmark"]
    return "matmul.py --aligned" if name == "matmul_aligned" else f"{name}.py"


def origin(records: list[dict[str, Any]]) -> str:
    """The machine and the versions, each different value once."""
    machine = records[0]["machine"]
    caches = ", ".join(
        f"L{cache['level']} {cache['size_bytes'] // 1024} KiB"
        for cache in machine["caches"]
        if cache["kind"] != "instruction"
    )
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        for name, value in record["versions"].items():
            versions.setdefault(name, {})[value] = None
    virtual = ", a virtual machine" if machine["virtual"] else ""
    said = "; ".join(f"{name} {' and '.join(values)}" for name, values in versions.items())
    dates = sorted(record["date"] for record in records)
    days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    return (
        f"Machine: {machine['cpu']} ({machine['identity']}), {machine['cores']} cores{virtual}, {caches}; fingerprint "
        f"`{machine['fingerprint']}`. Measured {days} with {said}."
    )


def bars(records: list[dict[str, Any]], only: str = "what") -> str:
    """The bars that have `only`, all by default: asked, measured, reached or not."""
    rows = [
        [bar["what"], bar["asked"], bar["shown"], MARKS[bar["met"]] + (f": {bar['reason']}" if bar["reason"] else "")]
        for record in records
        for bar in record["bars"]
        if bar[only]
    ]
    return table(Table("", [Column("what"), Column("asked", ">"), Column("measured", ">"), Column("")], rows))


def verdicts(records: list[dict[str, Any]]) -> str:
    """How many bars were reached."""
    met = [bar["met"] for record in records for bar in record["bars"]]
    said = f"Of {len(met)} bars {met.count(True)} were reached, {met.count(False)} missed"
    return f"{said}, {met.count(None)} not measured." if None in met else f"{said}."


def columns_of(table: dict[str, Any]) -> list[Column]:
    """The columns of a recorded table."""
    return [Column(**column) for column in table["columns"]]


def table(made: Table) -> str:
    """A table in Markdown, its title above."""
    heads, *rows = ([cell.replace("|", "\\|") for cell in row] for row in made.cells)
    rule = ["---:" if column.format else "---" for column in made.columns]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]
    title = f"{made.title}:\n\n" if made.title else ""
    return title + "\n".join(lines)


if __name__ == "__main__":
    main()
