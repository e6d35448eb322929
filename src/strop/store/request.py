"""What was asked for, and which stored results may answer it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strop.values.canonical import digest
from strop.values.effort import Effort
from strop.values.run import Run

CHOICES = frozenset({"search", "budget", "seed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A run as it was asked for. Raises BadEffort.

    ``run`` holds what will be used, given or not; ``explicit`` names what of search, budget and seed was given.
    ``title`` is what ``strop runs`` calls the problem.
    """

    run: Run
    title: str
    effort: str = "standard"
    explicit: frozenset[str] = field(default=frozenset())

    def __post_init__(self) -> None:
        Effort.of(self.effort)
        if self.explicit - CHOICES:
            raise ValueError(f"explicit names {sorted(self.explicit - CHOICES)}, not only {sorted(CHOICES)}")

    @property
    def problem_key(self) -> str:
        """What results are exchangeable for: the run's problem and target, and its options (the space is one)."""
        return digest([self.run.question, dict(self.run.options)])

    @property
    def key(self) -> str:
        """What makes two runs equal: all that steers them."""
        return digest([self.run.id, self.effort])

    @property
    def by_effort(self) -> bool:
        """Whether the effort alone says how good the result is: the user chose neither search nor budget."""
        return not self.explicit & {"search", "budget"}

    def to_json(self) -> dict[str, Any]:
        """The request as it is stored: enough to do the run again."""
        return {
            "run": self.run.to_json(),
            "title": self.title,
            "effort": self.effort,
            "explicit": sorted(self.explicit),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Request:
        """The inverse of :meth:`to_json`."""
        return cls(
            run=Run.from_json(value["run"]),
            title=value["title"],
            effort=value["effort"],
            explicit=frozenset(value["explicit"]),
        )
