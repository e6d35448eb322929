"""A compiled kernel as the simulator sees it: steps that wait for resources and become pending on them, no vendor.

The form is ours alone and knows nothing of `strop.stalls`: what a kernel does to time is read a second time, by the
small fronts beside this file (`nvidia.py`, `amd.py`, `intel.py`), from the disassembler's text and the encoding. They
write the programs to `programs/<vendor>.json.xz`, so that tests need no tool.

What the machine (`machine.py`) does with a step, in this order:

1. The warp may not issue before the step before it let go: `issue` cycles after that one issued.
2. `waits`: it waits until at most `pending` operations of this warp are pending on each resource named. Completion
   times are known at issue, so "at most k" means the k that complete last. A mask of several is several waits.
   A resource is any text: `SB3`, `vmcnt`, `$7.dst`, `$7.src`, `F@`. What a vendor's one mechanism does to operands and
   to results are two resources (`$7.src` and `$7.dst`), a step may pend on both.
3. Where the program says `interlocked`, it also waits for the registers in `reads` and `writes` that an earlier step
   *without* any pend of a result wrote: the machine itself holds those back (AMD's ALU results). Elsewhere registers
   decide nothing; fronts may leave them empty.
4. `op == "barrier"`: it waits until every warp of the block that still runs is at its own barrier step. A barrier that
   is split in two (`s_barrier_signal`, `s_barrier_wait`; Intel's gateway send, `sync.bar`) is one at its second half.
5. It waits for its `pipe`, which another warp's step may hold (cycles per pipe in the case, 1 if not named).
6. It is issued: one step per cycle and scheduler. Its operation takes a latency drawn for its `op`, or for its address
   where the case plants one. Then it pends: on each of `pends` until its result is there, or (`when` "read") until its
   operands were read. `order` names a class of operations that complete in the order of issue (None: each on its own).
7. `slot`: a store notes when its data is in memory; a load of the same slot has no data before. Slots are texts that
   are equal where the addresses are (`local R1+0x10`); None where the front can't tell.
8. `closes`: its completion is that of all operations that pended on the named resource since it was last closed: how a
   commit makes a group of asynchronous copies one operation on the resource that it pends on itself.
9. Control: `targets` are addresses; `conditional` steps ask the case, others go to their only target. `exit` ends.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "programs"

# What `Step.op` may say. Cases give each a range of latencies; `alu`, `branch` and `other` are fixed.
OPS = (
    "global load",
    "global store",
    "local load",  # spills: local memory, scratch
    "local store",
    "shared load",
    "shared store",
    "constant load",
    "scalar load",
    "atomic",
    "async copy",
    "special",  # reciprocals, square roots: the multi-function unit
    "convert",
    "double",
    "tensor",
    "variable",  # any other whose time is not fixed: system registers, votes, shuffles
    "barrier",
    "alu",
    "branch",
    "other",
)
FIXED = frozenset({"alu", "branch", "barrier", "other"})


@dataclass(frozen=True, slots=True)
class Wait:
    """Before it issues: at most `pending` operations of the warp may be pending on `resource`."""

    resource: str
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Pend:
    """From issue on: pending on `resource` until its result is there, or its operands were read (`when`)."""

    resource: str
    when: str = "result"  # or "read"
    order: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction. `address` is its offset in the function, as `pc` of a site in a diagnosis."""

    address: int
    text: str
    op: str = "alu"
    pipe: str = "alu"
    issue: int = 1
    waits: tuple[Wait, ...] = ()
    pends: tuple[Pend, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    slot: str | None = None
    closes: str | None = None
    targets: tuple[int, ...] = ()
    conditional: bool = False
    exits: bool = False
    line: int | None = None

    @property
    def is_variable(self) -> bool:
        """Say whether its time is drawn: those are the candidates for a culprit."""
        return self.op not in FIXED and bool(self.pends or self.writes or self.slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A kernel. `fixture` is the file under tests/stalls/fixtures/<vendor>, `kernel` its symbol.

    `base` is what a profile of this vendor adds to a step's address (the front's writer decides; 0 if nothing).
    """

    vendor: str
    arch: str
    fixture: str
    kernel: str
    steps: tuple[Step, ...]
    base: int = 0
    interlocked: bool = False

    @property
    def id(self) -> str:
        """Name it among all programs."""
        return f"{self.fixture}:{self.kernel}"


def to_json(program: Program) -> dict[str, Any]:
    """Return the JSON form, without what is at its default."""
    plain = asdict(replace(program, steps=()))
    default = asdict(Step(address=0, text=""))
    steps = [asdict(step) for step in program.steps]
    plain["steps"] = [
        {name: value for name, value in step.items() if name in ("address", "text") or value != default[name]}
        for step in steps
    ]
    return plain


def from_json(plain: dict[str, Any]) -> Program:
    """Return the program of its JSON form."""
    steps = tuple(_step(step) for step in plain["steps"])
    return Program(**{**plain, "steps": steps})


def _step(plain: dict[str, Any]) -> Step:
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
    made["waits"] = tuple(Wait(**wait) for wait in plain.get("waits", ()))
    made["pends"] = tuple(Pend(**pend) for pend in plain.get("pends", ()))
    return Step(**made)


def save(vendor: str, programs: list[Program]) -> Path:
    """Write all programs of a vendor to `programs/<vendor>.json.xz`."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{vendor}.json.xz"
    text = json.dumps([to_json(program) for program in programs], separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode(), preset=9))
    return path


@cache
def load(vendor: str) -> dict[str, Program]:
    """Return the programs of a vendor by their id; none where its front hasn't written any."""
    path = FOLDER / f"{vendor}.json.xz"
    if not path.exists():
        return {}
    programs = [from_json(plain) for plain in json.loads(lzma.decompress(path.read_bytes()))]
    return {program.id: program for program in programs}
