"""The layers of isolation: their names, what each is for, and which of them work on this machine.

``probe`` starts a harmless program behind all of them once a process and notes what the launcher says is on; a layer
counts only when it has been seen to work.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from strop.bench.isolation import bubblewrap, identity, landlock, seccomp
from strop.bench.isolation.limits import MIB, Limits
from strop.bench.isolation.start import Program, start
from strop.bench.isolation.supervise import End, supervise
from strop.errors import BadOption, BadSandbox

SANDBOXES = ("auto", "required", "none")

PURPOSES = {
    "session": "a session and process group of its own, killed whole",
    "environment": "none of the caller's environment, a private scratch folder",
    "limits": "rlimits on time, memory, files, processes; a wall clock and a cap on output",
    "user": "a user id that nobody else has (where strop runs as root)",
    "no-new-privs": "no set-user-id program gains anything",
    "landlock": "reads system libraries, writes its scratch folder, reaches nothing else",
    "seccomp": "no sockets, ptrace, mounts, namespaces, new sessions",
    "bubblewrap": "a file tree, process table and network of its own",
}
ALWAYS = ("session", "environment", "limits")

# What "required" insists on: of each row, one.
REQUIRED = (("no-new-privs",), ("landlock", "bubblewrap"), ("seccomp",))

PROBE_LIMITS = Limits(wall_s=20, cpu_s=10, memory_bytes=512 * MIB)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What works here: the ``layers`` that are on, why each in ``missing`` isn't, and ``notes`` that say more."""

    layers: tuple[str, ...]
    missing: Mapping[str, str]
    notes: Mapping[str, str]

    def lacks(self) -> tuple[str, str] | None:
        """The first need of "required" that isn't met: the layer and why it is missing."""
        for choices in REQUIRED:
            if not set(choices) & set(self.layers):
                return choices[0], self.missing.get(choices[0], "its probe failed")
        return None

    def rows(self) -> list[tuple[str, bool, str, str | None]]:
        """Each layer in the order of ``PURPOSES``: its name, whether it is on, its purpose, and a note."""
        return [
            (layer, layer in self.layers, purpose, self.missing.get(layer) or self.notes.get(layer))
            for layer, purpose in PURPOSES.items()
        ]

    def to_json(self) -> dict[str, object]:
        """One row a layer, and whether "required" would be satisfied."""
        names = ("layer", "on", "purpose", "note")
        return {
            "layers": [dict(zip(names, row, strict=True)) for row in self.rows()],
            "enough_for_required": self.lacks() is None,
        }


def choose(sandbox: str) -> tuple[str, ...]:
    """The layers to ask for under ``sandbox`` "auto", "required" or "none".

    Raises :class:`BadOption` for another word, :class:`BadSandbox` where "required" can't be met.
    """
    if sandbox not in SANDBOXES:
        raise BadOption(option="sandbox", value=sandbox, allowed=", ".join(SANDBOXES))
    if sandbox == "none":
        return ()
    found = probe()
    if sandbox == "required" and (lack := found.lacks()):
        raise BadSandbox(layer=lack[0], reason=lack[1])
    return tuple(layer for layer in found.layers if layer not in ALWAYS)


@functools.cache
def probe() -> Sandbox:
    """What works on this machine, found out by running ``true`` behind it; once a process (about 0.1 s)."""
    notes = {}
    missing: dict[str, str] = {}
    wanted = []
    if sys.platform != "linux":
        missing = dict.fromkeys([layer for layer in PURPOSES if layer not in ALWAYS], f"not on {sys.platform}")
    else:
        wanted = ["no-new-privs", "landlock"]
        if reason := seccomp.supported():
            missing["seccomp"] = reason
        else:
            wanted.append("seccomp")
        if abi := landlock.version():
            notes["landlock"] = f"version {abi} of the kernel's interface"
        if identity.own_user() is not None:
            wanted.insert(0, "user")
        elif os.geteuid() == 0:
            missing["user"] = "this container has no user ids to spare"
        else:
            notes["user"] = "not needed: strop doesn't run as root"
    end = None
    if wanted and bubblewrap.find():
        end = _try([*wanted, "bubblewrap"])
        if not end.started:
            words = end.stderr.decode(errors="replace").strip().splitlines()
            missing["bubblewrap"] = end.error or (words[-1] if words else f"it ended with {end.returncode}")
            end = None
    elif wanted:
        missing["bubblewrap"] = "bwrap isn't installed"
    if end is None:
        end = _try(wanted)
    if not end.started:
        reason = end.error or end.stderr.decode(errors="replace").strip() or f"the launcher ended with {end.returncode}"
        return Sandbox((), {layer: missing.get(layer, reason) for layer in PURPOSES}, notes)
    return Sandbox(end.layers, {**missing, **end.missing}, notes)


def _try(layers: list[str]) -> End:
    scratch = tempfile.mkdtemp(prefix="strop-probe-")
    try:
        user = identity.own_user() if "user" in layers else None
        if user is not None:
            os.chown(scratch, user, user)
        program = Program(
            argv=(shutil.which("true", path=os.defpath) or "/bin/true",),
            scratch=str(Path(scratch).resolve()),
            limits=PROBE_LIMITS,
            layers=layers,
            user=user,
            environment={},
        )
        return supervise(start(program, stdin=False), stdin=b"", limits=PROBE_LIMITS, scratch=scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
