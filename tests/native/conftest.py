"""Problems and loops in the plain words that `strop._native` takes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from strop import _native

BYTES = {"float32": 4, "float64": 8}


def loop(
    axis: int,
    step: int = 1,
    *,
    balanced: bool = False,
    pieces: Sequence[int] = (),
    partner: int = -1,
    partner_steps: Sequence[int] = (),
    unroll: int = 1,
    parallel: bool = False,
    pack: Sequence[int] = (),
    prefetch: Sequence[tuple[int, int]] = (),
) -> tuple[Any, ...]:
    return (axis, step, balanced, pieces, partner, partner_steps, unroll, parallel, pack, prefetch)


@dataclass(frozen=True)
class Problem:
    """An einsum over arrays in C order, `mk,kn->mn`; epilogue operands are named by their axes."""

    text: str
    sizes: dict[str, int]
    dtype: str = "float32"
    semiring: tuple[str, str] = ("+", "*")
    accumulate: bool = False
    extras: tuple[str, ...] = ()
    epilogue: tuple[tuple[Any, ...], ...] = ()

    @property
    def operands(self) -> list[str]:
        return self.text.split("->")[0].split(",")

    @property
    def output(self) -> str:
        return self.text.split("->")[1]

    @property
    def axes(self) -> list[str]:
        return list(dict.fromkeys("".join(self.operands)))

    def shape(self, names: str) -> tuple[int, ...]:
        return tuple(self.sizes[name] for name in names)

    def strides(self, names: str) -> tuple[int, ...]:
        extents = self.shape(names)
        return tuple(BYTES[self.dtype] * int(np.prod(extents[d + 1 :], dtype=int)) for d in range(len(extents)))

    def tensor(self, names: str) -> tuple[int, ...]:
        by_axis: dict[str, int] = {}
        for name, stride in zip(names, self.strides(names), strict=True):
            by_axis[name] = by_axis.get(name, 0) + stride
        return tuple(by_axis.get(axis, 0) for axis in self.axes) or (0,)

    @property
    def plain(self) -> tuple[Any, ...]:
        """The arguments that `compile` and `Evaluator` have in common."""
        return (
            self.dtype,
            *self.semiring,
            self.accumulate,
            tuple(self.sizes[axis] for axis in self.axes) or (1,),
            tuple(axis in self.output for axis in self.axes) or (True,),
            tuple(self.tensor(operand) for operand in self.operands),
            self.tensor(self.output),
            tuple(self.tensor(extra) for extra in self.extras),
            self.epilogue,
        )

    def compile(self, isa: str, loops: Sequence[tuple[Any, ...]] | None = None, accumulators: int = 1) -> Any:
        if loops is None:
            loops = [loop(axis) for axis in range(max(1, len(self.axes)))]
        head, tail = self.plain[:4], self.plain[4:]
        return _native.compile(isa, *head, accumulators, *tail[:5], loops, *tail[5:])

    def evaluator(self, *, alignment: int = 64, seed: int = 1, guard: str = "") -> Any:
        tensors = len(self.operands) + 1 + len(self.extras)
        return _native.Evaluator(*self.plain, [alignment] * tensors, seed, guard)

    def bind(self, call: Any, kernel: Any, **options: Any) -> Any:
        def form(names: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
            return self.shape(names), self.strides(names)

        call._bind(
            kernel,
            inputs=[form(operand) for operand in self.operands],
            output=form(self.output),
            extras=[(f"{extra}_", *form(extra)) for extra in self.extras],
            dtype=self.dtype,
            **options,
        )
        return call

    def arrays(self, seed: int = 0) -> list[Any]:
        random = np.random.default_rng(seed)
        return [random.uniform(-1, 1, self.shape(operand)).astype(self.dtype) for operand in self.operands]

    def einsum(self, *arrays: Any) -> Any:
        """The result in float64, by broadcasting every term; for small problems and any semiring."""
        terms: Any = None
        for names, array in zip(self.operands, arrays, strict=True):
            spread = np.einsum(array.astype(float), [self.axes.index(name) for name in names], self._places(names))
            spread = spread.reshape([self.sizes[axis] if axis in names else 1 for axis in self.axes])
            combine = np.multiply if self.semiring[1] == "*" else np.add
            terms = spread if terms is None else combine(terms, spread)
        terms = np.broadcast_to(terms, self.shape("".join(self.axes)))
        reduced = tuple(d for d, axis in enumerate(self.axes) if axis not in self.output)
        reduce = {"+": np.add, "max": np.maximum, "min": np.minimum}[self.semiring[0]]
        result = reduce.reduce(terms, axis=reduced) if reduced else terms
        left = [axis for axis in self.axes if axis in self.output]
        return result.transpose([left.index(axis) for axis in self.output])

    def _places(self, names: str) -> list[int]:
        return [self.axes.index(axis) for axis in self.axes if axis in names]

    def but(self, **changes: Any) -> Problem:
        return replace(self, **changes)


PROBLEMS = [
    Problem("mk,kn->mn", {"m": 33, "k": 17, "n": 65}),
    Problem("mk,nk->mn", {"m": 5, "k": 300, "n": 3}),
    Problem("km,kn->nm", {"m": 7, "k": 13, "n": 35}),
    Problem("bmk,bkn->bmn", {"b": 3, "m": 7, "k": 1, "n": 11}),
    Problem("mk->m", {"m": 9, "k": 100}),
    Problem("mn->nm", {"m": 9, "n": 31}),
    Problem("i,i->", {"i": 1001}),
    Problem("i,j->ij", {"i": 40, "j": 19}),
    Problem("ii->i", {"i": 23}),
]
SEMIRINGS = [("+", "*"), ("max", "+"), ("min", "+"), ("max", "*"), ("min", "*")]


@pytest.fixture(params=PROBLEMS, ids=lambda problem: problem.text)
def problem(request: pytest.FixtureRequest) -> Problem:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(
    params=[*itertools.product(["float32", "float64"], SEMIRINGS)], ids=lambda p: f"{p[0]}-{','.join(p[1])}"
)
def arithmetic(request: pytest.FixtureRequest) -> tuple[str, tuple[str, str]]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def matmul() -> Callable[..., Problem]:
    """matmul(m, k, n, **options): a matrix product."""

    def made(m: int, k: int, n: int, **options: Any) -> Problem:
        return Problem("mk,kn->mn", {"m": m, "k": k, "n": n}, **options)

    return made


@pytest.fixture
def make_loop() -> Callable[..., tuple[Any, ...]]:
    return loop


@pytest.fixture(
    params=[
        pytest.param("avx512", marks=pytest.mark.isa("avx512")),
        pytest.param("avx2", marks=pytest.mark.isa("avx2")),
        "portable",
    ]
)
def isa(request: pytest.FixtureRequest) -> str:
    return str(request.param)
