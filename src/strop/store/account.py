"""What ``strop runs show`` says of a run: the run, its result, and how its trials ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strop.store.record import RunRecord
from strop.store.store import Store
from strop.values.measurement import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A run with its result. ``reasons`` are the most frequent failures: verdict, detail, count."""

    record: RunRecord
    result: Mapping[str, Any] | None
    verdicts: Mapping[str, int]
    reasons: tuple[tuple[str, str, int], ...]

    @classmethod
    def of(cls, store: Store, text: str) -> Account:
        """The run whose id begins with ``text``. Raises UnknownRun, AmbiguousRun."""
        record = store.run(text)
        return cls(
            record=record,
            result=store.result(record.id),
            verdicts=store.verdicts(record.id),
            reasons=tuple(store.reasons(record.id)),
        )

    @property
    def sentence(self) -> str | None:
        """The result in one sentence."""
        return (self.result or {}).get("sentence")

    @property
    def nest(self) -> str | None:
        """The nest of the result, as text."""
        return (self.result or {}).get("nest")

    @property
    def schedule(self) -> tuple[str, ...]:
        """The moves of the result, one text each."""
        return tuple(map(move_text, (self.result or {}).get("schedule") or ()))

    @property
    def measurement(self) -> Measurement | None:
        """The measurement of the result."""
        value = (self.result or {}).get("measurement")
        return Measurement.from_json(value) if value else None

    def to_json(self) -> dict[str, Any]:
        """The form ``strop.run/1``."""
        return {
            "schema": "strop.run/1",
            "run": self.record.to_json(),
            "request": self.record.request.run.to_json(),
            "result": None if self.result is None else dict(self.result),
            "verdicts": dict(self.verdicts),
            "reasons": [{"verdict": verdict, "detail": detail, "count": n} for verdict, detail, n in self.reasons],
        }


def move_text(move: str | Mapping[str, Any]) -> str:
    """A move as it is written in Python, from its JSON form.

    >>> move_text({"move": "Split", "loop": "m.0", "factor": 6})
    'Split("m.0", 6)'
    >>> move_text({"move": "Tile", "loops": ["m.0", "n.0"], "sizes": [6, 16]})
    'Tile(("m.0", "n.0"), (6, 16))'
    """
    if isinstance(move, str):
        return move
    return f"{move.get('move')}({', '.join(_written(value) for name, value in move.items() if name != 'move')})"


def _written(value: Any) -> str:
    """A field as Python writes it: the moves' sequences are tuples."""
    if isinstance(value, list):
        return f"({', '.join(map(_written, value))}{',' * (len(value) == 1)})"
    return json.dumps(value, ensure_ascii=False)
