"""Completion: legal moves for any nest, none for a completed one, and the tiles that are known to be good."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strop.loops.accesses import accesses
from strop.loops.complete import complete
from strop.loops.interpreter import interpret
from strop.loops.machine import Machine
from strop.loops.moves import Accumulators, Cover, Pack, Parallel, Reorder, Split, Tile, Unroll, apply, replay
from strop.loops.nest import Nest
from strop.loops.reference import reference
from strop.loops.registers import registers
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from tests.loops import nests

ICE_LAKE = ("GenuineIntel", 6, 0x6A)
EMERALD_RAPIDS = ("GenuineIntel", 6, 0xCF)
CACHES = {"l1_bytes": 48 << 10, "l2_bytes": 1280 << 10, "l3_bytes": 40 << 20}


def machine(isa: str, cpu: tuple[str, int, int] = EMERALD_RAPIDS) -> Machine:
    return Machine.of(*cpu, isa, CACHES)


def aligned(contraction: Contraction) -> Layout:
    layout = Layout.default(contraction)
    return Layout(layout.operands, layout.output, layout.epilogue, (64,) * len(layout.alignment))


def completed(
    text: str, isa: str = "avx512", *, schedule: tuple[Any, ...] = (), threads: int = 1, **sizes: Any
) -> Nest:
    contraction = Contraction.parse(text, **sizes)
    nest = replay(contraction, schedule)
    for move in complete(nest, aligned(contraction), machine(isa), threads):
        nest = apply(nest, move)
    return nest


def tile_of(nest: Nest, isa: str = "avx512") -> dict[str, int]:
    """Extents of the axes inside the register tile's loop."""
    tile = registers(nest, accesses(nest.contraction, aligned(nest.contraction), machine(isa)))
    assert tile.at is not None
    axes = nest.contraction.axes
    return {axis: tile.extents[tile.at][number] for number, axis in enumerate(axes) if axis in nest.contraction.output}


# Any nest -------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from(["avx512", "avx2", "portable"]), st.sampled_from([1, 1, 3]))
@settings(max_examples=150)
def test_any_nest_is_completed_once_and_still_computes_the_same(seed: int, isa: str, threads: int) -> None:
    rng = random.Random(seed)
    contraction = nests.contraction(rng)
    nest, schedule = nests.schedule(rng, Nest.default(contraction), moves=rng.randint(0, 4))
    layout = rng.choice((Layout.default, aligned))(contraction)
    added = complete(nest, layout, machine(isa), threads)
    for move in added:
        nest = apply(nest, move)  # raises where a move isn't legal
    assert complete(nest, layout, machine(isa), threads) == (), (contraction, schedule, added)
    operands, c0, extras = nests.arrays(contraction, seed)
    found = interpret(nest, operands, c0=c0, epilogue_operands=extras)
    np.testing.assert_allclose(found, reference(contraction, operands, c0, extras), rtol=1e-12, atol=1e-12)


def test_an_empty_contraction_and_one_without_loops_need_nothing() -> None:
    for text, sizes in (("mk,kn->mn", {"m": 0, "k": 3, "n": 4}), (",->", {})):
        contraction = Contraction.parse(text, sizes=sizes)
        assert complete(Nest.default(contraction), Layout.default(contraction), machine("avx512")) == ()


def test_the_portable_path_is_left_in_its_order() -> None:
    nest = completed("mk,kn->mn", "portable", m=64, k=64, n=64)
    assert [loop.axis for loop in nest.loops] == ["m", "k", "n"]


