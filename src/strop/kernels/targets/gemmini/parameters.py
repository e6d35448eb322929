"""The parameters of the timed machine: from the data file, by preset, with a user's own on top."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from strop.errors import BadParameter

CACHE_LINE = 64


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("strop.kernels.targets.gemmini").joinpath("parameters.toml").read_text("utf-8"))


@cache
def described() -> Mapping[str, tuple[float, str]]:
    """Return the default and the source of each parameter, the core's included."""
    rows = {name: (float(row["value"]), str(row["source"])) for name, row in _table().items() if name != "presets"}
    try:
        from strop import _native
    except ImportError:
        return rows
    return rows | {name: (float(value), str(source)) for name, (value, source) in _native.rocket_parameters().items()}


def presets() -> Mapping[str, str]:
    """Return the presets by name, each with a sentence."""
    return {name: str(row["about"]) for name, row in _table()["presets"].items()}


def values(preset: str = "firesim", overrides: Mapping[str, float] | None = None) -> dict[str, float]:
    """Return all parameters by name. Raises :class:`BadParameter` for an unknown preset or name."""
    if preset not in presets():
        raise BadParameter(text=preset, reason=f"there are the presets {', '.join(presets())}")
    changed = {name: float(value) for name, value in _table()["presets"][preset].items() if name != "about"}
    return {name: value for name, (value, _) in described().items()} | changed | dict(checked(overrides or {}))


def checked(overrides: Mapping[str, float]) -> Mapping[str, float]:
    """Return overrides whose names exist. Raises :class:`BadParameter`."""
    from difflib import get_close_matches

    for name, value in overrides.items():
        if name not in described():
            near = get_close_matches(name, described(), 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise BadParameter(text=f"{name}={value:g}", reason=f"there is no such parameter{meant}")
        if not (value >= 0 and value == int(value)):
            raise BadParameter(text=f"{name}={value:g}", reason="it must be a whole number, 0 or more")
    return overrides


def overrides(words: Iterable[str]) -> dict[str, float]:
    """Read `NAME=NUMBER` words. Raises :class:`BadParameter`."""
    found: dict[str, float] = {}
    for word in words:
        name, equals, number = word.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise BadParameter(text=word, reason="it isn't NAME=NUMBER" if not equals else "no number") from None
    return dict(checked(found))


def digest(preset: str, overrides: Mapping[str, float]) -> str:
    """Return the hash of all parameters: part of a cached verdict's key."""
    return sha256(repr(sorted(values(preset, overrides).items())).encode()).hexdigest()


def read_rate(value: Mapping[str, float]) -> float:
    """Return the cold sustained bytes a cycle of the reader: whole lines, as many at once as the cache can miss."""
    at_once = min(value["dma.requests"], value["memory.misses"])
    return min(value["dma.bus_bytes"], value["memory.fill_bytes"], at_once * CACHE_LINE / (value["memory.miss"] + 1))


def write_rate(value: Mapping[str, float]) -> float:
    """Return the cold sustained bytes a cycle of the writer."""
    return min(value["dma.bus_bytes"], value["dma.writes"] * CACHE_LINE / (value["memory.write"] + 1))
