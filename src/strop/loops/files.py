"""Schedules in files: read with a clear error, written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from strop.errors import BadFile, BadSchedule


def write_text(path: Path, text: str) -> None:
    """Write a file by replacing it at once, so that a full disk leaves the old one. Raises BadFile.

    A link stays one: the file that it leads to is replaced. A device or a pipe is written to.
    """
    try:
        if _takes_a_stream(path):
            _pour(path, text)
            return
        path = Path(os.path.realpath(path))
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_text(text, encoding="utf-8")
            os.replace(beside, path)
        finally:
            with suppress(OSError):  # gone where all went well
                beside.unlink()
    except (OSError, ValueError) as problem:  # a name that is empty or holds a NUL is a ValueError
        raise BadFile(path=path, done="written", reason=_said(problem)) from None


def _takes_a_stream(path: Path) -> bool:
    """Whether there is something that no file may take the place of: a device, a pipe, a socket."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _pour(path: Path, text: str) -> None:
    try:
        opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK)  # a pipe that nobody reads would keep us for ever
    except OSError as problem:
        if problem.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "it is a pipe or a socket, and nobody reads it") from None
        raise
    os.set_blocking(opened, True)
    with open(opened, "w", encoding="utf-8") as stream:
        stream.write(text)


def read_document(path: str | Path) -> dict[str, Any]:
    """A JSON object from a file. Raises BadFile, BadSchedule."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadFile(path=path, done="read", reason="it is no text") from None
    except (OSError, ValueError, TypeError) as problem:
        raise BadFile(path=path, done="read", reason=_said(problem)) from None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadSchedule(reason=f"{path} is no JSON: {problem}") from None
    if not isinstance(document, dict):
        raise BadSchedule(reason=f"{path} holds no JSON object")
    return document


def _said(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or str(problem)
