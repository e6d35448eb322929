"""No attribution: a stall is blamed on the instruction where it was sampled, as profilers show it."""

from __future__ import annotations

from strop.stalls.instruction import Function
from strop.stalls.profiles.profile import Reason
from strop.stalls.samples import Attribution, Blame, Part, Samples
from strop.stalls.slice import Slicer


def raw(function: Function, samples: Samples, slicer: Slicer | None = None) -> Blame:
    """Leave every sample where it fell."""
    return Blame(
        tuple(
            Attribution(
                stall=index,
                reason=count.reason,
                part=Part.ISSUED if count.reason is Reason.ISSUED else Part.SELF,
                samples=count.samples,
                hidden=count.hidden,
                cause=None if count.reason is Reason.ISSUED else index,
            )
            for index in sorted(samples.at)
            for count in samples.at[index]
            if count.samples
        )
    )
