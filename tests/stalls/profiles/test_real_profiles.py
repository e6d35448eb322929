"""The readers on real profiles of three vendors; skipped where they don't lie beside the project."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from strop.stalls.profiles.profile import KernelProfile, Profile, Reason
from strop.stalls.profiles.recognise import read

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "gpu"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real profiles (../shared/data/gpu) aren't here")

# path, format, vendor, kernels, samples, places, binaries
FILES = [
    ("nvidia/hpctoolkit_leo_ae/database", "hpctoolkit", "nvidia", 1, 116_936, 114, 1),
    ("amd/hpctoolkit_leo_ae/database", "hpctoolkit", "amd", 1, 168_299, 37, 1),
    ("intel/hpctoolkit_leo_ae/database", "hpctoolkit", "intel", 1, 521_533, 77, 1),
    ("nvidia/hpctoolkit_stock/loops-cuda-nvidiapc-t.d", "hpctoolkit", "nvidia", 1, 657_096, 5, 1),
    ("nvidia/hpctoolkit_stock/loops-cuda-nvidiapc-t.nostruct.d", "hpctoolkit", "nvidia", 1, 657_096, 132, 1),
    ("nvidia/ncu_rep/MW_Baseline.ncu-rep", "ncu-rep", "nvidia", 5, 778_221, 1237, 1),
    ("amd/rocprof_compute_viewer_pcsampling/code.json", "code-json", "amd", 1, 4_690, 852, 0),
    ("amd/rocprofv3_pc_sampling_csv/pc_sampling_host_trap.csv", "rocprofv3-csv", "amd", 1, 79, 10, 0),
    ("amd/rocprofv3_pc_sampling_csv/pc_sampling_host_trap_debug.csv", "rocprofv3-csv", "amd", 1, 21, 5, 0),
    ("amd/rocprofv3_pc_sampling_csv/pc_sampling_stochastic_debug.csv", "rocprofv3-csv", "amd", 1, 97, 31, 0),
]


def words(profile: Profile) -> Counter[str]:
    counts = (count for kernel in profile.kernels for counts in kernel.counts.values() for count in counts)
    total: Counter[str] = Counter()
    for count in counts:
        total[count.vendor_reason] += count.samples
    return total


def at(kernel: KernelProfile, address: int) -> Counter[str]:
    counts = next(counts for place, counts in kernel.counts.items() if place.address == address)
    return Counter({count.vendor_reason: count.samples for count in counts})


@pytest.mark.parametrize(("path", "format", "vendor", "kernels", "samples", "places", "binaries"), FILES)
def test_every_file_is_read_whole(
    path: str, format: str, vendor: str, kernels: int, samples: int, places: int, binaries: int
) -> None:
    profile = read(DATA / path)
    assert (profile.format, profile.vendor, len(profile.kernels)) == (format, vendor, kernels)
    assert sum(kernel.samples for kernel in profile.kernels) == samples
    assert sum(len(kernel.counts) for kernel in profile.kernels) == places
    assert len(profile.binaries) == binaries


def test_hottest_stalls_of_the_three_vendors() -> None:
    def kernel(vendor: str) -> KernelProfile:
        return read(DATA / vendor / "hpctoolkit_leo_ae/database").kernels[0]

    # The section of the NVIDIA kernel lies at 0x1780 in its file; 0x7c0 is the pc.
    assert at(kernel("nvidia"), 0x1780 + 0x7C0)["GMEM"] == 3579
    assert at(kernel("amd"), 0x19B0) == {"MEM": 49389}
    assert at(kernel("intel"), 0x800000100C08)["IDEP"] == 261437


@pytest.mark.parametrize("path", [row[0] for row in FILES[:5]])
def test_cct_db_says_what_profile_db_says(path: str, tmp_path: Path) -> None:
    for name in ("meta.db", "cct.db"):
        shutil.copy(DATA / path / name, tmp_path)
    ours, theirs = read(tmp_path), read(DATA / path)
    assert {kernel.name: kernel.counts for kernel in ours.kernels} == {
        kernel.name: kernel.counts for kernel in theirs.kernels
    }


def test_two_databases_of_one_run_agree() -> None:
    folder = DATA / "nvidia/hpctoolkit_stock"
    lines, instructions = (read(folder / f"loops-cuda-nvidiapc-t.{kind}d") for kind in ("", "nostruct."))
    assert words(lines) == words(instructions)
    assert not any(place.address for place in lines.kernels[0].counts)
    assert all(place.address for place in instructions.kernels[0].counts)


def test_nsight_report() -> None:
    profile = read(DATA / "nvidia/ncu_rep/MW_Baseline.ncu-rep")
    kernel = next(kernel for kernel in profile.kernels if kernel.name == "semi_discrete_step_232_gpu")
    stalls = {
        (place.function, place.pc, count.vendor_reason): count
        for place in kernel.counts
        for count in kernel.counts[place]
    }
    hottest = max(stalls.items(), key=lambda entry: entry[1].samples)
    assert hottest[0] == ("semi_discrete_step_232_gpu", 2256, "long_scoreboard")
    assert (hottest[1].samples, hottest[1].hidden, hottest[1].reason) == (239_544, 41_310, Reason.GLOBAL_MEMORY)
    assert profile.binaries[0].data.startswith(b"\x7fELF")
    assert [text.count("\n") > 800 for text in profile.sources.values()] == [True]


def test_viewer_listing() -> None:
    profile = read(DATA / "amd/rocprof_compute_viewer_pcsampling/code.json")
    counts = words(profile)
    assert counts["issued"] == 1_306
    assert sum(counts.values()) - counts["issued"] == 3_384
    assert counts["BARRIER_WAIT"] == 761
    stalls = Counter(
        {
            (place.text, place.pc): sum(count.samples for count in counts if count.reason is not Reason.ISSUED)
            for place, counts in profile.kernels[0].counts.items()
        }
    )
    top = [(text, samples) for (text, _), samples in stalls.most_common(2)]
    assert top == [("s_barrier", 153), ("s_waitcnt vmcnt(0)", 147)]


def test_rocprofv3_csv() -> None:
    profile = read(DATA / "amd/rocprofv3_pc_sampling_csv/pc_sampling_stochastic_debug.csv")
    counts = words(profile)
    assert (counts["WAITCNT"], counts["ALU_DEPENDENCY"], counts["NO_INSTRUCTION_AVAILABLE"]) == (71, 5, 1)
    assert "OTHER_WAIT" not in counts, "the reason beside a sample that issued is noise"
    assert profile.kernels[0].launches == 48
