"""What the judge says of a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strop.values.diagnosis import Diagnosis
from strop.values.measurement import Measurement
from strop.values.verdict import Verdict

SCHEMA = "strop.judgement/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its proof. `reason` says why and where in one sentence, for `ok` what bounds it.

    `measurement` is None unless the verdict is ok. `evidence` has what was run: seeds, families, addresses, layers of
    the sandbox, toolchain. `verified` is False where the sandbox was off.
    """

    problem: str
    target: str
    verdict: Verdict
    reason: str
    digest: str  # of the candidate's code
    measurement: Measurement | None = None
    share_of_bound: float | None = None
    bottleneck: str | None = None
    account: Diagnosis | None = None
    line: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    verified: bool = True
    cached: bool = False

    @property
    def ok(self) -> bool:
        """Whether it is right, and its cost believed."""
        return self.verdict is Verdict.OK

    @property
    def cycles(self) -> float | None:
        """The median in cycles; None unless ok, and on targets that count seconds."""
        return self.measurement.cycles if self.ok and self.measurement else None

    @property
    def seconds(self) -> float | None:
        """The median in seconds; None unless ok, and on targets that count cycles."""
        return self.measurement.seconds if self.ok and self.measurement else None

    def to_json(self) -> dict[str, Any]:
        """The form of the schema `strop.judgement/1`."""
        return {
            "schema": SCHEMA,
            "problem": self.problem,
            "target": self.target,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "line": self.line,
            "digest": self.digest,
            "cycles": self.cycles,
            "seconds": self.seconds,
            "measurement": self.measurement.to_json() if self.measurement else None,
            "share_of_bound": self.share_of_bound,
            "bottleneck": self.bottleneck,
            "account": self.account.to_json() if self.account else None,
            "evidence": dict(self.evidence),
            "verified": self.verified,
            "cached": self.cached,
        }

    to_dict = to_json

    @classmethod
    def from_json(cls, value: Mapping[str, Any], *, cached: bool = False) -> Judgement:
        """The inverse of :meth:`to_json`."""
        measurement, account = value["measurement"], value["account"]
        return cls(
            problem=value["problem"],
            target=value["target"],
            verdict=Verdict(value["verdict"]),
            reason=value["reason"],
            line=value["line"],
            digest=value["digest"],
            measurement=Measurement.from_json(measurement) if measurement else None,
            share_of_bound=value["share_of_bound"],
            bottleneck=value["bottleneck"],
            account=Diagnosis.from_json(account) if account else None,
            evidence=value["evidence"],
            verified=value["verified"],
            cached=cached,
        )
