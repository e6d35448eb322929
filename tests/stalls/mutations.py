"""Damage of every kind to files of any format, and a watch over whoever reads them."""

from __future__ import annotations

import random
import re
import resource
import signal
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from strop.errors import StropError

LONGEST_S = 2.0  # of processor time, a read; the usual is a millisecond
MOST_MEMORY_BYTES = 1 << 29  # by which the process may grow, at any moment

EXTREMES = (
    b"\xff" * 8,
    b"\0" * 8,
    b"\xff" * 7 + b"\x7f",
    b"\x01" + bytes(7),
    b"9" * 40,
    b"\xff" * 4,
    b'"',
    b"\n",
    b"[" * 2000,
)
NUMBERS = (
    b"-1",
    b"0",
    b"9" * 30,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"0x7fffffffffffffff",
    b"1.5",
    b"18446744073709551615",
)
_DIGITS = re.compile(rb"\d+")


def mutated(data: bytes, chance: random.Random, *, others: Sequence[bytes] = ()) -> bytes:
    """Return the bytes with one to four mishaps. `others` are files that pieces may be spliced in from."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        chance.choice(MISHAPS)(out, chance, others)
    return bytes(out)


def _flip(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    for _ in range(chance.choice((1, 2, 8)) if out else 0):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)


def _flip_early(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    """Headers are a small part of a file, and the worst to hit."""
    if out:
        out[chance.randrange(min(256, len(out)))] ^= 1 << chance.randrange(8)


def _truncate(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    del out[chance.randrange(len(out) + 1) :]


def _insert(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(out) + 1)
    out[at:at] = chance.randbytes(chance.choice((1, 4, 30)))


def _extreme(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at, extreme = chance.randrange(len(out) + 1), chance.choice(EXTREMES)
    out[at : at + len(extreme)] = extreme


def _delete(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(out) + 1)
    del out[at : at + chance.choice((1, 8, 100))]


def _double(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    at = chance.randrange(len(out) + 1)
    out[at:at] = out[at : at + chance.choice((1, 8, 100, 1000))]


def _splice(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    """Put a piece of this file, or of another, in a place where it doesn't belong."""
    source = chance.choice((bytes(out), *others))
    begin, size = chance.randrange(len(source) + 1), chance.choice((4, 16, 64, 500))
    at = chance.randrange(len(out) + 1)
    out[at : at + chance.choice((0, size))] = source[begin : begin + size]


def _huge(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    """Make what may be a length, an offset or a count as large as can be, or a little too large."""
    width, order = chance.choice((1, 2, 4, 8)), chance.choice("<<<>")
    at = chance.randrange(len(out) + 1) // width * width
    top = 1 << 8 * width
    value = chance.choice(
        (top - 1, top // 2, top // 2 - 1, top - len(out), len(out) - at, len(out) + 1, 1 << 20, 1 << 31)
    )
    out[at : at + width] = struct.pack(order + {1: "B", 2: "H", 4: "I", 8: "Q"}[width], value % top)


def _number(out: bytearray, chance: random.Random, others: Sequence[bytes]) -> None:
    """Write a number of a text anew."""
    found = list(_DIGITS.finditer(out, chance.randrange(len(out) + 1)))[:20]
    if found:
        match = chance.choice(found)
        out[match.start() : match.end()] = chance.choice(NUMBERS)


Mishap = Callable[[bytearray, random.Random, Sequence[bytes]], None]
MISHAPS: tuple[Mishap, ...] = (
    _flip, _flip_early, _truncate, _insert, _extreme, _delete, _double, _splice, _splice, _huge, _huge, _number,
)  # fmt: skip


class Hung(BaseException):
    """A read that took too long. No `except Exception` on the way swallows it."""


@contextmanager
def confined() -> Iterator[None]:
    """Let the process grow by MOST_MEMORY_BYTES at most while this lasts: beyond, it gets a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MOST_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    handler = signal.signal(signal.SIGPROF, _hung)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _hung(*_: object) -> None:
    raise Hung


def endure(seeds: Iterable[int], case: Callable[[random.Random], Any]) -> dict[str, float]:
    """Run a case per seed; each must end well or in an error of the catalogue, in time and within the memory.

    Returns how many were read and how many refused, and the longest processor time.
    """
    counts: Counter[str] = Counter(read=0, refused=0)
    slowest = 0.0
    with confined():
        for seed in seeds:
            chance = random.Random(seed)
            begun = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
            try:
                case(chance)
                counts["read"] += 1
            except StropError as error:
                if error.exit_code not in (2, 3) or not str(error).isprintable():
                    raise AssertionError(f"seed {seed}: exit code {error.exit_code}: {error!r}") from error
                counts["refused"] += 1
            except Hung:
                raise AssertionError(f"seed {seed}: no end within {LONGEST_S} s") from None
            except Exception as error:
                raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            slowest = max(slowest, time.process_time() - begun)
    return {**counts, "slowest_s": round(slowest, 3)}
