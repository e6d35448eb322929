"""A planted case: a program, what a run of it depends on, and the instruction that is to blame. JSON in, JSON out.

One case is one object; a file is `{"schema": "strop.planted/1", "seed": …, "refused": {why: n}, "cases": [case]}`:

```json
{"id": "nvidia-dev-0", "vendor": "nvidia", "class": "war", "program": "memory.sm_80.cubin.xz:_Z5chaseILi1EEvPKiPii",
 "seed": 7, "latency": {"global load": [310, 420], "read": [9, 14]}, "plants": [{"address": 496, "cycles": [900, 1200],
 "when": "result", "warps": null}], "branches": {"1344": [7, 1]}, "pipes": {"lsu": 3}, "schedulers": 1, "warps": 4,
 "policy": "gto", "alu": 4, "every": 61, "first": 13, "culprit": 496, "savings": [0.62, 0.08]}
```

`latency`, `plants`, `branches`, `pipes`, `schedulers`, `warps`, `policy`, `alu` are the machine's (`machine.Settings`);
a sample is taken `every` so many cycles from cycle `first` on. `culprit` is the address whose operations, made to
take one cycle, save most of the run's time; `savings` are its share and that of the second.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.planted.machine import Machine, Plant, Run, Settings
from tests.planted.program import Program, load
from tests.planted.sampler import Sample, sample

SCHEMA = "strop.planted/1"
MOST_SAMPLES = 500
FOLDER = Path(__file__).resolve().parent / "cases"
ALL_AT_ONCE = {"intel"}  # the samplers that take every warp at a tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """See the module's text. `kind` is the JSON's "class"."""

    id: str
    vendor: str
    kind: str
    program: str
    settings: Settings
    every: int
    first: int
    culprit: int
    savings: tuple[float, float]

    def code(self) -> Program:
        """Return the program that the case runs."""
        return load(self.vendor)[self.program]

    def run(self) -> Run:
        """Run it, keeping the spans."""
        return Machine(self.code(), self.settings).run(spans=True)

    def samples(self) -> list[Sample]:
        """Run it and sample the run."""
        return sample(self.run(), every=self.every, first=self.first, how=how(self.vendor))


def how(vendor: str) -> str:
    """Say which warps a tick of the vendor's sampler takes."""
    return "all" if vendor in ALL_AT_ONCE else "turn"


def to_json(case: Case) -> dict[str, Any]:
    """Return the JSON form."""
    settings = asdict(case.settings)
    settings["branches"] = {str(address): list(runs) for address, runs in case.settings.branches.items()}
    plain = {"id": case.id, "vendor": case.vendor, "class": case.kind, "program": case.program, **settings}
    plain |= {"every": case.every, "first": case.first, "culprit": case.culprit, "savings": list(case.savings)}
    return plain


def from_json(plain: dict[str, Any]) -> Case:
    """Return the case of its JSON form."""
    plants = tuple(
        Plant(
            address=plant["address"],
            cycles=_pair(plant["cycles"]),
            when=plant.get("when", "result"),
            warps=None if plant.get("warps") is None else tuple(plant["warps"]),
        )
        for plant in plain["plants"]
    )
    settings = Settings(
        seed=plain["seed"],
        latency={op: _pair(bounds) for op, bounds in plain["latency"].items()},
        branches={int(address): tuple(runs) for address, runs in plain["branches"].items()},
        plants=plants,
        pipes=dict(plain["pipes"]),
        schedulers=plain["schedulers"],
        warps=plain["warps"],
        policy=plain["policy"],
        alu=plain["alu"],
    )
    return Case(
        id=plain["id"],
        vendor=plain["vendor"],
        kind=plain["class"],
        program=plain["program"],
        settings=settings,
        every=plain["every"],
        first=plain["first"],
        culprit=plain["culprit"],
        savings=_pair_of_shares(plain["savings"]),
    )


def _pair(bounds: list[int]) -> tuple[int, int]:
    low, high = bounds
    return low, high


def _pair_of_shares(shares: list[float]) -> tuple[float, float]:
    first, second = shares
    return first, second


def read(path: Path) -> list[Case]:
    """Read a file of cases."""
    plain = json.loads(path.read_text())
    if plain.get("schema") != SCHEMA:
        raise ValueError(f"{path.name} is not {SCHEMA}")
    return [from_json(case) for case in plain["cases"]]


def write(path: Path, cases: list[Case], *, seed: str, refused: Counter[str]) -> None:
    """Write a file of cases, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {"schema": SCHEMA, "seed": seed, "refused": dict(sorted(refused.items()))}
    lines = ",\n".join(json.dumps(to_json(case), separators=(",", ":")) for case in cases)
    path.write_text(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n")
