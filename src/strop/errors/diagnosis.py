"""What keeps a profile and its binaries from being diagnosed together."""

from __future__ import annotations

from strop.errors.base import StropError
from strop.errors.plain import _Plain


class OtherBinary(_Plain, StropError):
    """The samples don't fall where the binary's instructions are."""

    code = "other-binary"
    template = "The profile of {kernel} was taken from another binary than {path}: {reason}."
    fix = "Name the one that was profiled with --binary (binary=...): the same build, not the same source."


class UnknownKernel(_Plain, StropError):
    """No kernel of the profile goes by the name asked for."""

    code = "unknown-kernel"
    template = "The profile has no kernel whose name contains '{kernel}'; it has {names}."
    fix = "Give --kernel (kernel=...) a part of one of these names, or leave it out for all."


class UnknownMethod(_Plain, StropError):
    """A method of attribution that isn't there."""

    code = "unknown-method"
    template = "There is no method '{method}'; the methods are {methods}."
    fix = "Give --method (method=...) one of these."
