"""Scoreboards, groups and barriers, on what the compiler made of our own kernels and on hand-made control words."""

from strop.stalls.instruction import Flow, Pend, Wait, When
from strop.stalls.nvidia.control import Control
from strop.stalls.nvidia.opcodes import form_of
from strop.stalls.nvidia.sync import sync_of
from tests.stalls.nvidia.recorded import binary, function, opcodes

ALL = frozenset({"cpasync", "bulk", "gsb0.open"})
PLAIN = Control(stall=1, yields=False, write=None, read=None, wait=0, reuse=0)


def sync(text, control=PLAIN, rider=None, groups=ALL, sm=90):
    name, _, operands = text.partition(" ")
    return sync_of(form_of(name, sm), operands, control, rider, groups)


def control(write=None, read=None, wait=0):
    return Control(stall=1, yields=False, write=write, read=read, wait=wait, reuse=0)


def test_wait_mask():
    waits, pends, _ = sync("FFMA R7, R6, R5, R7", control(wait=0b100101))
    assert waits == (Wait("SB0"), Wait("SB2"), Wait("SB5"))
    assert pends == ()


def test_write_and_read_barriers():
    _, pends, _ = sync("LDG.E R2, desc[UR4][R2.64]", control(write=2, read=0))
    assert [(pend.resource, pend.when) for pend in pends] == [("SB2", When.RESULT), ("SB0", When.OPERANDS_READ)]


def test_depbar_leaves_the_youngest():
    assert sync("DEPBAR.LE SB0, 0x2")[0] == (Wait("SB0", 2),)
    assert sync("DEPBAR.LE SB3, 0x1, {4,0}")[0] == (Wait("SB3", 1), Wait("SB4"), Wait("SB0"))
    assert sync("DEPBAR {5,1}")[0] == (Wait("SB5"), Wait("SB1"))


def test_loads_leave_in_any_order_and_groups_in_order():
    assert not sync("LDG.E R2, desc[UR4][R2.64]", control(write=2))[1][0].in_order
    assert sync("LDGDEPBAR", control(write=0))[1] == (Pend("SB0", When.RESULT, in_order=True),)


def test_two_loads_on_one_scoreboard():
    code = function("memory.sm_80.cubin", "gather_sum")
    loads = [each for each in code.instructions if each.opcode.startswith("LDG")]
    boards = [pend.resource for load in loads for pend in load.pends if pend.when is When.RESULT]
    assert len(boards) > len(set(boards))


def test_copy_groups():
    code = function("pipeline.sm_80.cubin", "staged")
    copies, closers, waits = opcodes(code, "LDGSTS"), opcodes(code, "LDGDEPBAR"), opcodes(code, "DEPBAR")
    assert all(Pend("cpasync") in copy.pends and copy.memory.is_async for copy in copies)
    assert all(Wait("cpasync") in closer.waits and ("closes", "cpasync") in closer.notes for closer in closers)
    assert waits
    assert {wait.pending for each in waits for wait in each.waits if wait.resource == "SB0"} == {1}


def test_product_groups():
    code = function("hopper.sm_90a.cubin", "drained")
    products = opcodes(code, "HGMMA")
    closing = [each for each in products if "gsb0" in each.text]
    assert len(products) == 6
    assert len(closing) == 3
    assert all(Pend("gsb0") in each.pends and Wait("gsb0.open") in each.waits for each in closing)
    assert all(Pend("gsb0.open") in each.pends for each in products if each not in closing)
    depths = [wait.pending for each in opcodes(code, "WARPGROUP") for wait in each.waits if wait.resource == "gsb0"]
    assert depths == [2, 1, 0]


def test_tensor_copies_and_mbarriers():
    code = function("hopper.sm_90a.cubin", "tensor_pipeline")
    assert all(Pend("mbarrier", in_order=False) in each.pends for each in opcodes(code, "UTMALDG"))
    polls = [each for each in opcodes(code, "SYNCS") if "TRYWAIT" in each.opcode]
    assert polls
    assert all(Wait("mbarrier") in each.waits for each in polls)


def test_bulk_stores():
    code = function("hopper.sm_90a.cubin", "tensor_store")
    assert all(Pend("bulk") in each.pends for each in opcodes(code, "UTMASTG"))
    assert all(Wait("bulk") in each.waits for each in opcodes(code, "UTMACMDFLUSH"))


def test_a_group_without_members_is_not_waited_for():
    assert sync("LDGDEPBAR", control(write=0), groups=frozenset())[0] == ()


def test_results_of_a_queue_ride_on_the_next_scoreboard():
    riders = [
        each
        for name in ("memory.sm_80.cubin", "arithmetic.sm_75.cubin")
        for code in binary(name).functions
        for each in code.instructions
        if any(note[0] == "rides" for note in each.notes)
    ]
    assert len(riders) > 20
    assert all(each.variable and any(pend.when is When.RESULT for pend in each.pends) for each in riders)


def test_block_barriers_wait_for_others():
    code = function("memory.sm_90a.cubin", "through_shared")
    assert all(each.control.flow is Flow.BARRIER for each in opcodes(code, "BAR"))


def test_spills_carry_their_slot():
    code = function("memory.sm_80.cubin", "spilled")
    stores = {each.memory.slot for each in opcodes(code, "STL")}
    assert None not in stores
    assert {each.memory.slot for each in opcodes(code, "LDL")} <= stores
