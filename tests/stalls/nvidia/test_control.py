"""The control word agrees with what nvdisasm prints, and with vectors decoded by hand."""

import pytest

from strop.stalls.nvidia.control import Control, control_of
from strop.stalls.nvidia.disassemble import parse
from tests.stalls.nvidia.recorded import NAMES, binary, cubin, listing


@pytest.mark.parametrize(
    ("high", "expected"),
    [
        # LDG on SB2, FFMA that waits for it, S2R on SB0: an sm_90 listing decoded by hand
        (0x000E280000002500, Control(stall=4, yields=False, write=0, read=None, wait=0, reuse=0)),
        (0x001FCA00078E0002, Control(stall=5, yields=True, write=None, read=None, wait=1, reuse=0)),
        (0x0000A2000C1E9900, Control(stall=1, yields=False, write=2, read=0, wait=0, reuse=0)),
        (0x003FEA0003800000, Control(stall=5, yields=False, write=None, read=None, wait=3, reuse=0)),
    ],
)
def test_vectors(high, expected):
    assert control_of(high) == expected


@pytest.mark.parametrize("name", NAMES)
def test_reuse_bits_are_those_of_the_text(name):
    compared = 0
    for rows in parse(listing(name)).rows.values():
        for row in rows:
            assert row.high >> 62 == 0
            operands = row.text.split(",")
            if "TEX" in row.text or "TLD" in row.text:
                continue  # nvdisasm prints no .reuse there, whatever the bits say
            compared += 1
            reuse = control_of(row.high).reuse
            assert sum(operand.count(".reuse") for operand in operands) == reuse.bit_count(), row.text
    assert compared > 100


@pytest.mark.parametrize("name", NAMES)
def test_every_instruction_of_the_file_is_decoded(name):
    found = binary(name)
    assert not found.missing
    rows = parse(listing(name)).rows
    assert sum(len(each.instructions) for each in found.functions) == sum(map(len, rows.values()))
    assert len(cubin(name)) > 16 * sum(len(each.instructions) for each in found.functions)
    assert all(each.known for function in found.functions for each in function.instructions)


def test_wrong_control_words_are_noticed():
    name = "memory.sm_80.cubin"
    from strop.stalls.nvidia import decode

    # the words of one instruction under the text of another: what a wrong half or a shifted bit would give
    spoiled = listing(name).replace(".reuse", "")
    assert any("control word" in words for words in decode(cubin(name), path=name, listing=spoiled).missing)
