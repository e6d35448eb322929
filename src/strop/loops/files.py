"""Schedules in files: read with a clear error, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop.errors import BadFile, BadSchedule

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned


def write_text(path: Path, text: str) -> None:
    """Write a file by replacing it at once, so that a full disk leaves the old one. Raises BadFile."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    except OSError as problem:
        beside.unlink(missing_ok=True) if beside.parent.is_dir() else None
        raise BadFile(path=path, done="written", reason=problem.strerror or str(problem)) from None


def read_document(path: str | Path) -> dict[str, Any]:
    """A JSON object from a file. Raises BadFile, BadSchedule."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is no text"
        raise BadFile(path=path, done="read", reason=reason) from None
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise BadSchedule(reason=f"{path} is no JSON: {problem}") from None
    if not isinstance(document, dict):
        raise BadSchedule(reason=f"{path} holds no JSON object")
    return document


def load(path: str | Path) -> Tuned:
    """The tuned contraction that `Tuned.save` wrote, compiled for this machine. Nothing is measured.

    A schedule saved on a machine with another instruction set runs, but its measurement doesn't hold here and is
    dropped. Raises BadFile, BadSchedule, NewerSchedule, IllegalMove, IsaMissing, NativeMissing.
    """
    from strop.loops.kernel import chosen_isa
    from strop.loops.moves import replay
    from strop.loops.schedule import from_json
    from strop.loops.tuned import Findings, Tuned
    from strop.values.layout import Layout
    from strop.values.measurement import Measurement

    document = read_document(path)
    contraction, schedule = from_json(document)
    isa = chosen_isa()
    try:
        layout = Layout.from_json(document["layout"]) if "layout" in document else Layout.default(contraction)
        threads = int(document.get("threads", 1))
        stored = document.get("measurement") if document.get("isa") == isa else None
        measurement = Measurement.from_json(stored) if stored else None
    except (KeyError, TypeError, ValueError) as problem:
        raise BadSchedule(reason=f"{path}: {problem!r}") from None
    return Tuned(
        contraction=contraction,
        layout=layout,
        schedule=schedule,
        nest=replay(contraction, schedule),
        isa=isa,
        threads=max(1, threads),
        findings=Findings(measurement=measurement),
    )
