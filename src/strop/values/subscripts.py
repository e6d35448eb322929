"""The grammar of a contraction's text: operands, affine subscripts, result.

Operands are separated by ``,`` and the result follows ``->``. If an operand holds a blank, a ``+`` or a digit, all
subscripts are blank-separated sums of named axes, a leading number being a coefficient; otherwise each letter is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from strop.errors import BadContraction, OutputAxisNotInInputs, pointed

Term: TypeAlias = tuple[int, str]
"""A coefficient of 1 or more, and an axis."""
Index: TypeAlias = tuple[Term, ...]
"""One dimension of an operand: the sum of its terms; each axis stands in it once."""
Subscript: TypeAlias = tuple[Index, ...]
"""The dimensions of one operand; empty for a scalar."""

MOST_OPERANDS = 2
MOST_AXES = 32  # loops of a nest that the code generator takes
LARGEST = 2**62  # no 64-bit address reaches so far
_TERM = re.compile(r"([0-9]*)([A-Za-z_][A-Za-z_0-9]*)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_NAMED_FORM = re.compile(r"[\s+0-9]")


@dataclass(frozen=True, slots=True)
class Subscripts:
    """A contraction's text, read: the dimensions of each operand, and the axes of the result."""

    operands: tuple[Subscript, ...]
    output: tuple[str, ...]

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes in order of first appearance in the operands."""
        return tuple(dict.fromkeys(axis for operand in self.operands for index in operand for _, axis in index))

    @property
    def text(self) -> str:
        """The canonical text, which :func:`parse` reads back to the same value."""
        if all(len(axis) == 1 and axis != "_" for axis in self.axes) and not any(
            len(index) > 1 or index[0][0] > 1 for operand in self.operands for index in operand
        ):
            operands = ",".join("".join(axis for ((_, axis),) in operand) for operand in self.operands)
            return f"{operands}->{''.join(self.output)}"
        written = [" ".join(written_index(index) for index in operand) for operand in self.operands]
        if not any(_NAMED_FORM.search(operand) for operand in written):
            # Names alone would be read as letters: a coefficient of 1 says that they are names.
            first = next(position for position, operand in enumerate(written) if operand)
            written[first] = f"1{written[first]}"
        return f"{', '.join(written)} -> {' '.join(self.output)}".rstrip()


def written_index(index: Index) -> str:
    """One dimension as text.

    >>> written_index(((2, "h"), (1, "r")))
    '2h+r'
    """
    return "+".join(axis if coefficient == 1 else f"{coefficient}{axis}" for coefficient, axis in index)


def parse(text: str) -> Subscripts:
    """Read a contraction's text.

    >>> parse("mk,kn->mn").output
    ('m', 'n')
    >>> parse("n c 2h+3r w+s, o c r s -> n o h w").operands[0][2]
    ((2, 'h'), (3, 'r'))

    Raises BadContraction (its message points at the place) and OutputAxisNotInInputs.
    """
    if not isinstance(text, str):
        raise BadContraction(where=text, reason=f"it is a {type(text).__name__}, not a text")
    arrow = text.find("->")
    if arrow < 0:
        raise BadContraction(where=text, reason="it has no '->' before its result")
    pieces, start = [], 0
    for piece in text[:arrow].split(","):
        pieces.append((piece, start))
        start += len(piece) + 1
    if len(pieces) > MOST_OPERANDS:
        where = pointed(text, pieces[MOST_OPERANDS][1])
        raise BadContraction(where=where, reason=f"it has {len(pieces)} operands, strop takes one or two")
    read = _read_named if any(_NAMED_FORM.search(piece.strip()) for piece, _ in pieces) else _read_letters
    operands = tuple(tuple(_merged(index) for index, _ in read(text, piece, start)) for piece, start in pieces)

    output: list[str] = []
    known = {axis for operand in operands for index in operand for _, axis in index}
    if len(known) > MOST_AXES:
        raise BadContraction(where=text, reason=f"it has {len(known)} axes, strop takes up to {MOST_AXES}")
    for index, position in read(text, text[arrow + 2 :], arrow + 2):
        if len(index) != 1 or index[0][0] != 1:
            _fail(text, position, "the result takes plain axes only, no sums and no coefficients")
        axis = index[0][1]
        if axis in output:
            _fail(text, position, f"the result names the axis {axis!r} twice")
        if axis not in known:
            raise OutputAxisNotInInputs(text=text, axis=axis)
        output.append(axis)
    return Subscripts(operands, tuple(output))


def _read_letters(text: str, piece: str, start: int) -> list[tuple[Index, int]]:
    """Each letter is an axis. Gives each index with its position in ``text``."""
    start += len(piece) - len(piece.lstrip())
    indices: list[tuple[Index, int]] = []
    for position, letter in enumerate(piece.strip(), start):
        if letter.isspace() or letter in "+0123456789":
            reason = "the operands are written as letters, so the result must be; with names, put blanks between them"
            _fail(text, position, reason)
        if not (letter.isascii() and letter.isalpha()):
            _fail(text, position, f"{letter!r} is no letter")
        indices.append((((1, letter),), position))
    return indices


def _read_named(text: str, piece: str, start: int) -> list[tuple[Index, int]]:
    """Blank-separated affine sums. Blanks around a ``+`` are no separators."""
    indices: list[tuple[Index, int]] = []
    position, end = start, start + len(piece)
    while (position := _past_blanks(text, position, end)) < end:
        begin, terms = position, []
        while True:
            match = _TERM.match(text, position, end)
            if not match:
                _fail(text, position, "an axis name is expected here")
            digits = match[1].lstrip("0") if match[1] else "1"
            coefficient = int(digits[:20] or 0)  # 20 digits pass the largest, and int() takes no more than thousands
            if not 1 <= coefficient < LARGEST:
                _fail(text, position, "a coefficient must be 1 or more, and below 2**62")
            terms.append((coefficient, match[2]))
            position = match.end()
            plus = _past_blanks(text, position, end)
            if plus == end or text[plus] != "+":
                break
            position = _past_blanks(text, plus + 1, end)
        if position < end and not text[position].isspace():
            _fail(text, position, f"{text[position]!r} can't stand here")
        indices.append((tuple(terms), begin))
    return indices


def _past_blanks(text: str, position: int, end: int) -> int:
    while position < end and text[position].isspace():
        position += 1
    return position


def _merged(index: Index) -> Index:
    """Several terms of one axis add up: ``h+h`` is ``2h``."""
    total: dict[str, int] = {}
    for coefficient, axis in index:
        total[axis] = total.get(axis, 0) + coefficient
    return tuple((coefficient, axis) for axis, coefficient in total.items())


def is_name(text: str) -> bool:
    """Whether ``text`` could name an axis."""
    return bool(_NAME.fullmatch(text))


def _fail(text: str, position: int, reason: str) -> NoReturn:
    raise BadContraction(where=pointed(text, position), reason=reason)
