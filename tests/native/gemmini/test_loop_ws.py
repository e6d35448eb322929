"""Matmul loops by loop_ws against products by their definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.native.gemmini.programs import ACC, BASE, FULL, ex, ld, local, loop_ws, mvin, mvout, norm, st

A, B, D, C = BASE + 0x10000, BASE + 0x30000, BASE + 0x50000, BASE + 0x70000
SCALE = np.float32(0.002)


def tiles(n: int) -> int:
    return -(-n // 16)


def narrowed(total: np.ndarray, scale: np.float32 = SCALE) -> np.ndarray:
    return np.asarray(np.clip(np.rint(total.astype(np.float32) * scale), -128, 127), np.int8)


def product(
    random: np.random.Generator, machine: Any, *, halves: tuple[int, int] = (0, 0), exact: bool = False
) -> None:
    m, n, k = (int(random.integers(1, 80)) for _ in range(3))
    turn_a, turn_b = [(0, 0), (1, 0), (0, 1)][int(random.integers(3))]
    full, low, bias = (int(x) for x in random.integers(0, 2, 3))
    a = random.integers(-128, 128, (m, k), np.int8)
    b = random.integers(-128, 128, (k, n), np.int8)
    d = random.integers(-128, 128, (m, n), np.int8) if low else random.integers(-(10**6), 10**6, (m, n), np.int32)
    slack = int(random.integers(0, 5))
    stored = np.pad(a.T if turn_a else a, ((0, 0), (0, slack))), np.pad(b.T if turn_b else b, ((0, 0), (0, slack)))
    for address, array in ((A, stored[0]), (B, stored[1]), (D, d)):
        machine.write(address, np.ascontiguousarray(array))
    size = 4 if full else 1
    machine.write(C, b"\x5a" * 0x8000)
    bounds = tiles(m), tiles(n), tiles(k)
    pads = 16 * bounds[0] - m, 16 * bounds[1] - n, 16 * bounds[2] - k
    strides = stored[0].shape[1], stored[1].shape[1], n, n + slack
    machine.execute(
        [
            ex(1, 0, turn_a, turn_b, 1, 1, 0),
            st(0, float(SCALE), (n + slack) * size),
            ld(0, 0, 16, 1, strides[0]),
            ld(1, 0, 16, 1, strides[1]),
            ld(2, low, 16, 1, n * (1 if low else 4)),
            *loop_ws(
                bounds,
                pads,
                (A, B, D if bias else 0, C),
                strides,
                bias | full << 1 | low << 2 | halves[1] << 16 | halves[0] << 18,
                turn_b << 1 | turn_a,
            ),
        ]
    )
    total = a.astype(np.int64) @ b.astype(np.int64) + (d if bias else 0)
    expected = total.astype(np.int32) if full else narrowed(total)
    out = np.frombuffer(machine.read(C, m * (n + slack) * size), expected.dtype).reshape(m, n + slack)
    np.testing.assert_array_equal(out[:, :n], expected)
    assert out[:-1, n:].tobytes() == b"\x5a" * (m - 1) * slack * size


def test_random_products(bench: Callable[..., Any]) -> None:
    random = np.random.default_rng(7)
    for halves in [(0, 0), (1, 1), (2, 1), (2, 2)]:
        machine = bench()
        for _ in range(40):
            product(random, machine, halves=halves)


def test_sums_over_several_loops_stay_in_the_accumulator(bench: Callable[..., Any]) -> None:
    random = np.random.default_rng(8)
    machine = bench()
    m, n, k, parts = 40, 33, 64, 3
    a = random.integers(-128, 128, (m, parts * k), np.int8)
    b = random.integers(-128, 128, (parts * k, n), np.int8)
    machine.write(A, a)
    machine.write(B, b)
    commands = [ex(1, 0, 0, 0, 1, 1, 0), st(0, 1, 4 * n), ld(0, 0, 16, 1, parts * k), ld(1, 0, 16, 1, n)]
    for p in range(parts):
        addresses = A + p * k, B + p * k * n, 0, C if p == parts - 1 else 0
        commands += loop_ws((3, 3, 4), (8, 15, 0), addresses, (parts * k, n, n, n), int(p > 0) | 2)
    machine.execute(commands)
    out = np.frombuffer(machine.read(C, 4 * m * n), np.int32).reshape(m, n)
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


def test_operands_end_where_memory_may_be_read(bench: Callable[..., Any]) -> None:
    # Tiles of B are fetched past a padded edge; that reads no memory and writes no row.
    machine = bench()
    m, n, k = 21, 19, 37
    random = np.random.default_rng(9)
    a, b = random.integers(-128, 128, (m, k), np.int8), random.integers(-128, 128, (k, n), np.int8)
    machine.write(A, a)
    machine.write(B, b)
    for name, begin, size in (("A", A, m * k), ("B", B, k * n), ("C", C, m * n)):
        machine.add_range(begin, begin + size, name)
    machine.execute([ex(1, 0, 0, 0, 1, 1, 0), st(0, float(SCALE), n), ld(0, 0, 16, 1, k), ld(1, 0, 16, 1, n)])
    machine.execute(loop_ws((2, 2, 3), (11, 13, 11), (A, B, 0, C), (k, n, n, n)))
    out = np.frombuffer(machine.read(C, m * n), np.int8).reshape(m, n)
    np.testing.assert_array_equal(out, narrowed(a.astype(np.int64) @ b.astype(np.int64)))


@pytest.mark.parametrize(("m", "n"), [(32, 32), (35, 27), (1, 1), (16, 128), (50, 70)])
def test_residual_addition(bench: Callable[..., Any], m: int, n: int) -> None:
    random = np.random.default_rng(m * n)
    machine = bench()
    a, b = random.integers(-128, 128, (m, n), np.int8), random.integers(-128, 128, (m, n), np.int8)
    machine.write(A, a)
    machine.write(B, b)
    bounds, pads = (tiles(m), tiles(n), 1), (16 * tiles(m) - m, 16 * tiles(n) - n, 0)
    commands = [st(1, 0.5, n), ld(0, 1, 16, 1, n), ld(1, 1, 16, -0.5, n)]
    commands += loop_ws(bounds, pads, (A, B, 0, C), (n, n, n, n), 0, 4)
    for _ in range(3):
        machine.write(C, b"\x5a" * m * n)
        machine.execute(commands)
        half = narrowed(b.astype(np.int64), np.float32(-0.5)).astype(np.int64)
        expected = np.maximum(narrowed(a.astype(np.int64) + half, np.float32(0.5)), 0)
        np.testing.assert_array_equal(np.frombuffer(machine.read(C, m * n), np.int8).reshape(m, n), expected)


def test_c_to_the_scratchpad(bench: Callable[..., Any]) -> None:
    # spad_only: A and B are there, C goes there; nothing is loaded or stored in memory.
    random = np.random.default_rng(10)
    machine = bench()
    a, b = random.integers(-128, 128, (16, 16), np.int8), random.integers(-128, 128, (16, 16), np.int8)
    machine.write(A, a)
    machine.write(B, b)
    machine.execute(
        [
            *[ex(1, 0, 0, 0, 1, 1, 0), st(0, float(SCALE), 16), ld(0, 0, 16, 1, 16)],
            *[mvin(A, local(0)), mvin(B, local(16))],
            *loop_ws((1, 1, 1), (0, 0, 0), (0, 0, 0, 0), (16, 16, 16, 16))[:-1],
            (24, 0, 32),  # A from row 0, B up to row 32
            (8, 0, 100 << 32 | 1 << 9 | 0b111 << 3),  # skip the loads
            mvout(C, local(100)),
        ]
    )
    out = np.frombuffer(machine.read(C, 256), np.int8).reshape(16, 16)
    np.testing.assert_array_equal(out, narrowed(a.astype(np.int64) @ b.astype(np.int64)))


def integer_exp(q: np.ndarray, qb: int, qc: int, qln2: int, inverse: int) -> np.ndarray:
    z = (-q * inverse) >> 16
    return np.asarray(((q + z * qln2 + qb) ** 2 + qc) >> z)


@pytest.mark.parametrize("n", [16, 27, 100])
def test_layer_norm_and_softmax_of_a_loop(bench: Callable[..., Any], n: int) -> None:
    m, k = 21, 32
    random = np.random.default_rng(n)
    a, b = random.integers(-20, 20, (m, k), np.int8), random.integers(-20, 20, (k, n), np.int8)
    total = a.astype(np.int64) @ b.astype(np.int64)
    bounds, pads = (2, tiles(n), 2), (11, 16 * tiles(n) - n, 0)
    qb, qc, qln2, inverse = 1353, 1000000, 693, 94
    for activation in (2, 4):
        machine = bench()
        machine.write(A, a)
        machine.write(B, b)
        commands = [ex(1, 0, 0, 0, 1, 1, 0), st(activation & 3, 16 if activation == 2 else 1, n)]
        commands += [norm(q=qln2, qb=qb, qc=qc, act_msb=activation >> 2)]
        commands += [norm(q=inverse, kind=1, qb=qb, qc=qc, act_msb=activation >> 2)]
        commands += [ld(0, 0, 16, 1, k), ld(1, 0, 16, 1, n)]
        machine.execute(commands + loop_ws(bounds, pads, (A, B, 0, C), (k, n, n, n), activation << 8))
        if activation == 2:
            mean = np.trunc(total.sum(1) / n).astype(np.int64)[:, None]
            variance = ((total - mean) ** 2).sum(1) // n
            inverse_deviation = np.float32(1) / np.maximum(np.sqrt(variance).astype(np.int64), 1).astype(np.float32)
            scaled = np.trunc((total - mean).astype(np.float32) * inverse_deviation[:, None])
            expected = narrowed(scaled.astype(np.int64), np.float32(16))
        else:
            exponential = integer_exp(total - total.max(1)[:, None], qb, qc, qln2, inverse)
            expected = narrowed(exponential, np.float32(127) / exponential.sum(1).astype(np.float32)[:, None])
        out = np.frombuffer(machine.read(C, m * n), np.int8).reshape(m, n)
        np.testing.assert_array_equal(out, expected)


def test_gelu(bench: Callable[..., Any]) -> None:
    machine = bench()
    q = np.arange(-2000, 2096, 16, dtype=np.int32).reshape(16, 16)
    machine.write(D, q)
    qb, qc = -700, -500000
    machine.execute(
        [ld(0, 0, 16, 1, 64), st(3, 2.0**-23, 16), norm(qb=qb, qc=qc), mvin(D, local(ACC)), mvout(C, local(ACC))]
    )
    machine.execute([st(3, 1, 64), mvout(C + 256, local(ACC | FULL))])
    wide = q.astype(np.int64)
    clipped = np.minimum(np.abs(wide), -qb)
    gelu = (wide * (np.where(wide < 0, -1, 1) * ((clipped + qb) ** 2 + qc) + qc)).astype(np.int32)
    np.testing.assert_array_equal(np.frombuffer(machine.read(C + 256, 1024), np.int32).reshape(16, 16), gelu)
    expected = narrowed(gelu, np.float32(2.0**-23))
    np.testing.assert_array_equal(np.frombuffer(machine.read(C, 256), np.int8).reshape(16, 16), expected)
