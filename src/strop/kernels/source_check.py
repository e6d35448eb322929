"""What a candidate's source may not hold: ways out of C, out of its file, and out of its function's call.

The check reads tokens, not text: comments, joined lines, digraphs and pasting don't hide anything from it. What it lets
through is still compiled in a sandbox and run where it can do no harm; the check makes cheats an error with a line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from strop.kernels.targets.target import Refused
from strop.kernels.tokens import TRIGRAPH, Kind, Token, tokens
from strop.values.verdict import Verdict

MOST_BYTES = 1 << 20
MOST_IN_ATTRIBUTE = 1000
DEEPEST = 100  # macros in macros
MOST_EXPANDED = 1 << 20  # tokens that one use of a macro may become

DIRECTIVES = {"define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "error"}
ATTRIBUTES = {
    *("aligned", "always_inline", "noinline", "unused", "hot", "cold", "const", "pure", "flatten", "may_alias"),
    *("packed", "nonnull", "restrict", "maybe_unused", "assume_aligned", "optimize", "noclone", "vector_size"),
    *("fallthrough", "target_clones", "no_reorder", "leaf", "nothrow", "unlikely", "likely"),
}
NAMES = {
    **dict.fromkeys(("asm", "__asm", "__asm__"), "assembly isn't part of a candidate"),
    **dict.fromkeys(("_Pragma", "__pragma"), "pragmas are refused"),
    **dict.fromkeys(("__has_include", "__has_include_next", "__has_embed"), "a candidate sees no other file"),
    **dict.fromkeys(("__DATE__", "__TIME__", "__TIMESTAMP__"), "a candidate must compile to the same code every time"),
    **dict.fromkeys(("__FILE__", "__BASE_FILE__", "__FILE_NAME__"), "a candidate doesn't know its file"),
}
OPENERS = {"__attribute__", "__attribute"}


def check(code: str, *, names: Mapping[str, str] | None = None, headers: Collection[str] = ()) -> None:
    """Look a candidate's source over. Raises :class:`Refused` (illegal) with the reason and the line.

    `names` are further words that the target refuses, each with its reason; `headers` are those that it lets be
    included, as `<name>` with no macro in between.
    """
    if len(code.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Refused(Verdict.ILLEGAL, f"the code is longer than {MOST_BYTES} bytes")
    lone = re.search(r"[\ud800-\udfff]", code)
    if lone:
        raise refused_at(code.count("\n", 0, lone.start()) + 1, "half a character: this is no text")
    alone = re.search(r"\r(?!\n)", code)
    if alone:  # some compilers end a line there, others don't
        raise refused_at(code.count("\n", 0, alone.start()) + 1, "a carriage return that ends no line")
    if "\0" in code:
        raise refused_at(code.count("\n", 0, code.index("\0")) + 1, "a NUL byte")
    trigraph = TRIGRAPH.search(code)
    if trigraph:
        raise refused_at(code.count("\n", 0, trigraph.start()) + 1, f"the trigraph {trigraph.group()}")
    refused = NAMES | dict(names or {})
    found = list(tokens(code))
    _directives(found, headers)
    for token in found:
        if token.kind is Kind.BROKEN:
            raise refused_at(token.line, "a comment or a quote that doesn't end")
        if token.kind is Kind.NAME and token.text in refused:
            raise refused_at(token.line, f"{token.text}: {refused[token.text]}")
        if token.kind is Kind.MARK and token.text in ("##", "%:%:"):
            raise refused_at(token.line, "pasting with ##: it can make words that this check doesn't see")
        if token.kind is Kind.MARK and token.text in ("%:", "<:", ":>", "<%", "%>"):
            raise refused_at(token.line, f"the digraph {token.text}")
    _attributes([token for token in found if token.kind is not Kind.NEWLINE])
    _expansion(found)


def refused_at(line: int, reason: str) -> Refused:
    """Return the refusal of a line."""
    return Refused(Verdict.ILLEGAL, f"line {line}: {reason}", line)


def _directives(found: Sequence[Token], headers: Collection[str]) -> None:
    for line in _lines(found):
        if line[0].text not in ("#", "%:"):
            continue
        words = [token.text for token in line[1:]]
        if words[:2] == ["include", "<"] and words[-1] == ">" and "".join(words[2:-1]) in headers:
            continue
        if words and words[0] not in DIRECTIVES and not _is_unroll(words):
            there = f"only {', '.join(sorted(headers))}" if headers else "the headers are there already"
            what = f"#include: {there}" if words[0] == "include" else f"the directive #{words[0]}"
            raise refused_at(line[0].line, what)


def _is_unroll(words: Sequence[str]) -> bool:
    """Tell a pragma that says how often to unroll a loop: the only ones let through."""
    rest = words[1:] if words[0] == "pragma" else []
    if rest[:1] == ["GCC"]:
        rest = rest[1:]
    return bool(rest) and rest[0] in ("unroll", "ivdep") and all(word.isdigit() or word in "()" for word in rest[1:])


def _lines(found: Sequence[Token]) -> list[list[Token]]:
    lines: list[list[Token]] = [[]]
    for token in found:
        if token.kind is Kind.NEWLINE:
            lines.append([])
        else:
            lines[-1].append(token)
    return [line for line in lines if line]


def _attributes(found: Sequence[Token]) -> None:
    """Refuse attributes that aren't on the list: constructors, sections, aliases and whatever else there is."""
    for index, token in enumerate(found):
        if token.text in OPENERS:
            depth, at = 0, index + 1
            while at < len(found):
                if at - index > MOST_IN_ATTRIBUTE:
                    raise refused_at(token.line, f"an attribute of more than {MOST_IN_ATTRIBUTE} tokens")
                depth += (found[at].text == "(") - (found[at].text == ")")
                if found[at].kind is Kind.NAME and depth == 2:
                    attribute(found[at])
                at += 1
                if depth == 0:
                    break
        elif token.text == "[[":
            at = index + 1
            while at < len(found) and found[at].text != "]]":
                if at - index > MOST_IN_ATTRIBUTE:
                    raise refused_at(token.line, f"an attribute of more than {MOST_IN_ATTRIBUTE} tokens")
                if found[at].kind is Kind.NAME and found[at].text not in ("gnu", "clang") and found[at - 1].text != "(":
                    attribute(found[at])
                at += 1


