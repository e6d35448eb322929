"""Brings a profile's places and a binary's instructions together."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from strop.errors import OtherBinary
from strop.stalls.instruction import Binary, Function, Instruction
from strop.stalls.profiles.profile import Count, KernelProfile, Place, Reason

OTHER_BINARY = 0.5  # share of the samples that must fall on instructions that are there


@dataclass(slots=True)
class Joined:
    """A kernel's counts by function and index; `lines` are places that name only a source line; `loose` the rest."""

    at: dict[int, dict[int, list[Count]]] = field(default_factory=dict)  # number of the function -> index -> counts
    lines: dict[Place, tuple[Count, ...]] = field(default_factory=dict)
    loose: dict[Place, tuple[Count, ...]] = field(default_factory=dict)


class Places:
    """Finds the instruction at a place, in one binary."""

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        self.functions = binary.functions
        self._by_name = {function.name: number for number, function in reversed(list(enumerate(self.functions)))}
        ordered = sorted(range(len(self.functions)), key=lambda number: self.functions[number].address)
        self._ordered = ordered
        self._starts = [self.functions[number].address for number in ordered]
        self._index: dict[int, dict[int, int]] = {}
        self._names: dict[str, int | None] = {}

    def function(self, name: str | None) -> int | None:
        """Return the number of a function by its name, mangled or not."""
        if name is None:
            return None
        if name not in self._names:
            self._names[name] = self._by_name.get(name, self._alike(name))
        return self._names[name]

    def _alike(self, name: str) -> int | None:
        """Find the one function whose mangled name holds a demangled one's last part, with its length before it."""
        bare = re.sub(r"<.*", "", name.split("(", 1)[0].removesuffix(".kd").strip()).split(" ")[-1]
        last = bare.split("::")[-1]
        if not last:
            return None
        mark = f"{len(last)}{last}"
        found = [number for number, each in enumerate(self.functions) if mark in each.name or each.name == last]
        return found[0] if len(found) == 1 else None

    def find(self, place: Place, kernel: int | None) -> tuple[int, int] | None:
        """Return the function's number and the instruction's index at a place; None where none begins there."""
        number = self.function(place.function)
        if number is not None and place.pc is not None:
            found = self._at(number, place.pc)
            if found is not None:
                return number, found
        if place.address is not None:
            at = bisect_right(self._starts, place.address) - 1
            if at >= 0:
                owner = self._ordered[at]
                found = self._at(owner, place.address - self._starts[at])
                if found is not None:
                    return owner, found
        if kernel is not None and place.pc is not None and place.function is None:
            found = self._at(kernel, place.pc)
            if found is not None:
                return kernel, found
        return None

    def _at(self, number: int, pc: int) -> int | None:
        if number not in self._index:
            code = self.functions[number].instructions
            self._index[number] = {instruction.pc: index for index, instruction in enumerate(code)}
        return self._index[number].get(pc)


def join(kernel: KernelProfile, places: Places) -> Joined:
    """Put a kernel's samples on instructions. Raises :class:`OtherBinary` where they don't fit."""
    joined = Joined()
    own = places.function(kernel.name)
    right = wrong = 0
    for place, counts in kernel.counts.items():
        samples = sum(count.samples for count in counts)
        if place.pc is None and place.address is None:
            (joined.lines if place.line is not None else joined.loose)[place] = counts
            continue
        found = places.find(place, own)
        if found is None:
            wrong += samples
            (joined.lines if place.line is not None else joined.loose)[place] = counts
            continue
        number, index = found
        if place.text and not _same_opcode(place.text, places.functions[number].instructions[index]):
            wrong += samples
            joined.loose[place] = counts
            continue
        right += samples
        joined.at.setdefault(number, {}).setdefault(index, []).extend(counts)
    if wrong and right <= OTHER_BINARY * (right + wrong):
        raise OtherBinary(
            kernel=kernel.name,
            path=places.binary.path,
            reason=f"{wrong} of {right + wrong} samples fall where it has no such instruction",
        )
    return joined


def _opcode(text: str) -> str:
    words = [word for word in text.strip().split() if not word.startswith(("@", "("))]
    return re.split(r"[.;,]", words[0])[0].lower() if words else ""


def _same_opcode(text: str, instruction: Instruction) -> bool:
    """Tell whether a text may be an instruction: its opcode without modifiers and encodings' suffixes."""
    said, known = _opcode(text), _opcode(instruction.text or instruction.opcode)
    return not said or not known or said == known or said.startswith(known) or known.startswith(said)


def by_line(functions: Sequence[Function], numbers: Iterable[int]) -> Mapping[tuple[str, int], list[tuple[int, int]]]:
    """Return the instructions (function's number, index) of each source line, by the file's last name and the line.

    A line that was inlined counts where its own code is, not where it was called.
    """
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for number in numbers:
        for index, instruction in enumerate(functions[number].instructions):
            if instruction.source is not None:
                key = (PurePath(instruction.source.file).name, instruction.source.line)
                found.setdefault(key, []).append((number, index))
    return found


def merged(counts: Iterable[Count]) -> tuple[Count, ...]:
    """Add up counts of one reason."""
    sums: dict[tuple[Reason, str], list[int]] = {}
    for count in counts:
        both = sums.setdefault((count.reason, count.vendor_reason), [0, 0])
        both[0] += count.samples
        both[1] += count.hidden
    return tuple(Count(reason, word, samples, hidden) for (reason, word), (samples, hidden) in sums.items())
