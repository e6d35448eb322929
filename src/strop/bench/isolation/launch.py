"""The launcher: puts the layers on itself, then becomes the foreign program.

Runs as a process of its own (never between fork and exec of a threaded parent), imports the standard library only, and
is told what to do by a JSON text on one descriptor. On another it writes one line of JSON, the layers that are on; the
kernel closes that descriptor when the program starts, which is how the parent knows when to start the clock. What goes
wrong before is written there as well, never to the program's output.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from typing import Any

from strop.bench.isolation import identity, landlock, rlimits, seccomp
from strop.bench.isolation.linux import PR_SET_NO_NEW_PRIVS, prctl

COULD_NOT_START = 127


def main() -> None:
    """Entry point: ``launch.py SPEC_FD STATUS_FD``."""
    spec_fd, status_fd = int(sys.argv[-2]), int(sys.argv[-1])
    spec = json.loads(os.pread(spec_fd, os.fstat(spec_fd).st_size, 0))
    os.close(spec_fd)
    os.set_inheritable(status_fd, False)
    try:
        layers, missing = confine(spec)
        _say(status_fd, {"layers": layers, "missing": missing})
        os.chdir(spec["scratch"])
        os.execvpe(spec["argv"][0], spec["argv"], spec["environment"])
    except OSError as error:
        _say(status_fd, {"error": _why(error)})
    except MemoryError:
        _say(status_fd, {"error": "memory_bytes is too small to start anything"})
    os._exit(COULD_NOT_START)


def confine(spec: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Put every layer that ``spec`` asks for on this process.

    Returns the names of those that are on, and the reason for each that isn't; the order of the steps matters.
    """
    wanted, on, missing = set(spec["layers"]), ["session", "environment"], {}
    if "bubblewrap" in wanted:
        on.append("bubblewrap")  # what started this process
    _first_to_go_when_memory_ends()
    os.umask(0o077)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and exec would hand that on
        signal.signal(number, signal.SIG_DFL)

    rules = None
    if "landlock" in wanted:
        try:
            rules = landlock.ruleset(
                readable=spec["readable"], devices=spec["devices"], writable=[spec["scratch"]], network=spec["network"]
            )
        except OSError as error:
            missing["landlock"] = _why(error)
    own_user = False
    if "user" in wanted:
        try:
            identity.become(spec["user"], read_everything=spec["unreachable"])
            own_user = True
        except OSError as error:
            missing["user"] = _why(error)
    if "no-new-privs" in wanted:
        try:
            prctl(PR_SET_NO_NEW_PRIVS, 1)
        except OSError as error:
            missing["no-new-privs"] = _why(error)
    if rules is not None:
        try:
            landlock.restrict(rules)
        except OSError as error:
            rules, missing["landlock"] = None, _why(error)

    rlimits.apply(spec["limits"])
    namespace = "bubblewrap" in wanted
    others = rlimits.others_of_user(own_user=own_user, namespace=namespace, tasks_of_user=spec["tasks_of_user"])
    rlimits.apply_processes(spec["limits"]["processes"], others=others)
    if "seccomp" in wanted:
        inside = own_user or namespace or (rules is not None and landlock.version() >= landlock.SIGNALS_SCOPED_FROM)
        try:
            own_pid = None if inside else os.getpid()
            seccomp.install(seccomp.program(platform.machine(), network=spec["network"], own_pid=own_pid))
        except OSError as error:
            missing["seccomp"] = _why(error)
    on += ["limits", *(layer for layer in spec["layers"] if layer not in missing and layer not in on)]
    return on, missing


def _first_to_go_when_memory_ends() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass  # no /proc: the kernel chooses as it would have


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _say(status_fd: int, words: dict[str, Any]) -> None:
    os.write(status_fd, (json.dumps(words) + "\n").encode())


if __name__ == "__main__":
    main()
