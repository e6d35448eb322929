"""Contractions, their sizes, types and epilogues."""

from __future__ import annotations

from strop.errors.base import MACHINE, StropError


class BadContraction(StropError):
    """The text of a contraction isn't in the grammar; the message points at the place."""

    code = "bad-contraction"
    template = "The contraction {where!r} can't be read: {reason}."
    fix = "Write it like 'mk,kn->mn', or with names and windows like 'n c 2h+3r w+s, o c r s -> n o h w'."


class UnknownAxis(StropError):
    """A size names an axis that no operand has."""

    code = "unknown-axis"
    template = "There is no axis {axis!r} in {text!r}; its axes are {axes}."
    fix = "Drop {axis}=… or correct its name (on the command line {axis}=N, in Python {axis}=N or sizes={{...}})."


class OutputAxisNotInInputs(StropError):
    """The result names an axis that no operand has."""

    code = "output-axis-not-in-inputs"
    template = "The result of {text!r} has the axis {axis!r}, which no operand has."
    fix = "Name only axes of the operands after '->'."


class MissingSize(StropError):
    """Neither a keyword nor an operand gives an axis its size."""

    code = "missing-size"
    template = "Nothing gives the size of axis {axis!r} of {text!r}."
    fix = "Give it: {axis}=N on the command line; {axis}=N, sizes={{'{axis}': N}} or the operands themselves in Python."


class ContradictedSize(StropError):
    """Two sources give an axis different sizes, or a window doesn't fit."""

    code = "contradicted-size"
    template = "{place} of {text!r} is {found}, but {expected_from} makes it {expected}."
    fix = "Correct the size ({axis}=N, sizes={{'{axis}': N}}) or pass an operand of the other shape."


class BadSize(StropError):
    """A size isn't an integer, or is negative."""

    code = "bad-size"
    template = "The size of axis {axis!r} is {size!r}, which is not a whole number of 0 or more."
    fix = "Write {axis}=N with N an integer of 0 or more."


class TooLarge(StropError):
    """The bytes or the distances of the arrays pass what addresses can hold."""

    code = "too-large"
    template = "{what} takes {bytes} bytes, more than {limit} can address."
    fix = "Make an axis smaller (AXIS=N, sizes={{...}}) or work in slices."


class OutOfMemory(StropError):
    """The arrays are larger than this machine's memory."""

    code = "out-of-memory"
    template = "Measuring {what} takes {need} for its arrays; this machine has {have}."
    fix = "Make an axis smaller (AXIS=N, sizes={{...}}) and tune that, or work in slices."
    exit_code = MACHINE


class BadDtype(StropError):
    """The type is neither float32 nor float64."""

    code = "bad-dtype"
    template = "The type {dtype!r} isn't supported."
    fix = "Use --dtype float32 or float64 (dtype='float32' in Python); convert arrays with .astype('float32')."


class BadSemiring(StropError):
    """The semiring isn't one of the five."""

    code = "bad-semiring"
    template = "The semiring {semiring!r} isn't known."
    fix = "Use one of {known} (--semiring, semiring=)."


class BadEpilogue(StropError):
    """The text of an epilogue isn't in the grammar; the message points at the place."""

    code = "bad-epilogue"
    template = "The epilogue {where!r} can't be read: {reason}."
    fix = (
        "The grammar (--epilogue, epilogue=): + - * / min max relu gelu tanh exp sigmoid, numbers, x, "
        "operands with their axes, as in 'relu(x + bias[n])'."
    )
