"""A seccomp filter built from the tables in ``syscalls``: a short BPF program that the kernel runs at each system call.

The program is a chain of blocks, one a call: "is it this number? then look at its argument and return", so no jump is
long. The default is to allow: Landlock and the limits keep what's allowed inside (seccomp(2), x86-64 and aarch64).
"""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Iterable
from errno import ENOSYS, EPERM

from strop.bench.isolation import syscalls
from strop.bench.isolation.linux import PR_SET_SECCOMP, prctl

ALLOW, KILL_PROCESS, ANSWER = 0x7FFF0000, 0x80000000, 0x00050000  # ANSWER | errno
TRAP = 0x00030000  # SIGSYS, whose handler learns the number
MODE_FILTER = 2

# BPF operations (include/uapi/linux/bpf_common.h); struct seccomp_data is {nr, arch, ip, args[6]}.
LOAD, EQUAL, GREATER, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT, ARGUMENTS_AT = 0, 4, 16

Instruction = tuple[int, int, int, int]  # operation, jump if true, jump if false, constant


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def supported() -> str | None:
    """Return why there can be no filter here, or ``None``."""
    if platform.machine() not in syscalls.ARCHITECTURES:
        return f"no table of system calls for {platform.machine()}"
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as file:
            actions = file.read().split()
    except OSError:
        return None  # /proc may be hidden: installing will tell
    return None if {"errno", "kill_process"} <= set(actions) else "the kernel knows no filter actions"


def program(architecture: str, *, network: bool, own_pid: int | None = None) -> list[Instruction]:
    """The filter. With ``own_pid``, signals and scheduling of other processes are refused as well.

    ``own_pid`` is for where neither Landlock (version 6), a pid namespace nor a user of its own keeps signals inside.
    """
    column = syscalls.ARCHITECTURES.index(architecture)
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (EQUAL, 1, 0, syscalls.AUDIT_ARCH[architecture]),
        (RETURN, 0, 0, KILL_PROCESS),  # another table of numbers (int 0x80): nothing below would mean what it says
        (LOAD, 0, 0, NUMBER_AT),
    ]
    if architecture == "x86_64":
        code += [(AT_LEAST, 0, 1, syscalls.X32_BIT), _answer(ENOSYS)]
    code += [(GREATER, 0, 1, syscalls.LATEST), _answer(ENOSYS)]

    def refuse(calls: syscalls.Numbers, answer: int) -> None:
        for numbers in calls.values():
            if numbers[column] is not None:
                code.extend(_block(numbers[column], [_answer(answer)]))

    def look(call: tuple[int, int, int], test: list[Instruction]) -> None:
        code.extend(_block(call[column], [(LOAD, 0, 0, ARGUMENTS_AT + 8 * call[2]), *test]))

    for answer, calls in syscalls.REFUSED.values():
        refuse(calls, answer)
    look(syscalls.CLONE, [(ANY_BIT, 0, 1, syscalls.NAMESPACES), _answer(EPERM), (RETURN, 0, 0, ALLOW)])
    look(syscalls.SOCKET, _only(syscalls.INTERNET) if network else [_answer(EPERM)])
    look(syscalls.IOCTL, _all_but(syscalls.TYPES_FOR_OTHERS))
    look(syscalls.FCNTL, _all_but(syscalls.SIGNALS_BY_FILE))
    look(syscalls.PRLIMIT, _only((0,)))
    if own_pid is not None:
        refuse({**syscalls.QUEUED_SIGNALS, **syscalls.OTHERS_PRIORITY}, EPERM)
        for numbers in syscalls.SIGNALS.values():
            look((*numbers, 0), _only((0, own_pid)))
        for numbers in syscalls.SCHEDULING.values():
            look((*numbers, 0), _only((0,)))
    code.append((RETURN, 0, 0, ALLOW))
    return code


def timed(architecture: str, *, pid: int) -> list[Instruction]:
    """The filter of a kernel that is being timed: it may get memory, stop itself (``pid``) and end; all else is a trap.

    A list of what is allowed, not of what isn't: with no file, thread, signal, timer or clock of the kernel's there is
    nothing that could go on while the process is stopped.
    """
    column = syscalls.ARCHITECTURES.index(architecture)
    high = ARGUMENTS_AT + 4  # the upper half of an argument
    code: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (EQUAL, 1, 0, syscalls.AUDIT_ARCH[architecture]),
        (RETURN, 0, 0, KILL_PROCESS),
        (LOAD, 0, 0, NUMBER_AT),
    ]
    for numbers in syscalls.TIMED_ALLOWED.values():
        code += _block(numbers[column], [(RETURN, 0, 0, ALLOW)])
    for numbers in syscalls.TIMED_ABSENT.values():
        code += _block(numbers[column], [_answer(ENOSYS)])
    memory: list[Instruction] = [
        (LOAD, 0, 0, ARGUMENTS_AT + 8 * 2),
        (ANY_BIT, 3, 0, syscalls.PROT_EXEC),
        (LOAD, 0, 0, ARGUMENTS_AT + 8 * 3),
        (ANY_BIT, 0, 1, syscalls.MAP_ANONYMOUS),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, TRAP),
    ]
    code += _block(syscalls.MMAP[column], memory)
    stop: list[Instruction] = [
        (LOAD, 0, 0, ARGUMENTS_AT),
        (EQUAL, 0, 5, pid),
        (LOAD, 0, 0, high),
        (EQUAL, 0, 3, 0),
        (LOAD, 0, 0, ARGUMENTS_AT + 8),
        (EQUAL, 0, 1, syscalls.SIGSTOP),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, TRAP),
    ]
    code += _block(syscalls.SIGNALS["kill"][column], stop)
    code.append((RETURN, 0, 0, TRAP))
    return code


def packed(code: list[Instruction]) -> bytes:
    """The filter as the kernel takes it: an array of ``struct sock_filter``."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def install(code: list[Instruction]) -> None:
    """Put the filter on this thread for good. Needs no_new_privs; raises :class:`OSError`."""
    program = packed(code)
    buffer = ctypes.create_string_buffer(program, len(program))
    pointer = _Program(length=len(code), filter=ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.addressof(pointer))


def _block(number: int | None, then: list[Instruction]) -> list[Instruction]:
    return [(EQUAL, 0, len(then), number or 0), *then]


def _answer(errno: int) -> Instruction:
    return (RETURN, 0, 0, ANSWER | errno)


def _only(values: Iterable[int]) -> list[Instruction]:
    tests = [i for value in values for i in ((EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW))]
    return [*tests, _answer(EPERM)]


def _all_but(values: Iterable[int]) -> list[Instruction]:
    tests = [i for value in values for i in ((EQUAL, 0, 1, value), _answer(EPERM))]
    return [*tests, (RETURN, 0, 0, ALLOW)]
