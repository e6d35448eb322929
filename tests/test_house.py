"""The rules of the house that no linter knows: imports go one way, files stay small, names say something."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "strop"

# A part may import those it lists, itself, and the native module; see "Where things are" in CONTRIBUTING.md.
# Of the wings, loops and stalls know nothing of each other; kernels may ask stalls: a diagnosis is feedback.
BASE = {"errors", "settings"}
VALUES = {*BASE, "values"}
SERVICES = {*VALUES, "bench", "store", "report"}
WINGS = {*SERVICES, "loops", "stalls", "kernels"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "settings": {"errors"},
    "values": BASE,
    "bench": VALUES,
    "store": VALUES,
    "report": VALUES,
    "loops": SERVICES,
    "stalls": SERVICES,
    "kernels": {*SERVICES, "stalls"},
    "doctor": {*VALUES, "bench", "store", "stalls", "kernels"},
    "testing": WINGS,
    "__init__": WINGS,
    "cli": {*WINGS, "doctor", "__init__"},
    "__main__": {"cli"},
}

MAX_LINES = 500
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "stuff", "shared"}
# `import strop` and `strop --help` may load none of these.
HEAVY = {"numpy", "rich", "jinja2", "sqlite3", "strop._native", "asyncio", "multiprocessing"}


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def source_files() -> list[Path]:
    native = [path for pattern in ("*.cpp", "*.hpp", "*.h") for path in (ROOT / "native").rglob(pattern)]
    others = [path for folder in ("tests", "benchmarks", "examples", "docs") for path in (ROOT / folder).rglob("*.py")]
    return sorted([*python_files(), *native, *others])


def part_of(path: Path) -> str:
    """Return the part of the house that a file of the package belongs to: `cli`, `loops`, `errors`, …"""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_parts(tree: ast.Module, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the part of each import of strop in a file, those inside functions included."""
    package = ("strop", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parent = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*parent, *(node.module.split(".") if node.module else ())))
            # `from strop import loops` names parts, `from strop.loops import nest` is one
            names = [f"strop.{alias.name}" for alias in node.names] if module == "strop" else [module]
        else:
            continue
        for name in names:
            head, _, rest = name.partition(".")
            if head == "strop":
                part = rest.split(".")[0]
                if part == "__version__" or name == "strop":  # anyone may know the version and where the package lies
                    continue
                known = part in MAY_IMPORT or part == "_native" or (PACKAGE / part).is_dir()
                yield node.lineno, part if known else "__init__"


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    part = part_of(path)
    assert part in MAY_IMPORT, f"{part} has no place in MAY_IMPORT: say in tests/test_house.py what it may import"
    allowed = MAY_IMPORT[part] | {part, "_native"}
    tree = ast.parse(path.read_text(), str(path))
    wrong = [
        f"line {line}: {part} may not import {name}" for line, name in imported_parts(tree, path) if name not in allowed
    ]
    assert not wrong


def test_the_import_rule_can_fail() -> None:
    tree = ast.parse("from ..cli import main\nfrom strop import tune\nimport strop.loops.nest")
    found = list(imported_parts(tree, PACKAGE / "values" / "contraction.py"))
    assert [part for _, part in found] == ["cli", "__init__", "loops"]


@pytest.mark.parametrize("path", source_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_concept(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= MAX_LINES, f"{lines} lines: a file past {MAX_LINES} is two concepts"
    assert path.stem not in DRAWERS, f"{path.name} is a drawer: name the concept"


def test_every_package_folder_is_a_package() -> None:
    folders = {path.parent for path in python_files()}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def loaded_by(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_strop_is_light() -> None:
    assert not HEAVY & loaded_by("import strop")


def test_the_native_module_does_not_load_numpy() -> None:
    pytest.importorskip("strop._native")
    assert "numpy" not in loaded_by("import strop._native")


def test_help_is_light() -> None:
    if not (PACKAGE / "cli" / "main.py").exists():
        pytest.skip("the command line is not there yet")
    run = "from strop.cli.main import main\nsys.argv[1:] = ['--help']\ntry: main()\nexcept SystemExit: pass"
    assert not HEAVY & loaded_by(run)


# What is planted is known without strop's analysis: only those that ask strop and compare may import it.
PLANTED = ROOT / "tests" / "planted"
ASK_STROP = {"score.py", "test_planted.py"}
WRITERS = "tests.stalls.profiles.writers"


def imported_modules(path: Path) -> set[str]:
    """Return the modules that a file imports, `from a import b` as a.b."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: relative imports hide what is imported"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def belongs_to_strop(module: str) -> bool:
    """Say whether a module is strop's, or one of its tests other than the planted causes' and the profiles' writers."""
    return module.split(".")[0] == "strop" or (
        module.startswith("tests.") and not module.startswith(("tests.planted.", f"{WRITERS}."))
    )


@pytest.mark.parametrize(
    "path", [path for path in sorted(PLANTED.glob("*.py")) if path.name not in ASK_STROP], ids=lambda path: path.name
)
def test_planted_causes_know_nothing_of_strop(path: Path) -> None:
    assert not [module for module in imported_modules(path) if belongs_to_strop(module)]


def test_the_writers_of_profiles_know_nothing_of_strop() -> None:
    assert not {name for name in imported_modules(ROOT / f"{WRITERS.replace('.', '/')}.py") if belongs_to_strop(name)}


def test_the_rule_for_planted_causes_can_fail() -> None:
    assert any(belongs_to_strop(module) for module in imported_modules(PLANTED / "score.py"))
    assert belongs_to_strop("tests.stalls.made.report")
