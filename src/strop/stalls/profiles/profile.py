"""A profile as its reader gives it: samples by place and reason, and the binaries it brought along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Why a sampled warp or wave didn't issue, in one vocabulary; the vendor's word is kept beside it.

    ISSUED is no stall. SELECTED_OTHER: it was ready and another was chosen, so nothing is lost.
    """

    ISSUED = "issued"
    GLOBAL_MEMORY = "global_memory"
    SHARED_MEMORY = "shared_memory"
    CONSTANT_MEMORY = "constant_memory"
    MEMORY = "memory"  # which memory isn't said
    DEPENDENCY = "dependency"  # on an earlier instruction; whether of fixed or variable latency isn't said
    FIXED_LATENCY = "fixed_latency"
    BARRIER = "barrier"
    SYNC = "sync"
    PIPE = "pipe"
    MEMORY_QUEUE = "memory_queue"
    FETCH = "fetch"
    BRANCH = "branch"
    SLEEP = "sleep"
    SELECTED_OTHER = "selected_other"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Count:
    """Samples of one reason at one place. `hidden` of them fell while another warp issued: nothing was lost."""

    reason: Reason
    vendor_reason: str
    samples: int
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where samples fell: an offset in a function's code, or only a source line, or only the instruction's text."""

    function: str | None = None
    pc: int | None = None  # offset in the function
    address: int | None = None  # as the profile says it, in the module, where no function is known yet
    file: str | None = None
    line: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelProfile:
    """The samples of one kernel (all its launches). `skid` is by how many instructions a sample may be late.

    `listing` is the whole code as text, where the profile carries that and no binary: (address, text, file, line).
    """

    name: str
    module: str | None  # digest or name of the binary it ran from
    counts: Mapping[Place, tuple[Count, ...]]
    skid: int = 0
    launches: int | None = None
    notes: tuple[str, ...] = ()
    listing: tuple[tuple[int, str, str | None, int | None], ...] = field(default=(), repr=False)

    @property
    def samples(self) -> int:
        """All samples, issued ones included."""
        return sum(count.samples for counts in self.counts.values() for count in counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedBinary:
    """A binary found in a profile or beside it."""

    name: str
    data: bytes = field(repr=False)
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything a profile says. `unit` is what a sample is (`samples`, or `cycles` where the tool multiplied it)."""

    path: str
    format: str  # hpctoolkit ncu-rep ncu-csv rocprofv3-csv rocprofv3-json rocpd code-json att unitrace
    vendor: str | None
    unit: str
    kernels: tuple[KernelProfile, ...]
    binaries: tuple[EmbeddedBinary, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)  # path -> text, where the profile embeds it
    notes: tuple[str, ...] = ()
