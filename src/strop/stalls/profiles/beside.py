"""GPU binaries that lie near a profile: beside it, in `../gpubins`, and in `../*-measurements/gpubins`."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from strop.stalls.profiles.profile import EmbeddedBinary

_LARGEST = 1 << 28  # bytes of a binary; PyTorch's largest code objects have some 100 MB
_MOST_BYTES = 1 << 30  # of all binaries together
_MOST = 256  # files looked at; a directory with more isn't one that a profiler made for this profile
_MACHINES = {190: "nvidia", 224: "amd", 205: "intel"}  # e_machine: EM_CUDA, EM_AMDGPU, EM_INTELGT
_BUNDLES = {b"__CLANG_OFFLOAD_BUNDLE__": "amd", b"\x50\xed\x55\xba": "nvidia"}  # an offload bundle, a fatbin


def vendor_of(head: bytes) -> str | None:
    """Return whose GPU a binary is for, by its first bytes; None for anything else, host programs included.

    >>> vendor_of(bytes([0x7F]) + b"ELF" + bytes(14) + (224).to_bytes(2, "little"))
    'amd'
    """
    if head.startswith(b"\x7fELF") and len(head) >= 20:
        return _MACHINES.get(int.from_bytes(head[18:20], "little"))
    return next((vendor for magic, vendor in _BUNDLES.items() if head.startswith(magic)), None)


def binaries_near(profile: Path, *, wanted: Collection[str] | None = None) -> tuple[EmbeddedBinary, ...]:
    """Return the GPU binaries near a profile (a file, or a database's directory), each file name once.

    `wanted` are file names to return, None for all. What can't be read is left out: the search is a courtesy.
    """
    found: dict[str, EmbeddedBinary] = {}
    left = _MOST_BYTES
    for path in _candidates(profile):
        if path.name in found or (wanted is not None and path.name not in wanted):
            continue
        try:
            size = path.stat().st_size
            if size > min(left, _LARGEST) or not path.is_file():
                continue
            with path.open("rb") as file:
                head = file.read(32)
                if vendor_of(head) is not None:
                    left -= size
                    found[path.name] = EmbeddedBinary(name=path.name, data=head + file.read(), origin=str(path))
        except OSError:
            continue
    return tuple(found.values())


def _candidates(profile: Path) -> Iterator[Path]:
    # The brief ones first: a database's own measurements before whatever else lies around.
    base = profile if profile.is_dir() else profile.parent
    folders = [base, base / "gpubins", base.parent / "gpubins"]
    with suppress(OSError):
        folders += sorted(base.parent.glob("*measurements/gpubins"))
    seen = 0
    for folder in folders:
        try:
            paths = sorted(folder.iterdir())
        except OSError:
            continue
        for path in paths[:_MOST]:
            seen += 1
            if seen > 4 * _MOST:
                return
            yield path
