"""JSON read front to back gives what the standard library gives, however its text falls into chunks."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from strop.stalls.profiles import json_stream
from strop.stalls.profiles.json_stream import JsonStream

TEXTS = ["", "plain", 'quote " in', "back \\ slash", "[{", "}]", "λ ü \x1b", '\\"', "\\\\"]


def some(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(8 if depth < 5 else 5)
    if kind == 5:
        return [some(chance, depth + 1) for _ in range(chance.randrange(5))]
    if kind >= 6:
        return {chance.choice(TEXTS) + str(at): some(chance, depth + 1) for at in range(chance.randrange(5))}
    return [chance.choice(TEXTS), chance.randrange(10**6), -1.5e3, None, True][kind]


def walk(stream: JsonStream, chance: random.Random) -> Any:
    """Take the value here in one of the ways there are; what is skipped comes back as a mark."""
    way = chance.randrange(3)
    if way == 0:
        stream.skip()
        return walk
    first = stream.peek()
    if way == 1 and first == "[":
        return [walk(stream, chance) for _ in stream.elements()]
    if way == 1 and first == "{":
        return {key: walk(stream, chance) for key in stream.items()}
    return stream.value()


def same(found: Any, value: Any) -> bool:
    if found is walk:
        return True
    if isinstance(value, list):
        return len(found) == len(value) and all(map(same, found, value))
    if isinstance(value, dict):
        return found.keys() == value.keys() and all(same(found[key], value[key]) for key in value)
    return bool(found == value)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64, 1 << 18])
def test_it_agrees_with_the_standard_library(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_CHUNK", chunk)
    for seed in range(100):
        chance = random.Random(seed)
        document = {"first": some(chance), "second": some(chance), "end": 12345}
        text = json.dumps(document, indent=chance.choice((None, 1)), ensure_ascii=chance.random() < 0.5)
        stream = JsonStream(io.StringIO(text), path="a.json", format="test")
        found = {key: walk(stream, chance) for key in stream.items()}
        assert same(found, document), seed
