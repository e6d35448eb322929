"""The C library's ``syscall`` and ``prctl``, with errors as :class:`OSError`. Standard library only."""

from __future__ import annotations

import ctypes
import os

PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2

_libc = ctypes.CDLL(None, use_errno=True)


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel directly. Integers must come as ctypes values of the right width."""
    call = _libc.syscall
    call.restype = ctypes.c_long
    result: int = call(ctypes.c_long(number), *arguments)
    if result < 0:
        raise _error(f"system call {number}")
    return result


def prctl(option: int, *arguments: int) -> int:
    """Change what the kernel lets this process do; missing arguments are 0."""
    padded = [ctypes.c_ulong(argument) for argument in [*arguments, 0, 0, 0, 0][:4]]
    result: int = _libc.prctl(ctypes.c_int(option), *padded)
    if result < 0:
        raise _error(f"prctl {option}")
    return result


def capset(header: ctypes.Structure, data: ctypes.Array[ctypes.c_uint32]) -> None:
    """Set this thread's capabilities (capset(2))."""
    if _libc.capset(ctypes.byref(header), data) < 0:
        raise _error("capset")


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")
