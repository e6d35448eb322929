"""What can't be read ends in one sentence with the fix, exit code 2, and never in an empty success."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from strop import errors
from strop.errors import StropError
from strop.stalls.profiles.recognise import read
from tests.stalls.profiles import database, writers


def refused(path: Path, kind: type[StropError], *words: str) -> str:
    with pytest.raises(kind) as caught:
        read(path)
    text = str(caught.value)
    assert caught.value.exit_code == 2
    assert text.isprintable()
    for word in words:
        assert word in text
    return text


def test_no_such_file(tmp_path: Path) -> None:
    refused(tmp_path / "nothing", errors.MissingProfile, "No such file")
    refused(tmp_path / "a\0b", errors.MissingProfile)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", errors.NotAProfile, "save it to a file")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"just a text\x1b[31m\nof two lines\n", "begins with 'just a text\\x1b[31m'"),
        (b"\0\1\2\3binary", "00 01 02 03"),
        (writers.elf(62), "an ELF binary"),
        (writers.elf(190), "an ELF binary"),
        (gzip.compress(b"{}", mtime=0), "unpack it first"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    ],
)
def test_not_a_profile(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "file").write_bytes(content)
    text = refused(tmp_path / "file", errors.NotAProfile, words)
    assert "HPCToolkit" in text
    assert "unitrace" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"traceEvents": []}', "timeline"),
        ('{"schema": 1, "x": 2}', "'schema'"),
        ("Time,Name\n1,2\n", "'Time, Name'"),
    ],
)
def test_formats_without_a_reader(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "file").write_text(content)
    refused(tmp_path / "file", errors.UnknownProfile, words)


def test_an_sqlite_database_of_another_tool(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x)")
    connection.close()
    refused(path, errors.NotAProfile, "SQLite")


def test_directories(tmp_path: Path) -> None:
    refused(tmp_path, errors.NotAProfile, "the directory is empty")
    full = tmp_path / "full"
    full.mkdir()
    for number in range(201):
        (full / f"{number:03}.txt").touch()
    refused(full, errors.NotAProfile, "it is a directory, and none of the first 200 of its 201 files is one")
    writers.unitrace(tmp_path / "a.csv")
    writers.unitrace(tmp_path / "b.csv")
    refused(tmp_path, errors.SeveralProfiles, "2 profiles: 'a.csv', 'b.csv'", f"strop diagnose {tmp_path}/a.csv")


def fork(folder: Path) -> Path:
    return database.write(folder, *database.fork())


@pytest.mark.parametrize("name", ["meta.db", "profile.db"])
def test_database_newer_truncated_or_of_another_kind(tmp_path: Path, name: str) -> None:
    path = fork(tmp_path) / name
    whole = path.read_bytes()
    path.write_bytes(whole[:14] + b"\5" + whole[15:])
    refused(tmp_path, errors.NewerProfile, "5.0", "4.x")
    path.write_bytes(whole[: len(whole) // 2])
    refused(tmp_path, errors.TruncatedProfile, name)
    path.write_bytes(whole[:10] + b"trce" + whole[14:])
    refused(tmp_path, errors.NotAProfile)


def test_a_database_without_numbers(tmp_path: Path) -> None:
    folder = fork(tmp_path)
    (folder / "profile.db").unlink()
    (folder / "cct.db").unlink()
    refused(folder, errors.MissingProfile, "cct.db")


def test_a_database_without_gpu_samples(tmp_path: Path) -> None:
    root, metrics = database.fork()
    for node in root.walk():
        node.own = {name: value for name, value in node.own.items() if name.startswith("GKER")}
    refused(database.write(tmp_path, root, metrics), errors.NoSamples, "hpcrun")


def test_a_context_tree_with_a_loop(tmp_path: Path) -> None:
    folder = fork(tmp_path)
    data = bytearray((folder / "meta.db").read_bytes())
    (section,) = struct.unpack_from("<Q", data, 0x48)
    (entry,) = struct.unpack_from("<Q", data, section)
    size, children = struct.unpack_from("<QQ", data, entry)
    struct.pack_into("<QQ", data, children, size, children)  # the first child is its own child
    (folder / "meta.db").write_bytes(data)
    refused(folder, errors.CorruptProfile, "loops")


def test_values_that_are_no_counts(tmp_path: Path) -> None:
    folder = fork(tmp_path)
    for value in (float("nan"), float("inf"), -1.0, 1e300):
        data = bytearray((folder / "profile.db").read_bytes())
        at = data.index(struct.pack("<Hd", 1, 50.0 * database.PERIOD))
        struct.pack_into("<d", data, at + 2, value)
        (folder / "profile.db").write_bytes(data)
        refused(folder, errors.CorruptProfile, "GCYCLES")
        fork(tmp_path)


def test_ncu_report(tmp_path: Path) -> None:
    path = tmp_path / "r.ncu-rep"
    whole = writers.ncu_rep(path).read_bytes()
    path.write_bytes(whole[:-9])
    refused(path, errors.TruncatedProfile)
    writers.ncu_rep(path, version=8)
    refused(path, errors.NewerProfile, "version 8")
    writers.ncu_rep(path, stalls={"long_scoreboard": {}})
    refused(path, errors.NoSamples, "ncu --set full")
    path.write_bytes(b"NVR\0\0\0\0\0")
    refused(path, errors.NoSamples, "no results")


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (writers.rocprofv3_csv, errors.NoSamples),
        (writers.att_csv, errors.NoSamples),
        (writers.ncu_csv, errors.NoSamples),
        (writers.unitrace, errors.NoSamples),
    ],
)
def test_tables_without_rows(tmp_path: Path, write: Callable[[Path], Path], kind: type[StropError]) -> None:
    path = write(tmp_path / "t.csv")
    lines = path.read_text().split("\n")
    header = next(at for at, line in enumerate(lines) if "Address" in line or "Instruction" in line)
    path.write_text("\n".join(lines[: header + 1]) + "\n")
    refused(path, kind)


@pytest.mark.parametrize("write", [writers.rocprofv3_csv, writers.att_csv, writers.ncu_csv, writers.unitrace])
def test_tables_that_end_in_the_middle_of_a_row(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "t.csv")
    text = path.read_text().rstrip("\n")
    path.write_text(text[: text.rindex(",")])
    refused(path, errors.TruncatedProfile, "fields")


def test_counts_that_are_none(tmp_path: Path) -> None:
    path = writers.att_csv(tmp_path / "t.csv")
    path.write_text(path.read_text().replace(",35,", ",-35,"))
    refused(path, errors.CorruptProfile, "Stall of row 3 is '-35'")


def test_json(tmp_path: Path) -> None:
    path = writers.rocprofv3_json(tmp_path / "r.json", empty=True)
    refused(path, errors.NoSamples, "arrays of PC samples are empty")
    whole = writers.rocprofv3_json(path).read_text()
    path.write_text(whole[: len(whole) // 2])
    refused(path, errors.TruncatedProfile)
    path.write_text(whole.replace('"dispatch_id": 9', '"dispatch_id": -9', 1))
    refused(path, errors.CorruptProfile, "dispatch_id is '-9'")
    path.write_text('{"rocprofiler-sdk-tool": [{"agents": ' + "[" * 100_000)
    refused(path, errors.CorruptProfile, "deep")
    path.write_text('{"rocprofiler-sdk-tool": [{"strings": {"pc_sample_comments": [' + "[" * 100_000)
    refused(path, errors.CorruptProfile, "deep")
    path.write_text('{"rocprofiler-sdk-tool": [{"strings": {"pc_sample_comments": [NaN]}}]}')
    refused(path, errors.CorruptProfile)


def test_listing(tmp_path: Path) -> None:
    path = writers.code_json(tmp_path / "code.json", version="4.0.0")
    refused(path, errors.NewerProfile, "4.0.0")
    document = json.loads(writers.code_json(path).read_text())
    path.write_text(json.dumps(document | {"code": []}))
    refused(path, errors.NoSamples, "no rows")
    path.write_text(json.dumps(document | {"code": [row[:5] for row in document["code"]]}))
    refused(path, errors.CorruptProfile, "5 of 13 fields")


def test_rocpd(tmp_path: Path) -> None:
    path = writers.rocpd(tmp_path / "r.db", rows=0)
    refused(path, errors.NoSamples, "empty")
    whole = writers.rocpd(path).read_bytes()
    path.write_bytes(whole[:5000])
    refused(path, errors.TruncatedProfile, "announces 20480 bytes")
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE rocpd_string_1 (x)")
    connection.close()
    refused(tmp_path / "x.db", errors.NoSamples, "without PC sampling")


def test_tables_and_texts_that_overlap(tmp_path: Path) -> None:
    """A small file can't ask for large work: thousands of functions that share one long name."""
    folder = fork(tmp_path)
    data = bytearray((folder / "meta.db").read_bytes())
    (section,) = struct.unpack_from("<Q", data, 0x88)
    names = len(data)
    data += b"n" * 100_000 + b"\0"
    table = len(data) + -len(data) % 8
    data += bytes(table - len(data))
    data += b"".join(struct.pack("<QQQQII", names + at, 0, 0, 0, 0, 0) for at in range(2000))
    struct.pack_into("<QIH", data, section, table, 2000, 40)
    (folder / "meta.db").write_bytes(data)
    refused(folder, errors.CorruptProfile, "texts overlap")
