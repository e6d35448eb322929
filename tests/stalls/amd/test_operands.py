"""What single instructions read and write, family by family. The texts are LLVM's."""

# ruff: noqa: E501 (a case a line)

from __future__ import annotations

import pytest

from strop.stalls.amd.operands import decode
from strop.stalls.instruction import Direction, Role

# text, family, wave, written, read (data and address; implicit ones apart), implicit
CASES = [
    ("v_add_f32_e32 v0, s1, v2", "gfx9", 64, "v0", "s1 v2", "exec0 exec1"),
    ("v_fmac_f32_e32 v0, v1, v2", "gfx10", 32, "v0", "v1 v2 v0", "exec0"),
    ("v_add_co_u32_e32 v2, vcc, s0, v0", "gfx9", 64, "v2 vcc0 vcc1", "s0 v0", "exec0 exec1"),
    ("v_add_co_ci_u32_e64 v2, null, s12, 0, s10", "gfx12", 32, "v2", "s12 s10", "exec0"),
    ("v_mad_u64_u32 v[20:21], s[0:1], v18, v16, v[2:3]", "gfx9", 64, "v20 v21 s0 s1", "v18 v16 v2 v3", "exec0 exec1"),
    ("v_div_scale_f64 v[6:7], null, v[4:5], v[4:5], v[0:1]", "gfx12", 32, "v6 v7", "v4 v5 v0 v1", "exec0"),
    ("v_div_fmas_f64 v[6:7], v[6:7], v[8:9], v[12:13]", "gfx9", 64, "v6 v7", "v6 v7 v8 v9 v12 v13", "vcc0 vcc1 exec0 exec1"),
    ("v_cmp_gt_i32_e32 vcc, s4, v4", "gfx9", 64, "vcc0 vcc1", "s4 v4", "exec0 exec1"),
    ("v_cmpx_gt_i32_e32 vcc, s4, v4", "gfx9", 64, "vcc0 vcc1 exec0 exec1", "s4 v4", "exec0 exec1"),
    ("v_cmpx_gt_i32_e64 s3, v0", "gfx12", 32, "exec0", "s3 v0", "exec0"),
    ("v_readlane_b32 s31, v7, 1", "gfx9", 64, "s31", "v7", ""),
    ("v_readlane_b32 s31, v7, m0", "gfx9", 64, "s31", "v7 m0", ""),
    ("v_writelane_b32 v7, s30, 0", "gfx9", 64, "v7", "s30 v7", ""),
    ("v_readfirstlane_b32 s4, v1", "gfx9", 64, "s4", "v1", "exec0 exec1"),
    ("v_swap_b32 v1, v2", "gfx9", 64, "v1 v2", "v1 v2", "exec0 exec1"),
    ("v_accvgpr_write_b32 a19, v3", "gfx90a", 64, "a19", "v3", "exec0 exec1"),
    ("v_mfma_f32_16x16x16f16 a[0:3], v[4:5], v[6:7], a[0:3]", "gfx90a", 64, "a0 a1 a2 a3", "v4 v5 v6 v7 a0 a1 a2 a3", ""),
    ("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", "gfx940", 64, "v0 v1 v2 v3",
     "v4 v5 v6 v7 v8 v9 v10 v0 v1 v2 v3", ""),
    ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]", "gfx11", 32, " ".join(f"v{i}" for i in range(8)),
     " ".join(f"v{i}" for i in [*range(8, 24), *range(8)]), ""),
    ("v_dual_mul_f32 v7, v6, v6 :: v_dual_add_f32 v8, v5, v7", "gfx11", 32, "v7 v8", "v6 v5 v7", "exec0"),
    ("v_dual_cndmask_b32 v5, v7, v5 :: v_dual_mov_b32 v4, v6", "gfx11", 32, "v5 v4", "v7 v5 v6", "exec0"),
    ("v_lshlrev_b32_sdwa v6, v4, v5 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_0", "gfx9", 64, "v6",
     "v4 v5", "exec0 exec1"),
    ("v_or_b32_sdwa v6, v4, v5 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD", "gfx9", 64, "v6",
     "v4 v5 v6", "exec0 exec1"),
    ("v_add_u32_dpp v0, v1, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", "gfx9", 64, "v0", "v1 v2", "exec0 exec1"),
    ("v_add_u32_dpp v0, v1, v2 row_bcast:15 row_mask:0xa bank_mask:0xf", "gfx9", 64, "v0", "v1 v2 v0", "exec0 exec1"),
    ("v_fma_mixhi_f16 v0, v1, v2, v3", "gfx9", 64, "v0", "v1 v2 v3 v0", "exec0 exec1"),
    ("v_add_f16_e32 v1.h, v2.l, v3.l", "gfx11", 32, "v1", "v2 v3 v1", "exec0"),
    ("s_add_u32 s0, s1, 0x100", "gfx9", 64, "s0 scc0", "s1", ""),
    ("s_addc_u32 s0, s1, 0", "gfx9", 64, "s0 scc0", "s1", "scc0"),
    ("s_mul_i32 s2, s2, s3", "gfx9", 64, "s2", "s2 s3", ""),
    ("s_cmp_lg_u32 s5, 0", "gfx9", 64, "scc0", "s5", ""),
    ("s_cselect_b64 s[2:3], -1, 0", "gfx9", 64, "s2 s3", "", ""),
    ("s_and_saveexec_b64 s[6:7], vcc", "gfx9", 64, "s6 s7 exec0 exec1 scc0", "vcc0 vcc1", "exec0 exec1"),
    ("s_or_b32 exec_lo, exec_lo, s2", "gfx12", 32, "exec0 scc0", "exec0 s2", ""),
    ("s_mov_b32 m0, s4", "gfx9", 64, "m0", "s4", ""),
    ("s_cbranch_vccnz 7", "gfx9", 64, "", "", ""),
    ("s_swappc_b64 s[30:31], s[4:5]", "gfx9", 64, "s30 s31", "s4 s5", ""),
    ("s_bitset1_b32 s4, 3", "gfx9", 64, "s4", "s4", ""),
    ("v_add_u32_e32 v0, ttmp9, v1", "gfx12", 32, "v0", "ttmp9 v1", "exec0"),
]  # fmt: skip


