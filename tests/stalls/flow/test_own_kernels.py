"""Our own compiled kernels: waits and dependences explain each other, and walking every path finds the same."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from strop.stalls.flow.bruteforce import TooManyStatesError, Walked, walk
from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.coverage import coverage
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.pending import Pending
from strop.stalls.instruction import Function
from tests.stalls.amd import fixtures as amd
from tests.stalls.nvidia import recorded as nvidia

SOURCES = (
    *(("nvidia", name) for name in nvidia.NAMES),
    *(("amd", name) for name in amd.TARGETS),
)


@cache
def functions(vendor: str, name: str) -> tuple[Function, ...]:
    if vendor == "nvidia":
        return nvidia.binary(name).functions
    return tuple(amd.functions("kernels", name).values())


@cache
def small() -> tuple[tuple[Function, Walked], ...]:
    """The functions that can be walked in full, each with what that showed."""
    found = []
    for source in SOURCES:
        for function in functions(*source):
            if len(function.instructions) <= 90:
                try:
                    found.append((function, walk(Graph(function), limit=600)))
                except TooManyStatesError:
                    continue
    return tuple(found)


@pytest.mark.parametrize(("vendor", "name"), SOURCES, ids=lambda each: str(each))
def test_waits_cover_the_dependences_and_are_explained(vendor: str, name: str) -> None:
    sums: Counter[str] = Counter()
    for function in functions(vendor, name):
        found = coverage(function)
        sums.update(
            dependences=found.dependences,
            covered=found.covered,
            waits=found.waits,
            explained=found.explained_waits,
        )
    assert sums["dependences"] > 100
    assert sums["covered"] >= 0.999 * sums["dependences"]
    assert sums["explained"] >= 0.98 * sums["waits"]


def test_walking_every_path_finds_the_same() -> None:
    assert len(small()) >= 30
    for function, walked in small():
        graph = Graph(function)
        waits = {
            (index, number): set(waited.producers)
            for index, several in Pending(graph).waits.items()
            for number, waited in enumerate(several)
        }
        assert waits == walked.waits, function.name
        reads = {
            (index, one.register): set(one.definitions)
            for index, several in enumerate(Definitions(graph).reads)
            for one in several
        }
        assert reads == walked.reads, function.name
