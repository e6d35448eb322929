"""What `strop diagnose` does with odd profiles and bad ones: a result that says what is missing, or one sentence."""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from strop.cli.main import main
from strop.errors import DisassemblerMissing
from strop.stalls.binaries import decode
from strop.stalls.binary_file import WHOLE
from tests.stalls.profiles import database, writers
from tests.stalls.sampled import fixture, own_kernel

SCHEMA = json.loads(files("strop.stalls").joinpath("schemas/diagnosis.json").read_text("utf-8"))
ERROR = json.loads(files("strop").joinpath("schemas/error.json").read_text("utf-8"))
AMD = Path(__file__).resolve().parents[1] / "stalls" / "fixtures" / "amd" / "kernels.gfx942.hsaco.xz"
LARGE = 2 << 30
MEMORY = 1 << 30  # bytes that a diagnosis of a file of any size may take
SECONDS = 120

DEBUG = ".debug"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["diagnose", *map(str, words)])


def told(*words: str | Path) -> tuple[dict[str, Any], str]:
    """The JSON and the text of a diagnosis that worked."""
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate({**found, "kernels": found["kernels"][:50]})
    assert found["kernels"]
    for kernel in found["kernels"]:
        assert sum(kernel["accounting"]["parts"].values()) == kernel["accounting"]["total"] > 0
        assert kernel["causes"]
    text = run(*words)
    assert text.exit_code == 0
    assert all(line.isprintable() for line in text.stdout.splitlines())
    return found, text.stdout


