"""Starts a program behind the launcher, and bubblewrap around it where wanted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from strop.bench.isolation import bubblewrap, identity
from strop.bench.isolation.limits import Limits

PACKAGE = Path(__file__).resolve().parents[2]  # .../strop
LAUNCH = "import sys; sys.path.append(sys.argv[1]); from strop.bench.isolation.launch import main; main()"

# What programs need to run at all: libraries, the loader's cache, the links of update-alternatives. Nothing personal.
SYSTEM_READABLE = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
)
NETWORK_READABLE = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run: ``argv`` in the folder ``scratch`` as ``user`` (``None``: as this process's own)."""

    argv: Sequence[str]
    scratch: str
    limits: Limits
    layers: Sequence[str]
    user: int | None = None
    network: bool = False
    readable: Sequence[str] = ()
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Started:
    """A running launcher; ``status_fd`` says which layers are on and closes when the program itself starts."""

    process: subprocess.Popen[bytes]
    status_fd: int


def start(program: Program, *, stdin: bool, descriptors: Sequence[int] = ()) -> Started:
    """Start ``program`` in a session of its own with pipes for its output (and input, where ``stdin``).

    It gets ``descriptors`` under their own numbers.
    """
    readable = [*SYSTEM_READABLE, *(NETWORK_READABLE if program.network else ()), *program.readable]
    if os.path.isabs(program.argv[0]):
        readable.append(program.argv[0])
    needed = [*filter(os.path.exists, readable), os.path.dirname(program.scratch)]
    spec = {
        "argv": list(program.argv),
        "scratch": program.scratch,
        "limits": asdict(program.limits),
        "layers": list(program.layers),
        "user": program.user,
        "network": program.network,
        "readable": readable,
        "devices": DEVICES,
        "environment": {"PATH": PATH, "LANG": "C.UTF-8", **program.environment},
        "unreachable": not all(map(identity.everyone_may_read, needed)),
        "tasks_of_user": _tasks_of_user() if program.user is None else 0,
    }
    interpreter = os.path.realpath(sys.executable)
    line = [interpreter, "-I", "-S", "-B", "-c", LAUNCH, str(PACKAGE.parent)]
    if "bubblewrap" in program.layers:
        bwrap = bubblewrap.find() or "bwrap"
        launcher = _outside((interpreter, sys.base_prefix, str(PACKAGE)), SYSTEM_READABLE)
        visible = [*SYSTEM_READABLE, *_outside([*readable, *launcher], SYSTEM_READABLE)]
        inside = bubblewrap.command(bwrap, readable=visible, scratch=program.scratch, network=program.network)
        line = [*inside, "--", *line]
    status_read, status_write = os.pipe()
    try:
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(spec).encode())
            file.flush()
            process = subprocess.Popen(
                [*line, str(file.fileno()), str(status_write)],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(file.fileno(), status_write, *descriptors),
                start_new_session=True,
                cwd="/",
                env={"PATH": PATH, "LANG": "C.UTF-8"},
            )
    except BaseException:
        os.close(status_read)
        raise
    finally:
        os.close(status_write)
    return Started(process, status_read)


def python_paths() -> tuple[str, ...]:
    """What to make readable for a program that is this very Python with its packages."""
    paths = (sys.executable, os.path.realpath(sys.executable), sys.prefix, sys.base_prefix)
    return tuple(dict.fromkeys(_outside(paths, SYSTEM_READABLE)))


def _outside(paths: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Those paths that don't lie in one of the folders, each once."""
    kept = [path for path in paths if not any(path == f or path.startswith(f"{f}/") for f in folders)]
    return list(dict.fromkeys(kept))


def _tasks_of_user() -> int:
    """How many processes and threads this process's user runs; 0 where /proc doesn't say."""
    user, count = os.getuid(), 0
    try:
        entries = [entry for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return 0
    for entry in entries:
        try:
            if entry.stat().st_uid == user:
                count += len(os.listdir(f"{entry.path}/task"))
        except OSError:
            continue  # it has just ended
    return count
