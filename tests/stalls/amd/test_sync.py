"""Waits by encoding, generation by generation, and what becomes pending. Encodings are llvm-mc-19's."""

from __future__ import annotations

import pytest

from strop.stalls.amd.operands import decode
from strop.stalls.amd.sync import dependency_pends, immediate, pends, waits
from strop.stalls.instruction import When

CASES = [
    ("s_waitcnt vmcnt(0)", 0xBF8C0F70, "gfx9", {"vmcnt": 0}),
    ("s_waitcnt vmcnt(17)", 0xBF8C4F71, "gfx940", {"vmcnt": 17}),
    ("s_waitcnt vmcnt(62) lgkmcnt(3)", 0xBF8CC37E, "gfx90a", {"vmcnt": 62, "lgkmcnt": 3}),
    ("s_waitcnt lgkmcnt(0)", 0xBF8CC07F, "gfx9", {"lgkmcnt": 0}),
    ("s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)", 0xBF8C0000, "gfx9", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
    ("s_waitcnt lgkmcnt(17)", 0xBF8CD17F, "gfx10", {"lgkmcnt": 17}),
    ("s_waitcnt vmcnt(5)", 0xBF8917F7, "gfx11", {"vmcnt": 5}),
    ("s_waitcnt lgkmcnt(2)", 0xBF89FC27, "gfx11", {"lgkmcnt": 2}),
    ("s_waitcnt_vscnt null, 0x0", 0xBC7C0000, "gfx11", {"vscnt": 0}),
    ("s_waitcnt_vscnt null, 0x3", 0xBBFD0003, "gfx10", {"vscnt": 3}),
    ("s_waitcnt_depctr 0xfff", 0xBF880FFF, "gfx11", {"va_vdst": 0}),
    ("s_waitcnt_depctr 0xffe3", 0xBF88FFE3, "gfx11", {"vm_vsrc": 0}),
    ("s_wait_alu 0xfffe", 0xBF88FFFE, "gfx12", {"sa_sdst": 0}),
    ("s_wait_alu 0xfffd", 0xBF88FFFD, "gfx12", {"va_vcc": 0}),
    ("s_wait_alu 0xf1ff", 0xBF88F1FF, "gfx12", {"va_sdst": 0}),
    ("s_wait_loadcnt 0x2", 0xBFC00002, "gfx12", {"loadcnt": 2}),
    ("s_wait_kmcnt 0x0", 0xBFC70000, "gfx12", {"kmcnt": 0}),
    ("s_wait_loadcnt_dscnt 0x102", 0xBFC80102, "gfx12", {"loadcnt": 1, "dscnt": 2}),
    ("s_wait_storecnt_dscnt 0x0", 0xBFC90000, "gfx12", {"storecnt": 0, "dscnt": 0}),
    ("s_nop 3", 0xBF800003, "gfx9", {}),
    ("s_delay_alu instid0(VALU_DEP_1)", 0xBF870001, "gfx11", {}),
]


@pytest.mark.parametrize(("text", "word", "family", "wanted"), CASES, ids=[f"{case[2]} {case[0]}" for case in CASES])
def test_waits(text: str, word: int, family: str, wanted: dict[str, int]) -> None:
    found = waits(decode(text, family, 64), word, family)
    assert {wait.resource: wait.pending for wait in found} == wanted


@pytest.mark.parametrize(
    ("text", "word", "family"),
    [case[:3] for case in CASES if "(" in case[0] and "delay" not in case[0]] + [("s_wait_loadcnt 0x2", 2, "gfx12")],
)
def test_the_text_says_the_same_as_the_encoding(text: str, word: int, family: str) -> None:
    made = decode(text, family, 64)
    assert waits(made, immediate(text, family), family) == waits(made, word, family)


def test_idle_waits_for_everything() -> None:
    found = {wait.resource for wait in waits(decode("s_wait_idle", "gfx12", 32), 0xBF8A0000, "gfx12")}
    assert {"loadcnt", "storecnt", "dscnt", "kmcnt", "samplecnt", "bvhcnt", "expcnt"} <= found


PENDS = [
    ("global_load_dword v0, v[2:3], off", "gfx9", {"vmcnt": True}),
    ("global_store_dword v[2:3], v0, off", "gfx90a", {"vmcnt": True}),
    ("global_store_dword v[2:3], v0, off", "gfx10", {"vscnt": True}),
    ("global_store_b32 v[2:3], v0, off", "gfx12", {"storecnt": True}),
    ("global_atomic_add v0, v1, s[0:1]", "gfx10", {"vscnt": True}),
    ("global_atomic_add v0, v0, v1, s[0:1] glc", "gfx10", {"vmcnt": True}),
    ("flat_load_dword v0, v[2:3]", "gfx940", {"vmcnt": False, "lgkmcnt": False}),
    ("flat_store_b32 v[2:3], v0", "gfx12", {"storecnt": True, "dscnt": True}),
    ("s_load_dword s0, s[2:3], 0x0", "gfx9", {"lgkmcnt": False}),
    ("s_load_b32 s0, s[2:3], 0x0", "gfx12", {"kmcnt": False}),
    ("s_memtime s[0:1]", "gfx9", {"lgkmcnt": False}),
    ("ds_read_b32 v0, v1", "gfx9", {"lgkmcnt": True}),
    ("ds_bpermute_b32 v0, v1, v2", "gfx12", {"dscnt": True}),
    ("image_sample v[0:3], [v4, v5], s[0:7], s[8:11] dmask:0xf", "gfx12", {"samplecnt": True}),
    ("buffer_load_dword v1, s[4:7], 0 offen lds", "gfx9", {"vmcnt": True}),
    ("s_sendmsg sendmsg(MSG_INTERRUPT)", "gfx9", {"lgkmcnt": False}),
    ("v_mfma_f32_16x16x16f16 a[0:3], v[4:5], v[6:7], a[0:3]", "gfx90a", {}),
    ("v_exp_f32_e32 v0, v1", "gfx11", {}),
    ("global_load_async_to_lds_b32 v0, v[2:3], off", "gfx1250", {"asynccnt": True}),
]


@pytest.mark.parametrize(("text", "family", "wanted"), PENDS, ids=[f"{case[1]} {case[0]}" for case in PENDS])
def test_pends(text: str, family: str, wanted: dict[str, bool]) -> None:
    found = pends(decode(text, family, 64), family)
    assert {pend.resource: pend.in_order for pend in found if pend.resource != "xcnt"} == wanted


def test_exports_hold_until_their_operands_are_read() -> None:
    found = pends(decode("exp mrt0 v0, v1, v2, v3 done vm", "gfx10", 64), "gfx10")
    assert [(pend.resource, pend.when) for pend in found] == [("expcnt", When.OPERANDS_READ)]


def test_dependency_counters_pend_only_where_they_are_waited_for() -> None:
    add, move = decode("v_add_co_u32 v1, vcc_lo, v2, v3", "gfx12", 32), decode("s_mov_b32 s0, s1", "gfx12", 32)
    load = decode("global_load_b32 v0, v[2:3], off", "gfx12", 32)
    named = ("va_vdst", "va_vcc", "sa_sdst", "vm_vsrc")
    assert [pend.resource for pend in dependency_pends(add, named)] == ["va_vdst", "va_vcc"]
    assert [pend.resource for pend in dependency_pends(move, named)] == ["sa_sdst"]
    assert [(pend.resource, pend.when) for pend in dependency_pends(load, named)] == [("vm_vsrc", When.OPERANDS_READ)]
    assert dependency_pends(add, ()) == ()
