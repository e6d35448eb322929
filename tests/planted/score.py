"""Asks strop and the rules beside it who is to blame in each case: `python -m tests.planted.score`.

Writes `docs/planted.json` and the tables of `docs/explanation/planted.md`. `--freeze COMMIT` first draws the held-out
cases anew: their seed is the SHA-256 of the hash of the commit that froze the blame code; both stand in `freeze.json`.
Only this file and the test beside it know strop.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import strop
from strop.stalls import binaries
from tests.planted import nvidia, rocprofv3, unitrace
from tests.planted.case import FOLDER, Case, read
from tests.planted.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
FREEZE = Path(__file__).resolve().parent / "freeze.json"
METHODS = ("strop", "leo", "nearest", "raw")


WRITERS = {"nvidia": nvidia.write, "amd": rocprofv3.write, "intel": unitrace.write}
BINARIES = (".cubin", ".hsaco", ".zebin")
HELD_OUT = 40  # a vendor; 70 are for development


@dataclass(frozen=True, slots=True)
class Answer:
    """What a method said of a case: the address it blames (None: it names none), and its first cause in words."""

    method: str
    address: int | None
    words: str


def _remember_binaries() -> None:
    """Let each process decode each of the few binaries once: hundreds of profiles come with the same."""
    decode = binaries.decode
    once = cache(lambda data: decode(data, path="binary"))
    binaries.decode = lambda data, *, path: once(data)


def ask(case: Case, *, methods: tuple[str, ...] = METHODS) -> list[Answer]:
    """Write the case's profile as its vendor's tool would, and diagnose it as a user would."""
    program = case.code()
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        profile = WRITERS[case.vendor](program, case.samples(), Path(folder), seed=case.settings.seed)
        binary = next((path for path in Path(folder).iterdir() if path.suffix in BINARIES), None)
        found = []
        for method in methods:
            diagnosis = strop.diagnose(profile, binary=binary, method=method).to_dict()
            causes = diagnosis["kernels"][0]["causes"]
            site = None
            if causes:
                # without attribution the stalled instruction itself is all that is said
                site = causes[0]["cause_site"] or (causes[0]["stall_site"] if method == "raw" else None)
            stall = causes[0]["stall_site"] if causes else {}
            words = f"{causes[0]['class']} at {stall.get('text')} <- {site and site['text']}" if causes else "no cause"
            found.append(Answer(method, site["pc"] if site else None, words))
        return found


def score(case: Case) -> dict[str, Any]:
    """Return the row of a case: who was right."""
    answers = ask(case)
    row: dict[str, Any] = {"id": case.id, "vendor": case.vendor, "class": case.kind, "culprit": case.culprit}
    row["right"] = {answer.method: answer.address == case.culprit for answer in answers}
    row["said"] = {answer.method: [answer.address, answer.words] for answer in answers}
    return row


def files(share: str) -> list[Path]:
    """Return the files of a share of the cases, `dev` or `held-out`, that exist."""
    return [path for vendor in sorted(KINDS) if (path := FOLDER / f"{vendor}-{share}.json").exists()]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Count the right answers of each method: in all, by vendor, by class, by both."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        for key in ("all", row["vendor"], row["class"], f"{row['vendor']} {row['class']}"):
            groups[key].append(row)
    return {
        key: {"cases": len(group), **{name: sum(row["right"][name] for row in group) for name in METHODS}}
        for key, group in sorted(groups.items())
    }


def table(shares: dict[str, dict[str, Any]]) -> str:
    """Return the Markdown table of the page: a line a vendor and class, right answers of the cases of both shares."""
    lines = ["| cases | " + " | ".join(f"{share}: cases | {' | '.join(METHODS)}" for share in shares) + " |"]
    lines.append("| --- |" + " ---: |" * (len(METHODS) + 1) * len(shares))
    for key in dict.fromkeys(key for one in shares.values() for key in one):
        cells = [key]
        for one in shares.values():
            counts = one.get(key, {"cases": 0, **dict.fromkeys(METHODS, 0)})
            cells.append(str(counts["cases"]))
            cells += [f"{100 * counts[name] / counts['cases']:.0f}%" if counts["cases"] else "" for name in METHODS]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def freeze(commit: str) -> None:
    """Draw the held-out cases from the commit that froze the blame code."""
    seed = hashlib.sha256(commit.encode()).hexdigest()
    FREEZE.write_text(json.dumps({"commit": commit, "seed": seed}, indent=2) + "\n")
    for vendor in KINDS:
        line = [sys.executable, "-m", "tests.planted.generate", vendor, "--seed", seed, "--name", "held-out"]
        subprocess.run([*line, "--cases", str(HELD_OUT)], check=True, cwd=ROOT)


def main() -> None:
    """Read the command line, score, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--freeze", metavar="COMMIT", help="draw the held-out cases from this commit's hash first")
    parser.add_argument("--only", help="cases of ids that hold this text; nothing is written")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.freeze:
        freeze(given.freeze)
    shares: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.jobs, initializer=_remember_binaries) as pool:
        for share in ("dev", "held-out"):
            cases = [case for path in files(share) for case in read(path) if not given.only or given.only in case.id]
            found = list(pool.map(score, cases))
            rows += found
            if found:
                shares[share] = summary(found)
    for row in rows:
        if not row["right"]["strop"]:
            print(row["id"], row["class"], hex(row["culprit"]), row["said"]["strop"], row["said"]["leo"])
    print(table(shares))
    if not given.only:
        write(shares, rows)


def write(shares: dict[str, dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    """Write docs/planted.json and the table between the page's marks."""
    frozen = json.loads(FREEZE.read_text()) if FREEZE.exists() else None
    record: dict[str, Any] = {"schema": "strop.planted-results/1", "freeze": frozen}
    record["refused"] = {
        path.stem: json.loads(path.read_text())["refused"] for path in [*files("dev"), *files("held-out")]
    }
    record |= {"summary": shares, "cases": [{key: row[key] for key in row if key != "said"} for row in rows]}
    (ROOT / "docs" / "planted.json").write_text(json.dumps(record, indent=1) + "\n")
    page = ROOT / "docs" / "explanation" / "planted.md"
    start, end = "<!-- results -->", "<!-- end of results -->"
    text = page.read_text()
    before, rest = text.split(start)
    page.write_text(f"{before}{start}\n{table(shares)}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
