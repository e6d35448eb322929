"""One decoded instruction, the same for all vendors: what it reads, writes, waits for and leaves pending.

Every vendor's synchronisation says the same thing in other words: *wait until at most k operations are pending on a
resource*. A decoder turns scoreboards, counters, tokens and distances into `Wait` and `Pend`; nothing after it knows a
vendor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True, order=True)
class Register:
    """A register of 32 bits (Intel: one byte range of 32 bits of the register file) in its space.

    Spaces: NVIDIA `R UR P UP B` (general, uniform, predicate, uniform predicate, convergence barrier); AMD
    `v a s vcc exec scc m0` (vector, accumulation, scalar and the implicit ones); Intel `r f acc a ce` and so on.
    """

    space: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.space}{self.index}"


class Role(StrEnum):
    """What a register is read for."""

    DATA = "data"
    ADDRESS = "address"
    PREDICATE = "predicate"
    IMPLICIT = "implicit"


@dataclass(frozen=True, slots=True)
class Use:
    """A register read, and for what."""

    register: Register
    role: Role = Role.DATA


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate that decides whether an instruction takes effect; `negated` for `@!P0`."""

    register: Register
    negated: bool = False


class Direction(StrEnum):
    """Which way memory is accessed."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"
    COPY = "copy"  # from one memory space to another, not through registers


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory access. `space` is `global shared local constant texture generic scratch`; the width is a lane's.

    `slot` names a stack location exactly (register, offset in bytes) where the decoder knows it: spills match by it.
    """

    space: str
    direction: Direction
    width_bytes: int | None = None
    is_async: bool = False
    target: str | None = None  # the space a COPY writes
    slot: tuple[str, int] | None = None


class When(StrEnum):
    """When a pending operation leaves its resource."""

    RESULT = "result"  # its result is written: readers may go (RAW, WAW)
    OPERANDS_READ = "operands_read"  # its operands are read: writers of them may go (WAR)


@dataclass(frozen=True, slots=True)
class Pend:
    """The instruction becomes pending on a resource (`SB3`, `vmcnt`, `$7`, `float@`, `mbarrier:…`) until `when`.

    `in_order` says that operations pending on the resource in this class leave it in the order of issue; only among
    such does a wait for "at most k" let the k youngest of that class stay.
    """

    resource: str
    when: When = When.RESULT
    in_order: bool = True


@dataclass(frozen=True, slots=True)
class Wait:
    """The instruction waits, before it issues, until at most `pending` operations are pending on a resource.

    `when` restricts the wait to operations pending that way, None to none: NVIDIA scoreboards don't say which.
    """

    resource: str
    pending: int = 0
    when: When | None = None


class Flow(StrEnum):
    """What an instruction does to control."""

    BRANCH = "branch"
    CALL = "call"
    RETURN = "return"
    EXIT = "exit"
    BARRIER = "barrier"  # waits for other threads; control falls through


@dataclass(frozen=True, slots=True)
class Control:
    """Where control may go. `targets` are offsets in the function (CALL: names of functions); None: unknown (indirect).

    `conditional` says that control may also fall through.
    """

    flow: Flow
    targets: tuple[int | str, ...] | None = ()
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A source line, innermost first in `inline`: the call sites that this code was inlined at."""

    file: str
    line: int
    inline: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Latency:
    """Cycles from issue to result, least and most; `source` names where the figure is from."""

    low: int
    high: int
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction of a function; `pc` is its offset in bytes from the function's start.

    `kind` is a word of the vendor-neutral opcode classes: `int float half double tensor special convert move predicate
    load store atomic copy barrier wait branch control scalar other`. `pipe` is the vendor's word for the unit.
    `variable` says that its latency isn't fixed: readers of its results are protected by a resource, not by distance.
    `known` is False for an opcode that no table has: it is counted and reported, and its effects are empty.
    """

    pc: int
    size: int
    opcode: str
    text: str
    kind: str = "other"
    pipe: str = ""
    known: bool = True
    guard: Guard | None = None
    defs: tuple[Register, ...] = ()
    uses: tuple[Use, ...] = ()
    memory: Memory | None = None
    waits: tuple[Wait, ...] = ()
    pends: tuple[Pend, ...] = ()
    control: Control | None = None
    latency: Latency | None = None
    variable: bool = False
    issue_cycles: int = 1
    source: Source | None = None
    notes: tuple[tuple[str, str], ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A kernel or device function. `address` is where profiles say it lies (see each reader); `arch` e.g. `sm_90`."""

    name: str
    arch: str
    address: int
    size: int
    is_kernel: bool
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A decoded GPU binary. `path` for messages; `digest` is the SHA-256 of its bytes; `missing` says in words what
    it lacks (line information, symbols).
    """

    path: str
    vendor: str  # nvidia amd intel
    arch: str
    digest: str
    functions: tuple[Function, ...]
    missing: tuple[str, ...] = ()
