"""Operands, one by one: what is written, what is read, how wide, for what."""

import pytest

from strop.stalls.instruction import Direction, Role
from strop.stalls.nvidia.opcodes import form_of
from strop.stalls.nvidia.operands import effects_of, split_guard


def registers(text, sm=90):
    _, _, rest = split_guard(text)
    name, _, operands = rest.partition(" ")
    effects = effects_of(form_of(name, sm), operands)
    return " ".join(map(str, effects.defs)), " ".join(str(use.register) for use in effects.uses)


CASES = [
    ("FFMA R7, R6, R5, R7", "R7", "R6 R5 R7"),
    ("FADD R7, -R6, |R5|", "R7", "R6 R5"),
    ("MOV R7, RZ", "R7", ""),
    ("MOV R20, 32@lo((_Z5callsPKfPfPKdi + .L_x_5@srel))", "R20", ""),
    ("DFMA R4, R6.reuse, c[0x0][0x198], R8", "R4 R5", "R6 R7 R8 R9"),
    ("DFMA R4, R6, UR4, R8", "R4 R5", "R6 R7 UR4 UR5 R8 R9"),
    ("DSETP.GE.AND P0, PT, |R2|, R4, PT", "P0", "R2 R3 R4 R5"),
    ("IMAD.WIDE.U32 R2, R9, 0x4, R4", "R2 R3", "R9 R4 R5"),
    ("IMAD.WIDE.U32 R2, P1, R9, R8, R4", "R2 R3 P1", "R9 R8 R4 R5"),
    ("IADD3 R4, P0, P1, R2, R3, R5", "R4 P0 P1", "R2 R3 R5"),
    ("IADD3.X R5, PT, PT, R5, R6, RZ, P0, !P1", "R5", "R5 R6 P0 P1"),
    ("LOP3.LUT P0, RZ, R4, 0x1, RZ, 0xc0, !PT", "P0", "R4"),
    ("LEA.HI.X R5, R2, c[0x0][0x174], R7, 0x2, P0", "R5", "R2 R7 P0"),
    ("ISETP.GE.U32.AND.EX P0, P2, R1, R2, PT, P1", "P0 P2", "R1 R2 P1"),
    ("PLOP3.LUT P0, PT, P1, P2, PT, 0xa8, 0x0", "P0", "P1 P2"),
    ("SEL R4, R2, 0x1, !P3", "R4", "R2 P3"),
    ("VOTE.ANY R4, PT, P0", "R4", "P0"),
    ("VOTE.ALL P1, P0", "P1", "P0"),
    ("SHFL.IDX P2, R3, R4, R5, 0x1f", "P2 R3", "R4 R5"),
    ("P2R R0, PR, RZ, 0x5", "R0", "P0 P2"),
    ("R2P PR, R0, 0x3", "P0 P1", "R0"),
    ("R2UR UR4, R2", "UR4", "R2"),
    ("F2F.F64.F32 R4, R3", "R4 R5", "R3"),
    ("F2F.F32.F64 R4, R6", "R4", "R6 R7"),
    ("F2I.S64.F64.TRUNC R4, R6", "R4 R5", "R6 R7"),
    ("I2F.F64 R4, R6", "R4 R5", "R6"),
    ("I2F.U64.RP R4, R6", "R4", "R6 R7"),
    ("MUFU.RCP64H R5, R7", "R5", "R7"),
    ("CS2R R2, SRZ", "R2 R3", ""),
    ("CS2R.32 R2, SR_CLOCKLO", "R2", ""),
    ("LDG.E.64.CONSTANT R16, desc[UR4][R2.64+0x10]", "R16 R17", "UR4 UR5 R2 R3"),
    ("LDG.E.128 R16, [R2.64]", "R16 R17 R18 R19", "R2 R3"),
    ("LDG.E.U8.SYS R16, [R2]", "R16", "R2 R3"),
    ("LDG.E.SYS R16, [R2.U32+UR4]", "R16", "R2 UR4 UR5"),
    ("STG.E.64 desc[UR6][R4.64], R8", "", "UR6 UR7 R4 R5 R8 R9"),
    ("LDS.128 R4, [R2.X16+UR5+0x10]", "R4 R5 R6 R7", "R2 UR5"),
    ("STS.U8 [R2+0x3], R5", "", "R2 R5"),
    ("LDSM.16.MT88.2 R10, [R3+UR4]", "R10 R11", "R3 UR4"),
    ("LDC.64 R4, c[0x0][R2+0x210]", "R4 R5", "R2"),
    ("LDCU.128 UR4, c[0x0][0x380]", "UR4 UR5 UR6 UR7", ""),
    ("LDGSTS.E.BYPASS.128 [R3+0x100], desc[UR8][R4.64], P1", "", "R3 UR8 UR9 R4 R5 P1"),
    ("ATOMG.E.CAS.64.STRONG.GPU PT, R4, [R24], R6, R8", "R4 R5", "R24 R25 R6 R7 R8 R9"),
    ("ATOMS.CAST.SPIN P0, [R2], R4, R5", "P0", "R2 R4 R5"),
    ("RED.E.ADD.F64.RN.STRONG.GPU [R6.64], R2", "", "R6 R7 R2 R3"),
    ("HMMA.16816.F32 R4, R8, R12, R4", "R4 R5 R6 R7", "R8 R9 R10 R11 R12 R13 R4 R5 R6 R7"),
    ("HMMA.1688.F32.TF32 R4, R8, R12, RZ", "R4 R5 R6 R7", "R8 R9 R10 R11 R12 R13"),
    ("HMMA.16816.F16 R4, R8, R12, R4", "R4 R5", "R8 R9 R10 R11 R12 R13 R4 R5"),
    ("IMMA.8816.S8.S8 R4, R8.ROW, R9.COL, R4", "R4 R5", "R8 R9 R4 R5"),
    ("DMMA.884 R4, R8, R10, R4", "R4 R5 R6 R7", "R8 R9 R10 R11 R4 R5 R6 R7"),
    ("HGMMA.64x16x16.F32 R24, gdesc[UR8], R24", " ".join(f"R{n}" for n in range(24, 32)),
     "UR8 UR9 UR10 UR11 " + " ".join(f"R{n}" for n in range(24, 32))),
    ("UTMALDG.2D [UR8], [UR4]", "", "UR8 UR9 UR10 UR11 UR4 UR5"),
    ("UTMASTG.2D [UR8], [UR12]", "", "UR8 UR9 UR10 UR12 UR13"),
    ("UBLKCP.S.G [UR8], [UR4], UR6", "", "UR8 UR9 UR4 UR5 UR6"),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R15+URZ+0x8], R12", "P1", "R15 R12"),
    ("BSSY B0, `(.L_x_3)", "B0", ""),
    ("BSYNC B0", "", "B0"),
    ("RET.REL.NODEC R4 `(_Z5callsPKfPfPKdi)", "", "R4 R5"),
    ("TEX.LL RZ, R13, R4, R18, UR4, 2D, 0x1", "R13", "R4 R5 R18 UR4 UR5"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "defs", "uses"), CASES, ids=[case[0].split()[0] for case in CASES])
