"""Everything that an instruction reads and writes: registers, its guard, and the stack slots of spills and reloads."""

from __future__ import annotations

from strop.stalls.instruction import Direction, Instruction, Register, Role

SLOT = "slot:"  # the space of stack slots; the index is the offset in words of 4 bytes


def slots_written(instruction: Instruction) -> tuple[Register, ...]:
    """Return the stack words that a spill writes."""
    memory = instruction.memory
    if memory is None or memory.slot is None or memory.direction is Direction.LOAD:
        return ()
    return _words(memory.slot, memory.width_bytes)


def slots_read(instruction: Instruction) -> tuple[Register, ...]:
    """Return the stack words that a reload reads."""
    memory = instruction.memory
    if memory is None or memory.slot is None or memory.direction is Direction.STORE:
        return ()
    return _words(memory.slot, memory.width_bytes)


def _words(slot: tuple[str, int], width_bytes: int | None) -> tuple[Register, ...]:
    base, offset = slot
    return tuple(Register(SLOT + base, (offset + at) // 4) for at in range(0, max(width_bytes or 4, 1), 4))


def written(instruction: Instruction) -> tuple[Register, ...]:
    """Return everything an instruction writes: registers, and the stack slot of a spill."""
    return (*instruction.defs, *slots_written(instruction))


def read(instruction: Instruction) -> tuple[tuple[Register, Role], ...]:
    """Return everything an instruction reads, once each: registers, the guard, and the stack slot of a reload."""
    uses = {(use.register.space, use.register.index): (use.register, use.role) for use in instruction.uses}
    guard = instruction.guard
    if guard is not None:
        uses.setdefault((guard.register.space, guard.register.index), (guard.register, Role.PREDICATE))
    for word in slots_read(instruction):
        uses[word.space, word.index] = (word, Role.DATA)
    return tuple(uses.values())
