"""The ask/tell protocol of every search, and what passes through it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from strop.values.canonical import digest
from strop.values.measurement import Measurement
from strop.values.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to build and measure. Two candidates with equal ``id`` are the same thing.

    ``payload`` is JSON and says what to run (a schedule, a source text); ``id`` is its content hash. ``parent`` is the
    id of the candidate it was made from, ``plan`` says in words how.
    """

    id: str
    payload: Mapping[str, Any] = field(compare=False)
    parent: str | None = field(default=None, compare=False)
    plan: str = field(default="", compare=False)

    @classmethod
    def of(cls, payload: Mapping[str, Any], *, parent: str | None = None, plan: str = "") -> Candidate:
        """The candidate with this payload; its id is the hash of the payload alone."""
        return cls(id=digest(payload), payload=payload, parent=parent, plan=plan)

    def to_json(self) -> dict[str, Any]:
        """The candidate as JSON."""
        return {"id": self.id, "parent": self.parent, "plan": self.plan, "payload": dict(self.payload)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Candidate:
        """The inverse of :meth:`to_json`."""
        return cls(id=value["id"], payload=value["payload"], parent=value["parent"], plan=value["plan"])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a candidate: the verdict, the measurement if there is one, and a sentence of detail."""

    verdict: Verdict
    measurement: Measurement | None = None
    detail: str = ""

    @property
    def cost(self) -> float:
        """The number to minimise: the median where the verdict is ``ok``, otherwise infinity."""
        if self.verdict is not Verdict.OK or self.measurement is None:
            return math.inf
        return self.measurement.median

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON."""
        measurement = self.measurement.to_json() if self.measurement else None
        return {"verdict": self.verdict.value, "measurement": measurement, "detail": self.detail}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Outcome:
        """The inverse of :meth:`to_json`."""
        measurement = value["measurement"]
        return cls(
            verdict=Verdict(value["verdict"]),
            measurement=Measurement.from_json(measurement) if measurement else None,
            detail=value["detail"],
        )


@runtime_checkable
class Search(Protocol):
    """A search proposes candidates and learns from their outcomes. It measures nothing and owns no clock.

    The contract, which ``strop.testing`` checks:

    *Asking.* ``ask(n)`` returns up to ``n`` candidates to measure next. A shorter list means that the search wants to
    hear outcomes before it proposes more; an empty list while nothing is outstanding means that it is done, and it
    stays done. A search never proposes an illegal candidate, nor one whose id it proposed before: the caller owns
    retries and repeats.

    *Telling.* ``tell(candidate, outcome)`` reports one outcome. Outcomes come in any order, late, or never (the budget
    ended), and the caller may tell of candidates the search did not propose (stored ones, or another search's): they
    are learned from, or ignored, but never an error. A second outcome of one candidate replaces the first. A failed
    outcome (any verdict but ``ok``) is an answer like any other.

    *State.* ``state()`` returns JSON that, given to ``restore`` of a fresh search made with the same problem, options
    and seed, brings back an equal search: from then on both give equal answers to equal calls. Candidates asked for
    but not told when the state was taken are asked for again after ``restore``: they may have been lost in a crash.
    ``state()`` changes nothing.

    *Determinism.* Same problem, options, seed and sequence of calls: same candidates. A search uses its own random
    generator and looks at no clock. It is called from one thread at a time and need not lock.
    """

    def ask(self, n: int) -> list[Candidate]:
        """Up to ``n`` (at least 1) new candidates; empty with nothing outstanding when the search is done."""
        ...

    def tell(self, candidate: Candidate, outcome: Outcome) -> None:
        """Learn what became of a candidate."""
        ...

    def state(self) -> dict[str, Any]:
        """All that ``restore`` needs, as JSON."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that ``state()`` of an equal search returned."""
        ...
