"""How a tuned contraction compares with NumPy: timed once, then kept with its run."""

from __future__ import annotations

import json
import re
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from strop.bench.numpy_peer import NumpyComparison, time_against_numpy
from strop.errors import PeerFailed, StropError

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned

NAME = "numpy"
"""What the comparison is called among the things that are kept with a run."""


def against_numpy(tuned: Tuned) -> NumpyComparison:
    """The comparison that was kept with the run, else one timed now, in about a second, and kept.

    Raises PeerFailed where there is nothing to compare or NumPy can't be timed.
    """
    if tuned.measurement is None:
        raise PeerFailed(peer="NumPy", reason="there is no measured time to compare with")
    kept = recalled(tuned)
    if kept is not None:
        return kept
    with tempfile.TemporaryDirectory(prefix="strop-") as folder:
        path = Path(folder) / "schedule.json"
        tuned.save(path)
        comparison = time_against_numpy(tuned.contraction, path, threads=tuned.threads, layout=tuned.layout)
    keep(tuned, comparison)
    return comparison


def recalled(tuned: Tuned) -> NumpyComparison | None:
    """The comparison kept with a stored answer, made with the NumPy that is installed."""
    from strop.store.store import open_store

    if not tuned.findings.from_store or tuned.findings.run_id is None:
        return None
    try:
        with open_store(read_only=True) as store:
            data = store.blob(tuned.findings.run_id, NAME)
        kept = NumpyComparison.from_json(json.loads(data)) if data else None
        return kept if kept and kept.numpy == installed_numpy() else None
    except (StropError, ValueError, KeyError):
        return None  # it will be timed


def installed_numpy() -> str | None:
    """NumPy's version, read from its file: importing it would take a third of the time of a stored answer."""
    spec = find_spec("numpy")
    try:
        text = Path(spec.origin).with_name("version.py").read_text() if spec and spec.origin else ""
    except OSError:
        return None
    match = re.search(r'^version = "([^"]+)"', text, re.MULTILINE)
    return match[1] if match else None


def keep(tuned: Tuned, comparison: NumpyComparison) -> None:
    """Keep the comparison with the run; where the store can't be written, `tune` has said so."""
    from strop.store.store import open_store

    if tuned.findings.run_id is None:
        return
    with suppress(StropError), open_store() as store:
        store.attach(tuned.findings.run_id, NAME, json.dumps(comparison.to_json()).encode())
