"""The vendors' words for stalls, in strop's vocabulary. The table is `reasons.toml`, each row with its source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from strop.stalls.profiles.profile import Reason


@cache
def table(tool: str) -> Mapping[str, Reason]:
    """Return what each word of a tool means: `hpctoolkit ncu ncu-csv rocprofiler unitrace`; words in lower case."""
    import tomllib
    from importlib.resources import files

    rows = tomllib.loads((files(__package__) / "reasons.toml").read_text(encoding="utf-8"))
    return {word: Reason(row["reason"]) for word, row in rows[tool].items()}


def reason(tool: str, word: str) -> Reason:
    """Return the meaning of a tool's word; a word that the table lacks is OTHER (the reader keeps the word).

    >>> reason("ncu", "long_scoreboard"), reason("ncu", "invented_last_week")
    (<Reason.GLOBAL_MEMORY: 'global_memory'>, <Reason.OTHER: 'other'>)
    """
    return table(tool).get(word.lower(), Reason.OTHER)
