"""A scratch folder for foreign code: laid out before a run, read with care after it, and removed whole."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath


def lay(scratch: str, files: Mapping[str, bytes], user: int | None) -> None:
    """Write ``files`` (a name that ends in "/" is a folder) and give all of it to ``user``."""
    owned = [scratch]
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError(f"{name!r} is not a path inside the scratch folder")
        folder = scratch
        for part in path.parts if name.endswith("/") else path.parts[:-1]:
            folder = f"{folder}/{part}"
            if not os.path.isdir(folder):
                os.mkdir(folder, 0o700)
                owned.append(folder)
        if not name.endswith("/"):
            target = f"{scratch}/{path}"
            with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700), "wb") as file:
                file.write(content)
            owned.append(target)
    if user is not None:
        for target in owned:
            os.chown(target, user, user)


def read(scratch: str, names: Sequence[str], most_bytes: int) -> dict[str, bytes]:
    """Read the named files, following no link on the way: the program may have laid one to somewhere else."""
    found = {}
    for name in names:
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or parts[0] == "/":
            raise ValueError(f"{name!r} is not a path inside the scratch folder")
        held = [os.open(scratch, os.O_RDONLY | os.O_DIRECTORY)]
        try:
            for part in parts[:-1]:
                held.append(os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=held[-1]))
            held.append(os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=held[-1]))
            about = os.fstat(held[-1])
            if stat.S_ISREG(about.st_mode) and about.st_size <= most_bytes:
                with open(os.dup(held[-1]), "rb") as file:
                    found[name] = file.read()
        except OSError:
            continue  # it wasn't made
        finally:
            for descriptor in held:
                os.close(descriptor)
    return found


def remove(scratch: str) -> None:
    """Remove the folder, also where the program took away its own permissions."""
    os.chmod(scratch, 0o700)
    for folder, inside, _ in os.walk(scratch):
        for name in inside:
            if not os.path.islink(path := f"{folder}/{name}"):
                os.chmod(path, 0o700)  # before walk goes in
    shutil.rmtree(scratch, ignore_errors=True)
