"""Arrays at the edge: taken in without copying, checked against the contraction, given back to their library.

Only what is read here of an array matters to strop: its shape, type, strides and alignment.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from strop.errors import (
    BadDtype,
    BadOutput,
    ByteOrder,
    IntegerOperand,
    MissingOperand,
    MixedTypes,
    NotAnArray,
    OverlappingOutput,
    ReadOnlyOutput,
    UnevenStrides,
    UnknownOperand,
    WrongRank,
)
from strop.values.contraction import DTYPES, Contraction, dtype_name
from strop.values.extents import resolve
from strop.values.layout import ALIGNMENTS, Layout

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

OVERLAP_WORK = 10_000  # steps of NumPy's exact overlap solver, about 1 ms; what it can't decide counts as overlapping


def adopt(value: Any, *, name: str) -> Array:
    """An operand as a NumPy array of float32 or float64, sharing its memory where its library allows that.

    Takes NumPy arrays and anything with ``__dlpack__`` or ``__array__`` (torch, jax, …). ``name`` is what messages
    call it. Raises NotAnArray, IntegerOperand, ByteOrder, BadDtype and UnevenStrides.
    """
    import numpy as np

    array = value if type(value) is np.ndarray else _shared(value, name)
    _check_items(array, name)
    return array


def adopt_operands(operands: Sequence[Any], *, dtype: Any = None) -> list[Array]:
    """All operands of a contraction, of one type: ``dtype`` where it is given, otherwise the first one's.

    Raises BadDtype, MixedTypes, and what :func:`adopt` raises.
    """
    wanted = None if dtype is None else dtype_name(dtype)
    arrays = [adopt(value, name=operand_name(number)) for number, value in enumerate(operands)]
    for number, array in enumerate(arrays):
        expected = wanted or arrays[0].dtype.name
        _check_type(array, expected, operand_name(number), "dtype" if wanted else operand_name(0).lower())
    return arrays


def adopt_epilogue(contraction: Contraction, named: Mapping[str, Any]) -> list[Array]:
    """The epilogue's operands, in its order. An operand without axes may be a plain number.

    Raises UnknownOperand, MissingOperand, WrongRank, ContradictedSize, MixedTypes, and what :func:`adopt` raises.
    """
    wanted = contraction.epilogue_operands
    for name in named:
        if name not in dict(wanted):
            raise UnknownOperand(name=name, known=", ".join(dict(wanted)) or "none")
    arrays = []
    for (name, axes), shape in zip(wanted, contraction.epilogue_shapes, strict=True):
        if named.get(name) is None:
            assert contraction.epilogue is not None
            raise MissingOperand(epilogue=contraction.epilogue.text, name=name, axes=", ".join(axes) or "none")
        value = named[name]
        if not axes and type(value) in (int, float):
            value = _number(value, contraction.dtype, name)
        array = adopt(value, name=name)
        _check_type(array, contraction.dtype, name, "the contraction")
        if array.ndim != len(shape):
            raise WrongRank(name=name, found=array.ndim, expected=len(shape), text=f"{name}[{', '.join(axes)}]")
        if array.shape != shape:
            raise _wrong_shape(contraction, name, axes, array.shape, shape)
        arrays.append(array)
    return arrays


def check_shapes(contraction: Contraction, arrays: Sequence[Array]) -> None:
    """Raise OperandCount, WrongRank or ContradictedSize where the arrays don't fit the contraction's sizes."""
    if tuple(array.shape for array in arrays) != contraction.operand_shapes:  # a window may have rows left over
        resolve(contraction.subscripts, given=dict(contraction.sizes), shapes=[array.shape for array in arrays])


def adopt_output(contraction: Contraction, out: Any, inputs: Sequence[Array], names: Sequence[str] = ()) -> Array:
    """``out`` as an array that shares its memory, if it can take the result.

    ``inputs`` are all arrays the call reads, ``names`` what to call them (default: operand 1, operand 2, …). Raises
    NotAnArray, BadOutput (type, shape), ReadOnlyOutput, UnevenStrides and OverlappingOutput.
    """
    import numpy as np

    array = out if type(out) is np.ndarray else _writable(out)
    expected = {"shape": contraction.output_shape, "dtype": contraction.dtype}
    for what, found in (("shape", array.shape), ("dtype", array.dtype.name)):
        if found != expected[what]:
            raise BadOutput(what=what, found=found, expected=expected[what], **expected)
    _check_items(array, "out")
    if not array.flags.writeable:
        raise ReadOnlyOutput()
    if _overlaps_itself(array):
        raise OverlappingOutput(name="itself", **expected)
    for number, other in enumerate(inputs):
        if np.may_share_memory(array, other) and _share(array, other):
            name = names[number] if number < len(names) else operand_name(number).lower()
            raise OverlappingOutput(name=name, **expected)
    return array


def layout_of(
    contraction: Contraction, arrays: Sequence[Array], *, out: Array | None = None, epilogue: Sequence[Array] = ()
) -> Layout:
    """Where the values lie. What isn't passed, ``out`` or the epilogue's operands, is in C order at any alignment.

    A dimension of extent 0 or 1 gets the stride it has in C order: it is never stepped along, and so equal problems
    have equal layouts.
    """
    default = Layout.default(contraction)
    itemsize = contraction.itemsize

    def strides(array: Array, shape: Sequence[int], c_order: Sequence[int]) -> tuple[int, ...]:
        if 0 in shape:
            return tuple(c_order)
        return tuple(
            stride // itemsize if extent > 1 else plain
            for stride, extent, plain in zip(array.strides, shape, c_order, strict=True)
        )

    read = [
        strides(array, shape, plain)
        for array, shape, plain in zip(arrays, contraction.operand_shapes, default.operands, strict=True)
    ]
    tails = [
        strides(array, shape, plain)
        for array, shape, plain in zip(epilogue, contraction.epilogue_shapes, default.epilogue, strict=False)
    ]
    written = default.output if out is None else strides(out, contraction.output_shape, default.output)
    missing = [None] * (len(default.epilogue) - len(tails))
    return Layout(
        operands=tuple(read),
        output=written,
        epilogue=(*tails, *default.epilogue[len(tails) :]),
        alignment=tuple(
            itemsize if array is None else alignment(array) for array in (*arrays, out, *epilogue, *missing)
        ),
    )


def alignment(array: Array) -> int:
    """The alignment class of an array's first element: 64, 32, 16, or its item size."""
    address = array.__array_interface__["data"][0]
    return next((size for size in ALIGNMENTS if address % size == 0), array.itemsize)


