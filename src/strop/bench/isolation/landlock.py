"""Landlock: what files this process, and all that it starts, may still reach (landlock(7)).

Works without privileges from Linux 5.13 on. The kernel says which version (ABI) it speaks, and each access right is
asked for only where it is known: version 1 files, 2 moves between folders, 3 truncation, 4 TCP, 5 device ioctls,
6 abstract sockets and signals to processes outside.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from strop.bench.isolation.linux import syscall

# The same numbers on every architecture (include/uapi/asm-generic/unistd.h).
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION = 1
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
MAKE_CHAR, MAKE_SOCK, MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV  # the rest makes sense on folders only
NEVER = MAKE_CHAR | MAKE_SOCK | MAKE_BLOCK  # not even in the scratch folder

# Files: how many of the rights, from bit 0 on, each version knows.
RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
TCP = 0b11  # bind, connect: from version 4
SCOPES = 0b11  # abstract unix sockets, signals: from version 6
SIGNALS_SCOPED_FROM = 6


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The kernel's Landlock version, 0 where it has none or has it switched off."""
    try:
        return syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(ASK_VERSION))
    except OSError:
        return 0


def handled(abi: int) -> int:
    """All rights on files that this version knows: each is refused unless a rule grants it."""
    return (1 << RIGHTS_OF_VERSION[min(abi, max(RIGHTS_OF_VERSION))]) - 1


def ruleset(*, readable: Iterable[str], devices: Iterable[str], writable: Iterable[str], network: bool) -> int:
    """Build the rules and return their file descriptor; nothing is restricted yet.

    ``readable`` may be read and executed, ``devices`` read and written, ``writable`` all but sockets and device nodes.
    Paths that aren't there are passed over. Raises :class:`OSError` where the kernel has no Landlock.
    """
    abi = version()
    if not abi:
        raise OSError(0, "the kernel has no Landlock, or it is switched off")
    every = handled(abi)
    attributes = _Ruleset(fs=every, net=TCP if abi >= 4 and not network else 0, scoped=SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = syscall(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    for paths, rights in ((readable, READ), (devices, READ_FILE | WRITE_FILE), (writable, every & ~NEVER)):
        for path in paths:
            _allow(rules, path, rights & every)
    return rules


def restrict(rules: int) -> None:
    """Put the rules on this thread for good. Needs no_new_privs; the descriptor is closed."""
    syscall(RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= ON_FILES
        rule = _PathBeneath(allowed=rights, parent=place)
        syscall(ADD_RULE, ctypes.c_int(rules), ctypes.c_int(RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(place)
