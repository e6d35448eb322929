"""The machine model: what it must get right to be of use. How well it ranks is measured in benchmarks/."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.loops.accesses import accesses
from strop.loops.machine import Machine
from strop.loops.model import predict
from strop.loops.moves import Accumulators, Balance, Cover, Pack, Parallel, Reorder, Schedule, Tile, Unroll, replay
from strop.loops.nest import Nest
from strop.loops.registers import registers
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from tests.loops import nests

CACHES = {"l1_bytes": 48 << 10, "l2_bytes": 2 << 20, "l3_bytes": 40 << 20}
EMERALD = Machine.of("GenuineIntel", 6, 0xCF, "avx512", CACHES)
ICE_LAKE = Machine.of("GenuineIntel", 6, 0x6A, "avx512", CACHES)
AVX2 = Machine.of("GenuineIntel", 6, 0xCF, "avx2", CACHES)
MATMUL = Contraction.parse("mk,kn->mn", m=192, k=192, n=192)
BOUNDS = {"fma", "loads", "stores", "issue", "latency", "packing", "l2", "l3", "memory", "overhead"}
ORDER = Reorder(("n.0", "m.0", "k.0", "m.1", "n.1"))


def layout(contraction: Contraction, alignment: int = 64) -> Layout:
    default = Layout.default(contraction)
    return Layout(default.operands, default.output, default.epilogue, (alignment,) * len(default.alignment))


def tile(rows: int, columns: int, *more: Any) -> Schedule:
    return (Tile(("m.0", "n.0"), (rows, columns)), ORDER, Unroll("k.0", 4), *more)


def cycles(schedule: Schedule, machine: Machine = EMERALD, contraction: Contraction = MATMUL, align: int = 64) -> float:
    return predict(replay(contraction, schedule), layout(contraction, align), machine).cycles


@given(st.integers(0, 2**32))
@settings(max_examples=200)
def test_any_nest_has_a_prediction(seed: int) -> None:
    rng = random.Random(seed)
    contraction = nests.contraction(rng)
    nest, _ = nests.schedule(rng, Nest.default(contraction))
    for isa in ("avx512", "avx2", "portable"):
        found = predict(nest, layout(contraction), Machine.of("", 0, 0, isa, CACHES), 2)
        assert 0 < found.cycles < 1e12
        assert found.bound in BOUNDS


# Bounds ---------------------------------------------------------------------------------------------------------------


def test_nothing_beats_the_units() -> None:
    best = MATMUL.points / 16 / 2
    for rows, columns in ((6, 64), (9, 48), (14, 32), (4, 96), (28, 16)):
        assert best <= cycles(tile(rows, columns)) < 1.2 * best


def test_a_good_tile_is_bound_by_the_multiply_adds() -> None:
    assert predict(replay(MATMUL, tile(6, 64)), layout(MATMUL), EMERALD).bound == "fma"


def test_on_ice_lake_narrow_tiles_are_bound_by_loads() -> None:
    """codegen.md, 2: one 512-bit load a cycle; shares of the peak 98, 97, 91, 53% for 6x64, 9x48, 14x32, 28x16."""
    order = [cycles(tile(*shape), ICE_LAKE) for shape in ((6, 64), (14, 32), (28, 16))]
    assert order == sorted(order)
    assert predict(replay(MATMUL, tile(28, 16)), layout(MATMUL), ICE_LAKE).bound == "loads"
    assert cycles(tile(28, 16), ICE_LAKE) > 1.5 * cycles(tile(6, 64), ICE_LAKE)


def test_a_tile_too_large_for_the_registers_falls_off_a_cliff() -> None:
    assert cycles(tile(8, 64)) > 2 * cycles(tile(6, 64))
    avx2 = [cycles(tile(rows, 16), AVX2) for rows in (6, 8)]
    assert avx2[1] > 1.5 * avx2[0]


def test_the_order_as_written_is_slow() -> None:
    assert cycles(()) > 2.5 * cycles(tile(6, 64))


def test_a_vector_axis_with_a_stride_is_slow() -> None:
    assert cycles((Reorder(("k.0", "n.0", "m.0")),)) > 10 * cycles(())


def test_one_chain_of_additions_is_bound_by_its_latency() -> None:
    dot = Contraction.parse("k,k->", k=4096)
    assert predict(Nest.default(dot), layout(dot), EMERALD).bound == "latency"
    many = replay(dot, (Accumulators(8), Unroll("k.0", 8)))
    assert predict(many, layout(dot), EMERALD).cycles < predict(Nest.default(dot), layout(dot), EMERALD).cycles / 2


def test_packing_pays_where_vectors_cross_lines_and_costs_where_they_do_not() -> None:
    wide = tile(4, 96)
    assert cycles((*wide, Pack("B", "n.0")), align=16) < 0.95 * cycles(wide, align=16)
    assert cycles((*wide, Pack("B", "n.0"))) > cycles(wide)


def test_rows_far_apart_by_a_power_of_two_are_slow() -> None:
    far = Layout(((192, 1), (2048, 1)), (192, 1), (), (64, 64, 64))
    nest = replay(MATMUL, tile(6, 64))
    assert predict(nest, far, EMERALD).cycles > 1.05 * predict(nest, layout(MATMUL), EMERALD).cycles


def test_a_cover_without_a_narrow_rest_is_better() -> None:
    contraction = Contraction.parse("mk,kn->mn", m=128, k=128, n=144)
    split = cycles(tile(6, 64), ICE_LAKE, contraction)
    cover = cycles((*tile(6, 64), Cover("n.0", (80, 64), "m", (5, 6)), Balance("m.0")), ICE_LAKE, contraction)
    assert cover < 0.97 * split


def test_threads_share_the_work() -> None:
    big = Contraction.parse("mk,kn->mn", m=512, k=512, n=512)
    nest = replay(big, (*tile(6, 64), Parallel("n.0")))
    one, four = (predict(nest, layout(big), EMERALD, threads).cycles for threads in (1, 4))
    assert 3 < one / four <= 4


def test_more_work_takes_longer() -> None:
    sizes = (16, 32, 64, 128, 256, 512)
    found = [cycles((), contraction=Contraction.parse("mk,kn->mn", m=n, k=n, n=n)) for n in sizes]
    assert found == sorted(found)


# Registers: the generator's rules -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "rows", "columns", "fits"),
    [
        (EMERALD, 6, 64, True),
        (EMERALD, 30, 16, True),
        (EMERALD, 31, 16, False),
        (EMERALD, 8, 64, False),
        (AVX2, 6, 16, True),
        (AVX2, 7, 16, True),
        (AVX2, 14, 8, True),
        (AVX2, 8, 16, False),
    ],
)
def test_what_fits_the_registers(machine: Machine, rows: int, columns: int, fits: bool) -> None:
    nest = replay(MATMUL, (Tile(("m.0", "n.0"), (rows, columns)), ORDER))
    found = registers(nest, accesses(MATMUL, layout(MATMUL), machine))
    assert (found.at == 2) is fits
    if fits:
        assert found.outputs == rows * -(-columns // machine.lanes(4))


def test_masks_and_gathers_take_registers() -> None:
    ragged = Contraction.parse("mk,kn->mn", m=32, k=32, n=11)
    nest = replay(ragged, (Tile(("m.0",), (7,)), Reorder(("m.0", "k.0", "m.1", "n.0"))))
    found = registers(nest, accesses(ragged, layout(ragged), AVX2))
    assert found.room == 16 - 2 - 1
    assert found.at is None or found.outputs <= found.room
    gathered = Nest.default(Contraction.parse("mk,nk->mn", m=32, k=32, n=16))
    assert registers(gathered, accesses(gathered.contraction, layout(gathered.contraction), AVX2)).room == 16 - 2 - 2


def test_each_part_of_a_divided_vector_axis_has_its_own_vectors() -> None:
    nest = replay(MATMUL, (Tile(("n.0",), (12,)), Reorder(("m.0", "k.0", "n.0", "n.1"))))
    found = registers(nest, accesses(MATMUL, layout(MATMUL), EMERALD))
    assert found.vectors(1, 192, 16) == 16
    assert found.vectors(3, 12, 16) == 1
