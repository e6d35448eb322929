"""Where control goes, and that the compiler's own waits cover the dependences that the decoder finds."""

import pytest

from strop.stalls.flow.coverage import coverage
from strop.stalls.flow.pending import touched_resources
from strop.stalls.instruction import Flow
from tests.stalls.nvidia.recorded import NAMES, binary, function, opcodes


def test_branch_tables_give_the_targets_of_indirect_branches():
    code = function("arithmetic.sm_75.cubin", "switched")
    jumps = opcodes(code, "BRX")
    assert jumps
    known = {each.pc for each in code.instructions}
    for jump in jumps:
        assert jump.control.targets
        assert set(jump.control.targets) <= known


def test_branches_and_exits():
    code = function("memory.sm_80.cubin", "chase")
    for each in code.instructions:
        if each.opcode == "EXIT":
            assert each.control.flow is Flow.EXIT
            assert each.control.conditional == (each.guard is not None)
        if each.opcode == "BRA":
            (target,) = each.control.targets
            assert 0 <= target < code.size


def test_device_functions_stand_apart_from_their_kernel():
    found = {each.name: each for each in binary("arithmetic.sm_75.cubin").functions}
    (called,) = [each for name, each in found.items() if name.endswith("_Z6calledfPKfi")]
    (kernel,) = [each for name, each in found.items() if name.startswith("_Z5calls")]
    assert kernel.is_kernel
    assert not called.is_kernel
    assert called.instructions[0].pc == 0
    assert called.address > kernel.address
    calls = [each.control for each in opcodes(kernel, "CALL")]
    assert any(control.targets == (called.name,) for control in calls)
    assert any(control.targets is None for control in calls)  # through a pointer
    assert all(each.control.flow is Flow.RETURN for each in opcodes(called, "RET"))


def test_addresses_are_offsets_in_the_file():
    for each in binary("hopper.sm_90a.cubin").functions:
        assert each.address % 16 == 0
        assert [instruction.pc for instruction in each.instructions] == list(range(0, each.size, 16))


@pytest.mark.parametrize("name", NAMES)
def test_waits_cover_the_dependences(name):
    functions = binary(name).functions
    callees = touched_resources(functions)
    found = [coverage(each, callees=callees) for each in functions]
    dependences = sum(each.dependences for each in found)
    uncovered = [one for each in found for one in each.uncovered]
    assert dependences > 100
    assert len(uncovered) <= dependences / 1000, uncovered[:5]


def test_lines_and_inlining():
    code = function("hopper.sm_90a.cubin", "specialised")
    sources = [each.source for each in code.instructions if each.source]
    assert {source.file.rsplit("/", 1)[-1] for source in sources} >= {"hopper.cu"}
    inlined = [source for source in sources if source.inline]
    assert inlined
    assert all(call[0].endswith(".cu") for source in inlined for call in source.inline[-1:])
