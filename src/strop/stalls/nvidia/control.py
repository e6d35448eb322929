"""The control word: the scheduling bits in each 128-bit instruction since Volta.

Bits 105 to 125 of the instruction, which is bits 41 to 61 of its high 64-bit word (the low word holds opcode and
operands). Checked on every binary by `reuse`: the disassembler prints `.reuse` from the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

SCOREBOARDS = 6
NONE = 7  # a barrier field that names no scoreboard


@dataclass(frozen=True, slots=True)
class Control:
    """What the compiler told the scheduler about one instruction.

    `stall`: cycles before this warp may issue again, 0 to 15. `yields`: a hint. `write` and `read`: the scoreboard
    released when the result is written, or the operands are read; None for none. `wait`: bit n for SBn. `reuse`: bit n
    for the operand cache of slot n.
    """

    stall: int
    yields: bool
    write: int | None
    read: int | None
    wait: int
    reuse: int


def control_of(high: int) -> Control:
    """The control word from the high 64-bit word of an instruction.

    >>> control_of(0x000E280000002500)
    Control(stall=4, yields=False, write=0, read=None, wait=0, reuse=0)
    """
    write, read = high >> 46 & 7, high >> 49 & 7
    return Control(
        stall=high >> 41 & 15,
        yields=not high >> 45 & 1,  # by convention 0 means yes; no text shows it
        write=write if write < SCOREBOARDS else None,
        read=read if read < SCOREBOARDS else None,
        wait=high >> 52 & 63,
        reuse=high >> 58 & 15,
    )
