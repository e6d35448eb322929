"""Searches by name, and plug-ins from other packages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from strop.errors import BadPlugin, BadSearch, SearchClash
from strop.loops import searches
from strop.loops.problem import LoopProblem
from strop.testing.search_conformance import PROBLEMS, SearchConformance
from strop.values.search import Search

SWEEP = '''
from strop.loops.moves import Split, legal
from strop.loops.nest import Nest
from strop.values.search import Candidate


class RowSweep:
    """The first output axis by 2, 3, 4, ... rows."""

    def __init__(self, problem, *, seed, space):
        nest = Nest.default(problem.contraction)
        moves = [Split(f"{axis}.0", rows) for axis in problem.contraction.output[:1] for rows in range(2, 9)]
        schedules = [[], *([move.to_json()] for move in moves if legal(nest, move) is None)]
        self.all = [Candidate.of({"schedule": schedule}, plan="a row count") for schedule in schedules]
        self.told, self.asked = set(), set()

    def ask(self, n):
        new = [candidate for candidate in self.all if candidate.id not in self.told | self.asked][:n]
        self.asked |= {candidate.id for candidate in new}
        return new

    def tell(self, candidate, outcome):
        self.told.add(candidate.id)

    def state(self):
        return {"told": sorted(self.told)}

    def restore(self, state):
        self.told, self.asked = set(state["told"]), set()


def broken(problem, *, seed, space):
    raise RuntimeError("no licence")


def not_a_search(problem, *, seed, space):
    return 42
'''


def install(folder: Path, package: str, entries: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a distribution with the searches above where Python finds it."""
    module = package.replace("-", "_")
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(SWEEP)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[strop.searches]\n{entries}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.invalidate_caches()


def test_an_unknown_id_is_answered_with_those_there_are() -> None:
    with pytest.raises(BadSearch, match=r"'anealing'.*greedy1.*local"):
        searches.make("anealing", PROBLEMS[0])


def test_a_plug_in_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "row-sweep", "row-sweep = row_sweep:RowSweep", monkeypatch)
    assert searches.names()[-1] == "row-sweep"
    assert searches.make("row-sweep", PROBLEMS[0]).ask(3)


def test_a_plug_in_is_not_imported_by_listing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "lazy-sweep", "lazy = lazy_sweep:RowSweep", monkeypatch)
    assert "lazy" in searches.names()
    assert "lazy_sweep" not in sys.modules


def test_a_plug_in_may_not_take_one_of_our_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "clasher", "local = clasher:RowSweep", monkeypatch)
    with pytest.raises(SearchClash, match=r"'local': strop brings one, clasher \(clasher:RowSweep\) the other"):
        searches.make("local", PROBLEMS[0])


def test_two_plug_ins_of_one_name_are_both_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "a", "one-sweep", "sweep = one_sweep:RowSweep", monkeypatch)
    install(tmp_path / "b", "two-sweep", "sweep = two_sweep:RowSweep", monkeypatch)
    with pytest.raises(SearchClash) as raised:
        searches.names()
    assert "one-sweep" in str(raised.value)
    assert "two-sweep" in str(raised.value)


@pytest.mark.parametrize(
    ("entry", "said"),
    [("broken", "no licence"), ("not_a_search", "a int without ask"), ("missing", "has no attribute 'missing'")],
)
def test_a_plug_in_that_does_not_work_is_one_sentence(
    entry: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "bad-sweep", f"bad = bad_sweep:{entry}", monkeypatch)
    with pytest.raises(BadPlugin, match=said) as raised:
        searches.make("bad", PROBLEMS[0])
    assert "bad-sweep" in str(raised.value)


class TestPlugIn(SearchConformance):
    """The plug-in passes the suite that ours pass."""

    @pytest.fixture(autouse=True)
    def _installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(tmp_path, "tested-sweep", "tested = tested_sweep:RowSweep", monkeypatch)

    def make(self, problem: LoopProblem, *, seed: int, space: str) -> Search:
        return searches.make("tested", problem, seed=seed, space=space)
