"""Ids of runs."""

from __future__ import annotations

import random
import re

from strop.store.names import WORDS, new_id


def test_the_words_are_plain_and_different() -> None:
    qualities, tools = (part.split() for part in WORDS.read_text("utf-8").split("\n\n"))
    for words in (qualities, tools):
        assert len(set(words)) == len(words) > 100
        assert all(re.fullmatch("[a-z]{2,8}", word) for word in words)


def test_an_id_is_free_and_does_not_follow_the_seed() -> None:
    taken: set[str] = set()
    for _ in range(3000):
        random.seed(0)
        taken.add(new_id(taken.__contains__))
    assert len(taken) == 3000
    assert all(re.fullmatch("[a-z]+-[a-z]+(-[0-9]+)?", name) for name in taken)


def test_a_number_follows_where_all_words_are_taken() -> None:
    assert new_id(lambda name: not name.endswith("-3")).endswith("-3")