def attribute(token: Token) -> None:
    """Refuse an attribute that isn't on the list."""
    if token.text.strip("_") not in ATTRIBUTES:
        raise refused_at(token.line, f"the attribute {token.text}")


def _expansion(found: Sequence[Token]) -> None:
    """Refuse macros that become too much: each name's own expansion is counted, arguments not."""
    bodies: dict[str, list[Token]] = {}
    for line in _lines(found):
        if [token.text for token in line[:2]] in (["#", "define"], ["%:", "define"]) and len(line) > 2:
            bodies.setdefault(line[2].text, []).extend(line[3:])
    sizes: dict[str, int] = {}

    def size(name: str, inside: frozenset[str]) -> int:
        if name not in sizes:
            deeper = inside | {name}
            if len(deeper) > DEEPEST:
                line = bodies[name][0].line if bodies[name] else 1
                raise refused_at(line, f"macros stand more than {DEEPEST} deep in each other")
            total = 0
            for token in bodies[name]:
                expands = token.text in bodies and token.text not in deeper
                total += size(token.text, deeper) if expands else 1
                if total > MOST_EXPANDED:
                    raise refused_at(bodies[name][0].line, f"the macro {name} becomes more than {MOST_EXPANDED} tokens")
            sizes[name] = total
        return sizes[name]

    for name in bodies:
        if len(bodies) > 900:
            raise refused_at(1, "more than 900 macros")
        size(name, frozenset())
