"""How samples become a number, and when one number is smaller than another.

Two ways of measuring. *Quick* ranks many candidates: a batch is timed interleaved, round by round, in samples of some
100 µs, and only those near the fastest known get more rounds. *Final* chooses among few: many paired rounds until the
first is told from the second or the time is up.

Drift: for seconds at a time a machine runs 10 to 20% slower. So a reference kernel takes part in each batch, and the
batch is scaled by what the reference took in the first batch over what it took now, within `MOST_DRIFT`: what is more
is the reference's own misfortune. Within a batch, and in the final, kernels meet in every round, so drift falls on all
alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from strop.values.measurement import Measurement

PROTOCOL = "loops/1"
"""Raise it when the same kernel would give other numbers: measurements of different protocols aren't compared."""

NOISY = 3.0
"""A candidate whose median is so many times its best, after all passes, was measured on a machine busy elsewhere."""

IMPLAUSIBLE = 1.1
"""Faster than the probe's peak by this factor is not believed; a turbo step is less."""


MOST_DRIFT = 1.3
"""A batch is scaled by no more than this: a reference hit by another process in all its samples would make it a win."""


@dataclass(frozen=True, slots=True)
class Pass:
    """``rounds`` samples of ``sample_s`` seconds each, for some of the kernels.

    Namely those whose best is within ``within`` times the fastest known, and whose median lies the fraction ``spread``
    or more above their best. Where calls are long, fewer rounds do: a kernel gets about ``most_s``, one round at least.
    """

    rounds: int
    sample_s: float
    within: float = float("inf")
    spread: float = 0.0
    most_s: float = float("inf")

    def plain(self) -> tuple[int, float, float, float, float]:
        """As it is sent to the worker."""
        return (self.rounds, self.sample_s, self.within, self.spread, self.most_s)


QUICK = (
    Pass(1, 0.0),  # a look: one call each, which also says how long a round will take
    Pass(3, 100e-6, within=4, most_s=2e-3),
    Pass(7, 100e-6, within=1.5, most_s=4e-3),
    Pass(10, 100e-6, within=1.15, spread=0.05, most_s=6e-3),
)


@dataclass(frozen=True, slots=True)
class Finals:
    """Parameters of a final: chunks of ``rounds``, at least ``least`` and at most ``most`` rounds of ``sample_s``."""

    rounds: int = 8
    least: int = 16
    most: int = 400
    sample_s: float = 200e-6


def level(samples: Sequence[float]) -> float:
    """What the reference takes in a batch: its best.

    It sees the phases of the machine, which outlast a batch. Interruptions by other processes, which hit some samples,
    must not show: a batch scaled by them would seem fast where it wasn't interrupted itself.
    """
    return min(samples)


def drift(before: float, now: float) -> float:
    """What to scale samples by, where the reference's level was ``before`` in the first batch and is ``now``."""
    return min(max(before / now, 1 / MOST_DRIFT), MOST_DRIFT)


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median and its 95% interval (low, median, high), by order statistics."""
    measured = Measurement(samples=tuple(values))
    low, high = measured.interval
    return low, measured.median, high


def ratio(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """How many times as long the second takes as the first, from paired rounds: (low, median, high).

    ``first[i]`` and ``second[i]`` were taken in the same round. Rounds without a partner are left out. Raises
    ValueError where no round is shared.
    """
    return median_interval([b / a for a, b in zip(first, second, strict=False)])


def tie(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether neither is shown to be faster: the interval of the median of the paired ratios contains 1.

    Fewer than 6 rounds show nothing.
    """
    if min(len(first), len(second)) < 6:
        return True
    low, _, high = ratio(first, second)
    return low <= 1 <= high


def decided(first: Sequence[float], second: Sequence[float], *, narrow: float = 0.005) -> bool:
    """Whether more rounds would change nothing: one is faster, or the ratio is known to ``narrow`` and the two tie."""
    low, _, high = ratio(first, second)
    return not low <= 1 <= high or high - low <= 2 * narrow


def noisy(samples: Sequence[float]) -> bool:
    """Whether the samples spread so widely that their median says little of the kernel."""
    return median(samples) > NOISY * min(samples)


def implausible(samples: Sequence[float], *, flops: float, peak_flops: float | None) -> bool:
    """Whether the median is faster than ``peak_flops`` (operations per second) allows; never where it isn't known."""
    return bool(peak_flops) and flops > IMPLAUSIBLE * (peak_flops or 0.0) * median(samples)


def measurement(samples: Sequence[float], *, machine: str) -> Measurement:
    """Samples in seconds as a measurement of this protocol."""
    return Measurement(samples=tuple(samples), unit="s", protocol=PROTOCOL, machine=machine)