def test_registers(text, defs, uses):
    assert registers(text) == (defs, uses)


def test_unsigned_64_bit_comparison_is_wide():
    assert registers("ISETP.GE.U64.AND P1, PT, R8, R12, PT", sm=120) == ("P1", "R8 R9 R12 R13")


def test_roles():
    effects = effects_of(form_of("STG.E", 90), "desc[UR6][R4.64], R8")
    roles = {str(use.register): use.role for use in effects.uses}
    assert roles == {
        "UR6": Role.ADDRESS,
        "UR7": Role.ADDRESS,
        "R4": Role.ADDRESS,
        "R5": Role.ADDRESS,
        "R8": Role.DATA,
    }
    assert effects.memory is not None
    assert effects.memory.direction is Direction.STORE
    assert effects.memory.width_bytes == 4


def test_guards():
    guard, never, rest = split_guard("@!P2 EXIT")
    assert (str(guard.register), guard.negated, never, rest) == ("P2", True, False, "EXIT")
    assert split_guard("@!PT LDS RZ, [RZ]")[:2] == (None, True)
    assert str(split_guard("@UP1 BRA `(.L_x_1)")[0].register) == "UP1"


def test_stack_slots():
    assert effects_of(form_of("STL.64", 80), "[R1+0x18], R4").memory.slot == ("R1", 0x18)
    assert effects_of(form_of("LDL", 80), "R4, [R1]").memory.slot == ("R1", 0)
    assert effects_of(form_of("LDL", 80), "R4, [R1+-0x8]").memory.slot == ("R1", -8)
    assert effects_of(form_of("LDL", 80), "R4, [R7]").memory.slot is None


def test_an_unknown_opcode_is_not_guessed():
    form = form_of("FROBNICATE.E.64", 90)
    assert not form.known
    assert effects_of(form, "R4, [R2.64], R6").defs == ()
