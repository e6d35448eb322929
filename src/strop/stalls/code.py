"""A decoded binary with what is worked out about it once: where places are, each function's flow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from strop.stalls.flow.pending import touched_resources
from strop.stalls.instruction import Binary, Flow, Function
from strop.stalls.join import Places
from strop.stalls.profiles.profile import KernelProfile
from strop.stalls.slice import Slicer


class Code:
    """One binary."""

    def __init__(self, binary: Binary) -> None:
        self.binary = binary
        self.places = Places(binary)
        self._slicers: dict[int, Slicer] = {}

    @cached_property
    def _touched(self) -> Mapping[str, frozenset[str] | None]:
        return touched_resources(self.binary.functions)

    def function(self, number: int) -> Function:
        """Return a function."""
        return self.binary.functions[number]

    def slicer(self, number: int) -> Slicer:
        """Return the flow of a function."""
        if number not in self._slicers:
            function = self.function(number)
            calls = any(one.control is not None and one.control.flow is Flow.CALL for one in function.instructions)
            self._slicers[number] = Slicer(function, callees=self._touched if calls else None)
        return self._slicers[number]

    def holds(self, kernel: KernelProfile) -> bool:
        """Tell whether most of a kernel's samples fall on instructions of this binary."""
        own = self.places.function(kernel.name)
        if own is not None:
            return True
        right = wrong = 0
        for place, counts in kernel.counts.items():
            samples = sum(count.samples for count in counts)
            if place.pc is None and place.address is None:
                known = self.places.function(place.function) is not None
            else:
                known = self.places.find(place, own) is not None
            right, wrong = right + samples * known, wrong + samples * (not known)
        return right > wrong
