"""Times foreign code: a kernel in a process of its own that reports nothing, with the clock on this side.

The process and this one share a piece of memory, and nothing else: no file, pipe or socket of the kernel's is open.
A batch is one stretch of the process's life. It stands still (SIGSTOP) while its operands are laid; the clock starts,
SIGCONT lets it go on, it calls the kernel on each set of operands and stops itself; when the kernel of the operating
system says that it has stopped, the clock is read. So a kernel can't end the clock and go on working: to end the clock
is to be frozen, with the results as they are. Its threads, had it any, would be frozen as well.

The cost of this (a signal, a wake-up, a stop: some ten µs a batch) is part of every sample; `overhead_s` says how much
it is, from batches of no calls taken before the kernel ran for the first time. Nothing is subtracted.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import platform
import secrets
import signal
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NoReturn, Self

from strop.bench.isolation import identity, seccomp, syscalls
from strop.bench.isolation.layers import choose, probe
from strop.bench.isolation.limits import MIB, Limits
from strop.bench.isolation.start import Program, start
from strop.bench.isolation.supervise import sweep
from strop.bench.scratch import lay, remove
from strop.errors import BadSandbox
from strop.values.verdict import Verdict

CONTROL_BYTES = 1 << 16  # of the shared memory, before the operands
CALLS, POISON, FILTER, REFUSED, CODE, TABLE = 0, 1, 2, 3, 64, 512  # words in it, as timed_harness.c has them
MOST_BUFFERS = 12
START_S = 60.0  # for the launcher, the loader and the filter, on a machine that is busy
LOOK_S = 0.02  # between two looks at whether a batch takes too long
REFUSED_CODE = 159
NICE = -15
EMPTY_BATCHES, PAUSE_S = 9, 2e-3
MARK = "STROP_TIMED"  # by which a process that left the group is found again
NEEDED = ("no-new-privs", "seccomp")
LAYERS = ("shared memory only",)  # what this way of running adds to the layers of the launcher


class Ended(Exception):
    """The process ended, or had to be ended, before its batch was done."""

    def __init__(self, verdict: Verdict, reason: str) -> None:
        super().__init__(reason)
        self.verdict, self.reason = verdict, reason


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch took: by the clock on the wall, and of the processor's time as the system counts it."""

    wall_s: float
    cpu_s: float


@cache
def harness(buffers: int) -> bytes:
    """Return the C source that a kernel with so many parameters is built with, by :data:`LINK`."""
    if not 1 <= buffers <= MOST_BUFFERS:
        raise ValueError(f"a kernel has 1 to {MOST_BUFFERS} buffers")
    parameters = ", ".join(["void *"] * buffers)
    arguments = ", ".join(f"region + table[{number}]" for number in range(buffers))
    head = (
        f"#define STROP_BUFFERS {buffers}\n#define STROP_PARAMETERS {parameters}\n#define STROP_ARGUMENTS {arguments}\n"
    )
    return head.encode() + files("strop.bench").joinpath("timed_harness.c").read_bytes()


# How a kernel and its harness are built: the harness's own entry, and no symbol that a library could bind to.
LINK = ("-nostartfiles", "-fvisibility=hidden", "-Wl,-z,now", "-Wl,-z,noexecstack", "-lm")


def most_calls(buffers: int) -> int:
    """Return how many calls fit into a batch."""
    return (CONTROL_BYTES - 8 * TABLE) // (8 * buffers)


