"""How much `pip install .` brings along, and what `import strop` loads.

A fresh virtual environment gets strop without extras, by pip. What then lies in site-packages, less pip and setuptools,
is counted in bytes of files. Needs pip's index, and about as long as compiling takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from record import ROOT, Column, Record, parser, progress

LIMIT_MB = 120
NOT_OURS = ("pip", "setuptools", "_distutils_hack", "distutils-precedence", "pkg_resources", "wheel")
HEAVY = ("numpy", "rich", "jinja2", "click", "sqlite3", "asyncio", "multiprocessing", "strop._native")
LIMIT_S = 900
SHOWN = 6

LOADED = """
import json, sys
from time import perf_counter
before = set(sys.modules)
began = perf_counter()
import strop
seconds = perf_counter() - began
print(json.dumps({"seconds": seconds, "modules": sorted(set(sys.modules) - before)}))
"""


def main() -> None:
    asked = parser(__doc__ or "")
    asked.add_argument("--wheel", type=Path, metavar="FILE", help="install this wheel instead of building one")
    arguments = asked.parse_args()
    record = Record(
        benchmark="footprint",
        claim="`pip install .` without extras in a fresh virtual environment; the modules that `import strop` loads.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    if arguments.smoke and arguments.wheel is None:
        closure(record, None, "a smoke run builds nothing")
    else:
        installed(record, arguments.wheel)
    imports(record)
    record.finish()


def installed(record: Record, wheel: Path | None) -> None:
    """Install into a new environment and count."""
    progress("pip install in a fresh virtual environment")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        source = str(ROOT if wheel is None else wheel.absolute())
        command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", source]
        try:
            subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S, cwd=folder)
        except subprocess.CalledProcessError as problem:
            last = (problem.stderr.strip().splitlines() or ["it said nothing"])[-1]
            return closure(record, None, f"pip failed: {last.replace(str(ROOT), '.').replace(folder, '…')}")
        except subprocess.TimeoutExpired:
            return closure(record, None, f"pip took longer than {LIMIT_S} s")
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        return closure(record, {path.name: size(path) for path in sorted(packages.iterdir())}, "")


def closure(record: Record, sizes: dict[str, int] | None, reason: str) -> None:
    """Add the sizes, or the reason why there are none."""
    what = "The closure of `pip install .` without extras"
    if sizes is None:
        record.skip(what, reason)
        record.bar(what, None, at_most=LIMIT_MB, unit=" MB", digits=0, reason=reason)
        return
    ours = {name: count for name, count in sizes.items() if name.split("-")[0].split(".")[0] not in NOT_OURS}
    largest = sorted(ours, key=lambda name: -ours[name])
    record.results["closure_bytes"] = ours
    record.table(
        "Installed bytes of site-packages, the largest entries",
        ["entry", Column("MB", ".1f")],
        [
            *[[name, ours[name] / 1e6] for name in largest[:SHOWN]],
            [f"{len(largest) - SHOWN} others", sum(ours[name] for name in largest[SHOWN:]) / 1e6],
        ],
    )
    record.bar(what, sum(ours.values()) / 1e6, at_most=LIMIT_MB, unit=" MB", digits=0, headline=True)


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.lstat().st_size
    return sum(each.lstat().st_size for each in path.rglob("*") if not each.is_dir() or each.is_symlink())


def imports(record: Record) -> None:
    """What `import strop` loads, and how long it takes, in a process of its own."""
    runs: list[dict[str, Any]] = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", LOADED], stdout=subprocess.PIPE, check=True)
        runs.append(json.loads(done.stdout))
    modules = runs[-1]["modules"]
    heavy = [name for name in HEAVY if name in modules]
    record.results["import"] = {
        "modules": modules,
        "heavy": heavy,
        "best_ms": 1e3 * min(run["seconds"] for run in runs),
    }
    record.table(
        "`import strop`",
        [Column("modules", "d"), "heavy ones among them", Column("best of five, ms", ".2f")],
        [[len(modules), ", ".join(heavy) or "none", record.results["import"]["best_ms"]]],
    )
    record.bar(f"Heavy modules that `import strop` loads (of {', '.join(HEAVY)})", len(heavy), at_most=0, digits=0)


if __name__ == "__main__":
    main()
