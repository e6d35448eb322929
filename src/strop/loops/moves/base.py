"""What a move is: a frozen value that changes a nest, with a reason where it can't."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from strop.errors import BadSchedule, IllegalMove
from strop.loops.nest import Nest
from strop.values.contraction import Contraction


@dataclass(frozen=True, slots=True)
class Move:
    """One change of a nest. Subclasses are values: printable, hashable, JSON, replayable."""

    kinds: ClassVar[dict[str, type[Move]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        # Called twice for a slotted dataclass (it is made anew); the second class replaces the first.
        Move.kinds[cls.__name__] = cls

    @abstractmethod
    def reason(self, nest: Nest) -> str | None:
        """Why the move can't be made on this nest, or None."""

    @abstractmethod
    def changed(self, nest: Nest) -> Nest:
        """The nest after the move; only called when `reason` is None."""

    def __repr__(self) -> str:
        values = ", ".join(_show(getattr(self, f.name)) for f in fields(self))
        return f"{type(self).__name__}({values})"

    def to_json(self) -> dict[str, Any]:
        """`{"move": "Split", "loop": "m.0", "factor": 6}`."""
        return {"move": type(self).__name__} | {f.name: _listed(getattr(self, f.name)) for f in fields(self)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Move:
        """The move that `to_json` wrote. Raises BadSchedule for a name or field that isn't one."""
        name = data.get("move") if isinstance(data, dict) else None
        if not isinstance(name, str) or name not in Move.kinds:
            raise BadSchedule(reason=f"{data!r} is no move; moves are {', '.join(sorted(Move.kinds))}")
        kind = Move.kinds[name]
        values = {name: _frozen(value) for name, value in data.items() if name != "move"}
        try:
            return kind(**values)
        except TypeError as problem:
            raise BadSchedule(reason=f"{data['move']}: {problem}") from None


def _show(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value).replace("'", '"')


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value


Schedule = tuple[Move, ...]
OPERANDS = ("A", "B", "C")
"""What moves call the first operand, the second, and the output."""


def legal(nest: Nest, move: Move) -> str | None:
    """Why `move` can't be made on `nest`, or None when it can.

    The one judge of legality for searches, masks and the CLI.

    >>> from strop.loops.moves import Split
    >>> nest = Nest.default(Contraction.parse("mk,kn->mn", m=4, k=32, n=48))
    >>> legal(nest, Split("m.0", 6))
    'm.0 has only 4 iterations: a split by 6 is longer than the loop'
    >>> legal(nest, Split("m.0", 2)) is None
    True
    """
    try:
        return move.reason(nest)
    except TypeError:
        return f"{move!r} has a field of the wrong type"


def apply(nest: Nest, move: Move) -> Nest:
    """The nest after the move. Raises IllegalMove with the reason."""
    reason = legal(nest, move)
    if reason is not None:
        raise IllegalMove(move=repr(move), reason=reason)
    return move.changed(nest)


def replay(contraction: Contraction, schedule: Iterable[Move]) -> Nest:
    """The nest that a schedule makes of the contraction's default nest. Raises IllegalMove."""
    nest = Nest.default(contraction)
    for move in schedule:
        nest = apply(nest, move)
    return nest


def missing(nest: Nest, name: str) -> str | None:
    """The reason when a nest has no such loop."""
    if not isinstance(name, str) or nest.find(name) is None:
        return f"there is no loop {name}; loops are {', '.join(nest.names)}"
    return None


def position(nest: Nest, name: str) -> int:
    """Where a loop known to exist stands."""
    found = nest.find(name)
    assert found is not None
    return found


def not_whole(value: Any, least: int, what: str) -> str | None:
    """The reason when a number isn't a whole one of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        return f"{what} must be a whole number of at least {least}, not {value!r}"
    return None


def indexed_by(nest: Nest, operand: str) -> set[str]:
    """The axes that index an operand known to exist."""
    if operand == "C":
        return set(nest.contraction.output)
    subscript = nest.contraction.operands[OPERANDS.index(operand)]
    return {axis for index in subscript for _, axis in index}
