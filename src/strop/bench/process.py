"""One worker process: started, talked to without ever blocking on it, killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import weakref
from collections import deque
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from strop.bench import frames
from strop.errors import NativeMissing

CHUNK = 1 << 16
KEPT_VARIABLES = {"PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"}  # what belongs to the install
WORDS_KEPT = 2000  # characters of standard error that are quoted
LOOK_S = 0.05  # most reports are there by then, and no processor time needs to be asked for
STARVED = 10.0
MOST_S = 1e6  # poll(2) takes no more milliseconds than an int holds


class Died(Exception):
    """The worker ended by itself. ``signal`` is the one that ended it, or ``None``; the text says how."""

    def __init__(self, text: str, signal: int | None) -> None:
        super().__init__(text)
        self.signal = signal


class WorkerProcess:
    """A running ``strop.bench.worker``. It dies with this process, with :meth:`kill`, and with the last reference."""

    def __init__(self) -> None:
        """Start it; returns before it is ready. Raises NativeMissing, OSError."""
        native = _native_folder()
        import strop

        package = Path(strop.__file__).parent
        lifeline, held = os.pipe()
        self._words = os.memfd_create("strop-worker-stderr") if hasattr(os, "memfd_create") else None
        try:
            # -S: no site, whose .pth files may take longer than all the rest; -P: nothing from the working directory.
            # A session of its own: the terminal's Ctrl-C goes to the parent alone.
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-S", "-m", "strop.bench.worker", str(lifeline)]
                + ([] if native == package else [str(native)]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if self._words is None else self._words,
                bufsize=0,
                pass_fds=(lifeline,),
                start_new_session=True,
                env=_environment(package.parent),
            )
        except BaseException:
            os.close(held)
            raise
        finally:
            os.close(lifeline)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._in = self._popen.stdin.fileno()
        self._out = self._popen.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._outbox = bytearray()
        self._assembly = frames.Assembly()
        self._inbox: deque[Any] = deque()
        self._finalizer = weakref.finalize(self, _end, self._popen, held, self._words, os.getpid())

    @property
    def pid(self) -> int:
        """The process, which leads its own session and group."""
        return self._popen.pid

    @property
    def mine(self) -> bool:
        """Whether this process started it: a fork's copy must leave it alone."""
        return self._finalizer.alive and self._finalizer.peek()[2][3] == os.getpid()  # type: ignore[index]

    def send(self, message: Any) -> None:
        """Queue a command and write what the pipe takes now; :meth:`receive` writes the rest."""
        self._outbox += frames.encoded(message)
        self._flush()

    def receive(self, timeout_s: float) -> Any:
        """The next report, or ``None`` when none came in time. Raises Died."""
        deadline = time.monotonic() + timeout_s
        while not self._inbox:
            # One more look after the deadline: this process may itself have been stopped meanwhile.
            last = (left := deadline - time.monotonic()) <= 0
            poll = select.poll()
            poll.register(self._out, select.POLLIN)
            if self._outbox:
                poll.register(self._in, select.POLLOUT)
            ready = poll.poll(min(max(0.0, left), MOST_S) * 1e3)
            self._flush()
            if any(descriptor == self._out for descriptor, _ in ready):
                self._take()
            elif last:
                return None
        return self._inbox.popleft()

    def receive_within(self, limit_s: float, *, threads: int = 1) -> Any:
        """The next report, or ``None`` once the worker has been busy for ``limit_s`` without one. Raises Died.

        What counts is processor time, where the system tells it, so that neither a crowded machine nor one that slept
        makes an honest candidate look hung. A worker that waits for ever, using none, is given STARVED times as long.
        """
        report = self.receive(min(LOOK_S, limit_s))
        if report is not None:
            return report
        began, began_cpu = time.monotonic(), self.cpu_seconds()
        wait = limit_s
        while (report := self.receive(wait)) is None:
            used, elapsed = self.cpu_seconds(), time.monotonic() - began
            if used is None or began_cpu is None or elapsed >= STARVED * limit_s:
                return None
            busy = (used - began_cpu) / threads
            if busy >= 0.9 * limit_s:  # /proc counts in ticks of 10 ms
                return None
            wait = max(limit_s - busy, limit_s / 4)
        return report

    def cpu_seconds(self) -> float | None:
        """Processor time that the worker has used, all threads together; ``None`` where the system doesn't say."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, proc(5)

    def kill(self) -> None:
        """End it now, with all that it started, and leave no zombie. Does nothing the second time."""
        self._finalizer()

    def words(self) -> str:
        """The end of what it wrote to standard error."""
        if self._words is None or not self._finalizer.alive:
            return ""
        size = os.fstat(self._words).st_size
        return os.pread(self._words, WORDS_KEPT, max(0, size - WORDS_KEPT)).decode(errors="replace").strip()

    def _flush(self) -> None:
        while self._outbox:
            try:
                written = os.write(self._in, self._outbox[:CHUNK])
            except BlockingIOError:
                return
            except BrokenPipeError:  # it is dead: reading says how
                self._outbox.clear()
                return
            del self._outbox[:written]

    def _take(self) -> None:
        try:
            part = os.read(self._out, CHUNK)
        except BlockingIOError:
            return
        if not part:
            raise self._death()
        self._assembly.feed(part)
        try:
            self._inbox.extend(self._assembly.messages())
        except ValueError as error:
            raise Died(f"the worker's memory was overwritten: {error}", None) from None

    def _death(self) -> Died:
        try:
            code = self._popen.wait(1.0)
        except subprocess.TimeoutExpired:
            return Died("the worker closed its pipe", None)
        if code < 0:
            return Died(f"the process was ended by {_signal_name(-code)}", -code)
        words = self.words().splitlines()
        return Died(f"the process ended with code {code}" + (f": {words[-1]}" if words else ""), None)


_spare: WorkerProcess | None = None


def prestart() -> None:
    """Start a worker for the next service without waiting, so that it is ready once there is something to measure.

    It waits idle, and ends with this process. Raises NativeMissing; a process that can't be started shows later.
    """
    global _spare
    if _spare is None or not _spare.mine:
        with suppress(OSError):
            _spare = WorkerProcess()


def take_spare() -> WorkerProcess | None:
    """The worker that ``prestart`` started, if there is one, and it is this process's own."""
    global _spare
    spare, _spare = _spare, None
    return spare if spare is not None and spare.mine else None


