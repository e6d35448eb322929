"""Where all samples of a kernel went: parts that sum to the total, exactly."""

from __future__ import annotations

from collections.abc import Iterable

from strop.stalls.samples import Attribution, Part
from strop.values.diagnosis import Accounting


def account(
    unit: str, attributions: Iterable[Attribution], *, unplaced: int = 0, own: int = 0, issued: int = 0
) -> Accounting:
    """Sum up attributions.

    Samples whose instruction isn't known: `issued` ones, `own` that say themselves what they are, and `unplaced`.
    """
    parts = dict.fromkeys((part.value for part in Part), 0)
    for one in attributions:
        parts[one.part.value] += one.samples
    parts[Part.UNEXPLAINED.value] += unplaced
    parts[Part.SELF.value] += own
    parts[Part.ISSUED.value] += issued
    return Accounting(unit=unit, total=sum(parts.values()), parts=parts)
