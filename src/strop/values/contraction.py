"""A contraction: what is to be computed, and nothing about how."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strop.errors import BadDtype, BadOption, BadSemiring, TooLarge
from strop.values import subscripts
from strop.values.canonical import digest
from strop.values.epilogue import Expression
from strop.values.extents import checked_size, resolve, window_extent
from strop.values.subscripts import Index, Subscript, Subscripts, Term

__all__ = ["DTYPES", "SEMIRINGS", "Contraction", "Index", "Subscript", "Term"]

DTYPES = {"float32": 4, "float64": 8}
"""Item size of each type in bytes."""
SEMIRINGS = {"+,*": 0.0, "max,+": -math.inf, "min,+": math.inf, "max,*": -math.inf, "min,*": math.inf}
"""Each semiring with the value of an empty reduction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """One or two operands, their subscripts, the sizes, and what is done to the values.

    For every output index, the products (the semiring's second word) of the operands' values are reduced (its first
    word) over the axes that the output lacks; with ``accumulate`` what the output holds is reduced along; then the
    epilogue is applied. A single operand's values are reduced as they are. Reducing nothing, for an axis of size 0,
    gives the semiring's identity: 0, or an infinity.

    Make one with :meth:`parse`, which checks everything.
    """

    operands: tuple[Subscript, ...]
    output: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    operand_dtypes: tuple[str, ...]
    accumulator_dtype: str = "float32"
    semiring: str = "+,*"
    accumulate: bool = False
    epilogue: Expression | None = None

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        sizes: Mapping[str, int] | None = None,
        dtype: Any = "float32",
        semiring: str = "+,*",
        accumulate: bool = False,
        epilogue: str | Expression | None = None,
        shapes: Sequence[Sequence[int] | None] | None = None,
        **axis_sizes: int,
    ) -> Contraction:
        """Read a contraction.

        >>> c = Contraction.parse("n c 2h+3r w+s, o c r s -> n o h w", n=1, c=8, h=10, w=10, r=3, s=3, o=4)
        >>> c.operand_shapes
        ((1, 8, 25, 12), (4, 8, 3, 3))

        ``sizes`` is for axes whose names are options; ``shapes`` are the operands' shapes, from which sizes are
        derived and against which they are checked (``None`` for an operand without one).

        Raises BadContraction, OutputAxisNotInInputs, UnknownAxis, MissingSize, BadSize, ContradictedSize, TooLarge,
        OperandCount, WrongRank, BadDtype, BadSemiring, BadOption and BadEpilogue.
        """
        read = subscripts.parse(text)
        name = dtype_name(dtype)
        if not isinstance(semiring, str) or semiring not in SEMIRINGS:
            raise BadSemiring(semiring=semiring, known=", ".join(SEMIRINGS))
        if type(accumulate).__name__ not in ("bool", "bool_"):  # NumPy's is called either
            raise BadOption(option="accumulate", value=accumulate, allowed="True or False")
        given = _named_sizes(sizes)
        for axis, value in axis_sizes.items():
            size = checked_size(axis, value)
            if checked_size(axis, given.setdefault(axis, size)) != size:
                raise _twice(axis, text, size, given[axis])
        if isinstance(epilogue, Expression):
            epilogue = epilogue.text
        contraction = cls(
            operands=read.operands,
            output=read.output,
            sizes=resolve(read, given=given, shapes=shapes),
            operand_dtypes=(name,) * len(read.operands),
            accumulator_dtype=name,
            semiring=semiring,
            accumulate=bool(accumulate),
            epilogue=Expression.parse(epilogue, axes=read.output) if epilogue else None,
        )
        _check_addressable(contraction)
        return contraction

    @property
    def dtype(self) -> str:
        """The type of the result; today that of every operand and of the accumulator too."""
        return self.accumulator_dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one value of the result."""
        return DTYPES[self.dtype]

    @property
    def subscripts(self) -> Subscripts:
        """The operands' dimensions and the result's axes, without sizes."""
        return Subscripts(self.operands, self.output)

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes, in order of first appearance."""
        return tuple(axis for axis, _ in self.sizes)

    @property
    def reduction(self) -> tuple[str, ...]:
        """The axes that the output lacks, in order of first appearance."""
        return tuple(axis for axis, _ in self.sizes if axis not in self.output)

    def extent(self, axis: str) -> int:
        """The size of an axis. ``KeyError`` if there is none of that name."""
        return dict(self.sizes)[axis]

    @property
    def operand_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape each operand needs; where a stride skips rows, an array may have some more."""
        sizes = dict(self.sizes)
        return tuple(tuple(window_extent(index, sizes) for index in operand) for operand in self.operands)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the result; ``()`` for a scalar."""
        sizes = dict(self.sizes)
        return tuple(sizes[axis] for axis in self.output)

    @property
    def epilogue_operands(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Name and axes of each operand of the epilogue, in order of first appearance."""
        return self.epilogue.operands if self.epilogue else ()

    @property
    def epilogue_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each operand of the epilogue."""
        sizes = dict(self.sizes)
        return tuple(tuple(sizes[axis] for axis in axes) for _, axes in self.epilogue_operands)

    @property
    def identity(self) -> float:
        """The value of an empty reduction."""
        return SEMIRINGS[self.semiring]

    @property
    def points(self) -> int:
        """How many points the axes span."""
        return math.prod(size for _, size in self.sizes)

    @property
    def flops(self) -> int:
        """The work that rates are computed from.

        Two operands: two operations (multiply, add) a point. One operand that is reduced: one a point. One operand
        that is only moved: one an element, counted as if moving were an operation. The epilogue is not counted.
        """
        return 2 * self.points if len(self.operands) == 2 else self.points

    @property
    def text(self) -> str:
        """The canonical text; :meth:`parse` with the same sizes and options reads it back."""
        return self.subscripts.text

    def __str__(self) -> str:
        """All that it means, for people.

        >>> str(Contraction.parse("mk,kn->mn", m=6, k=5, n=4, dtype="float64", epilogue="relu(x)"))
        "mk,kn->mn m=6 k=5 n=4 dtype=float64 epilogue='relu(x)'"
        """
        words = [self.text, *(f"{axis}={size}" for axis, size in self.sizes)]
        words += [f"dtype={self.dtype}"] * (self.dtype != "float32")
        words += [f"semiring={self.semiring}"] * (self.semiring != "+,*")
        words += ["accumulate"] * self.accumulate
        words += [f"epilogue={self.epilogue.text!r}"] if self.epilogue else []
        return " ".join(words)

    def to_json(self) -> dict[str, Any]:
        """The contraction as JSON."""
        return {
            "text": self.text,
            "sizes": dict(self.sizes),
            "operand_dtypes": list(self.operand_dtypes),
            "accumulator_dtype": self.accumulator_dtype,
            "semiring": self.semiring,
            "accumulate": self.accumulate,
            "epilogue": self.epilogue.text if self.epilogue else None,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Contraction:
        """The inverse of :meth:`to_json`."""
        dtypes = {*value["operand_dtypes"], value["accumulator_dtype"]}
        if len(dtypes) != 1:
            raise BadDtype(dtype=" with ".join(sorted(dtypes)))
        return cls.parse(
            value["text"],
            sizes=value["sizes"],
            dtype=value["accumulator_dtype"],
            semiring=value["semiring"],
            accumulate=value["accumulate"],
            epilogue=value["epilogue"],
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return digest(self.to_json())


def dtype_name(dtype: Any) -> str:
    """``"float32"`` or ``"float64"``, from a name or from NumPy's or torch's type. Raises BadDtype."""
    name = str(dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", dtype)))
    name = name.removeprefix("torch.")
    if not getattr(dtype, "isnative", True):
        raise BadDtype(dtype=dtype.str)
    if name not in DTYPES:
        raise BadDtype(dtype=name)
    return name


def _named_sizes(sizes: Any) -> dict[str, Any]:
    """``sizes`` as a new dictionary. Raises BadOption."""
    try:
        return dict(sizes if sizes is not None else {})
    except (TypeError, ValueError):
        raise BadOption(option="sizes", value=sizes, allowed="a mapping of axes to sizes, as in {'m': 192}") from None


def _twice(axis: str, text: str, size: Any, other: Any) -> Exception:
    from strop.errors import ContradictedSize

    return ContradictedSize(
        place=f"Axis {axis}", text=text, found=size, expected=other, expected_from="sizes={...}", axis=axis
    )


def _check_addressable(contraction: Contraction) -> None:
    """Reject what no 64-bit address reaches; allocation has its own limits."""
    shapes = [*contraction.operand_shapes, contraction.output_shape, tuple(size for _, size in contraction.sizes)]
    for shape in shapes:
        size = math.prod(shape) * contraction.itemsize
        if size >= 2**62:
            raise TooLarge(what=f"{contraction.text!r} with shape {shape}", bytes=size, limit="a 64-bit machine")
    for subscript, shape in zip(contraction.operands, contraction.operand_shapes, strict=True):
        item = contraction.itemsize
        for index, extent in zip(reversed(subscript), reversed(shape), strict=True):
            step = item * max(coefficient for coefficient, _ in index)
            if step >= 2**62:  # even where the axis has size 1 and nothing steps along it, code holds the step
                raise TooLarge(
                    what=f"One step of {index[0][1]!r} in {contraction.text!r}", bytes=step, limit="a 64-bit machine"
                )
            item *= max(extent, 1)
