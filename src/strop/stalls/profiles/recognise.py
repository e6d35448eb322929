"""Which reader a profile needs, told from its content; a name or an extension decides nothing."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from strop.errors import MissingProfile, NotAProfile, SeveralProfiles, StropError, UnknownProfile
from strop.stalls.profiles.beside import vendor_of
from strop.stalls.profiles.profile import Profile
from strop.stalls.profiles.tally import shown

_HEAD = 1 << 16  # bytes looked at
_FEW = 200  # files of a directory looked at
_KEY = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.){0,200})"')
_COMPANIONS = {"snapshots.json", "filenames.json", "occupancy.json", "wstates0.json"}  # beside a code.json

# First bytes of what people give by mistake.
_OTHERS = {
    b"\x7fELF": "an ELF binary without samples; give it with --binary (binary=) beside the profile",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"PK\x03\x04": "a ZIP archive; unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed with Zstandard; unpack it first",
    b"BZh": "compressed with bzip2; unpack it first",
    b"\xfd7zXZ": "compressed with xz; unpack it first",
    b"version https://git-lfs": "a Git LFS pointer; fetch the file itself with git lfs pull",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """A reader, and the path it takes."""

    read: Callable[[Path], Profile]
    path: Path


def read(path: str | Path) -> Profile:
    """Read the profile at `path`: a file, a database's directory, or any file in one.

    Raises MissingProfile, NotAProfile, SeveralProfiles, UnknownProfile, and of the readers TruncatedProfile,
    CorruptProfile, NewerProfile and NoSamples.
    """
    if not str(path):
        raise MissingProfile(path="''", reason="the path is empty")
    path = Path(path)
    found = _in_folder(path) if _is_folder(path) else _of_file(path)
    return found.read(found.path)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MissingProfile(path=str(path), reason=reason) from None


def _in_folder(folder: Path) -> _Found:
    try:
        every = sorted(folder.iterdir())
    except OSError as error:
        raise MissingProfile(path=str(folder), reason=error.strerror or str(error)) from None
    children = every[:_FEW]
    if (folder / "meta.db").exists():
        from strop.stalls.profiles import hpctoolkit

        return _Found(hpctoolkit.read, folder)
    databases = [child for child in children if child.is_dir() and (child / "meta.db").exists()]
    if len(databases) == 1:
        return _in_folder(databases[0])
    profiles = []
    for child in children:
        if child.is_file() and child.name not in _COMPANIONS:
            try:
                profiles.append(_of_file(child, alone=True))
            except StropError:
                continue
    if len(profiles) == 1:
        return profiles[0]
    several = databases or [found.path for found in profiles]
    if several:
        names = ", ".join(shown(one.name) for one in several[:5])
        more = f" and {len(several) - 5} more" if len(several) > 5 else ""
        raise SeveralProfiles(
            path=str(folder), count=len(several), names=names + more, example=shlex.quote(str(several[0]))
        )
    if not every:
        raise NotAProfile(path=str(folder), found="the directory is empty")
    looked = f"the first {_FEW} of its {len(every):,} files" if len(every) > _FEW else f"its {len(every)} files"
    raise NotAProfile(path=str(folder), found=f"it is a directory, and none of {looked} is one")


def _of_file(path: Path, *, alone: bool = False) -> _Found:
    """Return the reader of a file; `alone` says that what lies beside it doesn't count."""
    try:
        if path.exists() and not path.is_file():
            raise NotAProfile(path=str(path), found="it is a pipe or a device; save it to a file first")
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except (OSError, ValueError) as error:
        raise MissingProfile(path=str(path), reason=getattr(error, "strerror", None) or str(error)) from None
    if not head:
        raise NotAProfile(path=str(path), found="the file is empty")
    reader = _binary(head)
    if reader is not None:
        from strop.stalls.profiles import hpctoolkit

        return _Found(reader, path.parent if reader is hpctoolkit.read else path)
    text = head.decode("utf-8-sig", "replace")
    try:
        text_reader = _json(text, path) if text.lstrip()[:1] in ("{", "[") else _csv(text, path, head)
    except StropError:
        if not alone and (database := _database_around(path)) is not None:
            return database
        raise
    return _Found(text_reader, path)


def _database_around(path: Path) -> _Found | None:
    """Return the database or the listing that a file belongs to: metrics/default.yaml, FORMATS.md, snapshots.json."""
    from strop.stalls.profiles import code_json, hpctoolkit

    if path.name in _COMPANIONS and (path.parent / "code.json").is_file():
        return _Found(code_json.read, path.parent / "code.json")
    for folder in list(path.absolute().parents)[:2]:
        if (folder / "meta.db").is_file():
            return _Found(hpctoolkit.read, folder)
    return None


def _binary(head: bytes) -> Callable[[Path], Profile] | None:
    from strop.stalls.profiles import hpctoolkit, hpctoolkit_meta, ncu_rep, rocpd

    if head.startswith(hpctoolkit_meta.MAGIC):
        return hpctoolkit.read
    if head.startswith(ncu_rep.MAGIC):
        return ncu_rep.read
    if head.startswith(rocpd.MAGIC):
        return rocpd.read
    return None


def _json(text: str, path: Path) -> Callable[[Path], Profile]:
    from strop.stalls.profiles import code_json, rocprofv3_json

    key = _KEY.match(text)
    first = key[1] if key else ""
    if first == rocprofv3_json.ROOT:
        return rocprofv3_json.read
    if first in {"code", "header", "version"} and '"code"' in text:
        return code_json.read
    if first == "traceEvents" or text.lstrip().startswith("["):
        raise UnknownProfile(path=str(path), found="JSON of a timeline or another tool")
    raise UnknownProfile(path=str(path), found=f"JSON whose first key is {shown(first)}" if key else "JSON of no tool")


def _csv(text: str, path: Path, head: bytes) -> Callable[[Path], Profile]:
    from strop.stalls.profiles import att_csv, ncu_csv, rocprofv3_csv, unitrace

    for magic, what in _OTHERS.items():
        if head.startswith(magic):
            raise NotAProfile(path=str(path), found=f"it is {what}")
    if vendor_of(head):
        raise NotAProfile(path=str(path), found="it is a GPU binary; give it with --binary beside the profile")
    if b"\0" in head:
        raise NotAProfile(path=str(path), found=f"its first bytes are {shown(head[:8].hex(' '))}")
    lines = text.splitlines()[:200]
    first: list[str] = []
    readers: list[tuple[Callable[[list[str]], bool], Callable[[Path], Profile]]] = [
        (rocprofv3_csv.is_header, rocprofv3_csv.read),
        (att_csv.is_header, att_csv.read),
        (unitrace.is_header, unitrace.read),
        (ncu_csv.is_header, ncu_csv.read),
    ]
    with suppress(csv.Error):
        for row in csv.reader(lines, skipinitialspace=True):
            first = first or row
            for is_header, reader in readers:
                if is_header(row):
                    return reader
    if len(first) > 1:
        what = f"a table with the columns {shown(', '.join(first), 100)}"
        raise UnknownProfile(path=str(path), found=what)
    raise NotAProfile(path=str(path), found=f"it is text that begins with {shown(lines[0] if lines else '')}")
