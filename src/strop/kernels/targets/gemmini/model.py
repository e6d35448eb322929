"""Gemmini without time, in NumPy, as plainly as it can be said: what the native machine is compared with.

int8 elements on a 16x16 array, int32 sums. One method a command; no queues, no hazards, no checks: programs must be
legal. The loop unrollers and norms are not here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

DIM = 16
ROWS, SUM_ROWS = 16384, 1024
ACCUMULATOR, ACCUMULATE, FULL = 1 << 31, 1 << 30, 1 << 29
GARBAGE = 0xFFFFFFFF
RELU = 1
OUTPUT_BITS = 20  # what leaves the array

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Load:
    """One of the three configurations of loads."""

    stride: int = 0
    scale: float = 1.0
    shrink: bool = False
    block_stride: int = DIM


@dataclass(slots=True)
class Pool:
    """Pooling of a store; `stride` 0 is none."""

    stride: int = 0
    size: int = 0
    upad: int = 0
    lpad: int = 0
    out_dim: int = 0
    porows: int = 0
    pocols: int = 0
    orows: int = 0
    ocols: int = 0


@dataclass(frozen=True, slots=True)
class Operand:
    """A packed local operand."""

    address: int
    columns: int
    rows: int

    @classmethod
    def of(cls, word: int) -> Operand:
        """Unpack it."""
        return cls(word & 0xFFFFFFFF, word >> 32 & 0xFFFF, word >> 48 & 0xFFFF)

    @property
    def garbage(self) -> bool:
        """Whether it stands for nothing."""
        return self.address == GARBAGE

    @property
    def row(self) -> int:
        """The row's number."""
        return self.address & 0x1FFFFFFF


def saturate(values: Array, bits: int = 8) -> Array:
    """Cut whole numbers to a signed width."""
    return np.clip(values, -(1 << bits - 1), (1 << bits - 1) - 1)


def scaled(values: Array, scale: float) -> Array:
    """Multiply in float32, round half to even, saturate to int8."""
    product = values.astype(np.float32) * np.float32(scale)
    return saturate(np.rint(product)).astype(np.int8)


def shifted(values: Array, shift: int) -> Array:
    """Shift right, rounded half to even."""
    if shift == 0:
        return values
    down = values >> shift
    half, rest = values >> shift - 1 & 1, values & (1 << shift - 1) - 1
    rounded: Array = down + (half & ((rest != 0) | (down & 1)))
    return rounded


def as_float(bits: int) -> float:
    """Read a float32's bits."""
    return float(np.uint32(bits).view(np.float32))


