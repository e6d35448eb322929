"""The filter, run by a small interpreter of BPF: what each system call is answered, on both architectures."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from errno import ENOSYS, EPERM
from pathlib import Path

import pytest

from strop.bench.isolation import seccomp, syscalls

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
ALLOWED = {"read": (0, 63), "write": (1, 64), "mmap": (9, 222), "exit_group": (231, 94), "futex": (202, 98)}
OWN_PID = 4711


def answer(code: list[seccomp.Instruction], arch: int, number: int, *arguments: int) -> int:
    data = struct.pack("<IIQ6Q", number, arch, 0, *[*arguments, 0, 0, 0, 0, 0, 0][:6])
    at, register = 0, 0
    while True:
        operation, if_true, if_false, constant = code[at]
        at += 1
        if operation == seccomp.LOAD:
            register = struct.unpack_from("<I", data, constant)[0]
        elif operation == seccomp.RETURN:
            return constant
        else:
            holds = {
                seccomp.EQUAL: register == constant,
                seccomp.GREATER: register > constant,
                seccomp.AT_LEAST: register >= constant,
                seccomp.ANY_BIT: bool(register & constant),
            }[operation]
            at += if_true if holds else if_false


@pytest.fixture(params=syscalls.ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Filter:
    def __init__(self, architecture: str, **options: object) -> None:
        self.column = syscalls.ARCHITECTURES.index(architecture)
        self.arch = syscalls.AUDIT_ARCH[architecture]
        self.code = seccomp.program(architecture, **{"network": False, **options})  # type: ignore[arg-type]

    def __call__(self, numbers: tuple[int | None, ...], *arguments: int) -> int:
        number = numbers[self.column]
        assert number is not None
        return answer(self.code, self.arch, number, *arguments)


REFUSED = seccomp.ANSWER | EPERM


def test_every_refused_call_gets_its_errno(architecture: str) -> None:
    check = Filter(architecture)
    for errno, calls in syscalls.REFUSED.values():
        for name, numbers in calls.items():
            if numbers[check.column] is not None:
                assert check(numbers) == seccomp.ANSWER | errno, name


def test_ordinary_calls_pass(architecture: str) -> None:
    check = Filter(architecture, own_pid=OWN_PID)
    for name, numbers in ALLOWED.items():
        assert check(numbers) == seccomp.ALLOW, name


def test_another_architecture_is_killed(architecture: str) -> None:
    code = seccomp.program(architecture, network=False)
    assert answer(code, 0x40000003, ALLOWED["read"][0]) == seccomp.KILL_PROCESS


def test_x32_and_calls_of_later_kernels_do_not_exist(architecture: str) -> None:
    check = Filter(architecture)
    assert check((syscalls.X32_BIT, syscalls.X32_BIT)) == seccomp.ANSWER | ENOSYS
    assert check((syscalls.LATEST + 1,) * 2) == seccomp.ANSWER | ENOSYS


def test_threads_pass_and_namespaces_do_not(architecture: str) -> None:
    check = Filter(architecture)
    thread, user_namespace = 0x003D0F00, 0x10000000
    assert check(syscalls.CLONE, thread) == seccomp.ALLOW
    assert check(syscalls.CLONE, user_namespace | 17) == REFUSED


def test_sockets(architecture: str) -> None:
    unix, internet, packet = 1, 2, 17
    assert Filter(architecture)(syscalls.SOCKET, internet) == REFUSED
    open_to_network = Filter(architecture, network=True)
    assert open_to_network(syscalls.SOCKET, internet) == seccomp.ALLOW
    assert open_to_network(syscalls.SOCKET, unix) == REFUSED
    assert open_to_network(syscalls.SOCKET, packet) == REFUSED


def test_signals_to_others_only_where_asked(architecture: str) -> None:
    everyone, kill = 2**32 - 1, syscalls.SIGNALS["kill"]
    assert Filter(architecture)(kill, everyone, 9) == seccomp.ALLOW
    alone = Filter(architecture, own_pid=OWN_PID)
    assert alone(kill, OWN_PID, 9) == seccomp.ALLOW
    assert alone(kill, 0, 9) == seccomp.ALLOW
    assert alone(kill, everyone, 9) == REFUSED
    assert alone(kill, OWN_PID - 1, 9) == REFUSED
    assert alone(syscalls.SCHEDULING["sched_setaffinity"], OWN_PID - 1) == REFUSED


def test_signals_through_files_and_limits_of_others(architecture: str) -> None:
    check = Filter(architecture)
    for command in syscalls.SIGNALS_BY_FILE:
        assert check(syscalls.FCNTL, 3, command) == REFUSED
    assert check(syscalls.FCNTL, 3, 1) == seccomp.ALLOW
    assert check(syscalls.PRLIMIT, 0) == seccomp.ALLOW
    assert check(syscalls.PRLIMIT, 1) == REFUSED
    assert check(syscalls.IOCTL, 0, syscalls.TYPES_FOR_OTHERS[0]) == REFUSED


def test_numbers_agree_with_the_kernel_headers(architecture: str) -> None:
    header = HEADERS[architecture]
    if not header.exists():
        pytest.skip(f"no {header}")
    found = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    column = syscalls.ARCHITECTURES.index(architecture)
    calls = {name: n for _, group in syscalls.REFUSED.values() for name, n in group.items()}
    calls |= {**syscalls.SIGNALS, **syscalls.QUEUED_SIGNALS, **syscalls.SCHEDULING, **syscalls.OTHERS_PRIORITY}
    calls |= {
        "clone": syscalls.CLONE[:2],
        "socket": syscalls.SOCKET[:2],
        "ioctl": syscalls.IOCTL[:2],
        "fcntl": syscalls.FCNTL[:2],
        "prlimit64": syscalls.PRLIMIT[:2],
    }
    checked = 0
    for name, numbers in calls.items():
        if name in found and numbers[column] is not None:
            assert int(found[name]) == numbers[column], name
            checked += 1
    assert checked > 60


def test_the_kernel_takes_the_filter_that_guards_others() -> None:
    if reason := seccomp.supported():
        pytest.skip(reason)
    code = """
import os, platform
from strop.bench.isolation import seccomp
from strop.bench.isolation.linux import PR_SET_NO_NEW_PRIVS, prctl
prctl(PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(seccomp.program(platform.machine(), network=False, own_pid=os.getpid()))
os.kill(os.getpid(), 0)
for other in (os.getppid(), -1, -os.getpgid(0)):
    try:
        os.kill(other, 0)
    except PermissionError:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    if "Error" in done.stderr:
        pytest.skip(f"no filter can be installed here: {done.stderr.splitlines()[-1]}")
    assert done.stdout == "refused\n" * 3
