"""A budget: what a run may use up before it stops, whichever limit comes first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from strop.errors import BadBudget

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", re.ASCII)
_UNITS: dict[str, tuple[str, Decimal]] = {
    "ms": ("seconds", Decimal("0.001")),
    "s": ("seconds", Decimal(1)),
    "m": ("seconds", Decimal(60)),
    "h": ("seconds", Decimal(3600)),
    "evals": ("evaluations", Decimal(1)),
    "tok": ("tokens", Decimal(1)),
    "ktok": ("tokens", Decimal(1000)),
    "usd": ("usd", Decimal(1)),
}
LARGEST = Decimal(10) ** 300  # of any limit; a float holds it
_WHOLE = {"evaluations", "tokens"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits on time, evaluations, tokens and money; ``None`` is no limit. 0 is a limit: nothing may be used."""

    seconds: float | None = None
    evaluations: int | None = None
    tokens: int | None = None
    usd: float | None = None

    @classmethod
    def parse(cls, text: str | Budget) -> Budget:
        """Read ``50ms``, ``6s``, ``10m``, ``1h``, ``200evals``, ``50ktok``, ``2usd``, joined by commas.

        >>> Budget.parse("1.5h,200evals").text
        '90m,200evals'

        Raises BadBudget for anything else: a number without a unit, a limit given twice, half an evaluation.
        """
        if isinstance(text, Budget):
            return text
        if not isinstance(text, str):
            raise BadBudget(text=text, reason=f"it is a {type(text).__name__}, not a text")
        limits: dict[str, Any] = {}
        for part in text.split(","):
            match = _PART.fullmatch(part.strip())
            if not match:
                raise BadBudget(text=text, reason=f"{part.strip()!r} is no number with a unit")
            if match[2] not in _UNITS:
                raise BadBudget(text=text, reason=f"there is no unit {match[2]!r}")
            limit, factor = _UNITS[match[2]]
            if limit in limits:
                raise BadBudget(text=text, reason=f"it limits {limit} twice")
            amount = Decimal(match[1]) * factor
            if amount > LARGEST:
                raise BadBudget(text=text, reason=f"more than {LARGEST:e} {limit} is no limit")
            if limit in _WHOLE and amount != amount.to_integral_value():
                raise BadBudget(text=text, reason=f"{part.strip()!r} is no whole number of {limit}")
            limits[limit] = int(amount) if limit in _WHOLE else float(amount)
        return cls(**limits)

    @property
    def text(self) -> str:
        """The canonical text, which :meth:`parse` reads back to an equal budget; empty without limits."""
        parts = []
        if self.seconds is not None:
            parts.append(_written_time(self.seconds))
        if self.evaluations is not None:
            parts.append(f"{self.evaluations}evals")
        if self.tokens is not None:
            parts.append(f"{self.tokens}tok")
        if self.usd is not None:
            parts.append(f"{_plain(Decimal(repr(self.usd)))}usd")
        return ",".join(parts)

    def __str__(self) -> str:
        return self.text or "no limit"

    @property
    def empty(self) -> bool:
        """Whether a limit is 0, so that nothing may be measured."""
        return 0 in (self.seconds, self.evaluations, self.tokens, self.usd)

    def to_json(self) -> dict[str, Any]:
        """The limits as JSON."""
        return {
            "seconds_s": self.seconds,
            "evaluations": self.evaluations,
            "tokens": self.tokens,
            "usd": self.usd,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Budget:
        """The inverse of :meth:`to_json`."""
        return cls(
            seconds=value["seconds_s"], evaluations=value["evaluations"], tokens=value["tokens"], usd=value["usd"]
        )


def _written_time(seconds: float) -> str:
    exact = Decimal(repr(seconds))
    for unit in ("h", "m", "s", "ms"):
        amount = exact / _UNITS[unit][1]
        if amount == amount.to_integral_value() and float(amount * _UNITS[unit][1]) == seconds and amount:
            return f"{_plain(amount)}{unit}"
    return f"{_plain(exact)}s"


def _plain(amount: Decimal) -> str:
    """Without exponent and without zeros at the end."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