def give_spare(worker: WorkerProcess) -> None:
    """Keep an idle worker for the next service; a second one is ended."""
    global _spare
    if _spare is None or not _spare.mine:
        _spare = worker
    else:
        worker.kill()


def _end(popen: subprocess.Popen[bytes], held: int, words: int | None, owner: int) -> None:
    """Kill the worker's group, collect it, close the pipes: also at exit, and when nobody refers to it any more."""
    if owner == os.getpid() and popen.poll() is None:  # a fork's copy only closes its descriptors
        try:
            os.killpg(popen.pid, signal.SIGKILL)
        except ProcessLookupError:
            popen.kill()  # it has not come to setsid() yet
        popen.wait()
    popen.returncode = popen.returncode if popen.returncode is not None else 0
    for pipe in (popen.stdin, popen.stdout):
        if pipe is not None:
            pipe.close()
    for descriptor in (held, words):
        if descriptor is not None:
            os.close(descriptor)


def _native_folder() -> Path:
    """Where the native module lies. Raises NativeMissing."""
    found = find_spec("strop._native")
    if found is None or found.origin is None:
        raise NativeMissing(reason="strop._native was not built for this Python")
    return Path(found.origin).parent


def _environment(path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name[:6] != "PYTHON" or name in KEPT_VARIABLES}
    return {**kept, "PYTHONPATH": str(path)}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