# Tiles ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("m", "k", "n"), [(64, 64, 64), (128, 128, 128), (192, 192, 192), (256, 256, 256), (80, 64, 144)]
)
def test_a_matmul_gets_a_tile_that_keeps_the_units_busy(m: int, k: int, n: int) -> None:
    """On Ice Lake, one 512-bit load a cycle: rows + vectors must stay under half their product (codegen.md, 2)."""
    contraction = Contraction.parse("mk,kn->mn", m=m, k=k, n=n)
    nest = Nest.default(contraction)
    for move in complete(nest, aligned(contraction), machine("avx512", ICE_LAKE)):
        nest = apply(nest, move)
    tile = tile_of(nest)
    rows, vectors = tile["m"], -(-tile["n"] // 16)
    assert rows + vectors <= rows * vectors / 2
    assert rows * vectors + vectors + 1 <= 32
    assert nest.loops[-1].axis == "n"


@pytest.mark.parametrize("n", [64, 96, 128, 192])
def test_avx2_gets_a_tile_of_ten_registers_or_more(n: int) -> None:
    tile = tile_of(completed("mk,kn->mn", "avx2", m=96, k=128, n=n), "avx2")
    assert 10 <= tile["m"] * -(-tile["n"] // 8) <= 14


def test_a_ragged_matmul_is_covered_without_a_narrow_rest() -> None:
    """97 x 131: nine vectors in two or three pieces, none of them of one vector alone with few rows."""
    nest = completed("mk,kn->mn", m=97, k=61, n=131)
    outer = next(loop for loop in nest.loops if loop.axis == "n")
    widths = [-(-piece // 16) for piece in outer.blocks(131)]
    assert min(widths) >= 2


def test_rows_are_evened_out() -> None:
    nest = completed("mk,kn->mn", m=64, k=64, n=96)
    rows = next(loop for loop in nest.loops if loop.axis == "m")
    assert 64 % rows.step == 0 or rows.balanced


def test_a_transposed_operand_is_packed() -> None:
    nest = completed("mk,nk->mn", m=128, k=128, n=128)
    assert nest.loops[-1].axis == "n"
    assert any("B" in loop.pack for loop in nest.loops)


@pytest.mark.parametrize(
    ("cpu", "row", "packed"), [(ICE_LAKE, 1024, True), (EMERALD_RAPIDS, 2048, True), (EMERALD_RAPIDS, 1040, False)]
)
def test_rows_that_share_few_sets_of_the_cache_are_packed(cpu: tuple[str, int, int], row: int, packed: bool) -> None:
    contraction = Contraction.parse("mk,kn->mn", m=256, k=256, n=256)
    layout = Layout(((256, 1), (row, 1)), (256, 1), (), (64, 64, 64))
    moves = complete(Nest.default(contraction), layout, machine("avx512", cpu))
    assert any(isinstance(move, Pack) for move in moves) is packed


def test_the_contiguous_axis_of_the_result_is_vectorised() -> None:
    assert completed("km,kn->nm", k=64, m=64, n=96).loops[-1].axis == "m"
    assert completed("bmk,bkn->bmn", b=4, m=32, k=32, n=48).loops[-1].axis == "n"
    sizes = {"c": 16, "h": 14, "w": 14, "r": 3, "s": 3, "o": 32}
    assert completed("c h+r w+s, o c r s -> o h w", sizes=sizes).loops[-1].axis == "w"


def test_a_matrix_vector_product_is_vectorised_along_its_rows() -> None:
    nest = completed("mk,k->m", m=512, k=512)
    assert nest.loops[-1].axis == "k"
    assert tile_of(nest)["m"] >= 4


def test_a_long_sum_gets_accumulators() -> None:
    for text, sizes in (("k,k->", {"k": 4096}), ("mn->", {"m": 100, "n": 100})):
        assert completed(text, sizes=sizes).accumulators >= 4


def test_the_reduction_is_unrolled_more_where_less_stands_inside() -> None:
    wide = completed("mk,kn->mn", m=96, k=128, n=64)
    narrow = completed("k,kn->n", k=128, n=16)
    assert {loop.unroll for loop in wide.loops if loop.axis == "k"} == {4}
    assert {loop.unroll for loop in narrow.loops if loop.axis == "k"} == {8}


# What a search chose is kept ------------------------------------------------------------------------------------------


def test_a_tile_that_is_there_is_kept() -> None:
    chosen = (Tile(("m.0", "n.0"), (5, 32)), Reorder(("m.0", "n.0", "k.0", "m.1", "n.1")))
    nest = completed("mk,kn->mn", schedule=chosen, m=100, k=128, n=128)
    assert [(loop.axis, loop.step) for loop in nest.loops] == [("m", 5), ("n", 32), ("k", 1), ("m", 1), ("n", 1)]
    assert any(loop.unroll > 1 for loop in nest.loops)


def test_unrolling_and_accumulators_that_are_there_are_kept() -> None:
    nest = completed("k,k->", schedule=(Unroll("k.0", 2), Accumulators(3)), k=4096)
    assert nest.accumulators == 3
    assert nest.loops[0].unroll == 2


def test_a_block_that_is_there_stays_outside() -> None:
    nest = completed("mk,kn->mn", schedule=(Split("k.0", 64), Reorder(("k.0", "m.0", "k.1", "n.0"))), m=96, k=256, n=96)
    assert (nest.loops[0].axis, nest.loops[0].step) == ("k", 64)


def test_threads_share_an_output_loop() -> None:
    contraction = Contraction.parse("mk,kn->mn", m=512, k=512, n=512)
    moves = complete(Nest.default(contraction), aligned(contraction), machine("avx512"), 4)
    assert any(isinstance(move, Parallel) for move in moves)
    nest = replay(contraction, moves)
    assert nest.loops[0].parallel
    assert nest.trips(0) >= 4
    small = Contraction.parse("mk,kn->mn", m=16, k=16, n=16)
    moves = complete(Nest.default(small), aligned(small), machine("avx512"), 4)
    assert not any(isinstance(move, Parallel) for move in moves)


def test_a_cover_gives_each_width_its_rows() -> None:
    nest = completed("mk,kn->mn", m=112, k=128, n=208)
    covers = [move for move in complete(*_default("mk,kn->mn", m=112, k=128, n=208)) if isinstance(move, Cover)]
    for cover in covers:
        assert sum(cover.pieces) == 208
    assert sum(next(loop for loop in nest.loops if loop.axis == "n").blocks(208)) == 208


def _default(text: str, **sizes: int) -> tuple[Nest, Layout, Machine]:
    contraction = Contraction.parse(text, sizes=sizes)
    return Nest.default(contraction), aligned(contraction), machine("avx512")
