"""What every test shares: a store of its own, instruction-set markers, and the large counts of `make soak`."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]

# The flag of /proc/cpuinfo without which a test marked `isa(name)` is skipped.
CPU_FLAGS = {
    "avx2": {"avx2", "fma"},
    "avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw"},
}


def cpu_flags() -> set[str]:
    """Return the feature flags of this CPU, empty where the kernel lists none."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    return next((set(line.split(":", 1)[1].split()) for line in text.splitlines() if line.startswith("flags")), set())


def supports(isa: str) -> bool:
    """Say whether this CPU runs `isa`: avx2, avx512 or portable."""
    return CPU_FLAGS.get(isa, set()) <= cpu_flags()


# Shared machines stall: a deadline per example would report the machine's mood.
hypothesis.settings.register_profile("strop", deadline=None)
hypothesis.settings.load_profile("strop")


@dataclass(frozen=True)
class Soak:
    """The seeds that a test with a large count runs: all of them under --soak, one in a hundred otherwise."""

    item: pytest.Item
    full: bool

    def seeds(self, count: int) -> range:
        """Return the seeds to run where the full count is `count`, and note the count for docs/soak.json."""
        run = count if self.full else max(1, count // 100)
        self.note(cases=run, of=count)
        return range(run)

    def note(self, **facts: float) -> None:
        """Note what the test measured, for docs/soak.json."""
        self.item.user_properties.append(("soak", facts))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the large counts in full and write docs/soak.json")
    parser.addoption("--update-golden", action="store_true", help="write golden texts anew instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "isa(name): needs a CPU with this instruction set (avx2, avx512)")
    config.addinivalue_line("markers", "soak: runs a large count in full under `make soak`, 1% of it otherwise")
    if config.getoption("--soak") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SoakReport(), "strop-soak-report")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:  # `make soak` runs what asks for the large counts
        if "soak" in getattr(item, "fixturenames", ()):
            item.add_marker("soak")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("isa"):
        if not supports(marker.args[0]):
            pytest.skip(f"this CPU has no {marker.args[0]}")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty store, so that none answers from another's or the user's."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("STROP_HOME", str(home))
    return home


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> Soak:
    """Return the counts of a soak test: `for seed in soak.seeds(20_000): ...`."""
    return Soak(request.node, bool(request.config.getoption("--soak")))


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Say whether golden texts are to be written anew."""
    return bool(request.config.getoption("--update-golden"))


class SoakReport:
    """Gathers what the soak tests did, from all workers, into docs/soak.json."""

    def __init__(self) -> None:
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            facts = [noted for key, noted in report.user_properties if key == "soak"]
            if facts:
                end = {"outcome": report.outcome, "duration_s": round(report.duration, 1)}
                self.tests[report.nodeid] = {name: value for each in (*facts, end) for name, value in each.items()}

    def pytest_sessionfinish(self) -> None:
        if not self.tests:
            return
        machine = {"cpu": cpu_name(), "python": platform.python_version(), "isa": list(filter(supports, CPU_FLAGS))}
        path = ROOT / "docs" / "soak.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        if before.get("machine") == machine:  # a run of some tests leaves what the others did
            self.tests = {**before["tests"], **self.tests}
        record = {"schema": "strop.soak/1", "machine": machine, "tests": dict(sorted(self.tests.items()))}
        path.write_text(json.dumps(record, indent=2) + "\n")


def cpu_name() -> str:
    """Return the CPU's model name as the kernel gives it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name"))
    return next(names, platform.machine())
