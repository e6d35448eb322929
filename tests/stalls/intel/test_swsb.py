"""Every pattern of the scoreboard field, against what iga64 said of it."""

from __future__ import annotations

import pytest

from strop.stalls.intel.swsb import BadSwsb, Generation, Pipe, Swsb, Token, Unit, decode, encode, field
from tests.stalls.intel.fixtures import functions, loaded, made

WIDTHS = {Generation.XE_HPC: 10, Generation.XE_HPG: 8}
UNITS = [(generation, unit) for generation in Generation for unit in Unit]


def patterns(generation: Generation, unit: Unit) -> dict[int, Swsb]:
    found = {}
    for bits in range(1 << WIDTHS[generation]):
        try:
            found[bits] = decode(bits, generation, unit)
        except BadSwsb:
            continue
    return found


@pytest.mark.parametrize(("generation", "unit"), UNITS)
def test_every_pattern_says_what_iga64_says(generation: Generation, unit: Unit) -> None:
    listed = loaded(f"swsb.{generation}")[unit]
    known = patterns(generation, unit)
    assert len(listed) == 1 << WIDTHS[generation]
    assert len(known) == {Generation.XE_HPC: 812, Generation.XE_HPG: 196}[generation]
    assert {bits: list(said.texts) for bits, said in known.items()} == {bits: listed[bits] for bits in known}
    # Patterns that we call reserved: iga64 sees nothing in them, or a distance of 0.
    for bits in set(range(len(listed))) - set(known):
        assert not listed[bits] or listed[bits][0].endswith("@0"), hex(bits)


@pytest.mark.parametrize(("generation", "unit"), UNITS)
def test_round_trip_of_every_pattern(generation: Generation, unit: Unit) -> None:
    for bits, said in patterns(generation, unit).items():
        assert encode(said, generation, unit) == bits


@pytest.mark.parametrize(
    ("bits", "unit", "texts"),
    [
        (0x123, Unit.SEND, ("A@1", "$3")),  # masked to 8 bits it would be the long pipe's third
        (0x183, Unit.SEND, ("A@4", "$3")),
        (0x347, Unit.OTHER, ("A@2", "$7.dst")),
        (0x223, Unit.SEND, ("F@1", "$3")),
        (0x344, Unit.SEND, ("I@2", "$4")),
        (0x245, Unit.OTHER, ("@2", "$5.src")),
        (0x125, Unit.OTHER, ("@1", "$5.dst")),
        (0x123, Unit.DPAS, ("@1", "$3")),
        (0x9F, Unit.OTHER, ("$31.dst",)),
        (0xAF, Unit.OTHER, ("$15.src",)),
        (0xC3, Unit.SEND, ("$3",)),
        (0x22, Unit.OTHER, ("L@2",)),
        (0x2A, Unit.OTHER, ("M@2",)),
        (0xF0, Unit.DPAS, ("NoAccSBSet",)),
    ],
)
def test_forms_of_xe_hpc(bits: int, unit: Unit, texts: tuple[str, ...]) -> None:
    assert decode(bits, Generation.XE_HPC, unit).texts == texts


@pytest.mark.parametrize(
    ("bits", "unit", "texts"),
    [
        (0x93, Unit.SEND, ("A@1", "$3")),
        (0x95, Unit.OTHER, ("@1", "$5.dst")),
        (0x93, Unit.MATH, ("@1", "$3")),
        (0x93, Unit.DPAS, ("@1", "$3")),
        (0x52, Unit.OTHER, ("L@2",)),
        (0x2F, Unit.OTHER, ("$15.dst",)),
        (0x3F, Unit.OTHER, ("$15.src",)),
        (0x43, Unit.SEND, ("$3",)),
    ],
)
def test_forms_of_xe_hpg(bits: int, unit: Unit, texts: tuple[str, ...]) -> None:
    assert decode(bits, Generation.XE_HPG, unit).texts == texts


def test_what_can_not_be_said_is_refused() -> None:
    with pytest.raises(BadSwsb):
        encode(Swsb(1, Pipe.FLOAT, 3, Token.DST), Generation.XE_HPC, Unit.OTHER)
    with pytest.raises(BadSwsb):
        encode(Swsb(1, Pipe.MATH), Generation.XE_HPG, Unit.OTHER)
    with pytest.raises(BadSwsb):
        encode(Swsb(token=16), Generation.XE_HPG, Unit.SEND)


@pytest.mark.parametrize("device", ["pvc", "dg2"])
def test_compiled_code_native_and_compacted(device: str) -> None:
    """What the bits say is what the text of the same instruction says."""
    seen = compacted = 0
    for function in functions(device).values():
        for instruction in function.instructions:
            braces = instruction.text.partition("{")[2].partition("}")[0].split(",")
            written = [word for word in braces if "@" in word or word.startswith("$")]
            own = dict(instruction.notes).get("swsb", "")
            assert own == ",".join(written), instruction.text
            seen += bool(written)
            compacted += bool(written) and instruction.size == 8
    assert seen > 500
    assert compacted > 150


def test_field_is_cut_by_generation() -> None:
    assert field(0x0010506608_0112361, Generation.XE_HPC) == 0x123
    assert field(0x0010506608_0112361, Generation.XE_HPG) == 0x23
    assert made("pvc").generation is Generation.XE_HPC
