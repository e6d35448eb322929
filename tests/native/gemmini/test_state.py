"""What rows know of themselves, what is counted, float32, and operands out of the accumulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.native.gemmini.programs import (
    ACC,
    ACCA,
    FULL,
    GARBAGE,
    WHERE,
    bits,
    ex,
    flip,
    ld,
    local,
    mvin,
    mvin2,
    mvout,
    preload,
    st,
    stay,
)

A, B, D, O, P = (WHERE[name] for name in "ABDOP")  # noqa: E741 - the arrays' names in the vectors
WS = ex(1, 0, 0, 0, 1, 1, 0)
START = [ld(0, 0, 16, 1, 16), st(0, 1, 16), WS]
FP32 = {"dim": 4, "floating": 1, "accumulator_banks": 1, "accumulator_bank_rows": 4096}


def matrix(data: bytes, dtype: Any, columns: int = 16) -> np.ndarray:
    return np.frombuffer(data, dtype).reshape(-1, columns)


def test_rows_know_which_columns_were_written(bench: Callable[..., Any]) -> None:
    machine = bench(poison=0x11)
    assert machine.written(False, 0, 2) == [0, 0]
    machine.execute([*START, mvin(A, local(0, 5, 1)), mvin(A, local(1, 16, 1))])
    assert machine.written(False, 0, 3) == [0b11111, 0xFFFF, 0]
    assert machine.rows(False, 0, 1) == machine.read(A, 5) + b"\x11" * 11
    machine.reset()
    assert machine.written(False, 0, 2) == [0, 0]


def test_poison_does_not_reach_a_legal_result(bench: Callable[..., Any]) -> None:
    results = []
    for poison in (0x00, 0xA5, 0xFF):
        machine = bench(poison=poison)
        machine.execute([*START, mvin(A, local(0, 9, 7)), mvin(B, local(16, 5, 9))])
        machine.execute([preload(local(16, 5, 9), local(ACC, 5, 7)), flip(local(0, 9, 7), local(GARBAGE))])
        machine.execute([mvout(O, local(ACC, 5, 7))])
        results.append(machine.read(O, 256))
    assert results[0] == results[1] == results[2]


def test_outputs_say_what_they_descend_from(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.add_range(A, A + 4096, "A", provenance=1 << 2)
    machine.add_range(B, B + 4096, "B", provenance=1 << 3)
    machine.add_range(D, D + 4096, "D", provenance=1 << 4)
    machine.add_range(O, O + 4096, "O", provenance=0)
    machine.execute([*START, mvin(A, local(0)), mvin(B, local(16)), mvin(0, local(32))])
    machine.execute([mvout(O, local(0, 16, 1))])
    assert set(machine.provenance(O, O + 16)) == {1 << 2}  # A as it was: the array had no part in it
    machine.execute([mvout(O, local(32, 16, 1))])
    assert set(machine.provenance(O, O + 16)) == {0}  # zeros descend from nothing
    machine.execute([preload(local(16), local(ACC)), flip(local(0), local(GARBAGE)), mvout(O, local(ACC))])
    assert set(machine.provenance(O, O + 256)) == {1 | 1 << 2 | 1 << 3}
    # Kept weights, other rows, and a sum with D.
    machine.execute([ld(0, 0, 16, 1, 64), mvin(D, local(ACC | 16)), preload(local(GARBAGE), local(ACCA | 16))])
    machine.execute([stay(local(32), local(GARBAGE)), mvout(O + 16, local(ACC | 16))])
    assert set(machine.provenance(O + 16, O + 272)) == {1 | 1 << 3 | 1 << 4}
    assert set(machine.provenance(O + 300, O + 4096)) == {0}


def test_work_is_counted(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.execute([*START, mvin(A, local(0, 9, 7)), mvin(B, local(16, 5, 9)), mvin(0, local(32, 16, 3))])
    machine.execute([preload(local(16, 5, 9), local(ACC, 5, 7)), flip(local(0, 9, 7), local(GARBAGE))])
    machine.execute([mvout(O, local(ACC, 5, 7))])
    assert machine.work() == {
        "macs": 7 * 9 * 5,
        "steps": 1,
        "preloads": 1,
        "loads": 3,
        "stores": 1,
        "load_bytes": 9 * 7 + 5 * 9,
        "store_bytes": 5 * 7,
        "zero_rows": 3,
    }


def test_weights_are_read_when_preloaded(bench: Callable[..., Any]) -> None:
    # A load that overwrites B after the preload comes too late for it: hardware, not Spike, which reads at the compute.
    machine = bench()
    machine.execute([*START, mvin(A, local(0)), mvin(B, local(16)), preload(local(16), local(ACC))])
    machine.execute([mvin(0, local(16)), flip(local(0), local(GARBAGE)), st(0, 1, 64), mvout(O, local(ACC | FULL))])
    a, b = matrix(machine.read(A, 256), np.int8), matrix(machine.read(B, 256), np.int8)
    np.testing.assert_array_equal(matrix(machine.read(O, 1024), np.int32), a.astype(np.int32) @ b.astype(np.int32))


def test_operands_from_the_accumulator_are_scaled_and_activated(bench: Callable[..., Any]) -> None:
    machine = bench()
    scale, d = np.float32(0.003), matrix(machine.read(D, 1024), np.int32)
    rs1 = bits(float(scale)) << 32 | 1 << 16 | 1 << 3 | 1 << 2  # weight-stationary, ReLU
    machine.execute([ld(0, 0, 16, 1, 64), ld(1, 0, 16, 1, 16), st(0, 1, 64), (0, rs1, 1 << 48)])
    machine.execute([mvin(D, local(ACC)), mvin2(B, local(16)), preload(local(16), local(ACC | 32))])
    machine.execute([flip(local(ACC), local(ACC)), mvout(O, local(ACC | FULL | 32))])
    narrow = np.clip(np.rint(np.maximum(d, 0).astype(np.float32) * scale), -128, 127).astype(np.int32)
    b = matrix(machine.read(B, 256), np.int8).astype(np.int32)
    np.testing.assert_array_equal(matrix(machine.read(O, 1024), np.int32), narrow @ b + narrow)


def test_output_stationary_sums_and_their_shift(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.execute([ld(0, 0, 16, 1, 16), ex(0, 0, 0, 0, 1, 1, 3), st(0, 1, 64)])
    machine.execute([mvin(A + 256 * n, local(16 * n)) for n in range(4)])
    machine.execute([preload(local(48), local(GARBAGE)), flip(local(0), local(16))])
    machine.execute([preload(local(GARBAGE), local(ACC)), stay(local(32), local(16)), mvout(O, local(ACC | FULL))])
    m = matrix(machine.read(A, 1024), np.int8).astype(np.int32).reshape(4, 16, 16)
    total = m[3] + m[0] @ m[1] + m[2] @ m[1]
    np.testing.assert_array_equal(matrix(machine.read(O, 1024), np.int32), np.rint(total / 8).astype(np.int32))


def test_results_leave_the_array_in_twenty_bits(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.write(A, b"\x80" * 256)
    machine.execute([ld(0, 0, 16, 1, 16), ex(0, 0, 0, 0, 1, 1, 0), st(0, 1, 64), mvin(A, local(0))])
    machine.execute([preload(local(GARBAGE), local(GARBAGE)), flip(local(0), local(0))])
    machine.execute([preload(local(GARBAGE), local(ACC)), stay(local(0), local(0)), mvout(O, local(ACC | FULL))])
    assert set(matrix(machine.read(O, 1024), np.int32).ravel()) == {(1 << 19) - 1}  # 2 * 16 * 128 * 128 = 2^19


def test_spad_to_spad(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.execute([*START, ld(0, 0, 16, 1, 64), mvin(D, local(ACC)), st(1, 0.004, 16)])
    machine.execute([(23, 2 << 32 | 200, local(ACC, 16, 8))])  # every other row from 200
    machine.execute([mvout(O, local(ACC, 16, 8)), mvout(P, local(214, 16, 1))])
    assert machine.read(P, 16) == machine.read(O + 112, 16)
    assert machine.written(False, 200, 4) == [0xFFFF, 0, 0xFFFF, 0]


def test_repeated_pixels_stay_in_their_half(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.execute([ld(0, 0, 16, 1, 3, pixels=3), mvin(A, local(0, 3, 4)), mvin(A, local(8192, 3, 2))])
    assert machine.written(False, 0, 4) == [0x1FF, 0x1FF, 0x3F, 0x7]
    assert machine.written(False, 8190, 4) == [0, 0, 0x3F, 0x7]
    assert machine.rows(False, 0, 1)[:9] == machine.read(A, 9)


def test_scale_of_all_ones_keeps_the_old(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.execute([ld(0, 0, 16, 1, 64), mvin(D, local(ACC)), st(0, 0.004, 16), mvout(O, local(ACC))])
    machine.execute([(0, 2, 0xFFFFFFFF << 32 | 16), mvout(P, local(ACC))])
    assert machine.read(O, 256) == machine.read(P, 256)


@pytest.mark.parametrize(("scale", "expected"), [(float("inf"), 127), (float("-inf"), -128), (float("nan"), 127)])
def test_scales_that_are_no_numbers_saturate(bench: Callable[..., Any], scale: float, expected: int) -> None:
    machine = bench()
    machine.write(A, bytes(range(1, 17)))
    machine.execute([ld(0, 0, 16, scale, 16), st(0, 1, 16), mvin(A, local(0, 16, 1)), mvout(O, local(0, 16, 1))])
    assert set(np.frombuffer(machine.read(O, 16), np.int8)) == {expected}


def test_counters(bench: Callable[..., Any]) -> None:
    machine = bench()

    def counter(rs1: int) -> int:
        return int(machine.execute([(126, rs1, 0)])[0])

    counter(3 << 4 | 8 | 9 << 12)  # 3 counts rows of loads
    counter(7 << 4 | 8 | 4 << 12 | 1 << 31)  # 7 shows bytes read
    machine.execute([*START, mvin(A, local(0)), mvin(A, local(16, 8, 4))])
    assert counter(3 << 4) == 20
    assert counter(7 << 4) == 256 + 32
    assert counter(3 << 4 | 4) == 20  # snapshot of counters
    machine.execute([mvin(A, local(0))])
    assert counter(3 << 4) == 20
    counter(2)  # no snapshot any more
    assert counter(3 << 4) == 36
    counter(1)
    assert counter(3 << 4) == counter(7 << 4) == 0
    assert counter(0 << 4) == 0


def test_float32_by_four(bench: Callable[..., Any]) -> None:
    random = np.random.default_rng(3)
    machine = bench(**FP32)
    a, b, d = (random.standard_normal((4, 4)).astype(np.float32) for _ in range(3))
    for address, array in ((A, a), (B, b), (D, d)):
        machine.write(address, array)
    machine.execute([ld(0, 0, 4, 1, 16), ld(1, 0, 4, -1, 16), st(0, -2, 16), WS])
    machine.execute([mvin(A, local(0, 4, 4)), mvin(B, local(4, 4, 4)), mvin2(D, local(8, 4, 4))])
    machine.execute([preload(local(4, 4, 4), local(ACC, 4, 4)), flip(local(0, 4, 4), local(8, 4, 4))])
    machine.execute([mvout(O, local(ACC, 4, 4)), mvout(P, local(ACC | FULL, 4, 4))])
    total = -d  # a load's scale of -1, then four fused multiply-adds: exact in double, rounded once each
    for k in range(4):
        total = (a[:, k : k + 1].astype(np.float64) * b[k].astype(np.float64) + total).astype(np.float32)
    full = matrix(machine.read(P, 64), np.float32, 4)
    np.testing.assert_array_equal(full, total)
    np.testing.assert_array_equal(matrix(machine.read(O, 64), np.float32, 4), full * np.float32(-2))
    machine.execute([st(1, 1, 16), mvin2(D, local(ACCA, 4, 4)), mvout(O, local(ACC, 4, 4))])
    np.testing.assert_array_equal(matrix(machine.read(O, 64), np.float32, 4), np.maximum(full - d, 0))


def test_float32_columns(bench: Callable[..., Any]) -> None:
    machine = bench(**FP32)
    values = np.arange(64, dtype=np.float32).reshape(4, 16)
    machine.write(A, values)
    machine.execute([ld(0, 0, 4, 0.5, 64), st(0, 1, 64), mvin(A, local(100, 16, 4)), mvout(O, local(100, 16, 4))])
    np.testing.assert_array_equal(matrix(machine.read(O, 256), np.float32), values / 2)
    machine.execute([mvin(A, local(ACC | 4080, 16, 4)), mvout(O, local(ACC | 4080, 16, 4))])
    np.testing.assert_array_equal(matrix(machine.read(O, 256), np.float32), values / 2)


def test_geometry_is_checked(bench: Callable[..., Any]) -> None:
    for wrong in ({"dim": 5}, {"dim": 64}, {"bank_rows": 1000}, {"element": 1}, {"banks": 0}):
        with pytest.raises(ValueError, match=r"geometry|powers"):
            bench(**wrong)