def refused(*words: str | Path, code: str, exit_code: int = 2) -> str:
    """The one sentence of a diagnosis that was refused; nothing goes to standard output."""
    done = run(*words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (exit_code, "", 1), done.output
    assert done.stderr.strip().isprintable()
    assert not done.stderr.startswith("strop: strop ran into a bug")
    found = json.loads(run(*words, "--json").stdout)
    jsonschema.Draft202012Validator(ERROR).validate(found)
    assert found["error"]["code"] == code
    assert found["error"]["fix"]
    return done.stderr


# -- odd, and answered ----------------------------------------------------------------------------------------------


def without(data: bytes, which: Callable[[str, int], bool]) -> bytes:
    """An ELF without some of its sections: they are there still, and of no kind, as `strip` would have left nothing."""
    made = bytearray(data)
    (table,) = struct.unpack_from("<Q", data, 40)
    entry, count, names = struct.unpack_from("<HHH", data, 58)
    (start,) = struct.unpack_from("<Q", data, table + names * entry + 24)
    for at in range(table, table + count * entry, entry):
        name, kind = struct.unpack_from("<II", data, at)
        text = data[start + name :].split(b"\0", 1)[0].decode()
        if which(text, kind):
            struct.pack_into("<I", made, at + 4, 0)
            size = struct.unpack_from("<Q", data, at + 32)[0]
            offset = struct.unpack_from("<Q", data, at + 24)[0]
            made[offset : offset + size] = bytes(size)
    return bytes(made)


def stripped(data: bytes) -> bytes:
    return without(data, lambda name, kind: "debug" in name)


def test_a_binary_without_line_information(tmp_path: Path) -> None:
    profile, binary, pc = own_kernel(tmp_path, change=stripped)
    found, text = told(profile, "--binary", binary)
    (kernel,) = found["kernels"]
    best = kernel["causes"][0]
    assert (best["stall_site"]["pc"], best["stall_site"]["line"]) == (pc, None)
    assert best["cause_site"]["opcode"].startswith("LDG")
    assert "line information" in best["needs"]
    assert "surer with  line information: compile with -lineinfo" in text
    assert f"consumed at +{pc:#x}" in text.splitlines()[0]


def amd_profile(path: Path, binary: bytes) -> Path:
    """A rocprofv3 profile of a kernel of ours: all its stalls are where a load is waited for."""
    try:
        functions = decode(binary, path="k.hsaco").functions
    except DisassemblerMissing as error:
        pytest.skip(str(error))
    for function in functions:
        loads = [one for one in function.instructions if one.opcode.startswith("global_load")]
        waits = [one for one in function.instructions if "vmcnt(0)" in one.text]
        if loads and waits and loads[0].pc < waits[0].pc:
            text = writers.rocprofv3_json(path).read_text("utf-8")
            for old, new in ((0x1600, function.instructions[0]), (0x1610, waits[0])):
                text = text.replace(
                    f'"code_object_offset": {old}', f'"code_object_offset": {function.address + new.pc}'
                )
            path.write_text(text, "utf-8")
            return path
    pytest.fail("the fixture has no load that is waited for")


@pytest.mark.parametrize(("kinds", "missing"), [((2,), "line information"), ((2, 11), "symbols of")])
def test_a_stripped_binary(tmp_path: Path, kinds: tuple[int, ...], missing: str) -> None:
    whole = lzma.decompress(AMD.read_bytes())
    profile = amd_profile(tmp_path / "r.json", whole)
    binary = tmp_path / "k.hsaco"
    binary.write_bytes(without(whole, lambda name, kind: kind in kinds or name.startswith(DEBUG)))
    found, text = told(profile, "--binary", binary)
    (kernel,) = found["kernels"]
    best = kernel["causes"][0]
    assert best["stall_site"]["opcode"] == "s_waitcnt"
    assert best["cause_site"]["opcode"].startswith("global_load")
    assert any(one.startswith(missing) for one in kernel["coverage"]["missing"])
    assert "surer with  line information" in text


@pytest.mark.parametrize(
    "name",
    [
        "void stencil<float, (Mode)2, std::integral_constant<int, 4> >(λ const*, float*)",
        "<script>alert('k')</script> & \"quoted\"",
        "evil\x1b[2J\x1b]0;title\x07\u202ename",
        "核函数<ℝ³>::operator()(auto&&) const [with T = 🚀]",
    ],
)
def test_names_of_every_kind(tmp_path: Path, name: str) -> None:
    page = tmp_path / "page.html"
    found, text = told(writers.ncu_csv(tmp_path / "s.csv", name=name), "--html", page)
    assert found["kernels"][0]["name"] == name
    shown = Shown(page.read_text("utf-8"))
    assert "script" not in shown.tags
    assert "\x1b" not in shown.text + text
    if name.isprintable():
        assert " ".join(name.split()) in " ".join(text.split())
        assert name in shown.text


class Shown(HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_thousands_of_kernels(tmp_path: Path) -> None:
    with (tmp_path / "stalls.csv").open("w", encoding="utf-8", newline="") as file:
        file.write("=== Device #0 Metrics ===\n\n")
        rows = csv.writer(file)
        rows.writerow(["Kernel", "IP[Address]", "Active[Events]", "SbidStall[Events]", "OtherStall[Events]"])
        for number in range(5000):
            for at in range(3):
                rows.writerow([f"kernel<{number}>", f"{at * 16:08x}", 2, 5000 - number, at])
    found, text = told(tmp_path / "stalls.csv", "--html", tmp_path / "page.html")
    assert len(found["kernels"]) == 5000
    assert found["kernels"][0]["name"] == "kernel<0>"
    assert "4,990 more kernels; --json has all" in text
    assert len(text) < 20_000
    assert (tmp_path / "page.html").stat().st_size < 5 << 20


# -- large ----------------------------------------------------------------------------------------------------------


def apart(*words: str | Path) -> tuple[int, str, str]:
    """Run as a process that is held to its memory and time: exit code, standard output, standard error."""
    done = subprocess.Popen(
        [sys.executable, "-m", "strop", "diagnose", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    stop = threading.Timer(SECONDS, done.kill)
    stop.start()
    try:
        assert done.stdout is not None
        assert done.stderr is not None
        said, errors = done.stdout.read().decode(), done.stderr.read().decode()
        _, status, used = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
    finally:
        stop.cancel()
        done.stdout and done.stdout.close()
        done.stderr and done.stderr.close()
    assert used.ru_maxrss * 1024 < MEMORY
    return done.returncode, said, errors


def grown(path: Path, size: int = LARGE) -> Path:
    """The file with a hole behind it that makes it large."""
    os.truncate(path, size)
    return path


WRITERS: dict[str, Callable[[Path], Path]] = {
    "ncu-rep": writers.ncu_rep,
    "ncu-csv": writers.ncu_csv,
    "rocprofv3-csv": writers.rocprofv3_csv,
    "rocprofv3-json": writers.rocprofv3_json,
    "rocpd": writers.rocpd,
    "code-json": writers.code_json,
    "att-csv": writers.att_csv,
    "unitrace": writers.unitrace,
    "hpctoolkit": lambda path: database.write(path, *database.fork()),
}
# Those whose form says where they end: what lies behind is no part of them.
ENDED = {"rocprofv3-json", "rocpd", "code-json", "hpctoolkit"}


@pytest.mark.parametrize("form", WRITERS)
def test_a_profile_of_2_gb_takes_little_memory_and_has_a_clear_end(tmp_path: Path, form: str) -> None:
    path = WRITERS[form](tmp_path / "profile")
    grown(path / "profile.db" if path.is_dir() else path)
    code, said, errors = apart(path)
    if form in ENDED:
        assert (code, errors) == (0, "")
        assert "of this kernel's stall" in said.splitlines()[0]
    else:
        assert (code, said, errors.count("\n")) == (2, "", 1)


def test_a_csv_of_many_rows_is_streamed(tmp_path: Path, soak: Any) -> None:
    seeds = sum(1 for _ in soak.seeds(20_000))  # 100 rows each: 300 MB in a soak
    path = writers.rocprofv3_csv(tmp_path / "s.csv", trace=False)
    header, *rows = path.read_text("utf-8").splitlines(keepends=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(header)
        for _ in range(seeds):
            file.writelines(2 * rows)
    code, said, errors = apart(path, "--json")
    assert (code, errors) == (0, "")
    assert json.loads(said)["kernels"][0]["accounting"]["total"] == 100 * seeds


def host(cubin: bytes) -> tuple[bytes, bytes, bytes]:
    """A host program in parts: its head, its names (they end at LARGE), its GPU code (`.nv_fatbin`, from LARGE on)."""
    entry = struct.pack("<HHIQIIII", 2, 0, 64, len(cubin), 0, 0, 0, 80) + bytes(8) + struct.pack("<QQQ", 0, 0, 0)
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(cubin)) + entry + cubin
    names = b"\0.nv_fatbin\0.shstrtab\0"
    places = [(0, 0, 0), (1, LARGE, len(container)), (12, LARGE - len(names), len(names))]
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", name, bool(size), 0, 0, offset, size, 0, 0, 1, 0) for name, offset, size in places
    )
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, len(places), 2)
    return head + table, names, container


@pytest.mark.parametrize("kind", ["host program", "cubin"])
def test_a_binary_of_2_gb_takes_little_memory(tmp_path: Path, kind: str) -> None:
    profile, binary, _ = own_kernel(tmp_path)
    if kind == "cubin":
        grown(binary)
    else:
        head, names, container = host(binary.read_bytes())
        with binary.open("wb") as file:
            file.write(head)
            file.seek(LARGE - len(names))
            file.write(names + container)
    assert binary.stat().st_size > WHOLE
    code, said, errors = apart(profile, "--binary", binary)
    assert (code, errors) == (0, "")
    assert "wait for the load at" in said.splitlines()[0]


@pytest.mark.parametrize(
    ("head", "word"),
    [
        (b"\x7fELF" + bytes(60), "outside the file"),
        (host(b"")[0], "without GPU code in it"),
        (b"nothing", "at most"),
    ],
    ids=["no sections", "a host program without any", "no ELF"],
)
def test_a_large_file_that_is_no_binary(tmp_path: Path, head: bytes, word: str) -> None:
    profile, binary, _ = own_kernel(tmp_path)
    binary.write_bytes(head)
    grown(binary)
    code, said, errors = apart(profile, "--binary", binary)
    assert (code, said, errors.count("\n")) == (2, "", 1)
    assert "can't be read as a GPU binary" in errors
    assert word in errors


# -- bad ------------------------------------------------------------------------------------------------------------


def emptied(path: Path, form: str) -> Path:
    """A profile of each form whose samples are all zero, or that has none."""
    if form == "ncu-rep":
        return writers.ncu_rep(path, stalls={"long_scoreboard": {writers.LOAD: 0}})
    if form == "rocprofv3-json":
        return writers.rocprofv3_json(path, empty=True)
    if form == "rocpd":
        return writers.rocpd(path, rows=0)
    if form == "code-json":
        document = json.loads(writers.code_json(path).read_text("utf-8"))
        document["code"] = [[*row[:6], *[0] * 6, [0] * 10] for row in document["code"]]
        path.write_text(json.dumps(document), "utf-8")
        return path
    if form == "hpctoolkit":
        root, metrics = database.fork()
        for node in root.walk():
            node.own = {}
        return database.write(path, root, metrics)
    lines = WRITERS[form](path).read_text("utf-8").splitlines(keepends=True)
    rows = list(csv.reader(lines[:1] if form == "rocprofv3-csv" else lines, skipinitialspace=True))
    with path.open("w", newline="", encoding="utf-8") as file:
        for row in rows:
            count = [
                cell.replace(",", "").isdigit() and at > (2 if form == "att-csv" else 1) for at, cell in enumerate(row)
            ]
            csv.writer(file).writerow(["0" if zero else cell for cell, zero in zip(row, count, strict=True)])
    return path


@pytest.mark.parametrize("form", WRITERS)
def test_zero_samples(tmp_path: Path, form: str) -> None:
    said = refused(emptied(tmp_path / "profile", form), code="no-samples")
    assert "Collect it again with sampling on" in said


def test_a_binary_of_another_kernel(tmp_path: Path) -> None:
    profile, binary, _ = own_kernel(tmp_path, name="_Z7anotherPf")
    rows = profile.read_text("utf-8").splitlines()
    rows[2:] = [row.replace("0x7f0000", "0x7f00ff", 1) if at else row for at, row in enumerate(rows[2:])]
    profile.write_text("\n".join(rows), "utf-8")
    refused(profile, "--binary", binary, code="other-binary")


def test_a_binary_of_another_build(tmp_path: Path) -> None:
    whole = lzma.decompress(AMD.read_bytes())
    profile = writers.rocprofv3_json(tmp_path / "r.json")
    text = profile.read_text("utf-8")
    profile.write_text(text.replace(": 5632", ": 987654320").replace(": 5648", ": 987654336"), "utf-8")
    binary = tmp_path / "k.hsaco"
    binary.write_bytes(whole)
    try:
        decode(whole, path="k")
    except DisassemblerMissing as error:
        pytest.skip(str(error))
    said = refused(profile, "--binary", binary, code="other-binary")
    assert "--binary" in said


def test_a_binary_whose_checksum_is_not_the_recorded_one(tmp_path: Path) -> None:
    whole = lzma.decompress(AMD.read_bytes())
    binary = tmp_path / "k.hsaco"
    binary.write_bytes(whole)
    recorded = hashlib.md5(whole, usedforsecurity=False).hexdigest()
    at = 0x1600
    same = database.write(tmp_path / "same", *database.fork(module=f"gpubins/{recorded}.gpubin", at=at))
    done = run(same, "--binary", binary)
    assert "recorded the checksum" not in done.stderr
    other = database.write(tmp_path / "other", *database.fork(module=f"gpubins/{'0' * 32}.gpubin", at=at))
    said = refused(other, "--binary", binary, code="other-binary")
    assert f"HPCToolkit recorded the checksum {'0' * 32}, and this file's is {recorded}" in said


def test_a_binary_for_another_vendor(tmp_path: Path) -> None:
    profile = writers.rocprofv3_json(tmp_path / "r.json")
    binary = tmp_path / "m.cubin"
    binary.write_bytes(fixture())
    done = run(profile, "--binary", binary)
    assert done.exit_code in (2, 3)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


@pytest.mark.parametrize("form", WRITERS)
def test_cut_anywhere(tmp_path: Path, form: str) -> None:
    whole = WRITERS[form](tmp_path / "whole")
    for part in (0.0, 0.3, 0.6, 0.95):
        cut = tmp_path / f"cut{part}"
        if whole.is_dir():
            shutil.copytree(whole, cut)
            for name in ("meta.db", "profile.db", "cct.db"):
                os.truncate(cut / name, int(part * (cut / name).stat().st_size))
        else:
            shutil.copy(whole, cut)
            os.truncate(cut, int(part * cut.stat().st_size))
        done = run(cut)
        if done.exit_code == 0:
            # Text may be cut between rows: what is there is a whole profile, and is told as one.
            assert form.endswith("csv") or form == "unitrace"
            assert "of this" in done.stdout or "No stall" in done.stdout
        else:
            assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), (part, done.output)


@pytest.mark.parametrize("part", [0.02, 0.4, 0.9])
def test_a_cut_binary(tmp_path: Path, part: float) -> None:
    profile, binary, _ = own_kernel(tmp_path)
    os.truncate(binary, int(part * binary.stat().st_size))
    said = refused(profile, "--binary", binary, code="unreadable-binary")
    assert str(binary) in said


@pytest.mark.parametrize(
    "write",
    [
        lambda path: writers.ncu_rep(path, version=99),
        lambda path: writers.code_json(path, version="99.0.0"),
        lambda path: database.write(path, *database.fork(), minor=99),
    ],
    ids=["ncu-rep", "code-json", "hpctoolkit"],
)
def test_a_newer_container(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "profile")
    if path.is_dir():  # a newer minor version may be read; a newer major one may not
        for name in ("meta.db", "profile.db", "cct.db"):
            data = bytearray((path / name).read_bytes())
            data[14] = 9
            (path / name).write_bytes(bytes(data))
    said = refused(path, code="newer-profile")
    assert "pip install -U strop" in said


def machine(data: bytes, vendor: str) -> bytes:
    """The same file for an architecture that nobody knows."""
    made = bytearray(data)
    made[49 if vendor == "nvidia" and data[49] == 80 else 48] = 0xFE if vendor == "amd" else 50
    return bytes(made)


@pytest.mark.parametrize("vendor", ["amd", "nvidia"])
def test_an_unknown_architecture(tmp_path: Path, vendor: str) -> None:
    data = fixture() if vendor == "nvidia" else lzma.decompress(AMD.read_bytes())
    binary = tmp_path / "binary"
    binary.write_bytes(machine(data, vendor))
    profile = writers.ncu_csv(tmp_path / "s.csv") if vendor == "nvidia" else writers.rocprofv3_json(tmp_path / "r.json")
    said = refused(profile, "--binary", binary, code="unknown-architecture")
    assert "it knows" in said


@pytest.mark.parametrize("vendor", ["nvidia", "amd", "intel"])
def test_a_missing_disassembler(tmp_path: Path, vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = AMD.parents[1]
    name, install = {
        "nvidia": ("nvidia/memory.sm_80.cubin.xz", "pip install 'strop[nvidia]'"),
        "amd": ("amd/kernels.gfx942.hsaco.xz", "pip install 'strop[amd]'"),
        "intel": ("intel/kernels.pvc.zebin.xz", "apt-get install libigc-tools"),
    }[vendor]
    module = f"strop.stalls.{vendor}.disassemble"
    nothing: dict[str, Callable[[], Any]] = {
        "nvidia": lambda: monkeypatch.setattr(f"{module}.candidates", lambda: iter(())),
        "amd": lambda: monkeypatch.setattr(f"{module}.tools", lambda: ()),
        "intel": lambda: monkeypatch.setattr(f"{module}.program", lambda: None),
    }
    nothing[vendor]()
    binary = tmp_path / "binary"
    binary.write_bytes(lzma.decompress((folder / name).read_bytes()))
    said = refused(writers.ncu_csv(tmp_path / "s.csv"), "--binary", binary, code="disassembler-missing", exit_code=3)
    assert install in said
    assert "strop doctor lists what is here" in said
