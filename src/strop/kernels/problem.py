"""A problem: what a kernel must compute, on which target, within which rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, "np.ndarray[Any, Any]"]

BYTES = {"int8": 1, "int32": 4, "float32": 4}


class Role(StrEnum):
    """What a buffer is to the kernel."""

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"


class Host(StrEnum):
    """What an accelerator's own processor may do with a buffer; on the target `cpu` it may do all of it."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """A parameter of the kernel: a dense row-major array. `dtype` is one of `int8 int32 float32`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    role: Role
    host: Host = Host.NONE

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return prod(self.shape) * BYTES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """What an output must be made from: inputs by name, and whether through the accelerator's array."""

    output: str
    inputs: tuple[str, ...]
    through_array: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a result may be from the reference: not at all, or by a part of the sum of magnitudes behind an element.

    `relative` is per element against what the reference function calls its scale (see `Problem.reference`); an output
    whose scale is 0 must be equal. NaN never passes where the reference has a number.
    """

    relative: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether every bit must be equal."""
        return self.relative == 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The least that any correct kernel does: multiply-adds on the array, and bytes that must cross the memory bus.

    Where `rewrites` of the problem are allowed the multiply-adds are those of the best rewrite known, or 0.
    """

    macs: int
    read_bytes: int
    write_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What the outputs should be, by name, and for inexact problems the scale that `Tolerance` is relative to."""

    outputs: Arrays
    scales: Arrays = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem. `id` is its public name; two problems with one id are the same in everything.

    `signature` is the C declaration of the function that a candidate defines; `prelude` are the lines that stand before
    the candidate (sizes as macros). `families` make inputs from a generator (`numpy.random.Generator`), by name; the
    first is dense and is the one that is timed. `starts` are start codes by name, the first is the default.
    `fsm`: the loop unrollers may be used. `rewrites`: algebra may be (Winograd, Strassen). `cycles_vary`: cycles may
    depend on the data.
    """

    id: str
    target: str
    family: str
    title: str
    buffers: tuple[Buffer, ...]
    signature: str
    reference: Callable[[Arrays], Reference]
    families: Mapping[str, Callable[[np.random.Generator], Arrays]]
    work: Work
    descents: tuple[Descent, ...]
    starts: Mapping[str, str]
    tolerance: Tolerance = Tolerance()
    geometry: str = "int8-16x16"
    prelude: str = ""
    fsm: bool = False
    rewrites: bool = False
    cycles_vary: bool = False

    @property
    def start_code(self) -> str:
        """A correct candidate to begin from."""
        return next(iter(self.starts.values()))

    @property
    def unit(self) -> str:
        """What `bound` and measurements are in: `cycles` or `s`."""
        from strop.kernels.targets.target import target

        return target(self.target).unit

    @property
    def bound(self) -> float:
        """The least cost by the machine's peak and the memory's sustained rate, cold: a property of no program."""
        from strop.kernels.targets.target import target

        return target(self.target).bound(self)

    @property
    def blind(self) -> bool:
        """Whether the accelerator's processor may touch none of the buffers: its commands can't depend on data."""
        return all(buffer.host is Host.NONE for buffer in self.buffers)

    def inputs(self) -> tuple[Buffer, ...]:
        """The buffers that come filled."""
        return tuple(each for each in self.buffers if each.role is not Role.OUTPUT)

    def outputs(self) -> tuple[Buffer, ...]:
        """The buffers that are compared."""
        return tuple(each for each in self.buffers if each.role is not Role.INPUT)
