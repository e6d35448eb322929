"""Two runs side by side: what was asked differently, how the schedules differ, and which result is faster."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from strop.store.account import Account

Judgement = Literal["a faster", "b faster", "tie", "not comparable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``ratio`` is A's time over B's, above 1 where B is faster; ``interval`` holds it with more than 95% certainty.

    Only like is ranked with like: results for other problems, from other machines, or measured in another way are
    ``not comparable``, and ``reason`` says why. A difference within the noise is a ``tie``.
    """

    a: Account
    b: Account
    differences: dict[str, tuple[Any, Any]]
    schedule: tuple[tuple[str, str], ...]
    judgement: Judgement
    reason: str | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None

    @classmethod
    def of(cls, a: Account, b: Account) -> Comparison:
        """Compare two runs."""
        judgement, reason, ratio, interval = _judge(a, b)
        return cls(
            a=a,
            b=b,
            differences=_differences(a, b),
            schedule=_schedule(a.schedule, b.schedule),
            judgement=judgement,
            reason=reason,
            ratio=ratio,
            interval=interval,
        )

    def to_json(self) -> dict[str, Any]:
        """The form ``strop.runs-diff/1``."""
        return {
            "schema": "strop.runs-diff/1",
            "a": self.a.record.to_json(),
            "b": self.b.record.to_json(),
            "judgement": self.judgement,
            "reason": self.reason,
            "ratio": None if self.ratio is None else {"a_over_b": self.ratio, "interval": list(self.interval or ())},
            "differences": {name: {"a": left, "b": right} for name, (left, right) in self.differences.items()},
            "schedule": [{"in": where, "move": move} for where, move in self.schedule],
        }


def _differences(a: Account, b: Account) -> dict[str, tuple[Any, Any]]:
    """What differs of the requests and of what their results depend on, by dotted name."""

    def parts(account: Account) -> dict[str, Any]:
        request = account.record.request
        run = request.run
        flat = {"verb": run.verb, "search": run.search, "budget": run.budget.text, "seed": run.seed}
        opened = {**run.problem, **run.target, **run.options}
        return {**flat, "effort": request.effort, **_flat(opened), "strop_version": account.record.version}

    left, right = parts(a), parts(b)
    names = list(left) + [name for name in right if name not in left]
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as one, with dotted names."""
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        flat.update(_flat(inner, f"{prefix}{name}.") if isinstance(inner, Mapping) else {f"{prefix}{name}": inner})
    return flat


def _schedule(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The moves of both, in order, each with ``both``, ``a`` or ``b``."""
    merged: list[tuple[str, str]] = []
    for kind, start, end, other_start, other_end in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            merged += [("both", move) for move in a[start:end]]
        else:
            merged += [("a", move) for move in a[start:end]]
            merged += [("b", move) for move in b[other_start:other_end]]
    return tuple(merged)


def _judge(a: Account, b: Account) -> tuple[Judgement, str | None, float | None, tuple[float, float] | None]:
    left, right = a.measurement, b.measurement
    reason = None
    if left is None or right is None:
        reason = f"{(a if left is None else b).record.id} has no measured result"
    elif a.record.request.run.problem != b.record.request.run.problem:
        one, other = a.record.request.run.problem, b.record.request.run.problem
        parts = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        reason = f"they are results for different problems ({', '.join(parts)})"
    elif left.machine != right.machine:
        reason = "they were measured on different machines"
    elif left.unit != right.unit:
        reason = f"one was measured in {left.unit}, the other in {right.unit}"
    elif not left.comparable(right):
        reason = "they were measured by different protocols"
    elif not min(*left.interval, *right.interval) > 0:
        reason = "a time of 0 has no ratio"
    if reason or left is None or right is None:
        return "not comparable", reason, None, None
    ratio = left.median / right.median
    interval = (left.interval[0] / right.interval[1], left.interval[1] / right.interval[0])
    if left.ties(right):
        return "tie", "their intervals overlap", ratio, interval
    return ("b faster" if ratio > 1 else "a faster"), None, ratio, interval
