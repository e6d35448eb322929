"""A run: enough to do it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strop.values.budget import Budget
from strop.values.canonical import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A problem, a target, a search, a budget and a seed.

    ``problem`` is JSON and says what is asked (a contraction and its layout), ``target`` the machine and all that
    makes its measurements comparable (CPU model, instruction set, threads, generator and protocol versions).
    ``options`` are those of the search. Runs are equal if their ``id`` is.
    """

    verb: str
    problem: Mapping[str, Any] = field(compare=False)
    target: Mapping[str, Any] = field(compare=False)
    search: str
    budget: Budget
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", digest(self._content()))

    @property
    def question(self) -> str:
        """The hash of problem and target: runs with the same question can answer each other."""
        return digest({"verb": self.verb, "problem": dict(self.problem), "target": dict(self.target)})

    def _content(self) -> dict[str, Any]:
        return {
            "verb": self.verb,
            "problem": dict(self.problem),
            "target": dict(self.target),
            "search": self.search,
            "budget": self.budget.to_json(),
            "seed": self.seed,
            "options": dict(self.options),
        }

    def to_json(self) -> dict[str, Any]:
        """The run as JSON, its id included."""
        return {"id": self.id, **self._content()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Run:
        """The inverse of :meth:`to_json`; the id is computed anew."""
        return cls(
            verb=value["verb"],
            problem=value["problem"],
            target=value["target"],
            search=value["search"],
            budget=Budget.from_json(value["budget"]),
            seed=value["seed"],
            options=value["options"],
        )
