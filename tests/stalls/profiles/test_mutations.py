"""Soak: damaged profiles of every format. Only errors of the catalogue may come, and no success over an empty table."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from strop.stalls.diagnose import diagnose
from strop.stalls.profiles.profile import Profile
from strop.stalls.profiles.recognise import read
from strop.stalls.render import lines
from tests.conftest import Soak
from tests.stalls.mutations import endure, mutated
from tests.stalls.profiles import database, writers

DIAGNOSED = 10  # of the damaged profiles that can be read, one in so many is diagnosed


@dataclass(frozen=True)
class Victim:
    """A profile to damage: the files that may be, and what to read."""

    files: tuple[Path, ...]
    path: Path


def fork(folder: Path) -> Victim:
    database.write(folder, *database.fork(name=writers.NAME))
    return Victim((folder / "meta.db", folder / "profile.db"), folder)


def stock(folder: Path) -> Victim:
    database.write(folder, *database.stock(structured=True))
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
    "hpctoolkit-stock": stock,
    "hpctoolkit-stock-cct": stock_without_profile_db,
    "ncu-rep": single(writers.ncu_rep, "r.ncu-rep"),
    "ncu-csv": single(writers.ncu_csv, "page.csv"),
    "rocprofv3-csv": single(writers.rocprofv3_csv, "pc.csv"),
    "rocprofv3-json": single(writers.rocprofv3_json, "r.json"),
    "rocpd": single(writers.rocpd, "r.db"),
    "code-json": single(writers.code_json, "code.json"),
    "att": single(writers.att_csv, "stats.csv"),
    "unitrace": single(writers.unitrace, "stalls.csv"),
}


def check(profile: Profile) -> None:
    """A profile that is read despite its damage still holds together."""
    assert profile.kernels
    for kernel in profile.kernels:
        assert kernel.samples > 0
        for place, counts in kernel.counts.items():
            assert place.pc is None or place.pc >= 0
            assert all(count.samples > 0 and 0 <= count.hidden <= count.samples for count in counts)


def check_diagnosis(path: Path) -> None:
    found = diagnose(path)
    assert found.kernels
    for kernel in found.kernels:
        accounting = kernel.accounting
        assert accounting.total > 0
        assert sum(accounting.parts.values()) == accounting.total
    assert found.to_json()["kernels"]
    assert "".join(lines(found, width=80))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: file systems write a file that is truncated and written anew to disk."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ...]:
    """A file of each format, for splices."""
    return tuple(
        path.read_bytes() for make in FORMATS.values() for path in make(tmp_path_factory.mktemp("others")).files
    )


@pytest.mark.parametrize("format", FORMATS)
def test_damage_never_crashes_hangs_or_grows(format: str, folder: Path, soak: Soak, others: tuple[bytes, ...]) -> None:
    victim = FORMATS[format](folder)
    whole = {path: path.read_bytes() for path in victim.files}
    check(read(victim.path))
    read_so_far = 0

    def case(chance: random.Random) -> None:
        nonlocal read_so_far
        path = chance.choice(victim.files)
        path.write_bytes(mutated(whole[path], chance, others=others))
        try:
            check(read(victim.path))
            read_so_far += 1
            if read_so_far % DIAGNOSED == 0:
                check_diagnosis(victim.path)
        finally:
            path.write_bytes(whole[path])

    counts = endure(soak.seeds(50_000), case)
    soak.note(**counts)
    assert counts["refused"], "no mutation did any harm: the soak tests nothing"
