"""C as a list of tokens: what a check of hostile source needs, with lines kept and nothing executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

TRIGRAPH = re.compile(r"\?\?[=/'()!<>\-]")
_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<open_comment>/\*)
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<character>(?:[uUL])?'(?:[^'\\\n]|\\.)*')
  | (?P<open_quote>["'])
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
  | (?P<name>[A-Za-z_$][A-Za-z_0-9$]*)
  | (?P<newline>\n)
  | (?P<space>[ \t\v\f\r]+)
  | (?P<mark>%:%:|\#\#|%:|<:|:>|<%|%>|\[\[|\]\]|.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Kind(StrEnum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    CHARACTER = "character"
    MARK = "mark"
    NEWLINE = "newline"
    BROKEN = "broken"  # a comment or a quote that doesn't end


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and the line (from 1) that it begins on."""

    kind: Kind
    text: str
    line: int


_KINDS = {
    "string": Kind.STRING,
    "character": Kind.CHARACTER,
    "number": Kind.NUMBER,
    "name": Kind.NAME,
    "newline": Kind.NEWLINE,
    "mark": Kind.MARK,
    "open_comment": Kind.BROKEN,
    "open_quote": Kind.BROKEN,
}


def tokens(code: str) -> Iterator[Token]:
    """Yield the tokens of C source as the compiler sees them: lines that end in a backslash are joined first.

    A token of the kind BROKEN is the last one.

    >>> [token.text for token in tokens("a\\\\\\nb /* no */ + 1.5e-3f") if token.kind is not Kind.NEWLINE]
    ['ab', '+', '1.5e-3f']
    """
    joined, starts = _spliced(code)
    line = 0
    for match in _TOKEN.finditer(joined):
        while line + 1 < len(starts) and starts[line + 1][0] <= match.start():
            line += 1
        kind = _KINDS.get(str(match.lastgroup))
        if kind is not None:
            yield Token(kind, match.group(), starts[line][1])
        if kind is Kind.BROKEN:
            return  # what follows means nothing; to look for the end at each next quote would take for ever


def _spliced(code: str) -> tuple[str, list[tuple[int, int]]]:
    """Join continued lines; return the text and where each line of the source begins in it: (position, line)."""
    parts: list[str] = []
    starts: list[tuple[int, int]] = []
    at = 0
    for number, line in enumerate(code.replace("\r\n", "\n").split("\n"), 1):
        starts.append((at, number))
        whole = line[:-1] if line.rstrip(" \t").endswith("\\") and line.endswith("\\") else None
        if whole is None and line.rstrip(" \t").endswith("\\"):
            whole = line.rstrip(" \t")[:-1]  # compilers join these too, with a warning
        part = line + "\n" if whole is None else whole
        parts.append(part)
        at += len(part)
    return "".join(parts), starts
