"""Where a candidate's program and operands lie in the machine's memory, in two placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strop.kernels.problem import Buffer

BASE = 0x8000_0000
PAGE = 4096
PROGRAM_BYTES = 16 << 20  # code and data of the candidate
STACK_BYTES = 1 << 20
PLACEMENTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Addresses of the operands by name, the stack's lower and upper end, the size of the memory."""

    operands: Mapping[str, int]
    stack_low: int
    stack_high: int
    memory_bytes: int


def layout(buffers: Sequence[Buffer], placement: int) -> Layout:
    """Lay operands out: each on pages of its own with empty pages between. Placement 1 has another order and gaps."""
    order = list(buffers) if placement == 0 else list(reversed(buffers))
    gap = PAGE if placement == 0 else 7 * PAGE
    at = BASE + PROGRAM_BYTES + (0 if placement == 0 else 5 * PAGE)
    operands = {}
    for buffer in order:
        operands[buffer.name] = at
        at = (at + buffer.nbytes + PAGE - 1) // PAGE * PAGE + gap
    low = at + PAGE
    high = low + STACK_BYTES
    return Layout(operands=operands, stack_low=low, stack_high=high, memory_bytes=high + PAGE - BASE)
