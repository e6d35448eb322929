"""Command programs for the timed Gemmini: the library's tiled loops and hand mappings, without a core.

A program is an iterable of chunks; a chunk is an array of rows (funct, rs1, rs2, pc, host cycles before it).
Encodings: the public gemmini.h. `pc` is used as a label: 1 configs, 2 loads, 3 execute, 4 stores, 5 loops.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

DIM = 16
FENCE = 255
ONE = 0x3F800000
GARBAGE = 0xFFFFFFFF
ACCUMULATOR, ACCUMULATE = 0x80000000, 0x40000000
A, B, C, D = 0x81000000, 0x88000000, 0x90000000, 0x98000000
MEMORY_BYTES = 0x20000000

Array = npt.NDArray[np.uint64]
Row = tuple[int, int, int, int, int]
Rows = list[Row]


def chunk(rows: Rows) -> Array:
    return np.array(rows, dtype=np.uint64).reshape(-1, 5)


def config_load(stride: int, state: int, cost: int, *, block_stride: int = DIM, pixels: int = 1) -> Row:
    return (0, ONE << 32 | block_stride << 16 | pixels << 8 | state << 3 | 1, stride, 1, cost)


def config_store(stride: int, cost: int) -> Row:
    return (0, 2, ONE << 32 | stride, 1, cost)


def config_execute(cost: int, *, a_stride: int = 1, c_stride: int = 1) -> Row:
    return (0, ONE << 32 | a_stride << 16 | 4, c_stride << 48, 1, cost)


def packed(word: int, columns: int, rows: int) -> int:
    return rows << 48 | columns << 32 | word


def matmul_tile(m: int, n: int, k: int, *, spad_rows: int = 8192, acc_rows: int = 512) -> tuple[int, int, int]:
    """The tile that `tiled_matmul_auto` finds for the loop unroller, in tiles of 16 (I, J, K)."""
    most = [-(-x // DIM) for x in (m, n, k)]
    square = math.isqrt(acc_rows // DIM)
    tile = [min(most[0], square), min(most[1], square), min(most[2], spad_rows // 2 // DIM // square)]

    def grows(at: int) -> bool:
        i, j, kk = (t + (x == at) for x, t in enumerate(tile))
        return tile[at] < most[at] and (i + j) * kk * DIM <= spad_rows and (at == 2 or i * j * DIM <= acc_rows)

    grown = True
    while grown:
        grown = False
        for at in (1, 0, 2):
            if grows(at):
                tile[at] += 1
                grown = True
    return tile[0], tile[1], tile[2]


def matmul_auto(
    m: int,
    n: int,
    k: int,
    tile: tuple[int, int, int],
    *,
    cost: int = 4,
    tile_cost: int = 60,
    reuse: bool = True,
    bias: bool = False,
) -> Iterator[Array]:
    """`tiled_matmul_outer` with the loop unroller: C[m, n] = A[m, k] B[k, n]; `tile` in tiles of 16 (I, J, K)."""
    ti, tj, tk = tile
    pad = [-x % DIM for x in (m, n, k)]
    blocks = [-(-x // DIM) for x in (m, n, k)]
    count = [-(-b // t) for b, t in zip(blocks, tile, strict=True)]
    yield chunk(
        [
            config_execute(cost),
            config_store(n, cost),
            config_load(k, 0, cost),
            config_load(n, 1, cost),
            config_load(4 * n, 2, cost),
        ]
    )
    b_reuse = reuse and count[1] * count[2] <= 2
    a_reuse = reuse and count[0] * count[2] <= 2
    for i in range(count[0]):
        rows: Rows = []
        for j in range(count[1]):
            for kk in range(count[2]):
                a_id = (1 if i + kk == 0 else 2) if a_reuse else 0
                b_id = (1 if j + kk == 0 else 2) if b_reuse else 0
                a = 0 if a_reuse and j >= 1 else A + i * ti * DIM * k + kk * tk * DIM
                b = 0 if b_reuse and i >= 1 else B + kk * tk * DIM * n + j * tj * DIM
                d = D + j * tj * DIM * 4 if bias and kk == 0 else 0
                c = C + i * ti * DIM * n + j * tj * DIM if kk == count[2] - 1 else 0
                size = [min(t, x - y * t) for t, x, y in zip(tile, blocks, (i, j, kk), strict=True)]
                p = [x if y == z - 1 else 0 for x, y, z in zip(pad, (i, j, kk), count, strict=True)]
                rows += [
                    (9, p[2] << 32 | p[1] << 16 | p[0], size[2] << 32 | size[1] << 16 | size[0], 5, tile_cost),
                    (10, a, b, 5, cost),
                    (11, d, c, 5, cost),
                    (12, k, n, 5, cost),
                    (13, n, n, 5, cost),
                    (8, a_id << 18 | b_id << 16 | (0 if kk == 0 and not bias else 1), 0, 5, cost),
                ]
        yield chunk(rows)


def _conv_rows(of_accumulator: bool, tile: list[int], stride: int, downsample: bool) -> int:
    batches, orows, ocols, ochs, krows, kcols, kchs = tile
    if of_accumulator:
        return -(-ochs // DIM) * batches * orows * ocols
    irows, icols = orows * stride + krows - 1, ocols * stride + kcols - 1
    a = -(-kchs // DIM) * batches * (irows >> downsample) * (icols >> downsample)
    return a + -(-ochs // DIM) * kcols * krows * kchs


def conv_tile(
    rows: int, columns: int, c: int, k: int, kernel: int, stride: int, *, spad_rows: int = 8192, acc_rows: int = 512
) -> tuple[tuple[int, int, int, int, int, int, int], int]:
    """The tile that `tiled_conv_auto` finds, as (R, S, P, Q, C, K, N), and how often it evaluates a tile's size."""
    downsample = stride == 2 and kernel == 1 and (rows - 1) * stride % 2 == 1  # only for inputs of an even size
    tile = [1, rows, columns, k, kernel, kernel, c]
    most = list(tile)
    calls = 2

    def fits(t: list[int]) -> bool:
        return (
            _conv_rows(False, t, stride, downsample) <= spad_rows
            and _conv_rows(True, t, stride, downsample) <= acc_rows
        )

    while not fits(tile):
        free = [i for i in range(7) if not (i == 2 and tile[i] <= DIM and tile[1] > 1)]
        at = max(free, key=lambda i: (tile[i], -i))
        if at in (3, 6):
            tile[at] = max(1, tile[at] // DIM * DIM if tile[at] % DIM else tile[at] - DIM)
        else:
            tile[at] -= 1
        calls += 2
    for candidates in ((2,), range(7)):
        grown = True
        while grown:
            grown = False
            for i in candidates:
                larger = list(tile)
                larger[i] += 1
                if larger[i] > most[i]:
                    continue
                calls += 2
                if fits(larger):
                    tile, grown = larger, True
    n, orows, ocols, ochs, krows, kcols, kchs = tile
    return (krows, kcols, orows, ocols, kchs, ochs, n), calls


def _conv_piece(
    at: dict[str, int],
    tile: dict[str, int],
    layer: dict[str, int],
    *,
    first: bool,
    last: bool,
    bias: bool,
    a_id: int,
    b_id: int,
    no_input: bool,
    no_weights: bool,
    first_layer: bool,
    cost: int,
    tile_cost: int,
) -> Rows:
    """The seven commands of one `sp_tiled_conv`: the piece at `at` (Q rows, P columns of outputs, K, R, S, C)."""
    rows, columns, c, k = layer["Q"], layer["P"], layer["C"], layer["K"]
    kernel, stride = layer["R"], layer["stride"]
    in_rows, in_columns = (rows - 1) * stride + kernel, (columns - 1) * stride + kernel
    downsample = stride == 2 and kernel == 1 and in_rows % 2 == 0 and in_columns % 2 == 0
    orows, ocols = min(tile["Q"], rows - at["Q"]), min(tile["P"], columns - at["P"])
    ochs, ichs = min(tile["K"], k - at["K"]), min(tile["C"], c - at["C"])
    krows, kcols = min(tile["R"], kernel - at["R"]), min(tile["S"], kernel - at["S"])
    irow, icol = at["Q"] * stride + at["R"], at["P"] * stride + at["S"]
    rpad = max(0, icol + ocols * stride + kcols - 1 - in_columns)
    dpad = max(0, irow + orows * stride + krows - 1 - in_rows)
    weights = B + ((at["R"] * kernel + at["S"]) * c + at["C"]) * k + at["K"]
    source = A + (irow * in_columns + icol) * c + at["C"]
    target = C + (at["Q"] * columns + at["P"]) * k + at["K"]
    pixels = 1 if downsample or ichs > DIM or not first_layer else min(DIM // ichs, kcols)
    return [
        (16, k << 48 | c << 32 | in_rows << 16 | 1, stride << 48 | columns << 32 | rows << 16 | rows, 5, tile_cost),
        (17, kernel << 48 | columns << 32 | 1 << 16 | 1 << 8, 1 << 48 | orows << 32 | ocols << 16 | ochs, 5, cost),
        (18, krows << 48 | kcols << 32 | ichs << 16, rpad << 48 | dpad << 24 | in_columns, 5, cost),
        (19, orows << 48 | 1, c << 48 | k << 32 | k << 16 | ocols, 5, cost),
        (20, 0 if no_weights else weights, target if last else 0, 5, cost),
        (21, (D + at["K"] * 4 if bias else 1) if first else 0, 0 if no_input else source, 5, cost),
        (15, a_id << 18 | b_id << 16 | pixels << 8 | int(not bias), downsample << 1 | 1, 5, cost),
    ]


def conv_auto(
    rows: int,
    columns: int,
    c: int,
    k: int,
    kernel: int,
    stride: int,
    tile: tuple[int, int, int, int, int, int, int],
    *,
    cost: int = 4,
    tile_cost: int = 150,
    search: int = 0,
    reuse: bool = True,
    bias: bool = True,
    first_layer: bool = True,
) -> Iterator[Array]:
    """`tiled_conv_auto` with the loop unroller; rows and columns are outputs, the input is as large as they need.

    `tile` is what `conv_tile` finds. Before the first command the library looks for it, which takes `search` cycles.
    """
    krows, kcols, orows, ocols, kchs, ochs, _ = tile
    order = (("Q", rows, orows), ("P", columns, ocols), ("K", k, ochs), ("R", kernel, krows), ("S", kernel, kcols),
             ("C", c, kchs))  # fmt: skip
    yield from conv_loops(
        rows,
        columns,
        c,
        k,
        kernel,
        stride,
        order,
        cost=cost,
        tile_cost=tile_cost,
        search=search,
        reuse=reuse,
        bias=bias,
        first_layer=first_layer,
    )


def conv_loops(
    rows: int,
    columns: int,
    c: int,
    k: int,
    kernel: int,
    stride: int,
    order: tuple[tuple[str, int, int], ...],
    *,
    cost: int = 4,
    tile_cost: int = 150,
    search: int = 0,
    reuse: bool = False,
    bias: bool = True,
    first_layer: bool = True,
) -> Iterator[Array]:
    """Pieces of a convolution in any order of loops (dim, extent, tile), outermost first, reductions innermost."""
    layer = {"Q": rows, "P": columns, "C": c, "K": k, "R": kernel, "stride": stride}
    tile = {dim: size for dim, _, size in order}
    counts = {dim: -(-extent // size) for dim, extent, size in order}
    downsample = stride == 2 and kernel == 1 and (rows - 1) * stride % 2 == 1
    yield chunk([config_store(k, cost + search), config_execute(cost, a_stride=stride >> downsample)])
    reduced = counts["C"] * counts["R"] * counts["S"]
    b_reuse = reuse and reduced * counts["K"] <= 2
    a_reuse = reuse and reduced * counts["Q"] * counts["P"] <= 2
    piece: Rows = []
    for index in itertools.product(*(range(0, extent, size) for _, extent, size in order)):
        at = {dim: i for (dim, _, _), i in zip(order, index, strict=True)}
        inside = at["R"] + at["S"] + at["C"]
        piece += _conv_piece(
            at, tile, layer,
            first=inside == 0,
            last=at["R"] + tile["R"] >= kernel and at["S"] + tile["S"] >= kernel and at["C"] + tile["C"] >= c,
            bias=bias,
            a_id=(1 if inside + at["Q"] + at["P"] == 0 else 2) if a_reuse else 0,
            b_id=(1 if inside + at["K"] == 0 else 2) if b_reuse else 0,
            no_input=a_reuse and at["K"] > 0, no_weights=b_reuse and at["P"] + at["Q"] > 0,
            first_layer=first_layer,
            cost=cost, tile_cost=tile_cost,
        )  # fmt: skip
        if len(piece) > 7000:
            yield chunk(piece)
            piece = []
    yield chunk(piece)


def hand(
    rows: int, columns: int, c: int, k: int, kernel: int, stride: int, mapping: str, *, bias: bool = False
) -> Iterator[Array]:
    """A mapping such as `L3[WIO] K8 - L2[WI] N1 K16X - L1[O] C4 P8 C16X - L0[W] P16`, through the unrollers.

    Level 3's loops are the program's, all below them make its tile, whose inner order is the unroller's. Reductions of
    level 3 go innermost: sums stay in the accumulator. (P runs along columns, Q along rows.) Raises ValueError where a
    tile doesn't fit half of the memories.
    """
    outer: list[tuple[str, int]] = []
    tile = dict.fromkeys("CKPQRS", 1)
    for level in mapping.split(" - "):
        for dim, size in re.findall(r"([CKPQRS])(\d+)", level.split("]", 1)[1]):
            if level[1] == "3":
                outer.append((dim, int(size)))
            else:
                tile[dim] *= int(size)
    extent = {"C": c, "K": k, "P": columns, "Q": rows, "R": kernel, "S": kernel}
    inner = _conv_rows(False, [1, tile["Q"], tile["P"], tile["K"], tile["R"], tile["S"], tile["C"]], stride, False)
    sums = _conv_rows(True, [1, tile["Q"], tile["P"], tile["K"], tile["R"], tile["S"], tile["C"]], stride, False)
    if inner > 8192 or sums > 512:
        raise ValueError("the tile does not fit half of the memories")
    dims = [dim for dim, _ in outer]
    named = [d for d in dims if d in "KPQ"] + [d for d in "QPK" if d not in dims] + list("RSC")
    if rows == 1 and kernel == 1:
        yield from matmul_auto(
            columns, k, c, (-(-tile["P"] // DIM), -(-tile["K"] // DIM), -(-tile["C"] // DIM)), reuse=False
        )
        return
    order = tuple((d, extent[d], tile[d]) for d in named)
    yield from conv_loops(rows, columns, c, k, kernel, stride, order, bias=bias, first_layer=False)