def to_library_of(first: Any, array: Array) -> Any:
    """``array`` as an array of the library that ``first`` is from, sharing its memory where that library can.

    NumPy's, and those of libraries that have no way in, stay NumPy arrays.
    """
    import numpy as np

    if isinstance(first, np.ndarray | np.generic):
        return array
    home = type(first).__module__.partition(".")[0]
    if home == "torch":
        return sys.modules["torch"].from_numpy(array)
    if home in ("jax", "jaxlib"):
        import importlib

        return importlib.import_module("jax.numpy").asarray(array)
    namespace = first.__array_namespace__() if hasattr(first, "__array_namespace__") else sys.modules.get(home)
    into = getattr(namespace, "from_dlpack", None)
    return into(array) if into else array


def operand_name(number: int) -> str:
    """What messages call the operand at a place counted from 0."""
    return f"Operand {number + 1}"


def _shared(value: Any, name: str) -> Array:
    """Another library's array as NumPy's. Its reasons to refuse are its own, so any exception is one."""
    import numpy as np

    if isinstance(value, np.ma.MaskedArray):
        raise NotAnArray(name=name, reason="it is masked, and strop knows no masks (.filled(...) gives a plain array)")
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if not (hasattr(value, "__dlpack__") or hasattr(value, "__array__")):
        reason = f"it is a {type(value).__name__}, which has neither __dlpack__ nor __array__"
        raise NotAnArray(name=name, reason=reason)
    if getattr(value, "is_neg", bool)():  # torch's z.conj().imag: DLPack drops the sign without a word
        raise NotAnArray(
            name=name, reason="its values are stored with the other sign (.resolve_neg() gives plain ones)"
        )
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except Exception as error:
            if not hasattr(value, "__array__"):
                raise NotAnArray(name=name, reason=error) from None
    try:
        return np.asarray(value)
    except Exception as error:
        raise NotAnArray(name=name, reason=error) from None


def _number(value: float, dtype: str, name: str) -> Array:
    """A plain number as an array without dimensions. Raises NotAnArray for an integer that no float holds."""
    import numpy as np

    try:
        with np.errstate(over="ignore"):  # what float32 can't hold is infinite, as in NumPy
            return np.array(float(value)).astype(dtype)
    except OverflowError:
        raise NotAnArray(name=name, reason="the number is larger than any float") from None


def _writable(out: Any) -> Array:
    """``out`` as an array whose writes reach it."""
    import numpy as np

    array = _shared(out, "out")
    if array.flags.writeable and (isinstance(out, np.ndarray) or hasattr(out, "__dlpack__")):
        return array
    # NumPy gives DLPack arrays of older protocols as read-only; __array__ may share the memory and say otherwise.
    if hasattr(out, "__array__") and not isinstance(out, np.ndarray):
        again, twice = np.asarray(out), np.asarray(out)
        if again.flags.writeable and (again.size == 0 or np.shares_memory(again, twice)):
            return again
        raise ReadOnlyOutput()
    return array


def _check_items(array: Array, name: str) -> None:
    kind = array.dtype.kind
    if kind in "iub":
        raise IntegerOperand(name=name, dtype=array.dtype.name)
    if array.dtype.name not in DTYPES:
        raise BadDtype(dtype=f"{array.dtype.name} of {name[0].lower()}{name[1:]}")
    if not array.dtype.isnative:
        raise ByteOrder(name=name, dtype=array.dtype.str, native=array.dtype.name)
    itemsize = array.itemsize
    if any(stride % itemsize for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1):
        raise UnevenStrides(name=name, what=f"strides {array.strides} in bytes", itemsize=itemsize)
    if not array.flags.aligned:
        raise UnevenStrides(name=name, what="an odd address", itemsize=itemsize)


def _check_type(array: Array, expected: str, name: str, source: str) -> None:
    if array.dtype.name != expected:
        raise MixedTypes(name=name, found=array.dtype.name, expected=expected, expected_from=source)


def _wrong_shape(
    contraction: Contraction, name: str, axes: Sequence[str], found: Sequence[int], expected: Sequence[int]
) -> Exception:
    from strop.errors import ContradictedSize

    place = next(number for number, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
    return ContradictedSize(
        place=f"{name}, dimension {place} ({axes[place]})",
        text=contraction.text,
        found=found[place],
        expected=expected[place],
        expected_from="the contraction",
        axis=axes[place],
    )


def _overlaps_itself(array: Array) -> bool:
    """Whether two elements may lie on one place: a stride reaches no further than all smaller ones together."""
    if math.prod(array.shape) == 0:
        return False
    reach = 0
    for stride, extent in sorted((abs(s), e) for s, e in zip(array.strides, array.shape, strict=True) if e > 1):
        if stride <= reach:
            return True
        reach += stride * (extent - 1)
    return False


def _share(array: Array, other: Array) -> bool:
    import numpy as np

    try:
        return bool(np.shares_memory(array, other, max_work=OVERLAP_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
