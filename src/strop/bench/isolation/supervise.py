"""Watches a foreign program: feeds it, collects what it prints, and kills all of it when its time is up."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from strop.bench.isolation.limits import Limits
from strop.bench.isolation.start import Started

SETUP_S = 30.0  # for the launcher and its layers; the program's own clock starts after that
LOOK_S = 0.25  # between two looks at the scratch folder
DRAIN_S = 1.0  # for the rest of the output of a process that has ended
CHUNK = 65536
MOST_ENTRIES = 20_000  # files and folders in the scratch folder


@dataclass(slots=True)
class End:
    """How it went. ``stopped`` says which limit the parent enforced: wall, output, scratch, setup."""

    started: bool = False
    layers: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    stopped: str | None = None
    returncode: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    wall_s: float = 0.0
    cpu_s: float = 0.0


def supervise(started: Started, *, stdin: bytes, limits: Limits, scratch: str) -> End:
    """Wait for the program and all it has started; whatever happens, none of its process group is left."""
    watch = _Watch(started, stdin, limits, scratch)
    try:
        return watch.until_the_end()
    finally:
        watch.close()


class _Watch:
    def __init__(self, started: Started, stdin: bytes, limits: Limits, scratch: str) -> None:
        self.process, self.status_fd, self.limits, self.scratch = started.process, started.status_fd, limits, scratch
        self.end, self.rest, self.status = End(), memoryview(stdin), b""
        self.output: dict[int, bytearray] = {}
        self.begin = time.monotonic()
        self.selector = selectors.DefaultSelector()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            self.output[pipe.fileno()] = bytearray()
            self._read(pipe.fileno())
        self._read(self.status_fd)
        if self.process.stdin is not None:
            os.set_blocking(self.process.stdin.fileno(), False)
            self.selector.register(self.process.stdin.fileno(), selectors.EVENT_WRITE)
        self.pidfd = None
        with contextlib.suppress(AttributeError, OSError):  # not on this system: looked at every 10 ms instead
            self.pidfd = os.pidfd_open(self.process.pid)
            self.selector.register(self.pidfd, selectors.EVENT_READ)

    def until_the_end(self) -> End:
        look_at = self.begin + LOOK_S
        while self.end.stopped is None and not self._ended():
            now = time.monotonic()
            deadline = self.begin + (self.limits.wall_s if self.end.started else SETUP_S)
            if now >= deadline:
                self.end.stopped = "wall" if self.end.started else "setup"
                break
            if now >= look_at:
                look_at = now + LOOK_S
                if _exceeds(self.scratch, self.limits.file_bytes):
                    self.end.stopped = "scratch"
                    break
            self._serve(min(deadline, look_at) - now if self.pidfd is not None else 0.01)
        self._forget(self.pidfd)
        if self.end.stopped is None:
            self._serve(0)  # a program that ended at once may still have its start unread
        self.end.wall_s = time.monotonic() - self.begin
        self._kill()
        self._reap()
        self._drain()
        self.end.stdout, self.end.stderr = (bytes(part[: self.limits.output_bytes]) for part in self.output.values())
        return self.end

    def _serve(self, timeout: float) -> None:
        for key, _ in self.selector.select(max(0.0, timeout)):
            if key.fd == self.status_fd:
                self._hear()
            elif key.fd in self.output:
                self._take(key.fd)
            elif key.fd != self.pidfd:
                self._feed(key.fd)

    def _hear(self) -> None:
        part = os.read(self.status_fd, CHUNK)
        self.status += part
        if part:
            return
        self.selector.unregister(self.status_fd)
        words: dict[str, Any] = {}
        for line in self.status.splitlines():
            words.update(json.loads(line))
        self.end.layers, self.end.missing = tuple(words.get("layers", ())), words.get("missing", {})
        self.end.error = words.get("error")
        if "layers" in words and self.end.error is None:
            self.end.started, self.begin = True, time.monotonic()

    def _take(self, fd: int) -> None:
        part = os.read(fd, CHUNK)
        if not part:
            self.selector.unregister(fd)
        if sum(map(len, self.output.values())) <= self.limits.output_bytes:
            self.output[fd] += part
        if sum(map(len, self.output.values())) > self.limits.output_bytes:
            self.end.stopped = self.end.stopped or "output"

    def _feed(self, fd: int) -> None:
        try:
            self.rest = self.rest[os.write(fd, self.rest[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it doesn't listen
            self.rest = memoryview(b"")
        if not self.rest:
            self.selector.unregister(fd)
            assert self.process.stdin is not None
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def _ended(self) -> bool:
        """Whether the first process has ended. It stays a zombie, so that its number can't be given to another."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = self.end.returncode = os.waitstatus_to_exitcode(status)
        self.end.cpu_s = usage.ru_utime + usage.ru_stime

    def _drain(self) -> None:
        """Take what still lies in the pipes. One that doesn't close is held by a process that got away."""
        if self.process.stdin is not None:
            self._forget(self.process.stdin.fileno() if not self.process.stdin.closed else None)
        until = time.monotonic() + DRAIN_S
        while self.selector.get_map() and (left := until - time.monotonic()) > 0:
            self._serve(left)

    def _forget(self, fd: int | None) -> None:
        if fd is not None and fd in self.selector.get_map():
            self.selector.unregister(fd)

    def close(self) -> None:
        if self.process.returncode is None:
            self._kill()
            self.process.wait()
        self.selector.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        for fd in (self.status_fd, self.pidfd):
            if fd is not None:
                os.close(fd)

    def _read(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.selector.register(fd, selectors.EVENT_READ)


def _exceeds(folder: str, most_bytes: int) -> bool:
    """Whether the folder holds more than it may. A folder that vanishes meanwhile holds nothing."""
    total, entries, folders = 0, 0, [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if total > most_bytes or entries > MOST_ENTRIES:
                        return True
        except OSError:
            continue
    return False


def sweep(mark: str) -> None:
    """Kill every process that carries ``mark`` in its first environment: one that left the group by setsid.

    Needed only where no filter refuses setsid.
    """
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for name in names:
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                marked = mark.encode() in file.read()
            if marked:
                os.kill(int(name), signal.SIGKILL)
