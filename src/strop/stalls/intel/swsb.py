"""The software scoreboard field of an instruction: from its bits, and back.

Two generations: Xe-HPG (`ThreeDistPipe`: 8 bits, pipes float, int and long, 16 tokens) and Xe-HPC
(`FourDistPipeReduction`: 10 bits, a math pipe more, 32 tokens). A field names a distance (`I@2`: the second last
instruction of the int pipe has finished), a token (`$3` takes one, `$3.dst` and `$3.src` wait for one), or both; what
both together mean depends on the kind of instruction, because a bit for it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Generation(StrEnum):
    """Which of the two encodings."""

    XE_HPG = "xehpg"
    XE_HPC = "xehpc"


class Unit(StrEnum):
    """The kind of instruction, as far as combined forms ask."""

    SEND = "send"
    DPAS = "dpas"
    MATH = "math"
    OTHER = "other"


class Pipe(StrEnum):
    """The in-order pipe that a distance counts in. INFERRED: that of the instruction itself."""

    INFERRED = ""
    ALL = "A"
    FLOAT = "F"
    INT = "I"
    LONG = "L"
    MATH = "M"


class Token(StrEnum):
    """What happens with a token."""

    SET = ""
    DST = ".dst"
    SRC = ".src"


@dataclass(frozen=True, slots=True)
class Swsb:
    """A decoded field: `distance` 1 to 7 in `pipe` or 0, `token` or None with its use; `no_accumulator` is `$`-less.

    `no_accumulator` (Xe-HPC, 0xF0): a DPAS that takes no token and sets none for its accumulator.
    """

    distance: int = 0
    pipe: Pipe = Pipe.INFERRED
    token: int | None = None
    use: Token = Token.SET
    no_accumulator: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        """The field as assemblers write it: `("A@1", "$3")`.

        >>> Swsb(1, Pipe.ALL, 3).texts
        ('A@1', '$3')
        """
        if self.no_accumulator:
            return ("NoAccSBSet",)
        distance = (f"{self.pipe}@{self.distance}",) if self.distance else ()
        return distance if self.token is None else (*distance, f"${self.token}{self.use}")


class BadSwsb(ValueError):
    """The field holds a reserved pattern."""


_PIPES = {
    Generation.XE_HPG: {0x00: Pipe.INFERRED, 0x08: Pipe.ALL, 0x10: Pipe.FLOAT, 0x18: Pipe.INT, 0x50: Pipe.LONG},
    Generation.XE_HPC: {
        0x00: Pipe.INFERRED,
        0x08: Pipe.ALL,
        0x10: Pipe.FLOAT,
        0x18: Pipe.INT,
        0x20: Pipe.LONG,
        0x28: Pipe.MATH,
    },
}
_TOKENS = {
    Generation.XE_HPG: {0x20: Token.DST, 0x30: Token.SRC, 0x40: Token.SET},
    Generation.XE_HPC: {0x80: Token.DST, 0xA0: Token.SRC, 0xC0: Token.SET},
}
# Xe-HPC, bits 9:8 of a combined field: the pipe of the distance and the use of the token, by unit.
_COMBINED: dict[int, dict[Unit, tuple[Pipe, Token]]] = {
    1: {
        Unit.DPAS: (Pipe.INFERRED, Token.SET),
        Unit.SEND: (Pipe.ALL, Token.SET),
        Unit.OTHER: (Pipe.INFERRED, Token.DST),
    },
    2: {
        Unit.DPAS: (Pipe.INFERRED, Token.SRC),
        Unit.SEND: (Pipe.FLOAT, Token.SET),
        Unit.OTHER: (Pipe.INFERRED, Token.SRC),
    },
    3: {
        Unit.DPAS: (Pipe.INFERRED, Token.DST),
        Unit.SEND: (Pipe.INT, Token.SET),
        Unit.OTHER: (Pipe.ALL, Token.DST),
    },
}
NO_ACCUMULATOR = 0xF0


def field(word: int, generation: Generation) -> int:
    """The field of an instruction, native or compacted, from its first 8 bytes (little endian)."""
    return word >> 8 & (0x3FF if generation is Generation.XE_HPC else 0xFF)


def _combined(selector: int, unit: Unit) -> tuple[Pipe, Token]:
    return _COMBINED[selector][Unit.OTHER if unit is Unit.MATH else unit]


def _combined_hpg(unit: Unit) -> tuple[Pipe, Token]:
    if unit is Unit.SEND:
        return Pipe.ALL, Token.SET
    return Pipe.INFERRED, Token.DST if unit is Unit.OTHER else Token.SET


def decode(bits: int, generation: Generation, unit: Unit) -> Swsb:
    """What a field says. Raises :class:`BadSwsb` on reserved patterns.

    >>> decode(0x123, Generation.XE_HPC, Unit.SEND).texts, decode(0x347, Generation.XE_HPC, Unit.OTHER).texts
    (('A@1', '$3'), ('A@2', '$7.dst'))
    """
    if bits == 0:
        return Swsb()
    if generation is Generation.XE_HPC:
        if bits >> 8:
            pipe, use = _combined(bits >> 8, unit)
            distance = bits >> 5 & 7
            if distance == 0:
                raise BadSwsb(f"a combined field without a distance: {bits:#x}")
            return Swsb(distance, pipe, bits & 31, use)
        if bits == NO_ACCUMULATOR:
            return Swsb(no_accumulator=True)
        token = _TOKENS[generation].get(bits & 0xE0)
        if token is not None:
            return Swsb(token=bits & 31, use=token)
    else:
        if bits & 0x80:
            pipe, use = _combined_hpg(unit)
            distance = bits >> 4 & 7
            if distance == 0:
                raise BadSwsb(f"a combined field without a distance: {bits:#x}")
            return Swsb(distance, pipe, bits & 15, use)
        token = _TOKENS[generation].get(bits & 0xF0)
        if token is not None:
            return Swsb(token=bits & 15, use=token)
    found = _PIPES[generation].get(bits & 0xF8)
    if found is None or not bits & 7:
        raise BadSwsb(f"a reserved pattern: {bits:#x}")
    return Swsb(bits & 7, found)


def encode(swsb: Swsb, generation: Generation, unit: Unit) -> int:
    """The field for a meaning. Raises :class:`BadSwsb` where it can't be said.

    >>> hex(encode(Swsb(4, Pipe.ALL, 3), Generation.XE_HPC, Unit.SEND))
    '0x183'
    """
    if swsb.no_accumulator:
        return NO_ACCUMULATOR
    shift = 5 if generation is Generation.XE_HPC else 4
    if swsb.token is not None and not 0 <= swsb.token < 1 << shift:
        raise BadSwsb(f"no such token: {swsb.token}")
    if swsb.token is None:
        if swsb.distance == 0:
            return 0
        return _code(_PIPES[generation], swsb.pipe) | swsb.distance
    if swsb.distance == 0:
        return _code(_TOKENS[generation], swsb.use) | swsb.token
    wanted = (swsb.pipe, swsb.use)
    if generation is Generation.XE_HPC:
        for selector in _COMBINED:
            if _combined(selector, unit) == wanted:
                return selector << 8 | swsb.distance << 5 | swsb.token
    elif _combined_hpg(unit) == wanted:
        return 0x80 | swsb.distance << 4 | swsb.token
    raise BadSwsb(f"{unit} has no form for {','.join(swsb.texts)}")


def _code(table: Mapping[int, StrEnum], meaning: StrEnum) -> int:
    for code, known in table.items():
        if known is meaning:
            return code
    raise BadSwsb(f"no code for {meaning}")
