"""Schedules in files: read with a clear error, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from strop.errors import BadFile, BadSchedule


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
