"""What a sampler sees of a run: every so many cycles, the next step of a warp and why it isn't issued.

`turn` takes one warp of each scheduler at a time, the running ones in turn (NVIDIA, AMD); `all` takes every running
warp at once (Intel). A warp between two spans doesn't exist: it has not begun or has ended.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from tests.planted.machine import Run, Span


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: the number of the step, the machine's word for why it stood (`machine.py`), and how many."""

    step: int
    reason: str
    scheduler: int = 0


def sample(run: Run, *, every: int, first: int = 0, how: str = "turn") -> list[Sample]:
    """Take samples of a run that kept its spans, from cycle `first` on."""
    starts = [[[span.start for span in warp] for warp in group] for group in run.spans]
    found: list[Sample] = []
    turns = [0] * len(run.spans)
    for now in range(first, run.cycles, every):
        for number, group in enumerate(run.spans):
            count = len(group)
            for offset in range(count):
                warp = (turns[number] + offset) % count
                span = _at(group[warp], starts[number][warp], now)
                if span is not None:
                    found.append(Sample(span.step, span.reason, number))
                    if how == "turn":
                        turns[number] = warp + 1
                        break
    return found


def _at(spans: list[Span], starts: list[int], now: int) -> Span | None:
    place = bisect_right(starts, now) - 1
    return spans[place] if place >= 0 and now < spans[place].end else None
