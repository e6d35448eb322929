"""The main path: a profile and its binaries → why each kernel stalls.

read the profile → find and decode the binaries → put samples on instructions → blame → account → rank the causes.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from strop.errors import (
    BadOption,
    MissingProfile,
    NoSamples,
    StropError,
    UnknownKernel,
    UnknownMethod,
    UnreadableBinary,
)
from strop.stalls.binary_file import check_build, read_binary
from strop.stalls.instruction import Binary
from strop.stalls.profiles.profile import EmbeddedBinary, KernelProfile, Profile
from strop.values.diagnosis import Diagnosis, KernelDiagnosis

if TYPE_CHECKING:
    from strop.stalls.code import Code

NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A diagnosis with what it was made from: for pages that show code beside it."""

    diagnosis: Diagnosis
    profile: Profile
    binaries: Mapping[str, Binary] = field(default_factory=dict)  # by the kernel's name


def diagnose(
    path: str | Path, binary: str | Path | None = None, kernel: str | None = None, method: str = "strop"
) -> Diagnosis:
    """Say why the kernels of a GPU profile stall.

    `path`: a profile (a file, a database's directory, or any file in one). `binary`: the GPU binary that ran, where it
    is neither in the profile nor beside it. `kernel`: only kernels with this in their name. `method`: `strop`, or
    `leo`, `nearest`, `raw` to compare with.

    Raises the readers' and decoders' errors; :class:`NoSamples`; :class:`OtherBinary` where the samples don't fit the
    binary; :class:`UnknownKernel`, :class:`UnknownMethod`.
    """
    return analyse(path, binary, kernel, method).diagnosis


def analyse(
    path: str | Path, binary: str | Path | None = None, kernel: str | None = None, method: str = "strop"
) -> Analysis:
    """Diagnose, and keep the binaries and the profile."""
    # Millions of small values are made, none in a circle: looking for circles costs a quarter of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _analyse(path, binary, kernel, method)
    finally:
        if collecting:
            gc.enable()


def _analyse(path: str | Path, binary: str | Path | None, kernel: str | None, method: str) -> Analysis:
    from strop.stalls.kernel import diagnose_kernel
    from strop.stalls.methods import METHODS
    from strop.stalls.profiles import recognise

    if not isinstance(method, str) or method not in METHODS:
        raise UnknownMethod(method=str(method), methods=", ".join(METHODS))
    if not isinstance(kernel, str | None):
        raise BadOption(option="kernel", value=kernel, allowed="a part of a kernel's name, a text")
    if not isinstance(path, str | PathLike):
        raise MissingProfile(path=repr(path), reason="it is no path (a str or an os.PathLike)")
    if not isinstance(binary, str | PathLike | None) or not str(binary):
        raise UnreadableBinary(path=repr(binary), reason="it is no path (a str or an os.PathLike)")
    profile = recognise.read(path)
    if not any(each.samples for each in profile.kernels):
        raise NoSamples(
            format=profile.format, path=str(path), why="all its counts are 0", collect="see the tool's sampling options"
        )
    chosen = [each for each in profile.kernels if each.samples and (kernel is None or kernel in each.name)]
    if not chosen:
        names = ", ".join(each.name for each in profile.kernels[:NAMES_SHOWN])
        more = len(profile.kernels) - NAMES_SHOWN
        raise UnknownKernel(kernel=kernel, names=names + (f" and {more} more" if more > 0 else ""))
    library = _Library(profile, binary)
    found: list[KernelDiagnosis] = []
    used: dict[str, Binary] = {}
    failed: list[StropError] = []
    for each in sorted(chosen, key=lambda one: (-one.samples, one.name)):
        try:
            code = library.binary_of(each)
            made = diagnose_kernel(each, code, profile=profile, method=method)
        except StropError as error:
            # One kernel without its binary doesn't hide what the others say; none with one does.
            failed.append(error)
            if len(failed) == len(chosen):
                raise failed[0] from None
            left = replace(each, notes=(*each.notes, str(error)))
            made = diagnose_kernel(left, None, profile=profile, method=method)
        else:
            if code is not None:
                used[each.name] = code.binary
        found.append(made)
    return Analysis(diagnosis=Diagnosis(kernels=tuple(found)), profile=profile, binaries=used)


class _Library:
    """The binaries at hand, decoded when a kernel needs one."""

    def __init__(self, profile: Profile, given: str | Path | None) -> None:
        self._given = None if given is None else read_binary(Path(given))
        self._embedded = profile.binaries
        self._path = profile.path
        self._decoded: dict[str, Code] = {}
        self._failed: dict[str, StropError] = {}

    def binary_of(self, kernel: KernelProfile) -> Code | None:
        """Return the code that a kernel ran from; None where no binary is at hand."""
        if self._given is not None:
            check_build(kernel, self._given)
            return self._decode(self._given)
        named = [one for one in self._embedded if kernel.module in (one.name, Path(one.name).name)]
        options = named or list(self._embedded)
        failed: StropError | None = None
        best = None
        for one in options:
            try:
                code = self._decode(one)
            except StropError as error:
                failed = failed or error
                continue
            if code.holds(kernel):
                return code
            best = best or (code if named else None)
        if best is None and kernel.listing:
            return self._of_listing(kernel)
        if best is None and failed is not None:
            raise failed
        return best

    def _of_listing(self, kernel: KernelProfile) -> Code:
        """Decode the text that a profile carries in a binary's place: only AMD's tools write such."""
        from strop.stalls.amd.listing import decode_listing
        from strop.stalls.code import Code
        from strop.stalls.instruction import Source

        rows = [
            (address, text, Source(file, line) if file is not None and line is not None else None)
            for address, text, file, line in kernel.listing
        ]
        symbols = {place.function for place in kernel.counts if place.function is not None}
        name = symbols.pop() if len(symbols) == 1 else kernel.name
        return Code(decode_listing([(name, rows)], path=self._path))

    def _decode(self, one: EmbeddedBinary) -> Code:
        from strop.stalls import binaries
        from strop.stalls.code import Code

        key = one.origin + one.name
        if key in self._failed:
            raise self._failed[key]
        if key not in self._decoded:
            try:
                self._decoded[key] = Code(binaries.decode(one.data, path=one.origin or one.name))
            except StropError as error:
                self._failed[key] = error
                raise
        return self._decoded[key]