class TimedForeign:
    """A process that stands still between batches. Use it in a ``with`` block.

    ``executable`` was built with :func:`harness`. ``memory`` is shared: operands may lie from `CONTROL_BYTES` on, in
    ``room`` bytes. ``sandbox`` "auto" and "required" insist on no_new_privs and the filter of system calls and raise
    :class:`BadSandbox` without them; "none" does without. ``cpu_s`` limits the time of all batches together.
    """

    def __init__(
        self,
        executable: bytes,
        *,
        buffers: int,
        room: int,
        memory_bytes: int = 1024 * MIB,
        cpu_s: float = 300.0,
        sandbox: str = "auto",
    ) -> None:
        layers = needed_layers(sandbox)
        self.buffers, self.size = buffers, CONTROL_BYTES + room
        self.overhead_s = 0.0
        self.layers: tuple[str, ...] = ()
        self._late = False
        self._deadline: float | None = None
        self._closed = threading.Event()
        self._alive = False
        self._mark = secrets.token_hex(16)
        self._scratch = str(Path(tempfile.mkdtemp(prefix="strop-timed-")).resolve())
        descriptor = os.memfd_create("strop-operands", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, self.size)
            self.memory = mmap.mmap(descriptor, self.size)
            user = identity.own_user() if "user" in layers else None
            lay(self._scratch, {"kernel": executable}, user)
            limits = Limits(
                cpu_s=cpu_s, memory_bytes=memory_bytes + self.size, file_bytes=max(MIB, self.size), processes=1
            )
            program = Program(
                argv=(f"{self._scratch}/kernel", str(descriptor)),
                scratch=self._scratch,
                limits=limits,
                layers=layers,
                user=user,
                environment={MARK: self._mark},
            )
            self._started = start(program, stdin=False, descriptors=(descriptor,))
            self._process = self._started.process
            self.pid = self._process.pid
            self._alive = True
            self._clock = (~self.pid << 3) | 2  # the CPU time of that process: CPUCLOCK_SCHED of clock_gettime(2)
            self._hurry()
            threading.Thread(target=self._watch, daemon=True).start()
            self._enter(sandbox)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(descriptor)

    def batch(self, offsets: Sequence[Sequence[int]], *, poison: int = 0, limit_s: float = 10.0) -> Batch:
        """Call the kernel once for each row of ``offsets``: where in ``memory`` each of its buffers begins.

        ``poison``, a byte, is laid on the kernel's stack before each call (4 µs each; 0: isn't). Raises :class:`Ended`.
        Afterwards the process stands still until the next batch.
        """
        flat = [each for row in offsets for each in row]
        if len(flat) != self.buffers * len(offsets) or len(offsets) > most_calls(self.buffers):
            raise ValueError("a row of offsets for each call, an offset for each buffer")
        if not all(CONTROL_BYTES <= each < self.size for each in flat):
            raise ValueError("an operand outside the shared memory")
        struct.pack_into(f"={len(flat)}Q", self.memory, 8 * TABLE, *flat)
        struct.pack_into("=2Q", self.memory, 8 * CALLS, len(offsets), poison * 0x0101010101010101)
        before = time.clock_gettime(self._clock)
        wall_s = self._go(limit_s)
        return Batch(wall_s, time.clock_gettime(self._clock) - before)

    def _go(self, limit_s: float) -> float:
        """Let the process go on until it stops again; return how long that took."""
        self._deadline = time.monotonic() + limit_s
        with _hurried():
            begin = time.perf_counter_ns()
            os.kill(self.pid, signal.SIGCONT)
            self._wait()
            end = time.perf_counter_ns()
        self._deadline = None
        return (end - begin) / 1e9

    def _wait(self) -> None:
        """Wait until the process has stopped. Raises :class:`Ended` where it ends instead."""
        # Not reaped where it has ended: `close` kills its group by its number, which must still be its own.
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert found is not None
        if found.si_code == os.CLD_STOPPED:
            os.waitid(os.P_PID, self.pid, os.WSTOPPED)
            return
        self._alive = False
        self._say_why(found.si_code == os.CLD_EXITED, found.si_status)

    def _say_why(self, exited: bool, status: int) -> NoReturn:
        refused = struct.unpack_from("=Q", self.memory, 8 * REFUSED)[0]
        if exited and status == REFUSED_CODE and refused:
            name = syscalls.name(refused - 1, platform.machine())
            raise Ended(Verdict.ILLEGAL, f"it made the system call {name}, which a kernel may not")
        if exited:
            raise Ended(Verdict.CRASH, f"it ended with exit code {status} before `solution` returned")
        if self._late or status == signal.SIGXCPU:
            raise Ended(Verdict.RUN_TIMEOUT, "it was stopped after the most time that a batch may take")
        if status == signal.SIGSYS:
            raise Ended(Verdict.ILLEGAL, "it made a system call that a kernel may not")
        if status == signal.SIGKILL:
            raise Ended(Verdict.LIMIT, "it was killed by the system: too much memory or processor time")
        raise Ended(Verdict.CRASH, f"it ended with signal {status} ({signal.Signals(status).name})")

    def _enter(self, sandbox: str) -> None:
        """Bring the process to its first batch: the launcher's layers, the filter, and a look at what is on."""
        self._deadline = time.monotonic() + START_S
        try:
            self._wait()
        except Ended as ended:
            raise self._not_started(ended) from None
        words = self._status()
        self.layers = tuple(words.get("layers", ()))
        filtered = "seccomp" in self.layers
        if filtered:
            code = seccomp.timed(platform.machine(), pid=self.pid)
            program = seccomp.packed(code)
            self.memory[8 * CODE : 8 * CODE + len(program)] = program
            struct.pack_into("=Q", self.memory, 8 * FILTER, len(code))
        try:
            self._go(START_S)
        except Ended as ended:
            raise self._not_started(ended) from None
        if sandbox != "none":
            self._look()
        if filtered:
            self.layers = (*self.layers, "seccomp allow-list")
        self.layers = (*self.layers, *LAYERS)
        self._clear()  # it is in memory, and needs no folder any more
        self.overhead_s = median(self._nothing() for _ in range(EMPTY_BATCHES))

    def _nothing(self) -> float:
        """Time a batch of no calls, after a pause as it lies between batches: waking up is slower then."""
        time.sleep(PAUSE_S)
        return self.batch(()).wall_s

    def _status(self) -> dict[str, Any]:
        """What the launcher said of the layers; its descriptor closed when the program took its place."""
        said = b""
        while part := os.read(self._started.status_fd, 1 << 16):
            said += part
        words: dict[str, Any] = {}
        for line in said.splitlines():
            words.update(json.loads(line))
        return words

    def _not_started(self, ended: Ended) -> Exception:
        words = self._status()
        assert self._process.stderr is not None
        said = self._process.stderr.read(1 << 14).decode(errors="replace").strip()
        reason = words.get("error") or said or ended.reason
        return Ended(Verdict.NOT_RUN, f"it could not be started: {reason}")

    def _look(self) -> None:
        """Look from outside at whether the process is as confined as it must be. Raises :class:`BadSandbox`."""
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
            rows = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        if rows.get("NoNewPrivs", "1").strip() != "1":
            raise BadSandbox(layer="no-new-privs", reason="the process doesn't have it")
        if rows.get("Seccomp", "").strip() != "2" or int(rows.get("Seccomp_filters", "2")) < 2:
            raise BadSandbox(layer="seccomp", reason="the process doesn't have the filter")

    def _hurry(self) -> None:
        """Have fewer batches interrupted by other programs: only root may. A session may have a priority too."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, NICE)
            with open(f"/proc/{self.pid}/autogroup", "w", encoding="ascii") as file:
                file.write(str(NICE))

    def _watch(self) -> None:
        """Kill the process where a batch takes too long. The thread that waits for it can't."""
        while not self._closed.wait(LOOK_S):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline and self._alive:
                self._late = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process and all that it started, and remove its folder."""
        self._closed.set()
        if hasattr(self, "_process"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._alive = False
            self._process.returncode = -int(signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self.pid, os.WEXITED)
            if "seccomp" not in self.layers:
                sweep(f"{MARK}={self._mark}")
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            with contextlib.suppress(OSError):
                os.close(self._started.status_fd)
        self._clear()

    def _clear(self) -> None:
        if self._scratch:
            remove(self._scratch)
            self._scratch = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextlib.contextmanager
def _hurried() -> Iterator[None]:
    """Let this thread be woken at once when the process has stopped, where it may ask for that."""
    thread, nice = threading.get_native_id(), 0
    try:
        nice = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, NICE)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, nice)


def needed_layers(sandbox: str) -> tuple[str, ...]:
    """Return the layers to ask the launcher for. Raises :class:`BadSandbox` where what is needed doesn't work here.

    Bubblewrap isn't among them: inside its process table nobody here would be told that the process has stopped. What
    it would hide, files and other processes, a kernel can't ask for: it may make four system calls.
    """
    if not hasattr(os, "memfd_create"):
        raise BadSandbox(layer="shared memory", reason="this system has no memfd_create")
    layers = tuple(layer for layer in choose(sandbox) if layer != "bubblewrap")
    if sandbox != "none":
        for layer in NEEDED:
            if layer not in layers:
                raise BadSandbox(layer=layer, reason=probe().missing.get(layer, "its probe failed"))
    return layers


__all__ = ["CONTROL_BYTES", "LINK", "Batch", "Ended", "TimedForeign", "harness", "most_calls"]
