"""Which runs ``strop runs prune`` deletes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from strop.errors import BadOption
from strop.store.record import RunRecord

_UNITS_S = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def age_s(text: str) -> float:
    """An age in seconds: a number with ``m``, ``h``, ``d`` or ``w``. Raises BadOption.

    >>> age_s("1.5h")
    5400.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhdw])", text.strip(), re.ASCII)
    if not match:
        raise BadOption(option="older-than", value=text, allowed="a number with m, h, d or w, such as 30d")
    return float(match[1]) * _UNITS_S[match[2]]


def doomed(
    records: Iterable[RunRecord], *, older_than_s: float | None = None, keep: int = 0, unfinished: bool = False
) -> list[RunRecord]:
    """Of ``records``, those that meet every criterion; the ``keep`` last touched of them are spared.

    A run in progress is never among them.
    """
    now = time.time()
    chosen = [
        record
        for record in records
        if record.status != "running"
        and (not unfinished or record.status == "interrupted")
        and (older_than_s is None or now - record.updated > older_than_s)
    ]
    chosen.sort(key=lambda record: record.updated, reverse=True)
    return chosen[keep:]
