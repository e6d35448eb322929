"""Soak: profiles of every format with bytes flipped, cut, doubled and put in. Only errors of the catalogue may come."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from strop.errors import StropError
from strop.stalls.profiles.profile import Profile
from strop.stalls.profiles.recognise import read
from tests.conftest import Soak
from tests.stalls.profiles import database, writers

LONGEST_S = 20.0  # a read; the usual is a millisecond, the rest is for machines that stall
MOST_MEMORY_BYTES = 1 << 29  # by which the process may have grown in the end


@dataclass(frozen=True)
class Victim:
    """A profile to damage: the files that may be, and what to read."""

    files: tuple[Path, ...]
    path: Path


def fork(folder: Path) -> Victim:
    database.write(folder, *database.fork(name=writers.NAME))
    return Victim((folder / "meta.db", folder / "profile.db"), folder)


def stock_without_profile_db(folder: Path) -> Victim:
    database.write(folder, *database.stock(structured=False))
    (folder / "profile.db").unlink()
    return Victim((folder / "meta.db", folder / "cct.db"), folder)


def single(write: Callable[[Path], Path], name: str) -> Callable[[Path], Victim]:
    def make(folder: Path) -> Victim:
        path = write(folder / name)
        return Victim((path,), path)

    return make


FORMATS: dict[str, Callable[[Path], Victim]] = {
    "hpctoolkit-fork": fork,
    "hpctoolkit-stock": stock_without_profile_db,
    "ncu-rep": single(writers.ncu_rep, "r.ncu-rep"),
    "ncu-csv": single(writers.ncu_csv, "page.csv"),
    "rocprofv3-csv": single(writers.rocprofv3_csv, "pc.csv"),
    "rocprofv3-json": single(writers.rocprofv3_json, "r.json"),
    "rocpd": single(writers.rocpd, "r.db"),
    "code-json": single(writers.code_json, "code.json"),
    "att": single(writers.att_csv, "stats.csv"),
    "unitrace": single(writers.unitrace, "stalls.csv"),
}

EXTREMES = (
    b"\xff" * 8,
    b"\0" * 8,
    b"\xff" * 7 + b"\x7f",
    b"\x01" + bytes(7),
    b"9" * 40,
    b"\xff" * 4,
    b'"',
    b"[" * 2000,
)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one to four mishaps."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at = chance.randrange(len(out) + 1)
        kind = chance.randrange(7)
        if kind <= 1:
            for _ in range(chance.choice((1, 2, 8))):
                if out:
                    out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            out[at:at] = chance.randbytes(chance.choice((1, 4, 30)))
        elif kind == 4:
            extreme = chance.choice(EXTREMES)
            out[at : at + len(extreme)] = extreme
        elif kind == 5:
            del out[at : at + chance.choice((1, 8, 100))]
        else:
            out[at:at] = out[at : at + chance.choice((1, 8, 100, 1000))]
    return bytes(out)


def check(profile: Profile) -> None:
    """A profile that is read despite its damage still holds together."""
    assert profile.kernels
    for kernel in profile.kernels:
        assert kernel.samples > 0
        for place, counts in kernel.counts.items():
            assert place.pc is None or place.pc >= 0
            assert all(count.samples > 0 and 0 <= count.hidden <= count.samples for count in counts)


@pytest.mark.parametrize("format", FORMATS)
def test_damage_never_crashes_hangs_or_grows(format: str, tmp_path: Path, soak: Soak) -> None:
    victim = FORMATS[format](tmp_path)
    whole = {path: path.read_bytes() for path in victim.files}
    check(read(victim.path))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for seed in soak.seeds(50_000):
        chance = random.Random(seed)
        path = chance.choice(victim.files)
        path.write_bytes(mutated(whole[path], chance))
        start = time.perf_counter()
        try:
            check(read(victim.path))
            sound = True
        except StropError as error:
            refused += 1
            sound = error.exit_code == 2 and str(error).isprintable()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        assert sound, f"seed {seed}"
        assert time.perf_counter() - start < LONGEST_S, f"seed {seed}"
        path.write_bytes(whole[path])
    assert refused, "no mutation did any harm: the soak tests nothing"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_MEMORY_BYTES
