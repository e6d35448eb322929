"""A listing laid out as iga64 does is read part by part, and says what all its JSON says; others are no such thing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from strop.stalls.intel.listing import as_json, as_written, listed
from tests.stalls.intel.fixtures import raw

NAMES = (
    *(f"{name}.{device}" for name in ("kernels", "large", "planted") for device in ("pvc", "dg2")),
    "program.xehpc",
    "program.xehpg",
)
NOT_KEPT = ("id", "pc", "regDist", "sbid")  # where it stands, and its scoreboard, which the bits have


def kept(nodes: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {pc: {name: value for name, value in node.items() if name not in NOT_KEPT} for pc, node in nodes.items()}


@pytest.mark.parametrize("name", NAMES)
def test_parts_say_what_the_whole_says(name: str) -> None:
    said = raw(f"{name}.json").decode()
    assert as_written(said) == kept(as_json(said)) != {}


def test_the_same_instruction_is_one_node() -> None:
    nodes = as_written(raw("kernels.pvc.json").decode())
    assert nodes is not None
    assert len({id(node) for node in nodes.values()}) < len(nodes)


def test_other_layouts_are_read_as_a_whole() -> None:
    said = raw("kernels.pvc.json").decode()
    other = json.dumps(json.loads(said))
    assert as_written(other) is None
    assert kept(listed(other)) == as_written(said)


@pytest.mark.parametrize("step", range(8))
def test_damaged_listings_are_those_of_no_json_or_read_alike(step: int) -> None:
    said = raw("program.xehpc.json").decode()
    damage: Callable[[int], str] = (
        lambda at: said[:at],
        lambda at: said[:at] + said[at + 1 :],
        lambda at: said[:at] + "}" + said[at + 1 :],
        lambda at: said[:at] + "9" + said[at + 1 :],
        lambda at: said[:at] + '"' + said[at:],
        lambda at: said[:at] + "\n" + said[at:],
        lambda at: said[:at] + "," + said[at:],
        lambda at: said[:at] + "null" + said[at + 4 :],
    )[step]
    for at in range(step, len(said), 29):
        hurt = damage(at)
        found = as_written(hurt)
        assert found is None or found == kept(as_json(hurt)), hurt[max(0, at - 40) : at + 40]
