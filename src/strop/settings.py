"""Settings: flags, then ``STROP_*`` variables, then the nearest ``strop.toml``, then defaults.

>>> with scope(effort="quick"):
...     settings().effort, settings().sources["effort"]
('quick', '--effort')
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strop.errors import BadSetting, BadSettingsFile

FILE = "strop.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force. ``sources`` says of each where its value came from."""

    home: Path
    isa: str
    threads: int | None
    effort: str
    perf_map: bool
    sources: Mapping[str, str] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One row of the table: a setting's name, how its value is read, its default, and what it does."""

    name: str
    read: Callable[[Any], Any]
    default: Callable[[], Any]
    shown_default: str
    does: str
    has_flag: bool = True

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"STROP_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The command line's flag."""
        return f"--{self.name.replace('_', '-')}"


def settings() -> Settings:
    """The settings in force now. Raises BadSetting and BadSettingsFile."""
    path = _file()
    stated = _stated(path) if path else {}
    read = {row.name: _read(row, path, stated) for row in TABLE}
    values: dict[str, Any] = {name: value for name, (value, _) in read.items()}
    return Settings(**values, sources={name: source for name, (_, source) in read.items()})


def setting(name: str) -> Any:
    """One setting. What is wrong with another doesn't matter to it. Raises BadSetting and BadSettingsFile."""
    path = _file()
    row = next(row for row in TABLE if row.name == name)
    return _read(row, path, _stated(path) if path else {})[0]


def _read(row: Setting, path: Path | None, stated: Mapping[str, Any]) -> tuple[Any, str]:
    """The value in force, and its source."""
    if row.name in _flags:
        source, value = row.flag, _flags[row.name]
    elif os.environ.get(row.variable):
        source, value = row.variable, os.environ[row.variable]
    elif row.name in stated:
        source, value = str(path), stated[row.name]
    else:
        return row.default(), "default"
    try:
        return row.read(value), source
    except (ValueError, TypeError) as error:
        other = row.flag if row.has_flag else row.variable
        otherwise = "" if source == other else f", or override it with {other}"
        raise BadSetting(name=row.name, source=source, value=value, reason=error, otherwise=otherwise) from None


@contextmanager
def scope(**flags: Any) -> Iterator[None]:
    """Put flags in force inside a ``with`` block; ``None`` leaves a setting to the lower sources.

    The command line wraps its verbs in one. Flags hold for the whole process, all threads included.
    """
    global _flags
    unknown = flags.keys() - {setting.name for setting in TABLE}
    if unknown:
        raise TypeError(f"no such setting: {', '.join(sorted(unknown))}")
    before = _flags
    _flags = {**before, **{name: value for name, value in flags.items() if value is not None}}
    try:
        yield
    finally:
        _flags = before


_flags: Mapping[str, Any] = {}


def _file() -> Path | None:
    """The nearest strop.toml, from the working directory upwards."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the working directory was removed
        return None
    return next((path for folder in (here, *here.parents) if (path := folder / FILE).is_file()), None)


def _stated(path: Path) -> dict[str, Any]:
    try:
        import tomllib  # most have no such file

        stated = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # tomllib's and the decoder's errors are ValueErrors
        raise BadSettingsFile(path=path, reason=error) from None
    names = [setting.name for setting in TABLE]
    for name in stated:
        if name not in names:
            raise BadSettingsFile(path=path, reason=f"there is no setting {name!r}, only {', '.join(names)}")
    return stated


def _path(value: Any) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ValueError("it must be a path")
    return Path(value).expanduser().absolute()


def _user_data() -> Path:
    from platformdirs import user_data_path

    return user_data_path("strop", appauthor=False)


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        word = str(value).lower()
        if word not in words:
            raise ValueError(f"it must be one of {', '.join(words)}")
        return word

    return read


def _threads(value: Any) -> int:
    if isinstance(value, bool) or not str(value).strip().isdecimal() or int(value) < 1:
        raise ValueError("it must be a whole number of 1 or more")
    return int(value)


def _switch(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if str(value).lower() not in words:
        raise ValueError("it must be 1 or 0")
    return words[str(value).lower()]


TABLE = (
    Setting(
        name="home",
        read=_path,
        default=_user_data,
        shown_default="the user's data directory",
        does="the directory of the store: runs, candidates, measurements",
    ),
    Setting(
        name="isa",
        read=_one_of("auto", "avx512", "avx2", "portable"),
        default=lambda: "auto",
        shown_default="auto",
        does="the instruction set to generate code for; auto is the widest this CPU has",
    ),
    Setting(
        name="threads",
        read=_threads,
        default=lambda: None,
        shown_default="the CPUs this process may use",
        does="how many threads a kernel may use",
    ),
    Setting(
        name="effort",
        read=_one_of("quick", "standard", "thorough"),
        default=lambda: "standard",
        shown_default="standard",
        does="how long a search may take: about 0.1 s, 1 s, 10 s",
    ),
    Setting(
        name="perf_map",
        read=_switch,
        default=lambda: False,
        shown_default="0",
        does="1 writes a map of the kernels' names for perf, in /tmp/perf-PID.map",
        has_flag=False,
    ),
)
"""All settings, in the order the documentation lists them."""