def names(registers: object) -> list[str]:
    return [str(each) if each.space not in ("m0",) else "m0" for each in registers]


@pytest.mark.parametrize(
    ("text", "family", "wave", "written", "read", "implicit"), CASES, ids=[case[0] for case in CASES]
)
def test_registers(text: str, family: str, wave: int, written: str, read: str, implicit: str) -> None:
    made = decode(text, family, wave)
    assert made.made is not None
    assert names(made.defs) == written.split()
    plain = [use.register for use in made.uses if use.role in (Role.DATA, Role.ADDRESS)]
    assert names(plain) == read.split()
    assert names(use.register for use in made.uses if use.role is Role.IMPLICIT) == implicit.split()


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("v_cndmask_b32_e32 v0, v1, v2, vcc", "vcc0 vcc1"),
        ("v_cndmask_b32_e64 v0, v1, v2, s[4:5]", "s4 s5"),
        ("s_cbranch_scc1 4", "scc0"),
        ("s_cbranch_execz 4", "exec0 exec1"),
        ("s_cselect_b32 s0, s1, s2", "scc0"),
    ],
)
def test_predicates(text: str, mask: str) -> None:
    assert names(use.register for use in decode(text, "gfx9", 64).uses if use.role is Role.PREDICATE) == mask.split()


