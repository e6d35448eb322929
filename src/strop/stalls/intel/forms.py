"""What an instruction is apart from which registers it names: class, pipe, latency, memory, and its scoreboard's word.

Code has far fewer forms than instructions: each is worked out once for a binary.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from strop.stalls.instruction import Latency, Memory, Pend, Wait
from strop.stalls.intel import classes, sends, sync
from strop.stalls.intel import swsb as fields
from strop.stalls.intel.disassemble import Row
from strop.stalls.intel.nodes import Node
from strop.stalls.intel.operands import sources
from strop.stalls.intel.swsb import Generation, Token


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """A decoded scoreboard field, and what it makes an instruction wait for and leave pending.

    `takes`: it takes a token. `notes` says the field as assemblers write it.
    """

    waits: tuple[Wait, ...]
    pends: tuple[Pend, ...]
    takes: bool
    notes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """`kind` is None for an opcode that no table has; `message` is `block` or `scatter`, empty for what isn't one."""

    generation: Generation
    example: Node
    kind: str | None
    unit: str
    latency: Latency | None
    memory: Memory | None
    message: str
    _fields: dict[int, Scoreboard | None] = field(default_factory=dict)

    def scoreboard(self, row: Row) -> Scoreboard | None:
        """The scoreboard of an instruction of this form; None where its pattern is reserved."""
        bits = fields.field(row.word, self.generation)
        if bits not in self._fields:
            self._fields[bits] = self._scoreboard(bits)
        return self._fields[bits]

    def _scoreboard(self, bits: int) -> Scoreboard | None:
        try:
            said = fields.decode(bits, self.generation, sync.unit(self.example))
        except fields.BadSwsb:
            return None
        return Scoreboard(
            sync.waits(said, self.example, self.generation),
            sync.pends(said, self.example, self.generation),
            said.token is not None and said.use is Token.SET,
            (("swsb", ",".join(said.texts)),) if said.texts else (),
        )


class Forms:
    """The forms of a binary."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self._found: dict[Hashable, Form] = {}

    def of(self, node: Node) -> Form:
        """The form of an instruction's JSON."""
        key = _key(node)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._form(node)
        return found

    def _form(self, node: Node) -> Form:
        is_send = sends.is_send(node)
        return Form(
            generation=self.generation,
            example=node,
            kind=classes.kind(node),
            unit=classes.unit_name(node, sync.pipe(node, self.generation)),
            latency=classes.latency(node, self.generation),
            memory=sends.memory(node) if is_send else None,
            message=("block" if sends.is_block(node) else "scatter") if is_send else "",
        )


def _key(node: Node) -> Hashable:
    """Everything that the modules for classes, messages and synchronisation look at."""
    op, written, read = node["op"], node.get("dst") or {}, sources(node)
    types = (written.get("type"), (written.get("reg") or {}).get("rn"), *(each.get("type") for each in read))
    common = (op, node["subop"], types, bool(node.get("fm")))
    if op == "sync" or op.startswith("send"):
        immediates = (str(each.get("value")) for each in read)
        surface = str(read[0].get("surf")) if read else ""
        return (*common, "EOT" in (node.get("opts") or ()), node.get("comment"), *immediates, surface)
    return common
