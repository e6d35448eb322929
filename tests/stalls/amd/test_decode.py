"""Our kernels decoded: every instruction, its lines, calls, memory, and waits that cover what is found."""

from __future__ import annotations

from collections import Counter

import pytest

from strop.stalls.flow.coverage import coverage
from strop.stalls.flow.pending import touched_resources
from strop.stalls.instruction import Direction, Flow, Instruction, Role, When
from tests.stalls.amd.fixtures import TARGETS, functions

SOURCES = [("kernels", isa) for isa in TARGETS] + [("shaders", "gfx1100"), ("shaders", "gfx1201")]


def code(source: str, isa: str) -> list[Instruction]:
    return [each for function in functions(source, isa).values() for each in function.instructions]


def found(isa: str, kernel: str, opcode: str) -> list[Instruction]:
    return [each for each in functions("kernels", isa)[kernel].instructions if each.opcode == opcode]


@pytest.mark.parametrize(("source", "isa"), SOURCES)
def test_no_instruction_is_dropped_or_unknown(source: str, isa: str) -> None:
    for function in functions(source, isa).values():
        at = 0
        for each in function.instructions:
            assert each.pc == at
            at += each.size
            assert each.known, each.text
        assert at == function.size


@pytest.mark.parametrize(("source", "isa"), SOURCES)
def test_the_compilers_waits_cover_the_dependences(source: str, isa: str) -> None:
    callees = touched_resources(functions(source, isa).values())
    dependences = covered = 0
    for function in functions(source, isa).values():
        checked = coverage(function, callees=callees)
        dependences += checked.dependences
        covered += checked.covered
        assert checked.explained_waits + checked.idle >= checked.waits - 1, (function.name, checked.unexplained)
    assert dependences > 250
    assert covered == dependences


@pytest.mark.parametrize("isa", TARGETS)
def test_kernels_and_device_functions_are_kept_apart(isa: str) -> None:
    device = {name for name, function in functions("kernels", isa).items() if not function.is_kernel}
    assert device == {"poly", "twice"}


@pytest.mark.parametrize("isa", TARGETS)
def test_calls_name_their_targets(isa: str) -> None:
    def targets(kernel: str) -> list[object]:
        return [
            each.control.targets
            for each in functions("kernels", isa)[kernel].instructions
            if each.control and each.control.flow is Flow.CALL
        ]

    assert targets("calls") == [("_Z5twicePKfi",), ("_Z4polyfi",)]
    assert targets("twice") == [("_Z4polyfi",), ("_Z4polyfi",)]
    assert targets("indirect") == [None]
    returns = [each for each in functions("kernels", isa)["poly"].instructions if each.opcode == "s_setpc_b64"]
    assert [each.control and each.control.flow for each in returns] == [Flow.RETURN]


@pytest.mark.parametrize("isa", TARGETS)
def test_branches_stay_in_their_function(isa: str) -> None:
    back = 0
    for function in functions("kernels", isa).values():
        starts = {each.pc for each in function.instructions}
        for each in function.instructions:
            if each.control and each.control.flow is Flow.BRANCH:
                assert each.control.targets is not None
                assert set(each.control.targets) <= starts
                back += any(isinstance(to, int) and to < each.pc for to in each.control.targets)
    assert back > 15


@pytest.mark.parametrize("isa", TARGETS)
def test_lines_have_the_stack_of_inlined_calls(isa: str) -> None:
    loads = [
        each for each in functions("kernels", isa)["inlined"].instructions if each.opcode.startswith("global_load")
    ]
    assert len(loads) == 2
    for load in loads:
        assert load.source is not None
        assert load.source.file == "kernels.hip"
        outer = [line for _, line in load.source.inline]
        assert load.source.line + 1 == outer[0]  # inner stands above middle, middle above the kernel
        assert outer[0] + 1 == outer[1]


