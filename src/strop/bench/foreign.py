"""Runs foreign code: a program that we didn't write, in its own killable process group behind every layer that works.

The program reports nothing that is believed: what it prints is data, and the verdict here says only how it ended.
"""

from __future__ import annotations

import secrets
import signal as signals
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strop.bench.isolation import identity
from strop.bench.isolation.layers import choose
from strop.bench.isolation.limits import Limits
from strop.bench.isolation.start import Program, python_paths, start
from strop.bench.isolation.supervise import End, supervise, sweep
from strop.bench.scratch import lay, read, remove
from strop.errors import BadSandbox
from strop.values.verdict import Verdict

__all__ = ["ForeignResult", "Limits", "python_paths", "run_foreign"]

MARK = "STROP_FOREIGN"  # the variable by which a process that left its group is found again

# Words with which programs end when a limit has refused them something: C library, C++, Python.
REFUSALS = {
    "memory": (b"Cannot allocate memory", b"MemoryError", b"bad_alloc", b"out of memory", b"failed to map segment"),
    "processes": (b"Resource temporarily unavailable", b"can't start new thread", b"BlockingIOError"),
    "open files": (b"Too many open files",),
    "file size": (b"File too large",),
}


@dataclass(frozen=True, slots=True)
class ForeignResult:
    """How a foreign program ended.

    ``verdict`` is ok, crash, run_timeout, limit or not_run; ``exit_code`` is ``None`` when a signal ended it.
    ``stdout`` and ``stderr`` are cut at the cap. ``layers`` are those that were on, as the launcher saw them. ``files``
    holds what was asked for by ``collect`` and was there.
    """

    verdict: Verdict
    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    wall_s: float
    layers: tuple[str, ...]
    detail: str
    files: Mapping[str, bytes] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The result without the collected files; output as text, undecodable bytes replaced."""
        return {
            "verdict": str(self.verdict),
            "exit_code": self.exit_code,
            "signal": self.signal,
            "stdout": self.stdout.decode(errors="replace"),
            "stderr": self.stderr.decode(errors="replace"),
            "wall_s": self.wall_s,
            "layers": list(self.layers),
            "detail": self.detail,
        }


def run_foreign(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    files: Mapping[str, bytes] | None = None,
    collect: Sequence[str] = (),
    limits: Limits | None = None,
    network: bool = False,
    readable: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    sandbox: str = "auto",
) -> ForeignResult:
    """Run ``argv`` in a fresh scratch folder and kill all it has started when it ends or reaches a limit.

    ``files`` (relative path to content) are laid into the scratch folder, executable; the program starts there, with it
    as HOME and a folder in it as TMPDIR, and sees no variable but these, PATH, LANG and ``environment``. It may read
    system libraries, ``argv[0]`` and ``readable`` (for Python itself: ``python_paths()``). ``collect`` names files to
    bring back (regular ones up to ``limits.file_bytes`` each); then the folder is removed.

    ``sandbox``: "auto" uses each layer that works here, "required" raises :class:`BadSandbox` (exit code 3) where
    files, system calls or privileges would be open, "none" keeps only session, environment and limits. A program that
    can't be started is no error: its verdict is ``not_run``.
    """
    limits = limits or Limits()
    layers = choose(sandbox)
    readable = [str(Path(path)) for path in readable]
    scratch = str(Path(tempfile.mkdtemp(prefix="strop-foreign-")).resolve())
    mark = secrets.token_hex(16)
    try:
        user = identity.own_user() if "user" in layers else None
        lay(scratch, {**(files or {}), "tmp/": b""}, user)
        program = Program(
            argv=list(argv),
            scratch=scratch,
            limits=limits,
            layers=layers,
            user=user,
            network=network,
            readable=readable,
            environment={"HOME": scratch, "TMPDIR": f"{scratch}/tmp", **(environment or {}), MARK: mark},
        )
        fenced = False
        try:
            end = supervise(start(program, stdin=bool(stdin)), stdin=stdin, limits=limits, scratch=scratch)
            fenced = "seccomp" in end.layers
        finally:
            if not fenced:
                sweep(f"{MARK}={mark}")
        if sandbox == "required" and end.missing:
            layer, reason = next(iter(end.missing.items()))
            raise BadSandbox(layer=layer, reason=reason)
        return _result(end, limits, read(scratch, collect, limits.file_bytes))
    finally:
        remove(scratch)


def _result(end: End, limits: Limits, files: Mapping[str, bytes]) -> ForeignResult:
    code: int | None = end.returncode
    signal: int | None = None
    if end.returncode < 0:
        code, signal = None, -end.returncode
    elif "bubblewrap" in end.layers and end.returncode - 128 in signals.valid_signals():
        code, signal = None, end.returncode - 128  # how bwrap passes a signal on
    verdict, detail = _judge(end, limits, code, signal)
    return ForeignResult(verdict, code, signal, end.stdout, end.stderr, end.wall_s, end.layers, detail, files)


def _judge(end: End, limits: Limits, code: int | None, signal: int | None) -> tuple[Verdict, str]:
    """The verdict and the sentence. A failed program's own words decide only which failure it is called."""
    if not end.started:
        words = end.stderr.decode(errors="replace").strip()
        return Verdict.NOT_RUN, f"It could not be started: {end.error or words or 'the launcher gave no reason'}."
    if end.stopped == "wall":
        return Verdict.RUN_TIMEOUT, f"Stopped after {limits.wall_s:g} s by the clock on the wall."
    if end.stopped == "output":
        return Verdict.LIMIT, f"Stopped after more than {limits.output_bytes} bytes of output."
    if end.stopped == "scratch":
        return Verdict.LIMIT, f"Stopped with more than {limits.file_bytes} bytes or too many files in its folder."
    if code == 0:
        return Verdict.OK, "Ended with exit code 0."
    spent = end.wall_s if "bubblewrap" in end.layers else end.cpu_s  # the kernel doesn't charge bwrap for its children
    used_up = signal == signals.SIGKILL and spent >= limits.cpu_s  # where the program ignores SIGXCPU
    if signal == signals.SIGXCPU or used_up:
        return Verdict.RUN_TIMEOUT, f"Stopped after {limits.cpu_s:g} s of CPU time."
    how = f"exit code {code}" if signal is None else f"signal {signal} ({_name(signal)})"
    if signal == signals.SIGXFSZ:
        return Verdict.LIMIT, f"Stopped by the limit on file size ({limits.file_bytes} bytes)."
    for what, phrases in REFUSALS.items():
        if any(phrase in end.stderr for phrase in phrases):
            return Verdict.LIMIT, f"Ended with {how} after the limit on {what} refused it something."
    return Verdict.CRASH, f"Ended with {how}."


def _name(signal: int) -> str:
    try:
        return signals.Signals(signal).name
    except ValueError:
        return "real-time"
