"""Late samples find back to where the wave stood."""

from __future__ import annotations

import random

from strop.stalls.profiles.profile import Reason
from strop.stalls.skid import settled

WAIT = Reason.DEPENDENCY
REACH = 2


def near(index: int, size: int) -> list[tuple[int, float]]:
    weights = {0: 1.0, -1: 0.7, -2: 0.49, 1: 0.4, 2: 0.16}
    return [(index + step, weight) for step, weight in weights.items() if 0 <= index + step < size]


def test_two_waits_close_to_each_other_are_told_apart() -> None:
    size, truth = 12, {3: 40, 5: 160}
    rng = random.Random(7)
    found: dict[tuple[int, Reason], int] = {}
    for place, count in truth.items():
        for _ in range(count):
            late = place + rng.choice((0, 1, 2))
            found[late, WAIT] = found.get((late, WAIT), 0) + 1
    made = settled(found, {i: near(i, size) for i in range(size)}, lambda waiter, reason: float(waiter in (3, 5, 8)))
    assert max(made, key=made.__getitem__) == (5, WAIT)
    assert made[5, WAIT] > 2 * made[3, WAIT] > 0
    assert abs(sum(made.values()) - 200) < 1e-6


def test_what_cannot_stall_gets_nothing() -> None:
    made = settled({(2, WAIT): 10}, {2: near(2, 5)}, lambda waiter, reason: float(waiter == 1))
    assert made[1, WAIT] == 10
    assert sum(made.values()) == 10


def test_nowhere_to_go_is_no_error() -> None:
    assert sum(settled({(2, WAIT): 10}, {2: near(2, 5)}, lambda waiter, reason: 0.0).values()) == 0
