"""What the store's tests share: requests, trials, and a user without root's right to write everywhere."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from strop.store import Request, Trial, migrations
from strop.values.budget import Budget
from strop.values.measurement import Measurement
from strop.values.run import Run
from strop.values.search import Candidate, Outcome
from strop.values.verdict import Verdict

NOBODY = 65534


def make_request(
    *, sizes: str = "m=64 n=80 k=96", effort: str = "standard", space: str = "full", **given: Any
) -> Request:
    """Return the request of a tune; search, budget and seed are explicit where they are given."""
    run = Run(
        verb="tune",
        problem={"contraction": "mk,kn->mn", "sizes": sizes},
        target={"isa": "avx2", "threads": 1},
        search=given.get("search", "local"),
        budget=Budget.parse(given.get("budget", "1s")),
        seed=given.get("seed", 0),
        options={"space": space},
    )
    return Request(run=run, title=f"mk,kn->mn {sizes}", effort=effort, explicit=frozenset(given))


def make_trial(number: int, *, verdict: Verdict = Verdict.OK, detail: str = "") -> Trial:
    """Return a trial that took `number` microseconds, or failed."""
    payload = {"moves": [{"move": "split", "loop": "m.0", "size": number}]}
    measured = Measurement(samples=(number * 1e-6, number * 1.01e-6), protocol="warm/1", machine="cpu-1")
    outcome = Outcome(verdict=verdict, measurement=measured if verdict is Verdict.OK else None, detail=detail)
    return Trial(Candidate.of(payload, parent="start", plan=f"split m by {number}"), outcome)


@pytest.fixture
def request_for() -> Callable[..., Request]:
    return make_request


@pytest.fixture
def trial() -> Callable[..., Trial]:
    return make_trial


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """Give a directory that every user may enter, which pytest's own are not."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def unprivileged() -> Callable[[], Any]:
    """Give a block inside which this process has no more rights than any user: root may write read-only files."""

    @contextmanager
    def block() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(NOBODY)
        try:
            if not os.access(migrations.__file__, os.R_OK, effective_ids=True):
                pytest.skip("this checkout lies where other users may not read")
            yield
        finally:
            os.seteuid(0)

    return block
