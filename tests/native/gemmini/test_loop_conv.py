"""Convolutions by loop_conv_ws against convolutions by their definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tests.native.gemmini.programs import BASE, Command, ex, st

INPUT, WEIGHTS, BIAS, OUTPUT = BASE + 0x10000, BASE + 0x30000, BASE + 0x50000, BASE + 0x60000


@dataclass(frozen=True)
class Conv:
    """A convolution that fits one loop: NHWC input, weights as kernel row, column, input channel, output channel."""

    batches: int = 1
    rows: int = 7
    columns: int = 7
    channels: int = 5
    filters: int = 9
    kernel: int = 3
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    input_dilated: bool = False
    pool: tuple[int, int, int] | None = None  # size, stride, padding
    bias: bool = True
    relu: bool = False
    pixels: int = 1
    downsample: bool = False
    turned: bool = False
    weights: str = "hwio"  # or ihwo (1203), hwoi (0132)
    output: str = "nhwc"  # or hwnc (1203)
    input: str = "nhwc"  # or chwn (3120)
    a_id: int = 0
    b_id: int = 0

    @property
    def spread(self) -> tuple[int, int]:
        """The image as the kernel sees it: with zeros between its pixels where the input is dilated."""
        return (2 * self.rows - 1, 2 * self.columns - 1) if self.input_dilated else (self.rows, self.columns)

    @property
    def out(self) -> tuple[int, int]:
        reach = self.dilation * (self.kernel - 1) + 1
        rows, columns = self.spread
        return (
            (rows + 2 * self.padding - reach) // self.stride + 1,
            (columns + 2 * self.padding - reach) // self.stride + 1,
        )

    @property
    def pooled(self) -> tuple[int, int]:
        if self.pool is None:
            return self.out
        size, stride, padding = self.pool
        return ((self.out[0] + 2 * padding - size) // stride + 1, (self.out[1] + 2 * padding - size) // stride + 1)


SCALE = 0.0005


def reference(c: Conv, image: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """int8, as `pooled` says; NHWC."""
    rows, columns = c.spread
    step = 2 if c.input_dilated else 1
    padded = np.zeros((c.batches, rows + 2 * c.padding + 64, columns + 2 * c.padding + 64, c.channels), np.int64)
    padded[:, c.padding : c.padding + rows : step, c.padding : c.padding + columns : step] = image
    kernel = weights[::-1, ::-1] if c.turned else weights
    total = np.broadcast_to(bias.astype(np.int64) * c.bias, (c.batches, *c.out, c.filters)).copy()
    for i in range(c.kernel):
        for j in range(c.kernel):
            y, x = i * c.dilation, j * c.dilation
            window = padded[:, y : y + c.out[0] * c.stride : c.stride, x : x + c.out[1] * c.stride : c.stride]
            total += window @ kernel[i, j].astype(np.int64)
    out = np.clip(np.rint(total.astype(np.float32) * np.float32(SCALE)), -128, 127).astype(np.int8)
    if c.relu:
        out = np.maximum(out, 0)
    if c.pool is None:
        return np.asarray(out)
    size, stride, padding = c.pool
    around = np.zeros((c.batches, c.out[0] + 2 * padding, c.out[1] + 2 * padding, c.filters), np.int8)
    around[:, padding : padding + c.out[0], padding : padding + c.out[1]] = out
    windows = [
        around[:, i : i + (c.pooled[0] - 1) * stride + 1 : stride, j : j + (c.pooled[1] - 1) * stride + 1 : stride]
        for i in range(size)
        for j in range(size)
    ]
    return np.asarray(np.max(windows, axis=0))


def commands(c: Conv) -> list[Command]:
    reach = c.dilation * (c.kernel - 1) + 1
    (orows, ocols), (porows, pocols) = c.out, c.pooled
    rows, columns = c.spread
    down = max(orows * c.stride + reach - 1 - c.padding - rows, 0)
    right = max(ocols * c.stride + reach - 1 - c.padding - columns, 0)
    size, pool_stride, pool_padding = c.pool or (0, 0, 0)
    activation = int(c.relu)
    flags = (not c.bias) | c.turned << 1 | (c.output != "nhwc") << 2 | (c.weights == "ihwo") << 3
    flags |= (c.weights == "hwoi") << 4 | (c.input != "nhwc") << 5 | c.pixels << 8 | c.b_id << 16 | c.a_id << 18
    return [
        # What the library sets: A's rows are the stride apart, C's as far as the input is dilated.
        ex(1, 0, int(c.input != "nhwc"), int(c.weights == "hwoi"), c.stride >> c.downsample, 1 + c.input_dilated, 0),
        st(activation, SCALE, c.filters if c.output == "nhwc" else c.batches * c.filters),
        (
            16,
            c.filters << 48 | c.channels << 32 | c.rows << 16 | c.batches,
            c.padding << 56 | c.stride << 48 | ocols << 32 | porows << 16 | orows,
        ),
        (
            17,
            c.kernel << 48 | pocols << 32 | size << 16 | pool_stride << 8 | pool_padding,
            c.batches << 48 | porows << 32 | pocols << 16 | c.filters,
        ),
        (
            18,
            c.kernel << 48 | c.kernel << 32 | c.channels << 16 | c.padding,
            right << 48 | c.padding << 32 | down << 24 | pool_padding << 16 | c.columns,
        ),
        (
            19,
            orows << 48 | pool_padding << 32 | pool_padding << 21 | pool_padding << 10 | c.dilation,
            c.channels << 48 | c.filters << 32 | c.filters << 16 | ocols,
        ),
        (20, WEIGHTS, OUTPUT),
        (21, BIAS, INPUT),
        (15, flags, activation << 3 | c.input_dilated << 2 | c.downsample << 1 | (c.pool is None)),
    ]


def run(machine: Any, c: Conv, *, seed: int = 0, times: int = 1) -> None:
    random = np.random.default_rng(seed)
    for _ in range(times):
        image = random.integers(-128, 128, (c.batches, c.rows, c.columns, c.channels), np.int8)
        weights = random.integers(-128, 128, (c.kernel, c.kernel, c.channels, c.filters), np.int8)
        bias = random.integers(-5000, 5000, c.filters, np.int32)
        order = {"hwio": (0, 1, 2, 3), "ihwo": (2, 0, 1, 3), "hwoi": (0, 1, 3, 2)}[c.weights]
        machine.write(INPUT, np.ascontiguousarray(image if c.input == "nhwc" else image.transpose(3, 1, 2, 0)))
        machine.write(WEIGHTS, np.ascontiguousarray(weights.transpose(order)))
        machine.write(BIAS, bias)
        machine.write(OUTPUT, b"\x5a" * 0x8000)
        machine.execute(commands(c))
        shape = (c.batches, *c.pooled, c.filters)
        if c.output == "hwnc":
            shape = (*c.pooled, c.batches, c.filters)
        found = np.frombuffer(machine.read(OUTPUT, int(np.prod(shape))), np.int8).reshape(shape)
        expected = reference(c, image, weights, bias)
        if c.output == "hwnc":
            expected = expected.transpose(1, 2, 0, 3)
        np.testing.assert_array_equal(found, expected)


CASES = {
    "plain": Conv(),
    "one by one": Conv(kernel=1, channels=33, filters=40, rows=5, columns=5),
    "wide": Conv(rows=3, columns=22, channels=20, filters=17, padding=1),
    "batches": Conv(batches=3, rows=4, columns=5, padding=1),
    "stride": Conv(stride=2, rows=9, columns=9, padding=1),
    "stride 3": Conv(stride=3, rows=11, columns=10),
    "no bias": Conv(bias=False),
    "relu": Conv(relu=True),
    "kernel dilation": Conv(dilation=2, rows=9, columns=8),
    "input dilation": Conv(input_dilated=True, rows=4, columns=4, padding=1),
    "pooling": Conv(rows=10, columns=10, channels=17, pool=(2, 2, 0), padding=1),
    "pooling with padding": Conv(rows=9, columns=8, pool=(3, 2, 1), relu=True),
    "turned weights": Conv(turned=True),
    "turned, dilated": Conv(turned=True, input_dilated=True, rows=4, columns=5),
    "weights ihwo": Conv(weights="ihwo", channels=19, filters=21, rows=5, columns=5),
    "weights hwoi": Conv(weights="hwoi", channels=19, filters=21, rows=5, columns=5),
    "output hwnc": Conv(output="hwnc", batches=2, rows=4, columns=4),
    "input chwn": Conv(input="chwn", batches=19, rows=3, columns=3, channels=4, filters=5, kernel=2),
    "first layer": Conv(channels=3, kernel=3, pixels=3, rows=8, columns=8, padding=1),
    "first layer, wide": Conv(channels=3, kernel=5, pixels=5, rows=9, columns=20, padding=2),
    "downsampled": Conv(kernel=1, stride=2, rows=8, columns=8, channels=20, downsample=True),
    "halves": Conv(a_id=2, b_id=1),
    "1 x 1 image": Conv(rows=1, columns=1, kernel=1, channels=1, filters=1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_convolution(bench: Callable[..., Any], case: Conv) -> None:
    run(bench(), case, times=3)  # the halves alternate: three in a row


def test_random_convolutions(bench: Callable[..., Any]) -> None:
    random = np.random.default_rng(20261201)
    machine, done = bench(), 0
    while done < 150:
        c = Conv(
            batches=int(random.integers(1, 4)),
            rows=int(random.integers(1, 10)),
            columns=int(random.integers(1, 20)),
            channels=int(random.integers(1, 40)),
            filters=int(random.integers(1, 40)),
            kernel=int(random.integers(1, 5)),
            stride=int(random.integers(1, 4)),
            padding=int(random.integers(0, 3)),
            dilation=int(random.integers(1, 3)),
            bias=bool(random.integers(2)),
            relu=bool(random.integers(2)),
            turned=bool(random.integers(2)),
            weights=str(random.choice(["hwio", "ihwo", "hwoi"])),
        )
        if random.integers(4) == 0:
            c = replace(c, input_dilated=True, stride=1, dilation=1)
        if random.integers(3) == 0:
            c = replace(c, pool=(int(random.integers(1, 4)), int(random.integers(1, 4)), 0))
        if (
            c.padding >= c.kernel
            or min(*c.out, *c.pooled) < 1
            or c.batches * c.out[0] * c.out[1] * -(-c.filters // 16) > 512
        ):
            continue
        reach = c.dilation * (c.kernel - 1)
        a_rows = -(-c.channels // 16) * c.batches * (c.out[0] * c.stride + reach) * (c.out[1] * c.stride + reach)
        if a_rows + c.kernel**2 * max(c.channels * -(-c.filters // 16), c.filters * -(-c.channels // 16)) > 8192:
            continue
        run(machine, c, seed=int(random.integers(1 << 30)))
        done += 1