@pytest.mark.parametrize("isa", TARGETS)
def test_a_load_before_the_loop_and_one_in_it_are_pending_together(isa: str) -> None:
    loads = [each for each in functions("kernels", isa)["pipelined"].instructions if each.memory and each.pends]
    wide = [each for each in loads if each.memory and (each.memory.space, each.memory.width_bytes) == ("global", 16)]
    counter = "loadcnt" if isa == "gfx1201" else "vmcnt"
    assert [pend.resource for each in wide if each.memory.direction is Direction.LOAD for pend in each.pends] == [
        counter,
        counter,
    ]


def test_stack_slots_of_spills_meet() -> None:
    for isa in TARGETS:
        slots = Counter()
        for each in code("kernels", isa):
            if each.memory and each.memory.space == "scratch" and each.memory.slot:
                slots[each.memory.direction] += 1
        assert slots[Direction.STORE] > 10, isa
        assert slots[Direction.LOAD] > 10, isa


def test_accumulation_registers_are_their_own() -> None:
    mfma = found("gfx90a", "mfma", "v_mfma_f32_32x32x8f16")
    assert mfma
    assert {each.space for each in mfma[0].defs} == {"a"}
    assert len(mfma[0].defs) == 16
    assert {use.register.space for use in mfma[0].uses} == {"a", "v"}
    assert mfma[0].latency is not None
    assert mfma[0].latency.low == 64  # 16 passes; half as many on gfx942
    assert found("gfx942", "mfma", "v_mfma_f32_32x32x8_f16")[0].latency.low == 32
    assert not mfma[0].pends


def test_flat_loads_are_pending_on_two_counters() -> None:
    for isa, counters, ordered in (
        ("gfx90a", {"vmcnt", "lgkmcnt"}, False),
        ("gfx1100", {"vmcnt", "lgkmcnt"}, True),
        ("gfx1201", {"loadcnt", "dscnt"}, True),
    ):
        loads = [each for each in functions("kernels", isa)["flat"].instructions if each.opcode.startswith("flat_load")]
        assert loads
        for load in loads:
            assert {pend.resource for pend in load.pends} == counters
            assert {pend.in_order for pend in load.pends} == {ordered}
            assert load.memory.space == "generic"


def test_division_reads_vcc_that_its_text_does_not_name() -> None:
    divide = found("gfx90a", "spmv_csr", "v_div_fmas_f64")[0]
    assert ("vcc", 0, Role.IMPLICIT) in {(use.register.space, use.register.index, use.role) for use in divide.uses}


def test_every_mechanism_occurs() -> None:
    """Counted over all fixtures: what the corpus exercises is here in the small."""
    seen: Counter[str] = Counter()
    for source, isa in SOURCES:
        for each in code(source, isa):
            for wait in each.waits:
                seen[wait.resource] += 1
                seen["above zero"] += wait.pending > 0
            seen["combined"] += len(each.waits) > 1
            seen["out of order"] += any(not pend.in_order for pend in each.pends)
            seen["operands read"] += any(pend.when is When.OPERANDS_READ for pend in each.pends)
            seen["two counters"] += len(each.pends) > 1
            seen["atomic with return"] += bool(each.memory and each.memory.direction is Direction.ATOMIC and each.defs)
            seen["atomic"] += bool(each.memory and each.memory.direction is Direction.ATOMIC)
            seen["barrier"] += bool(each.control and each.control.flow is Flow.BARRIER)
            seen["hint"] += each.opcode == "s_delay_alu"
            seen["matrix"] += each.kind == "tensor"
    wanted = {"vmcnt", "lgkmcnt", "vscnt", "expcnt", "loadcnt", "dscnt", "kmcnt", "storecnt", "samplecnt", "bvhcnt"}
    wanted |= {"above zero", "combined", "out of order", "two counters", "atomic with return", "atomic", "barrier"}
    wanted |= {"hint", "matrix", "operands read"}
    assert {name for name in wanted if not seen[name]} == set()
