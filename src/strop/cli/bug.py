"""What remains of a bug: a file with the traceback, for its report."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from strop import __version__
from strop.errors import Bug, StropError


def reported(error: Exception, words: Sequence[str]) -> Bug:
    """Save the report of an exception that no one foresaw; the error that names its file."""
    text = "".join(
        [
            f"strop {__version__}, Python {platform.python_version()}, {platform.platform()}\n",
            f"arguments: {list(words)}\n",
            *(f"{name}={value}\n" for name, value in sorted(os.environ.items()) if name.startswith("STROP_")),
            "\n",
            *traceback.format_exception(error),
        ]
    )
    if {"-v", "--verbose"} & set(words):
        print(text, file=sys.stderr)
    return Bug(what=f"{type(error).__name__}: {error}", report=_saved(text))


def _saved(text: str) -> Path | str:
    name = time.strftime(f"bug-%Y%m%d-%H%M%S-{os.getpid()}.txt")
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        except OSError:
            continue
        return folder / name
    return "what -v prints (no file could be written)"


def _folders() -> list[Path]:
    folders = [Path(tempfile.gettempdir())]
    try:
        from strop.settings import setting

        folders.insert(0, setting("home") / "bugs")
    except StropError:
        pass
    return folders
