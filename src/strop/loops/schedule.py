"""Schedules as text and JSON: what a user keeps in a file and hands back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from typing import Any

from strop.errors import BadSchedule, NewerSchedule, WrongSchedule
from strop.loops.moves import Move, Schedule
from strop.values.contraction import Contraction

FORMAT = 1


def to_json(contraction: Contraction, schedule: Schedule) -> dict[str, Any]:
    """The schedule with the contraction that it was made for; `schema` is `strop.schedule/1`."""
    return {
        "schema": f"strop.schedule/{FORMAT}",
        "contraction": contraction.to_json(),
        "moves": [move.to_json() for move in schedule],
    }


def from_json(data: dict[str, Any], contraction: Contraction | None = None) -> tuple[Contraction, Schedule]:
    """What `to_json` wrote. Raises BadSchedule, NewerSchedule, or WrongSchedule when it is for another contraction."""
    kind, _, version = str(data.get("schema", "") if isinstance(data, dict) else "").partition("/")
    if kind != "strop.schedule" or not (version.isascii() and version.isdigit()):
        raise BadSchedule(reason='it has no "schema": "strop.schedule/1"')
    if version.lstrip("0") != str(FORMAT):
        from strop import __version__

        raise NewerSchedule(found=version, version=__version__, known=FORMAT)
    if not isinstance(data.get("moves"), list) or "contraction" not in data:
        raise BadSchedule(reason='it lacks "moves" or "contraction"')
    try:
        stored = Contraction.from_json(data["contraction"])
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise BadSchedule(reason=f"its contraction is damaged: {problem!r}") from None
    if contraction is not None and contraction != stored:
        raise WrongSchedule(theirs=str(stored), ours=str(contraction))
    return stored, tuple(Move.from_json(move) for move in data["moves"])


def as_schedule(given: Iterable[Any] | str | dict[str, Any], contraction: Contraction) -> Schedule:
    """A schedule from moves, their JSON, or a whole document of `to_json` (also as text)."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as problem:
            raise BadSchedule(reason=f"it is no JSON: {problem}") from None
    if isinstance(given, dict):
        return from_json(given, contraction)[1]
    if not isinstance(given, Iterable) or isinstance(given, bytes | Set):  # a set has no order
        raise BadSchedule(reason=f"a schedule is a list of moves, not {type(given).__name__}")
    moves: Iterable[Any] = given
    return tuple(move if isinstance(move, Move) else Move.from_json(move) for move in moves)
