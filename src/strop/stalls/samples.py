"""Samples of one function by instruction, and what a method makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from strop.stalls.flow.needs import Need
from strop.stalls.instruction import Function
from strop.stalls.profiles.profile import Count, Reason
from strop.stalls.slice import Slicer

# What a stall of these reasons waits for is the instruction's own doing or the machine's, no earlier result.
OWN_REASONS = frozenset(
    {Reason.PIPE, Reason.MEMORY_QUEUE, Reason.FETCH, Reason.BRANCH, Reason.SLEEP, Reason.SELECTED_OTHER}
)


@dataclass(frozen=True, slots=True)
class Samples:
    """Counts by index of instruction. `skid`: by how many instructions a sample may be late."""

    at: Mapping[int, tuple[Count, ...]]
    skid: int = 0

    @property
    def issued(self) -> dict[int, int]:
        """Issued samples of each instruction."""
        return {
            index: sum(count.samples for count in counts if count.reason is Reason.ISSUED)
            for index, counts in self.at.items()
        }

    @property
    def stalled(self) -> dict[int, int]:
        """Stalled samples of each instruction, all reasons together."""
        return {
            index: sum(count.samples for count in counts if count.reason is not Reason.ISSUED)
            for index, counts in self.at.items()
        }

    @property
    def has_reasons(self) -> bool:
        """Whether any stalled sample says why."""
        return any(count.reason not in (Reason.ISSUED, Reason.OTHER) for counts in self.at.values() for count in counts)


class Part(StrEnum):
    """Where samples go: the parts of the accounting."""

    ISSUED = "issued"
    SELF = "self"
    ATTRIBUTED = "attributed"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Some samples at one instruction and what they go to.

    `share` says what part of the stall's samples of this reason the cause may own, least and most; `samples` follow the
    middle. `anchor` is the instruction that really waited, where a sample skidded on from it.
    """

    stall: int
    reason: Reason
    part: Part
    samples: int
    hidden: int = 0
    of: int = 0  # the samples that `share` is a share of; 0: these
    cause: int | None = None
    anchor: int | None = None
    need: Need | None = None
    resource: str | None = None
    share: tuple[float, float] = (1.0, 1.0)
    ambiguous: bool = False
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blame:
    """What a method says: every sample is in exactly one attribution. `figures` are the method's own."""

    attributions: tuple[Attribution, ...]
    figures: Mapping[str, float] = field(default_factory=dict)

    def top(self) -> int | None:
        """Return the instruction that most samples are blamed on."""
        owned = self.by_cause()
        return max(owned, key=lambda cause: (owned[cause], -cause), default=None)

    def by_cause(self) -> dict[int, int]:
        """Return stalled samples by the instruction they are blamed on."""
        owned: dict[int, int] = {}
        for one in self.attributions:
            if one.cause is not None:
                owned[one.cause] = owned.get(one.cause, 0) + one.samples
        return owned


Method = Callable[[Function, Samples, Slicer | None], Blame]


def apportion(total: int, weights: list[float]) -> list[int]:
    """Split a whole number by weights: largest remainders, the first of equals.

    >>> apportion(10, [1.0, 1.0, 1.0])
    [4, 3, 3]
    >>> apportion(5, [0.0, 0.0])
    [3, 2]
    """
    if not weights:
        return []
    whole = sum(weights)
    shares = [weight / whole for weight in weights] if whole > 0 else [1 / len(weights)] * len(weights)
    parts = [int(total * share) for share in shares]
    order = sorted(range(len(shares)), key=lambda at: (parts[at] - total * shares[at], at))
    for at in order[: total - sum(parts)]:
        parts[at] += 1
    return parts
