"""Arrays that come in, and the array that the result goes to."""

from __future__ import annotations

from strop.errors.base import StropError


class OperandCount(StropError):
    """More or fewer arrays came than the contraction has operands."""

    code = "operand-count"
    template = "{text!r} has {expected} operand(s), but {found} came."
    fix = "Pass one array for each operand before '->'."


class WrongRank(StropError):
    """An array has another number of dimensions than its subscript."""

    code = "wrong-rank"
    template = "{name} has {found} dimension(s), but {text!r} gives it {expected}."
    fix = "Reshape the array or correct the contraction."


class NotAnArray(StropError):
    """NumPy can't look into an operand: it is no array, or its library doesn't share its memory."""

    code = "not-an-array"
    template = "{name} can't be read as an array: {reason}."
    fix = "Pass float32 or float64 values in the CPU's memory, detached from any gradient (.detach().cpu().float())."


class MixedTypes(StropError):
    """Two arrays of one call have different types."""

    code = "mixed-types"
    template = "{name} is {found}, but {expected_from} is {expected}; strop converts nothing silently."
    fix = "Convert one of them: .astype({expected!r}), or --dtype / dtype= for all."


class IntegerOperand(StropError):
    """An array holds integers or booleans."""

    code = "integer-operand"
    template = "{name} holds {dtype} values; strop computes with float32 and float64."
    fix = "Convert it: .astype('float32')."


class ByteOrder(StropError):
    """An array is stored in the byte order of other machines."""

    code = "byte-order"
    template = "{name} is stored in the other byte order ({dtype})."
    fix = "Convert it: .astype('{native}')."


class UnevenStrides(StropError):
    """The items of an array lie between the places where items could lie."""

    code = "uneven-strides"
    template = "{name} has {what}, no multiple of its {itemsize}-byte items."
    fix = "Copy it: numpy.ascontiguousarray(...)."


class MissingOperand(StropError):
    """An operand that the epilogue names wasn't passed."""

    code = "missing-operand"
    template = "The epilogue {epilogue!r} needs the operand {name!r}."
    fix = "Pass it by name: tuned(..., {name}=array of axes {axes})."


class UnknownOperand(StropError):
    """A keyword of the call is no operand of the epilogue."""

    code = "unknown-operand"
    template = "There is no epilogue operand {name!r}; the epilogue's operands are {known}."
    fix = "Drop {name}=… or name it in the epilogue (--epilogue, epilogue=)."


class BadOutput(StropError):
    """``out`` has another shape or type than the result."""

    code = "bad-output"
    template = "out has {what} {found}, but the result has {expected}."
    fix = "Pass out=numpy.empty({shape}, dtype='{dtype}'), or leave out= away."


class MissingOutput(StropError):
    """An accumulating call has nothing to add to."""

    code = "missing-output"
    template = "{text!r} accumulates onto its result, so the call needs one to add to."
    fix = "Pass out=array, or drop --accumulate (accumulate=True)."


class ReadOnlyOutput(StropError):
    """``out`` is write-protected."""

    code = "read-only-output"
    template = "out can't be written."
    fix = "Pass a writable array (out.copy(), or out.setflags(write=True) where you own it), or leave out= away."


class OverlappingOutput(StropError):
    """``out`` lies where an input lies, or its own items lie on each other."""

    code = "overlapping-output"
    template = "out shares memory with {name}."
    fix = "Pass an array of its own, such as out=numpy.empty({shape}, dtype='{dtype}'), or leave out= away."
