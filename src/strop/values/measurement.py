"""A measurement: the samples of one thing, how they were taken, and on which machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

UNITS = ("s", "cycles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Samples of one call's cost, in ``unit`` ("s" or "cycles"), in the order they were taken.

    ``protocol`` is the version of the way of measuring and ``machine`` the fingerprint of the machine: only
    measurements that agree in both may be ranked with each other.
    """

    samples: tuple[float, ...]
    unit: str = "s"
    protocol: str = ""
    machine: str = ""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"unit is {self.unit!r}, not one of {UNITS}")
        if not self.samples:
            raise ValueError("a measurement needs a sample")
        if not all(math.isfinite(sample) and sample >= 0 for sample in self.samples):
            raise ValueError("samples must be finite and not negative")

    @property
    def best(self) -> float:
        """The smallest sample."""
        return min(self.samples)

    @property
    def median(self) -> float:
        """The median of the samples."""
        return median(self.samples)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95% confidence interval of the median from order statistics; no distribution is assumed.

        Below 6 samples no pair of them reaches 95%: the interval is then their whole range.
        """
        ordered = sorted(self.samples)
        rank = _rank(len(ordered))
        return ordered[rank], ordered[-1 - rank]

    @property
    def seconds(self) -> float | None:
        """The median in seconds, ``None`` where cycles were counted."""
        return self.median if self.unit == "s" else None

    @property
    def cycles(self) -> float | None:
        """The median in cycles, ``None`` where seconds were measured."""
        return self.median if self.unit == "cycles" else None

    def comparable(self, other: Measurement) -> bool:
        """Whether the two may be ranked: same unit, protocol and machine."""
        return (self.unit, self.protocol, self.machine) == (other.unit, other.protocol, other.machine)

    def ties(self, other: Measurement) -> bool:
        """Whether the intervals of the medians overlap: neither is shown to be faster."""
        (low, high), (other_low, other_high) = self.interval, other.interval
        return low <= other_high and other_low <= high

    def to_json(self) -> dict[str, Any]:
        """The samples and the identity; ``best``, ``median`` and ``interval`` are added for readers."""
        return {
            "unit": self.unit,
            "samples": list(self.samples),
            "best": self.best,
            "median": self.median,
            "interval": list(self.interval),
            "protocol": self.protocol,
            "machine": self.machine,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Measurement:
        """The inverse of :meth:`to_json`; the derived numbers are computed anew."""
        return cls(
            samples=tuple(float(sample) for sample in value["samples"]),
            unit=value["unit"],
            protocol=value["protocol"],
            machine=value["machine"],
        )


@lru_cache(maxsize=256)
def _rank(count: int) -> int:
    """How many samples to drop at each end so that what is left covers the median with 95% or more."""
    if count > 1000:  # the normal approximation is exact to the sample here
        return max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2) - 1)
    below, rank = 1, 0  # below: orderings with at most `rank` samples under the median
    while rank + 1 < count - rank - 1 and below + math.comb(count, rank + 1) <= 0.025 * 2**count:
        rank += 1
        below += math.comb(count, rank)
    return rank