@dataclass(slots=True)
class Model:
    """The machine's state. `memory` is bytes; addresses count from `base`."""

    memory: bytearray
    base: int = 0x80000000
    rows: Array = field(default_factory=lambda: np.zeros((ROWS, DIM), np.int8))
    sums: Array = field(default_factory=lambda: np.zeros((SUM_ROWS, DIM), np.int32))
    loads: list[Load] = field(default_factory=lambda: [Load(), Load(), Load()])
    pool: Pool = field(default_factory=Pool)
    store_stride: int = 0
    store_scale: float = 1.0
    store_activation: int = 0
    stationary_weights: bool = True
    activation: int = 0
    transpose_a: bool = False
    transpose_b: bool = False
    a_stride: int = 1
    c_stride: int = 1
    shift: int = 0
    array: Array = field(default_factory=lambda: np.zeros((DIM, DIM), np.int64))
    preloaded: Array = field(default_factory=lambda: np.zeros((DIM, DIM), np.int64))
    result: Operand = Operand(GARBAGE, 0, 0)

    def execute(self, funct: int, rs1: int, rs2: int) -> None:
        """Do one command."""
        if funct == 0:
            (self._config_execute, self._config_load, self._config_store)[rs1 & 3](rs1, rs2)
        elif funct in (1, 2, 14):
            self._load(self.loads[{2: 0, 1: 1, 14: 2}[funct]], rs1, Operand.of(rs2))
        elif funct == 3:
            self._store(rs1, Operand.of(rs2))
        elif funct == 6:
            self._preload(Operand.of(rs1), Operand.of(rs2))
        elif funct in (4, 5):
            if funct == 4:
                self.array = self.preloaded.copy()
            self._compute(Operand.of(rs1), Operand.of(rs2))
        elif funct != 7:
            raise ValueError(f"funct {funct} isn't in the model")

    # --- configurations ---------------------------------------------------------------------------------------------

    def _config_execute(self, rs1: int, rs2: int) -> None:
        self.a_stride, self.c_stride = rs1 >> 16 & 0xFFFF, rs2 >> 48
        if rs1 >> 7 & 1:
            return
        self.stationary_weights = bool(rs1 >> 2 & 1)
        self.activation = rs1 >> 3 & 3
        self.transpose_a, self.transpose_b = bool(rs1 >> 8 & 1), bool(rs1 >> 9 & 1)
        self.shift = rs2 & 0xFFFFFFFF

    def _config_load(self, rs1: int, rs2: int) -> None:
        self.loads[rs1 >> 3 & 3] = Load(rs2, as_float(rs1 >> 32), bool(rs1 >> 2 & 1), rs1 >> 16 & 0xFFFF)

    def _config_store(self, rs1: int, rs2: int) -> None:
        self.store_activation = rs1 >> 2 & 3
        self.store_stride = rs2 & 0xFFFFFFFF
        if rs2 >> 32 != 0xFFFFFFFF:
            self.store_scale = as_float(rs2 >> 32)
        self.pool = Pool(
            stride=rs1 >> 4 & 3,
            size=rs1 >> 6 & 3,
            upad=rs1 >> 8 & 3,
            lpad=rs1 >> 10 & 3,
            out_dim=rs1 >> 24 & 0xFF,
            porows=rs1 >> 32 & 0xFF,
            pocols=rs1 >> 40 & 0xFF,
            orows=rs1 >> 48 & 0xFF,
            ocols=rs1 >> 56 & 0xFF,
        )

    # --- moves ------------------------------------------------------------------------------------------------------

    def _load(self, how: Load, address: int, to: Operand) -> None:
        to_sums = bool(to.address & ACCUMULATOR)
        width = 4 if to_sums and not how.shrink else 1
        kind = np.int32 if width == 4 else np.int8
        for r in range(to.rows):
            if address == 0:
                values = np.zeros(to.columns, kind)
            else:
                at = address + r * how.stride - self.base
                values = np.frombuffer(self.memory, kind, to.columns, at)
            if width == 1 and how.scale != 1.0:
                values = scaled(values, how.scale)
            for block in range(0, to.columns, DIM):
                row = to.row + r + block // DIM * how.block_stride
                part = values[block : block + DIM]
                if not to_sums:
                    self.rows[row, : len(part)] = part
                elif to.address & ACCUMULATE:
                    self.sums[row, : len(part)] += part
                else:
                    self.sums[row, : len(part)] = part

    def _store(self, address: int, source: Operand) -> None:
        if self.pool.stride:
            self._store_pooled(address, source)
            return
        for r in range(source.rows):
            out = b""
            for block in range(0, source.columns, DIM):
                row = (source.row & 0x3FFFFFF) + r + block
                out += self._out(source, row)[: source.columns - block].tobytes()
            at = address + r * self.store_stride - self.base
            self.memory[at : at + len(out)] = out

    def _out(self, source: Operand, row: int) -> Array:
        """A row as it leaves: raw, or scaled and activated."""
        raw: Array = self.sums[row] if source.address & ACCUMULATOR else self.rows[row]
        if not source.address & ACCUMULATOR or source.address & FULL:
            return raw
        values = scaled(raw, self.store_scale)
        return np.maximum(values, 0) if self.store_activation == RELU else values

    def _store_pooled(self, address: int, source: Operand) -> None:
        """Store the largest of each window; what lies outside the image counts as 0."""
        pool = self.pool
        base = source.row & 0x3FFFFFF
        for i in range(pool.porows):
            for j in range(pool.pocols):
                best = np.full(DIM, -128, np.int8)
                for wi in range(pool.size):
                    for wj in range(pool.size):
                        y, x = i * pool.stride + wi - pool.upad, j * pool.stride + wj - pool.lpad
                        inside = 0 <= y < pool.orows and 0 <= x < pool.ocols
                        seen = self._out(source, base + y * pool.ocols + x) if inside else np.zeros(DIM, np.int8)
                        best = np.maximum(best, seen)
                out = best[: source.columns].tobytes()
                at = address + (i * pool.out_dim + j) * self.store_stride - self.base
                self.memory[at : at + len(out)] = out

    # --- the array --------------------------------------------------------------------------------------------------

    def _matrix(self, operand: Operand, *, stride: int = 1, transposed: bool = False) -> Array:
        """An operand, 0 outside its rows and columns, which are those after transposition."""
        made = np.zeros((DIM, DIM), np.int64)
        if operand.garbage:
            return made
        rows, columns = (operand.columns, operand.rows) if transposed else (operand.rows, operand.columns)
        for r in range(rows):
            made[r, :columns] = self.rows[operand.row + r * stride, :columns]
        return made.T if transposed else made

    def _preload(self, held: Operand, result: Operand) -> None:
        transposed = self.stationary_weights and self.transpose_b
        self.preloaded = self._matrix(held, transposed=transposed).copy()
        self.result = result

    def _compute(self, a: Operand, other: Operand) -> None:
        left = self._matrix(a, stride=self.a_stride, transposed=self.transpose_a)
        if self.stationary_weights:
            out = self._matrix(other) + left @ self.array
        else:
            self.array = self.array + left @ self._matrix(other)
            out = shifted(self.array, self.shift)
        self._leave(saturate(out, OUTPUT_BITS))

    def _leave(self, out: Array) -> None:
        to = self.result
        if to.garbage:
            return
        for r in range(to.rows):
            row, values = to.row + r * self.c_stride, out[r, : to.columns]
            if not to.address & ACCUMULATOR:
                cut = saturate(values).astype(np.int8)
                self.rows[row, : to.columns] = np.maximum(cut, 0) if self.activation == RELU else cut
            elif to.address & ACCUMULATE:
                self.sums[row, : to.columns] += values.astype(np.int32)
            else:
                self.sums[row, : to.columns] = values
