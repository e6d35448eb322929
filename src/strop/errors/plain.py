"""What comes from a stranger's file, or from the shell, in an error's one line."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

_LONGEST = 400  # characters of a field; the rest is cut


class _Plain:
    """Makes what comes from a stranger's file one printable line: no escape sequence reaches a terminal."""

    def __init__(self, **fields: Any) -> None:
        plain = {
            name: _plain(str(value)) if isinstance(value, str | PurePath) else value for name, value in fields.items()
        }
        super().__init__(**plain)


def _plain(text: str) -> str:
    # Several blanks in a row are a tool's layout; what can't be printed is shown as Python writes it.
    line = " ".join(text.split()) if any(one in text for one in "\n\r\t") else text
    line = line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in line)
