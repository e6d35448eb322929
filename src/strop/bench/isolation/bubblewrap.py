"""Bubblewrap (bwrap): a file tree, a process table and a network of its own around the launcher.

Alone it isn't enough (sockets, ptrace and any amount of memory stay possible inside), so the launcher puts the other
layers on inside it. Root starts it without a user namespace and keeps just what turning into another user needs; for
anyone else bwrap makes a user namespace, which some systems forbid (Ubuntu 23.10 and later without a profile).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
KEPT_BY_ROOT = ("CAP_SETUID", "CAP_SETGID", "CAP_DAC_READ_SEARCH")


def find() -> str | None:
    """The bwrap program, ``None`` where it isn't installed."""
    return shutil.which("bwrap", path=os.defpath) or shutil.which("bwrap")


def command(bwrap: str, *, readable: Iterable[str], scratch: str, network: bool) -> list[str]:
    """The start of a command line; what follows it runs inside.

    ``readable`` paths are bound where they are, read-only; ``scratch`` likewise, writable; /tmp is empty and /proc
    shows only what runs inside. All dies with the parent.
    """
    line = [bwrap, "--die-with-parent", *NAMESPACES]
    if not network:
        line.append("--unshare-net")
    if os.geteuid() == 0:
        line += [word for capability in KEPT_BY_ROOT for word in ("--cap-add", capability)]
    else:
        line.append("--unshare-user")
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in readable:
        if os.path.islink(path):
            line += ["--symlink", os.readlink(path), path]
        else:
            line += ["--ro-bind-try", path, path]
    return [*line, "--bind", scratch, scratch, "--chdir", "/"]
