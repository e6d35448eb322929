"""iga64's JSON, damaged where each value stands: what can't be meant isn't read, and nothing raises."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from strop.stalls.intel import decode, disassemble
from strop.stalls.intel.lines import Lines
from strop.stalls.intel.nodes import is_sound
from strop.stalls.intel.zebin import Code, Zebin
from tests.stalls.intel.fixtures import made, raw

VALUES = (
    None,
    -1,
    1 << 70,
    float("inf"),
    float("nan"),
    1.5,
    "",
    "0x0x7",
    "9" * 5000,
    "x",
    [],
    {},
    [[]],
    {"r": 1},
    True,
)


def paths(value: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where every value stands in a node."""
    if here:
        yield here
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in pairs:
        yield from paths(held, (*here, key))


def damaged(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in paths(node):
        for value in (*VALUES, "gone"):
            out = copy.deepcopy(node)
            *way, last = path
            into: Any = out
            for key in way:
                into = into[key]
            if value == "gone":
                del into[last]
            else:
                into[last] = value
            yield out


@pytest.mark.parametrize("device", ["pvc", "dg2"])
def test_every_instruction_there_is_is_sound(device: str) -> None:
    said = raw(f"kernels.{device}.json").decode()
    instructions = sum(line.lstrip().startswith('{"kind":"I"') for line in said.splitlines())
    assert len(disassemble.listed(said)) == instructions > 1000


@pytest.mark.parametrize("device", ["pvc", "dg2"])
def test_a_damaged_value_costs_its_instruction_at_most(device: str) -> None:
    whole = disassemble.listed(raw(f"kernels.{device}.json").decode())
    kinds = {(node["op"], *(each["kind"] for each in node["srcs"] or ())): node for node in whole.values()}
    generation, code = made(device).generation, Code("k", 0, bytes([1] * 16), True, {})
    zebin = Zebin(generation, (code,), frozenset())
    read = 0
    for node in kinds.values():
        for each in islice(damaged(node), 0, None, 5):  # no divisor of their number: every value comes
            if not is_sound(each):
                continue
            read += 1
            rows = disassemble.parse([code.data], "", json.dumps({"insts": [{**each, "kind": "I", "pc": 0}]}))
            (function,) = decode.decode_rows(zebin, rows, Lines())
            assert len(function.instructions) == 1
    assert read > 200
