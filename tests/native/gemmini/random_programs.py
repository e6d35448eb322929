"""Random legal programs of plain Gemmini commands: what is read was written, what is multiplied was preloaded."""

from __future__ import annotations

import random

from tests.native.gemmini.programs import (
    ACC,
    ACCA,
    FULL,
    GARBAGE,
    WHERE,
    Command,
    ex,
    flip,
    ld,
    local,
    mvin,
    mvin2,
    mvin3,
    mvout,
    pool,
    preload,
    st,
    stay,
)

ROWS, SUMS = 512, 256  # rows that a program uses, all written by its prologue
SCALES = (1.0, 1.0, 1.0, 0.5, -1.0, 0.25, 1.5, -1.75, 0.003, 2.0)
MVIN = (mvin, mvin2, mvin3)


def prologue() -> list[Command]:
    """Zeros in every row that may be read, and configurations that are set."""
    made = [ld(0, 0, 16, 1, 0), ld(1, 0, 16, 1, 16), ld(2, 0, 16, 1, 16), st(0, 1, 16), ex(1, 0, 0, 0, 1, 1, 0)]
    made += [mvin(0, local(row, 64)) for row in range(0, ROWS, 64)]
    return made + [mvin(0, local(ACC | row)) for row in range(0, SUMS, 16)]


class Maker:
    """Draws steps; keeps what legality depends on."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.load = [(1, 0), (1, 0), (1, 0)]  # scale, shrink
        self.ws, self.at, self.bt = True, False, False
        self.a_stride = self.c_stride = 1
        self.preloaded = False

    def program(self) -> list[Command]:
        steps = prologue()
        for _ in range(self.rng.randint(4, 14)):
            steps += self.rng.choice(
                (self.moved, self.moved, self.left, self.multiplied, self.multiplied, self.set_up)
            )()
        return steps + self.everything()

    def rows(self, most: int = 16) -> int:
        return self.rng.choice((16, 16, self.rng.randint(1, most)))

    def set_up(self) -> list[Command]:
        if self.rng.random() < 0.5:
            state = self.rng.randrange(3)
            shrink = int(self.rng.random() < 0.2)
            scale = 1.0 if shrink else self.rng.choice(SCALES)
            self.load[state] = (scale, shrink)  # type: ignore[assignment]
            return [ld(state, shrink, self.rng.choice((16, 16, 20, 48)), scale, self.rng.choice((16, 37, 64, 0, 128)))]
        self.ws = self.rng.random() < 0.7
        self.at = self.rng.random() < 0.3
        self.bt = self.ws and not self.at and self.rng.random() < 0.3
        self.a_stride, self.c_stride = self.rng.choice((1, 1, 2)), self.rng.choice((1, 1, 3))
        self.preloaded = False
        act, shift = self.rng.randrange(2), 0 if self.ws else self.rng.randrange(9)
        return [ex(self.ws, act, self.at, self.bt, self.a_stride, self.c_stride, shift)]

    def moved(self) -> list[Command]:
        state = self.rng.randrange(3)
        scale, shrink = self.load[state]
        null = self.rng.random() < 0.1
        if self.rng.random() < 0.35:
            if scale != 1 and not shrink:
                return []
            columns, rows, add = self.rng.randint(1, 16), self.rows(), self.rng.random() < 0.5
            to = (ACCA if add else ACC) | self.rng.randrange(SUMS - 16)
            address = WHERE["D"] + 4 * self.rng.randrange(1024) if not shrink else WHERE["A"] + self.rng.randrange(9000)
            return [MVIN[state](0 if null else address, local(to, columns, rows))]
        columns = self.rng.choice((16, 64, self.rng.randint(1, 64)))
        to = self.rng.randrange(ROWS - 48 * 3 - 16)
        address = WHERE[self.rng.choice("AB")] + self.rng.randrange(9000)
        return [MVIN[state](0 if null else address, local(to, columns, self.rows()))]

    def left(self) -> list[Command]:
        stride = self.rng.choice((16, 23, 64, 100))
        address = WHERE["O"] + self.rng.randrange(16000)
        kind = self.rng.random()
        if kind < 0.12:
            image = self.rng.randint(4, 8), self.rng.randint(4, 8)
            size, step = self.rng.randint(1, 3), self.rng.randint(1, 2)
            pooled = (image[0] - size) // step + 1, (image[1] - size) // step + 1
            how = pool(
                stride=step,
                size=size,
                up=0,
                left=0,
                out_dim=pooled[1] + 1,
                pooled=pooled,
                image=image,
                row=20,
                scale=0.01,
            )
            return [
                how,
                mvout(address, local(ACC | self.rng.randrange(SUMS - 64), self.rng.randint(1, 16), 0)),
                st(0, 1, 16),
            ]
        if kind < 0.5:
            how = st(self.rng.randrange(2), self.rng.choice((1.0, 0.5, 0.003, -0.25, 0.07)), stride)
            columns = self.rng.choice((16, 64, self.rng.randint(1, 64)))
            return [how, mvout(address, local(ACC | self.rng.randrange(SUMS - 80), columns, self.rows()))]
        if kind < 0.7:
            source = ACC | FULL | self.rng.randrange(SUMS - 16)
            return [st(0, 1, 4 * stride), mvout(address & ~3, local(source, self.rng.randint(1, 16), self.rows()))]
        source = self.rng.randrange(ROWS - 80)
        return [st(0, 1, stride), mvout(address, local(source, self.rng.choice((16, 64)), self.rows()))]

    def multiplied(self) -> list[Command]:
        """A preload and computes on it; A, the other operand and the result lie apart."""
        i, j, k = self.rows(), self.rows(), self.rows()
        b, a, other = 0, 64 + self.rng.randrange(64), 160 + self.rng.randrange(32)
        to = self.result()
        made = []
        if self.ws:
            held = GARBAGE if self.rng.random() < 0.1 else b + self.rng.randrange(32)
            bias = GARBAGE if self.rng.random() < 0.6 else other
            made += [preload(local(held, j, k), local(to, j, i)), flip(local(a, k, i), local(bias, j, i))]
        else:
            held = GARBAGE if self.rng.random() < 0.5 else b + self.rng.randrange(32)
            made += [preload(local(held, j, i), local(to, j, i)), flip(local(a, k, i), local(other, j, k))]
        if self.rng.random() < 0.4:
            to = self.result()
            a = 64 + self.rng.randrange(64)
            second = local(GARBAGE, j, i) if self.ws else local(other, j, k)
            made += [preload(local(GARBAGE, 16, 16), local(to, j, i)), stay(local(a, k, i), second)]
        return made

    def result(self) -> int:
        kind = self.rng.random()
        if kind < 0.25:
            return 256 + self.rng.randrange(128)
        return (ACCA if kind < 0.6 else ACC) | self.rng.randrange(SUMS - 48)

    def everything(self) -> list[Command]:
        """Some of what is left, in memory."""
        made: list[Command] = [st(0, 1, 64)]
        made += [mvout(WHERE["P"] + 1024 * n, local(row, 64)) for n, row in enumerate(range(0, 512, 64))]
        made += [mvout(WHERE["O"] + 16384 + 1024 * n, local(ACC | FULL | 16 * n)) for n in range(16)]
        return made


def random_program(seed: int) -> list[Command]:
    return Maker(seed).program()
