"""The main path: profiles and binaries joined, from samples to a diagnosis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strop.errors import NoSamples, OtherBinary, StropError, UnknownKernel, UnknownMethod, UnreadableBinary
from strop.stalls import binaries
from strop.stalls.diagnose import diagnose
from strop.stalls.instruction import Binary
from strop.stalls.profiles import recognise
from strop.stalls.profiles.profile import Count, EmbeddedBinary, KernelProfile, Place, Profile, Reason
from strop.values.diagnosis import Diagnosis
from tests.stalls.assembler import assemble

KERNEL = """
top:  ld  R4 <- [R2] mem=global.load.8 +SB2 lat=300..900 line=41
      mov R7 <- R3 lat=4..4 line=42
      fma R8 <- R4, R8 ?SB2 kind=float lat=4..4 line=44
      br  <- (P0) ->top? line=45
      exit line=46
"""
WAIT = (Count(Reason.GLOBAL_MEMORY, "long_scoreboard", 62, 10), Count(Reason.ISSUED, "selected", 5))

Diagnose = Callable[..., Diagnosis]


def kernel(name: str = "stencil", **places: tuple[Count, ...]) -> KernelProfile:
    counts = {Place(function="stencil", pc=int(pc[1:])): counts for pc, counts in places.items()}
    return KernelProfile(name=name, module="m.cubin", counts=counts)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Diagnose:
    """`run(kernels..., code=text, **options)`: diagnoses made-up samples on an assembled binary."""

    def made(*kernels: KernelProfile, code: str | None = KERNEL, **options: str) -> Diagnosis:
        functions = (assemble(code, name="stencil", address=0x700),) if code else ()
        binary = Binary(path="m.cubin", vendor="nvidia", arch="sm_90", digest="d", functions=functions)
        embedded = (EmbeddedBinary(name="m.cubin", data=b"code"),) if code else ()
        profile = Profile(
            path="p", format="ncu-rep", vendor="nvidia", unit="samples", kernels=kernels, binaries=embedded
        )
        monkeypatch.setattr(recognise, "read", lambda path: profile)
        monkeypatch.setattr(binaries, "decode", lambda data, *, path: binary)
        return diagnose("p", **options)

    return made


@pytest.mark.parametrize(
    "given",
    [
        {"path": None},
        {"path": 5},
        {"path": b"x"},
        {"path": ""},
        {"path": ".", "binary": 5},
        {"path": ".", "binary": ""},
        {"path": ".", "kernel": 5},
        {"path": ".", "method": []},
    ],
)
def test_arguments_of_another_type_are_one_sentence(given: dict[str, Any]) -> None:
    with pytest.raises(StropError) as caught:
        diagnose(**given)
    assert caught.value.exit_code == 2
    assert str(caught.value).isprintable()


def test_a_stall_its_cause_and_the_accounting(run: Diagnose) -> None:
    (found,) = run(kernel(i32=WAIT, i0=(Count(Reason.ISSUED, "selected", 6),))).kernels
    assert found.arch == "sm_90"
    assert found.accounting.to_json() == {
        "unit": "samples",
        "total": 73,
        "parts": {"issued": 11, "self": 0, "attributed": 62, "unexplained": 0},
    }
    (cause,) = found.causes
    assert (cause.id, cause.cause_class) == ("ST101", "global_load_latency")
    assert (cause.stall_site.line, cause.stall_site.pc) == (44, 32)
    assert cause.cause_site is not None
    assert (cause.cause_site.line, cause.cause_site.opcode) == (41, "ld")
    assert cause.share_of_stalls == (1.0, 1.0)
    assert cause.share_of_time == pytest.approx((52 / 73, 52 / 73)), "hidden samples cost nothing"
    assert cause.speedup is not None
    assert cause.speedup[1] <= 73 / 11 + 1e-9
    json.dumps(found.to_json(), allow_nan=False)


def test_addresses_and_names_lead_to_the_function(run: Diagnose) -> None:
    for place in (Place(address=0x720), Place(function="stencil", pc=32), Place(function="void stencil(int)", pc=32)):
        (found,) = run(KernelProfile(name="void stencil(int)", module="m.cubin", counts={place: WAIT})).kernels
        assert found.accounting.parts["attributed"] == 62


def test_lines_alone_give_sites_that_are_lines(run: Diagnose) -> None:
    place = Place(function="stencil", file="/src/kernel.cu", line=44)
    (found,) = run(KernelProfile(name="stencil", module=None, counts={place: WAIT})).kernels
    (cause,) = found.causes
    assert cause.cause_site is not None
    assert (cause.stall_site.line, cause.stall_site.pc, cause.cause_site.line, cause.cause_site.pc) == (
        44,
        None,
        41,
        None,
    )
    assert "instruction samples" in cause.needs
    assert found.accounting.total == 67


def test_without_code_the_text_says_the_class(run: Diagnose) -> None:
    place = Place(text="s_waitcnt vmcnt(0)", file="a.cpp", line=3)
    counts = {place: (Count(Reason.MEMORY, "WAITCNT", 9),), Place(text="v_add"): (Count(Reason.ISSUED, "issued", 2),)}
    (found,) = run(KernelProfile(name="all", module=None, counts=counts), code=None).kernels
    (cause,) = found.causes
    assert (cause.cause_class, cause.cause_site, cause.needs) == ("global_load_latency", None, ("binary",))
    assert found.accounting.parts == {"issued": 2, "self": 0, "attributed": 0, "unexplained": 9}


def test_kernels_are_ranked_and_chosen(run: Diagnose) -> None:
    small, large = kernel("a", i32=WAIT[1:]), kernel("b", i32=WAIT)
    assert [one.name for one in run(small, large).kernels] == ["b", "a"]
    assert [one.name for one in run(small, large, kernel="a").kernels] == ["a"]
    with pytest.raises(UnknownKernel, match="it has a, b"):
        run(small, large, kernel="c")


def test_a_kernel_of_another_binary_leaves_the_others(run: Diagnose) -> None:
    good, bad = run(kernel("a", i32=WAIT), kernel("b", i4000=WAIT)).kernels
    assert good.accounting.parts["attributed"] == 62
    assert bad.accounting.parts == {"issued": 5, "self": 0, "attributed": 0, "unexplained": 62}
    assert bad.coverage["missing"] == ["binary"]
    assert "another binary" in bad.coverage["notes"][-1]


def test_what_cannot_be_diagnosed_says_why(run: Diagnose, tmp_path: Path) -> None:
    with pytest.raises(NoSamples):
        run(kernel())
    with pytest.raises(OtherBinary, match="67 of 67 samples"):
        run(kernel(i4000=WAIT))
    text = {Place(pc=32, text="LDG.E R1, [R2]"): WAIT}
    with pytest.raises(OtherBinary):
        run(KernelProfile(name="stencil", module=None, counts=text))
    with pytest.raises(UnknownMethod, match="strop, leo, nearest, raw"):
        run(kernel(i32=WAIT), method="gpa")
    with pytest.raises(UnreadableBinary):
        run(kernel(i32=WAIT), binary=str(tmp_path / "absent.cubin"))


@pytest.mark.parametrize("method", ["strop", "leo", "nearest", "raw"])
def test_all_methods_close(run: Diagnose, method: str) -> None:
    (found,) = run(kernel(i32=WAIT, i48=(Count(Reason.BRANCH, "branch", 3),)), method=method).kernels
    assert found.accounting.total == 70
    assert found.causes


DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "gpu"


@pytest.mark.skipif(not DATA.is_dir(), reason="no real profiles beside the project")
@pytest.mark.parametrize(
    ("path", "stall", "cause"),
    [
        ("nvidia/hpctoolkit_leo_ae/database", 0x7C0, 0x720),
        ("amd/hpctoolkit_leo_ae/database", 0xB0, 0x98),
    ],
)
def test_real_profiles_give_the_known_chain(path: str, stall: int, cause: int) -> None:
    from strop.errors import DisassemblerMissing

    try:
        (found,) = diagnose(DATA / path).kernels
    except DisassemblerMissing as error:
        pytest.skip(str(error))
    best = next(one for one in found.causes if one.cause_site is not None)
    assert best.cause_site is not None
    assert (best.stall_site.pc, best.cause_site.pc) == (stall, cause)
