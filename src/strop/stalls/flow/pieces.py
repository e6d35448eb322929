"""The register file of a function, cut into pieces: registers that no instruction tells apart are one piece.

Wide operands are many registers (a vector of Intel's is 16 to 32, an accumulator of a matrix unit more). Those that
every instruction writes together, and reads together for the same purpose, hold values of one instruction all the time:
what is true of one is true of all, so data flow follows one in their place. The cut is the coarsest that has this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from strop.stalls.flow.operands import slots_read, slots_written
from strop.stalls.instruction import Instruction, Register, Role

Numbers = tuple[int, ...]
Roles = tuple[Role, ...]


class Pieces:
    """`registers` are numbered as they come; `of[n]` is register n's piece, `first[p]` the number of a piece's first.

    `written[i]` and `read[i]`: the pieces that instruction i writes, and those that it reads with what for, once each.
    """

    def __init__(self, code: Sequence[Instruction]) -> None:
        self._code = code
        self.registers: list[Register] = []
        self._known: dict[tuple[str, int], int] = {}
        # By identity: decoders make registers and operands once and use them often.
        self._of_object: dict[int, int] = {}
        self._of_uses: dict[int, tuple[Numbers, Roles]] = {}
        self.of: list[int] = []
        self.first: list[int] = []
        self.written: list[tuple[int, ...]] = []
        self.read: list[tuple[tuple[int, Role], ...]] = []
        self._divide()

    def _divide(self) -> None:
        """Work all of it out."""
        writes = [self._written(instruction) for instruction in self._code]
        sets = dict.fromkeys(writes)
        for numbers, roles in dict.fromkeys(self.reads):
            if len(set(roles)) < 2:
                sets[numbers] = None
            else:
                for role in dict.fromkeys(roles):
                    sets[tuple(one for one, its in zip(numbers, roles, strict=True) if its is role)] = None
        self.of, self.first = self._cut(sets)
        of = self.of
        pieces_written = {numbers: tuple(dict.fromkeys(of[one] for one in numbers)) for numbers in set(writes)}
        self.written = [pieces_written[numbers] for numbers in writes]
        pieces_read = {
            (numbers, roles): tuple(dict.fromkeys(zip([of[one] for one in numbers], roles, strict=True)))
            for numbers, roles in set(self.reads)
        }
        self.read = [pieces_read[each] for each in self.reads]

    @cached_property
    def reads(self) -> list[tuple[Numbers, Roles]]:
        """The numbers of the registers that each instruction reads, once each, and what for."""
        return [self._read(instruction) for instruction in self._code]

    def __len__(self) -> int:
        return len(self.first)

    def _number(self, register: Register) -> int:
        key = (register.space, register.index)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.registers)
            self.registers.append(register)
        return number

    def _numbers(self, registers: Sequence[Register]) -> Numbers:
        """Numbers of registers that live as long as the code does."""
        try:
            return tuple(map(self._of_object.__getitem__, map(id, registers)))
        except KeyError:
            for register in registers:
                self._of_object[id(register)] = self._number(register)
            return self._numbers(registers)

    def _written(self, instruction: Instruction) -> Numbers:
        numbers = self._numbers(instruction.defs)
        slot = slots_written(instruction)
        return (*numbers, *map(self._number, slot)) if slot else numbers

    def _read(self, instruction: Instruction) -> tuple[Numbers, Roles]:
        """What `operands.read` says, in numbers."""
        uses = instruction.uses
        known = self._of_uses.get(id(uses))
        if known is None:
            found = dict(zip(self._numbers([use.register for use in uses]), [use.role for use in uses], strict=True))
            known = self._of_uses[id(uses)] = tuple(found), tuple(found.values())
        if instruction.guard is None and instruction.memory is None:
            return known
        found = dict(zip(*known, strict=True))
        guard = instruction.guard
        if guard is not None:
            found.setdefault(self._number(guard.register), Role.PREDICATE)
        for word in slots_read(instruction):
            found[self._number(word)] = Role.DATA
        return tuple(found), tuple(found.values())

    def _cut(self, sets: Iterable[Numbers]) -> tuple[list[int], list[int]]:
        """Refine, from one class a space, by each set of registers that are used together."""
        spaces = {space: label for label, space in enumerate(dict.fromkeys(each.space for each in self.registers))}
        label = [spaces[register.space] for register in self.registers]
        sizes = [0] * len(spaces)
        for each in label:
            sizes[each] += 1
        for numbers in sets:
            by_label: dict[int, list[int]] = {}
            for number in dict.fromkeys(numbers):
                by_label.setdefault(label[number], []).append(number)
            for old, members in by_label.items():
                if len(members) < sizes[old]:
                    sizes[old] -= len(members)
                    for number in members:
                        label[number] = len(sizes)
                    sizes.append(len(members))
        dense: dict[int, int] = {}
        first: list[int] = []
        for number, each in enumerate(label):
            if each not in dense:
                dense[each] = len(first)
                first.append(number)
        return [dense[each] for each in label], first