# text, family, written, data, address, space, direction, width, event
MEMORY = [
    ("global_load_dwordx4 v[2:5], v[0:1], off", "gfx9", "v2 v3 v4 v5", "", "v0 v1", "global", "load", 16, "load"),
    ("global_load_dword v1, v2, s[2:3] offset:4", "gfx9", "v1", "", "v2 s2 s3", "global", "load", 4, "load"),
    ("global_store_dwordx2 v[0:1], v[2:3], off", "gfx9", "", "v2 v3", "v0 v1", "global", "store", 8, "store"),
    ("global_atomic_add v0, v1, s[10:11]", "gfx9", "", "v1", "v0 s10 s11", "global", "atomic", 4, "atomic"),
    ("global_atomic_add v1, v1, v2, s[12:13] glc", "gfx9", "v1", "v2", "v1 s12 s13", "global", "atomic", 4, "atomic return"),
    ("global_atomic_add v1, v1, v2, s[12:13] sc0", "gfx940", "v1", "v2", "v1 s12 s13", "global", "atomic", 4, "atomic return"),
    ("global_atomic_add_u32 v1, v1, v2, s[4:5] th:TH_ATOMIC_RETURN scope:SCOPE_DEV", "gfx12", "v1", "v2", "v1 s4 s5", "global",
     "atomic", 4, "atomic return"),
    ("global_load_short_d16_hi v12, v[2:3], off", "gfx9", "v12", "v12", "v2 v3", "global", "load", 2, "load"),
    ("flat_load_dword v6, v[2:3] glc", "gfx9", "v6", "", "v2 v3", "generic", "load", 4, "flat load"),
    ("flat_store_dword v[2:3], v6 offset:8", "gfx9", "", "v6", "v2 v3", "generic", "store", 4, "flat store"),
    ("scratch_load_b32 v2, off, s7", "gfx12", "v2", "", "s7", "scratch", "load", 4, "scratch load"),
    ("scratch_store_b128 off, v[6:9], off offset:16", "gfx12", "", "v6 v7 v8 v9", "", "scratch", "store", 16, "scratch store"),
    ("buffer_load_dword v3, v4, s[0:3], 0 offen", "gfx9", "v3", "", "v4 s0 s1 s2 s3", "global", "load", 4, "load"),
    ("buffer_load_dwordx4 v[2:5], v1, s[8:11], s6 offen offset:64", "gfx9", "v2 v3 v4 v5", "", "v1 s8 s9 s10 s11 s6", "global",
     "load", 16, "load"),
    ("buffer_store_dword v2, off, s[0:3], 0 offset:4", "gfx9", "", "v2", "s0 s1 s2 s3", "global", "store", 4, "store"),
    ("buffer_load_dword v1, s[4:7], 0 offen lds", "gfx9", "", "", "v1 s4 s5 s6 s7", "global", "copy", 4, "load"),
    ("global_load_lds_dword v[2:3], off", "gfx940", "", "", "v2 v3", "global", "copy", 4, "load"),
    ("buffer_atomic_cmpswap v[2:3], v0, s[4:7], 0 offen glc", "gfx9", "v2", "v2 v3", "v0 s4 s5 s6 s7", "global", "atomic", 4,
     "atomic return"),
    ("s_load_dwordx4 s[0:3], s[4:5], 0x8", "gfx9", "s0 s1 s2 s3", "", "s4 s5", "constant", "load", 16, "smem"),
    ("s_buffer_load_b64 s[0:1], s[4:7], s9 offset:0x0", "gfx12", "s0 s1", "", "s4 s5 s6 s7 s9", "constant", "load", 8, "smem"),
    ("ds_read2st64_b32 v[2:3], v1 offset1:2", "gfx9", "v2 v3", "", "v1", "shared", "load", 8, "lds"),
    ("ds_write_b64 v8, v[2:3]", "gfx9", "", "v2 v3", "v8", "shared", "store", 8, "lds"),
    ("ds_write2_b32 v8, v2, v5 offset1:1", "gfx9", "", "v2 v5", "v8", "shared", "store", 8, "lds"),
    ("ds_add_rtn_u32 v9, v9, v8", "gfx9", "v9", "v8", "v9", "shared", "atomic", 4, "lds"),
    ("ds_add_u32 v9, v8", "gfx9", "", "v8", "v9", "shared", "atomic", 4, "lds"),
    ("ds_add_u32 v9, v8 gds", "gfx9", "", "v8", "v9", "global", "atomic", 4, "gds"),
    ("image_load v[0:3], [v4, v5], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D", "gfx12", "v0 v1 v2 v3", "",
     "v4 v5 s0 s1 s2 s3 s4 s5 s6 s7", "texture", "load", None, "load"),
    ("image_store v3, v2, s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_1D", "gfx12", "", "v3", "v2 s0 s1 s2 s3 s4 s5 s6 s7", "texture",
     "store", None, "store"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "family", "written", "data", "address", "space", "direction", "width", "event"),
    MEMORY,
    ids=[case[0] for case in MEMORY],
)
def test_memory(
    text: str,
    family: str,
    written: str,
    data: str,
    address: str,
    space: str,
    direction: str,
    width: int | None,
    event: str,
) -> None:
    made = decode(text, family, 64)
    assert made.memory is not None
    assert names(made.defs) == written.split()
    assert names(use.register for use in made.uses if use.role is Role.DATA) == data.split()
    assert names(use.register for use in made.uses if use.role is Role.ADDRESS) == address.split()
    assert (made.memory.space, made.memory.direction, made.memory.width_bytes) == (space, Direction(direction), width)
    assert made.event == event


def test_what_goes_to_lds_is_told_where_by_m0() -> None:
    for text in ("buffer_load_dword v1, s[4:7], 0 offen lds", "global_load_lds_dword v[2:3], off"):
        made = decode(text, "gfx940", 64)
        assert made.memory is not None
        assert made.memory.target == "shared"
        assert "m0" in names(use.register for use in made.uses)


def test_an_unknown_opcode_says_nothing() -> None:
    for text in (
        ".long 0xd7006a0d",
        "v_frobnicate_f32 v0, v1",
        "s_unheard_of s0",
        "v_dual_mov_b32 v0, v1 :: v_dual_odd v2, v3",
    ):
        made = decode(text, "gfx11", 32)
        assert made.made is None
        assert made.defs == made.uses == ()


def test_the_stack_by_buffer_instructions() -> None:
    made = decode("buffer_store_dword v2, off, s[0:3], 0 offset:4", "gfx90a", 64, frozenset({0}))
    assert made.memory is not None
    assert (made.memory.space, made.memory.slot) == ("scratch", ("stack", 4))
    made = decode("buffer_load_dword v40, off, s[0:3], s33 offset:8", "gfx90a", 64, frozenset({0}))
    assert made.memory is not None
    assert made.memory.slot == ("s33", 8)
