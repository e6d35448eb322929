"""Late samples: how many stalls each instruction really had, from where the samples of all were found.

A sampler that interrupts a wave may find it an instruction or two away from where it stood. How far is known only in
general, but all samples together say more than one: few at a place between two with many are most likely theirs. The
estimate that makes what was found most likely is approached step by step, from what the tables expect (the algorithm
of Richardson and Lucy, for pictures that a lens has blurred).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from strop.stalls.profiles.profile import Reason

STEPS = 25
Place = tuple[int, Reason]


def settled(
    found: Mapping[Place, int],
    near: Mapping[int, Sequence[tuple[int, float]]],
    expected: Callable[[int, Reason], float],
) -> dict[Place, float]:
    """Return the stalls of each instruction and reason.

    `found` are the samples by where they were found, `near[i]` the instructions that a sample found at i may be of,
    with how likely that is by distance alone, `expected` what the tables say of an instruction (0: it can't stall so).
    """
    stalls = {(waiter, reason): 0.0 for index, reason in found for waiter, _ in near[index]}
    for waiter, reason in stalls:
        stalls[waiter, reason] = expected(waiter, reason)
    for _ in range(STEPS):
        moved = dict.fromkeys(stalls, 0.0)
        for (index, reason), samples in found.items():
            shares = [(waiter, likely * stalls[waiter, reason]) for waiter, likely in near[index]]
            whole = sum(share for _, share in shares)
            if whole > 0:
                for waiter, share in shares:
                    moved[waiter, reason] += samples * share / whole
        stalls = moved
    return stalls
