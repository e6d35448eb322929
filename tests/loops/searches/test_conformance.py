"""Our own searches pass the suite that plug-ins are given, as it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from strop.loops import searches
from strop.loops.problem import LoopProblem
from strop.testing import SearchConformance
from strop.testing.search_conformance import nest_of
from strop.values.search import Search

OURS = (
    "default",
    "constant",
    "constant-4",
    "constant-6",
    "constant-14",
    "analytic",
    "greedy1",
    "greedy2",
    "beam2-dfs",
    "beam2-bfs",
    "beam4-dfs",
    "beam4-bfs",
    "random",
    "local",
)


def test_the_ids_are_the_contract_s() -> None:
    assert tuple(searches.names()) == OURS


@pytest.mark.parametrize("name", OURS)
class TestOurs(SearchConformance):
    name = ""
    most = 14

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name

    def cases(self) -> Iterator[tuple[LoopProblem, str]]:
        """Half of them: there are many searches."""
        yield from zip(self.problems, ("full", "literal", "full"), strict=True)

    def make(self, problem: LoopProblem, *, seed: int, space: str) -> Search:
        return searches.make(self.name, problem, seed=seed, space=space)

    def test_no_nest_comes_twice(self) -> None:
        for problem, space in self.cases():
            drawn = self._drawn(problem, space)
            assert len({nest_of(candidate, problem).key for candidate in drawn}) == len(drawn)

    def test_in_the_literal_space_nothing_is_said_of_how_loops_run(self) -> None:
        for problem in self.problems:
            for candidate in self._drawn(problem, "literal"):
                kinds = {move["move"] for move in candidate.payload["schedule"]}
                assert kinds <= {"Split", "Swap", "Reorder", "Tile", "Merge"}
