"""Ids of runs: two words, such as ``keen-adze``, that a person can say, type and find again."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

WORDS = Path(__file__).with_name("words.txt")
"""Qualities, a blank line, tools."""


def new_id(taken: Callable[[str], bool]) -> str:
    """A free id. ``taken`` says whether a run already has one.

    After a few misses (a store of thousands of runs) a number follows the words: ``keen-adze-2``.
    """
    qualities, tools = (part.split() for part in WORDS.read_text("utf-8").split("\n\n"))
    choose = random.SystemRandom().choice  # not the seeded generator: a user's seed must not repeat ids
    for _ in range(8):
        words = f"{choose(qualities)}-{choose(tools)}"
        if not taken(words):
            return words
    number = 2
    while taken(f"{words}-{number}"):
        number += 1
    return f"{words}-{number}"
