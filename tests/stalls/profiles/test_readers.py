"""What the readers say of profiles that this suite wrote itself, one of every format."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from strop.stalls.profiles.profile import Count, KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.recognise import read
from tests.stalls.profiles import database, writers

R = Reason


def words(kernel: KernelProfile) -> Counter[str]:
    return Counter({one: n for counts in kernel.counts.values() for one, n in Counter(_words(counts)).items()})


def _words(counts: tuple[Count, ...]) -> dict[str, int]:
    return {count.vendor_reason: count.samples for count in counts}


def only(profile: Profile) -> KernelProfile:
    assert len(profile.kernels) == 1
    return profile.kernels[0]


@pytest.mark.parametrize("without_profile_db", [False, True], ids=["profile.db", "cct.db"])
def test_hpctoolkit_fork(tmp_path: Path, without_profile_db: bool) -> None:
    folder = database.write(tmp_path / "db", *database.fork(name=writers.NAME))
    binary = tmp_path / "x-measurements" / "gpubins" / "m.gpubin"
    binary.parent.mkdir(parents=True)
    binary.write_bytes(writers.elf(224))
    (binary.parent / "other.gpubin").write_bytes(writers.elf(224))
    if without_profile_db:
        (folder / "profile.db").unlink()
    profile = read(folder)
    kernel = only(profile)
    assert (profile.format, profile.vendor, profile.unit) == ("hpctoolkit", "amd", "samples")
    assert (kernel.name, kernel.module, kernel.launches, kernel.samples) == (writers.NAME, "m.gpubin", 4, 50)
    at = {"function": writers.NAME, "file": "src/a.cu", "line": 41}
    assert kernel.counts == {
        Place(address=0x1780, **at): (Count(R.ISSUED, "ISU:VEC", 7), Count(R.ISSUED, "issued", 3)),
        Place(address=0x1790, **at): (
            Count(R.GLOBAL_MEMORY, "GMEM", 30),
            Count(R.SELECTED_OTHER, "HID", 8, 8),
            Count(R.OTHER, "NEWW", 2),
        ),
    }
    assert [(one.name, one.data) for one in profile.binaries] == [("m.gpubin", writers.elf(224))]
    assert bool(profile.notes) == without_profile_db


def test_any_file_of_a_database_stands_for_it(tmp_path: Path) -> None:
    folder = database.write(tmp_path / "up" / "db", *database.fork())
    (folder / "metrics").mkdir()
    for name in ("FORMATS.md", "metrics/default.yaml"):
        (folder / name).write_text("version: 0\n")
    for name in ("meta.db", "profile.db", "cct.db", "FORMATS.md", "metrics/default.yaml", "..", "."):
        assert read(folder / name).path == str(folder if name != ".." else folder / ".." / "db"), name


def test_the_fork_counts_samples_twice_on_nvidia(tmp_path: Path) -> None:
    root, metrics = database.fork()
    metrics.append("GSAMP:TOT")
    for node in root.walk():
        if node.kind == 3:  # ISU counts every sample, GCYCLES adds the stalled once more
            stalled = node.own.get("GCYCLES:STL", 0)
            node.own.pop("GCYCLES:ISU:VEC", None)
            node.own["GCYCLES:ISU:VEC"] = node.own["GCYCLES:ISU"] = 20 + stalled
            node.own["GCYCLES"] = 20 + 2 * stalled
    root.children[0].own["GSAMP:TOT"] = 20 + 60
    folder = database.write(tmp_path, root, metrics)
    kernel = only(read(folder))
    assert kernel.samples == 80
    assert words(kernel)["GMEM"] == 30


def test_hpctoolkit_stock_keeps_lines_or_instructions(tmp_path: Path) -> None:
    kernel = only(read(database.write(tmp_path / "a", *database.stock(structured=True))))
    expected = (Count(R.DEPENDENCY, "IDEP", 30), Count(R.ISSUED, "issued", 20))
    assert (kernel.name, kernel.module) == ("kernmain()", "m.gpubin")
    assert kernel.counts == {Place(function="kernmain()", file="a.cu", line=21): expected}
    kernel = only(read(database.write(tmp_path / "b", *database.stock(structured=False))))
    assert (kernel.name, kernel.module) == ("kernel at 0x2e00 of m.gpubin", "m.gpubin")
    assert kernel.counts == {Place(address=0x2E00): expected}


def test_a_later_minor_version_is_read(tmp_path: Path) -> None:
    folder = database.write(tmp_path, *database.fork(), minor=9)
    assert only(read(folder)).samples == 50


def test_ncu_rep(tmp_path: Path) -> None:
    profile = read(writers.ncu_rep(tmp_path / "r.ncu-rep"))
    kernel = only(profile)
    assert (profile.format, profile.vendor) == ("ncu-rep", "nvidia")
    assert (kernel.name, kernel.module, kernel.launches, kernel.samples) == (writers.NAME, "cubin-4d", 2, 50)
    function = "_Z1kPKf"
    at = writers.LOAD
    text = "FFMA R4, R4, R5, R6"
    assert kernel.counts == {
        Place(function=function, pc=0x20, address=at + 0x20, text=text): (
            Count(R.GLOBAL_MEMORY, "long_scoreboard", 32, 8),
            Count(R.SELECTED_OTHER, "not_selected", 6, 6),
        ),
        Place(function=function, pc=0x30, address=at + 0x30): (Count(R.OTHER, "brand_new", 2),),
        Place(function=function, pc=0, address=at): (Count(R.ISSUED, "selected", 10),),
    }
    assert [(one.name, one.data) for one in profile.binaries] == [("cubin-4d", writers.elf(190))]
    assert profile.sources == {"/src/k.cu": "__global__ void k() {}\n"}


def test_ncu_rep_with_exposed_samples_only(tmp_path: Path) -> None:
    stalls = {"wait_not_issued": {writers.LOAD: 4}}
    kernel = only(read(writers.ncu_rep(tmp_path / "r", stalls=stalls)))
    assert words(kernel) == {"wait": 8}
    assert kernel.samples == 8


def test_ncu_csv(tmp_path: Path) -> None:
    kernel = only(read(writers.ncu_csv(tmp_path / "page.csv")))
    assert (kernel.name, kernel.samples) == (writers.NAME, 50)
    base = 0x7F0000001000
    assert kernel.counts == {
        Place(pc=0, address=base, text="MOV R1, c[0x0][0x28]"): (Count(R.ISSUED, "selected", 10),),
        Place(pc=16, address=base + 16, text="FFMA R4, R4, R5, R6"): (
            Count(R.GLOBAL_MEMORY, "long_sb", 30, 10),
            Count(R.OTHER, "new", 2),
            Count(R.OTHER, "not broken down", 1),
        ),
        Place(address=base + 0x1000, text="RET.REL.NODEC R20"): (Count(R.GLOBAL_MEMORY, "long_sb", 7),),
    }


def test_rocprofv3_csv_stochastic(tmp_path: Path) -> None:
    profile = read(writers.rocprofv3_csv(tmp_path / "pc.csv"))
    kernel = only(profile)
    assert (kernel.name, kernel.launches, kernel.skid, kernel.samples) == (writers.NAME, 2, 0, 50)
    assert kernel.counts == {
        Place(file="/a/k.hip", line=7, text="v_add_f32 v1, v2, v3"): (Count(R.ISSUED, "VALU", 10),),
        Place(file="/a/k.hip", line=8, text="s_waitcnt vmcnt(0)"): (Count(R.MEMORY, "WAITCNT", 30),),
        Place(text="v_mul_f32 v1, v1, v1"): (Count(R.SELECTED_OTHER, "ARBITER_NOT_WIN", 10, 10),),
    }


def test_rocprofv3_csv_host_trap_has_skid_and_no_reasons(tmp_path: Path) -> None:
    kernel = only(read(writers.rocprofv3_csv(tmp_path / "pc.csv", stochastic=False, trace=False)))
    assert (kernel.skid, kernel.samples) == (2, 50)
    assert kernel.name == "all dispatches"
    assert set(words(kernel)) == {""}


@pytest.mark.parametrize("stochastic", [True, False])
def test_rocprofv3_json(tmp_path: Path, stochastic: bool) -> None:
    kernel = only(read(writers.rocprofv3_json(tmp_path / "r.json", stochastic=stochastic)))
    assert (kernel.name, kernel.module, kernel.launches, kernel.samples) == (writers.NAME, "code_object_5", 1, 50)
    one = Place(address=0x1600, file="/a/k.hip", line=7, text="v_add_f32 v1, v2, v3")
    two = Place(address=0x1610, file="/a/k.hip", line=8, text="s_waitcnt vmcnt(0)")
    if stochastic:
        waits = (Count(R.MEMORY, "WAITCNT", 30), Count(R.SELECTED_OTHER, "ARBITER_NOT_WIN", 10, 10))
        assert kernel.counts == {one: (Count(R.ISSUED, "VALU", 10),), two: waits}
    else:
        assert kernel.counts == {one: (Count(R.OTHER, "", 10),), two: (Count(R.OTHER, "", 40),)}
        assert kernel.skid == 2


def test_rocpd(tmp_path: Path) -> None:
    kernel = only(read(writers.rocpd(tmp_path / "r.db")))
    assert (kernel.name, kernel.module, kernel.launches, kernel.samples) == (writers.NAME, "code_object_5", 1, 50)
    assert kernel.counts == {
        Place(address=0x1600): (Count(R.ISSUED, "VALU", 10),),
        Place(address=0x1610, file="/a/k", line=8, text="s_waitcnt"): (
            Count(R.MEMORY, "WAITCNT", 30),
            Count(R.SELECTED_OTHER, "ARBITER_NOT_WIN", 10, 10),
        ),
    }


def test_code_json_samples(tmp_path: Path) -> None:
    profile = read(writers.code_json(tmp_path / "code.json"))
    kernel = only(profile)
    assert (profile.format, profile.unit) == ("code-json", "samples")
    assert (kernel.name, kernel.module, kernel.samples) == (writers.NAME, "code_object_2", 50)
    function = "_Z1kPKf"
    add = Place(function=function, pc=0, address=0x1600, file="/a/k.hip", line=7, text="v_add_f32 v1, v2, v3")
    wait = Place(function=function, pc=8, address=0x1608, file="/a/k.hip", line=8, text="s_waitcnt vmcnt(0)")
    assert kernel.counts == {
        add: (Count(R.ISSUED, "issued", 10),),
        wait: (
            Count(R.MEMORY, "WAITCNT", 30),
            Count(R.SELECTED_OTHER, "ARBITER_NOT_WIN", 8, 8),
            Count(R.OTHER, "stalled", 2),
        ),
    }
    assert profile.sources == {"/a/k.hip": "__global__ void k() {}\n"}
    assert profile.notes == ("1 source files named in snapshots.json aren't beside it",)
    assert read(tmp_path / "snapshots.json").path == str(tmp_path / "code.json")


def test_code_json_and_statistics_of_a_thread_trace_agree(tmp_path: Path) -> None:
    listing = read(writers.code_json(tmp_path / "code.json", sampled=False))
    statistics = read(writers.att_csv(tmp_path / "stats.csv"))
    assert listing.unit == statistics.unit == "cycles"
    assert listing.kernels == statistics.kernels
    assert only(statistics).samples == 65
    assert words(only(statistics)) == {"issue": 5, "stall": 35, "idle": 5}


def test_statistics_with_samples(tmp_path: Path) -> None:
    profile = read(writers.att_csv(tmp_path / "stats.csv", sampled=True))
    assert (profile.unit, only(profile).samples) == ("samples", 50)


def test_unitrace(tmp_path: Path) -> None:
    profile = read(writers.unitrace(tmp_path / "stalls.csv"))
    first, second = profile.kernels
    assert (profile.vendor, first.name, first.samples) == ("intel", writers.NAME, 50)
    assert (second.name, second.samples) == ("other", 3)
    assert first.counts == {
        Place(function=writers.NAME, pc=0xC0): (Count(R.ISSUED, "Active", 10), Count(R.FIXED_LATENCY, "Dist", 2)),
        Place(function=writers.NAME, pc=0xD0): (Count(R.MEMORY, "Sbid", 33), Count(R.OTHER, "Other", 5)),
    }


def test_a_directory_with_one_profile_stands_for_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing\n")
    assert read(writers.unitrace(tmp_path / "stalls.csv").parent).format == "unitrace"


def test_names_and_extensions_decide_nothing(tmp_path: Path) -> None:
    assert read(writers.rocpd(tmp_path / "profile.csv")).format == "rocpd"
    assert read(writers.ncu_rep(tmp_path / "report.json")).format == "ncu-rep"


def test_thousands_of_kernels(tmp_path: Path) -> None:
    header = "Kernel, IP[Address], Active[Events], SbidStall[Events]\n"
    text = header + "".join(f'"k<{number}, λ>", {number:x}, 1, {number}\n' for number in range(5000))
    (tmp_path / "u.csv").write_text(text)
    kernels = read(tmp_path / "u.csv").kernels
    assert len(kernels) == 5000
    assert sum(kernel.samples for kernel in kernels) == 5000 + sum(range(5000))
    assert kernels[0].name == "k<4999, λ>"
