"""Effort presets: how much a search may do before any single knob is turned."""

from __future__ import annotations

from dataclasses import dataclass

from strop.errors import BadEffort
from strop.values.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """A preset. ``seconds`` bounds the search, measuring included; ``evaluations`` too, where it isn't ``None``.

    ``finalists`` candidates are measured again, interleaved, for ``rounds`` rounds.
    """

    name: str
    seconds: float
    evaluations: int | None
    finalists: int
    rounds: int

    @classmethod
    def of(cls, name: str | Effort) -> Effort:
        """The preset of that name. Raises BadEffort."""
        if isinstance(name, Effort):
            return name
        if not isinstance(name, str) or name not in EFFORTS:
            raise BadEffort(effort=name)
        return EFFORTS[name]

    def answers(self, other: Effort) -> bool:
        """Whether a stored result of this effort answers a request of ``other``: it is equal or lower.

        >>> THOROUGH.answers(QUICK), QUICK.answers(STANDARD)
        (True, False)
        """
        order = list(EFFORTS)
        return order.index(other.name) <= order.index(self.name)

    def limits(self, budget: Budget | None = None) -> Budget:
        """What a run of this effort may use: ``budget`` where one is given, otherwise the preset's."""
        if budget is not None:
            return budget
        return Budget(seconds=self.seconds, evaluations=self.evaluations)


# Quick leaves 35 ms of the 100 that a call may take for the reference and for starting; standard 200 ms of 1 s.
QUICK = Effort(name="quick", seconds=0.065, evaluations=None, finalists=3, rounds=10)
STANDARD = Effort(name="standard", seconds=0.8, evaluations=None, finalists=6, rounds=30)
THOROUGH = Effort(name="thorough", seconds=10.0, evaluations=None, finalists=12, rounds=100)
EFFORTS = {effort.name: effort for effort in (QUICK, STANDARD, THOROUGH)}
"""The presets by name, the lowest first."""
