"""What the compiler sees of a candidate once its preprocessor is through: macros hide nothing from this check.

A macro may be called `volatile` or `unused`, and may pass brackets on: then what a header's macro becomes, or what an
attribute says, isn't what stands in the source. So the text after the preprocessor is looked over, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from strop.kernels.source_check import MOST_IN_ATTRIBUTE, NAMES, OPENERS, attribute, refused_at
from strop.kernels.targets.target import Refused
from strop.kernels.tokens import Kind, Token, tokens
from strop.values.verdict import Verdict

SOURCE = "candidate.c"
MOST_BYTES = 4 << 20
ASSEMBLY = {"asm", "__asm", "__asm__"}
OPERANDS = {'"r"', '"=r"', '"i"', '"memory"'}  # what the headers' statements say of their operands
_MARKER = re.compile(r'#\s*(?:line\s+)?(?P<line>\d+)\s+"(?P<file>(?:[^"\\]|\\.)*)"(?P<flags>[ 1-4]*)')


def check_expanded(
    text: str, *, statements: Collection[str], names: Mapping[str, str] | None = None, headers: bool = False
) -> None:
    """Look over what came out of the preprocessor. Raises :class:`Refused` (illegal) with the reason and the line.

    `statements` are the string literals of the assembly that the target's own headers use, and all there may be.
    `headers`: files may come in from the candidate's own lines; which ones was checked in the source.
    """
    found = [token for token in _own(text, headers) if token.kind is not Kind.NEWLINE]
    refused = NAMES | dict(names or {})
    for index, token in enumerate(found):
        if token.kind is Kind.BROKEN:
            raise refused_at(token.line, "a quote that doesn't end")
        if token.kind is Kind.NAME and token.text in ASSEMBLY:
            if not _is_statement(found, index + 1, statements):
                raise refused_at(token.line, f"{token.text}: {NAMES['asm']}")
        elif token.kind is Kind.NAME and token.text in refused:
            raise refused_at(token.line, f"{token.text}: {refused[token.text]}")
        elif token.text in OPENERS:
            _attribute_list(found, index + 1)
        elif token.text == "[" and [each.text for each in found[index + 1 : index + 2]] == ["["]:
            _attribute_list(found, index)


def _own(text: str, headers: bool) -> Iterator[Token]:
    """Yield the tokens of the candidate's own lines, with its line numbers."""
    line, own, length = 0, False, 0
    for row in text.split("\n"):
        marker = _MARKER.match(row)
        if marker:
            if own and not headers and "1" in marker["flags"] and not marker["file"].startswith("<"):
                raise refused_at(line, "#include: a candidate sees no other file")
            line, own = int(marker["line"]), marker["file"].endswith(SOURCE)
            continue
        if own and not row.startswith("#"):  # a pragma was checked in the source
            length += len(row)
            if length > MOST_BYTES:
                raise Refused(Verdict.LIMIT, f"what the preprocessor makes is longer than {MOST_BYTES >> 20} MiB")
            for token in tokens(row):
                halves = token.text if token.text in ("[[", "]]") else (token.text,)
                yield from (Token(token.kind, half, line) for half in halves)
        line += 1


def _is_statement(found: Sequence[Token], at: int, statements: Collection[str]) -> bool:
    """Tell an assembly statement of the headers: its text literally, and operands without words of their own."""
    begin = [token.text for token in found[at : at + 4]]
    if len(begin) < 4 or begin[:2] != ["volatile", "("] or begin[2] not in statements or begin[3] != ":":
        return False
    depth = 1
    for index in range(at + 3, len(found)):
        token = found[index]
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return True
        if depth == 1 and token.text not in (":", ",", ")") and token.text not in OPERANDS:
            return False
    return False


def _attribute_list(found: Sequence[Token], begin: int) -> None:
    """Look at the words of an attribute, two brackets inside; what stands deeper are arguments."""
    depth = 0
    for index in range(begin, min(len(found), begin + MOST_IN_ATTRIBUTE)):
        token = found[index]
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if token.kind is Kind.NAME and depth == 2 and token.text not in ("gnu", "clang"):
            attribute(token)
        if depth == 0:
            return
    if begin < len(found):
        raise refused_at(found[begin].line, "an attribute without an end")
