"""A small text assembler for tests: makes functions of the vendor-neutral instruction model.

One instruction a line, `;` begins a comment::

    top:  @!P1 ld  R1 <- [R2], R9   mem=global.load.4 +SB0 +SB1.read ?vm=2 lat=200..800 line=7
          br ->top?                 ; conditional; without `?` always taken

| word | means |
| --- | --- |
| `name:` | a label |
| `@P1`, `@!P1` | the guard |
| `R1, R2 <- R3, [R4], (P5)` | written `<-` read: data, `[address]`, `(predicate)`; either may be missing |
| `+SB0` `+SB0.read` `+lgkm~` | pends on a resource: result, operands read; `~`: leaves it out of order |
| `?SB0` `?vm=2` `?$3.dst` `?$3.src` | waits: until none, at most 2; only for results; only for operands read |
| `->label`, `->label?`, `->*`, `call=f`, `call=*`, `ret`, `exit`, `exit?`, `bar` | control (`*`: nobody knows where) |
| `mem=space.direction.width`, `async`, `to=shared`, `slot=sp:16` | a memory access |
| `lat=4..8`, `var`, `kind=load`, `cost=2`, `line=7`, `size=8`, `pipe=x`, `unknown` | the rest |

`var` is implied by a `+…` of a result on anything but a view (`float@`).
"""

from __future__ import annotations

import re
from typing import Any

from strop.stalls.instruction import (
    Control,
    Direction,
    Flow,
    Function,
    Guard,
    Instruction,
    Latency,
    Memory,
    Pend,
    Register,
    Role,
    Source,
    Use,
    Wait,
    When,
)


def register(text: str) -> Register:
    match = re.fullmatch(r"([A-Za-z_]+?)(\d*)", text)
    assert match, f"no register: {text!r}"
    return Register(match[1], int(match[2] or 0))


def _use(text: str) -> Use:
    if text.startswith("["):
        return Use(register(text[1:-1]), Role.ADDRESS)
    if text.startswith("("):
        return Use(register(text[1:-1]), Role.PREDICATE)
    return Use(register(text))


def _pend(text: str) -> Pend:
    in_order = not text.endswith("~")
    name, _, when = text.removesuffix("~").partition(".")
    return Pend(name, When.OPERANDS_READ if when == "read" else When.RESULT, in_order)


def _wait(text: str) -> Wait:
    name, _, count = text.partition("=")
    name, _, when = name.partition(".")
    return Wait(name, int(count or 0), {"dst": When.RESULT, "src": When.OPERANDS_READ}.get(when))


_KINDS = {"load": "load", "store": "store", "atomic": "atomic", "copy": "copy"}


def assemble(
    text: str, *, name: str = "kernel", arch: str = "sm_90", is_kernel: bool = True, address: int = 0
) -> Function:
    """Assemble a function."""
    labels: dict[str, int] = {}
    rows: list[tuple[int, str]] = []
    pc = 0
    for line in text.splitlines():
        rest = line.split(";", 1)[0].strip()
        while match := re.match(r"([A-Za-z_]\w*):\s*", rest):
            labels[match[1]] = pc
            rest = rest[match.end() :]
        if not rest:
            continue
        rows.append((pc, rest))
        size = re.search(r"\bsize=(\d+)", rest)
        pc += int(size[1]) if size else 16
    return Function(
        name=name,
        arch=arch,
        address=address,
        size=pc,
        is_kernel=is_kernel,
        instructions=tuple(_instruction(at, row, labels) for at, row in rows),
    )


def _instruction(pc: int, row: str, labels: dict[str, int]) -> Instruction:
    fields: dict[str, Any] = {"pc": pc, "size": 16, "text": row}
    words = re.sub(r",\s*", ",", row).split()
    if words[0].startswith("@"):
        guard = words.pop(0)[1:]
        fields["guard"] = Guard(register(guard.lstrip("!")), guard.startswith("!"))
    fields["opcode"] = words.pop(0)
    if fields["opcode"] == "exit":
        fields["control"] = Control(Flow.EXIT)
    pends: list[Pend] = []
    waits: list[Wait] = []
    memory: dict[str, Any] = {}
    operands: list[str] = []
    for word in words:
        key, _, value = word.partition("=")
        if word.startswith("+"):
            pends.append(_pend(word[1:]))
        elif word.startswith("?"):
            waits.append(_wait(word[1:]))
        elif word.startswith("->"):
            target = word[2:].rstrip("?")
            fields["control"] = Control(
                Flow.BRANCH, None if target == "*" else (labels[target],), conditional=word.endswith("?")
            )
        elif key == "call":
            fields["control"] = Control(Flow.CALL, None if value == "*" else (value,))
        elif word in ("ret", "exit", "exit?", "bar"):
            flow = {"ret": Flow.RETURN, "exit": Flow.EXIT, "exit?": Flow.EXIT, "bar": Flow.BARRIER}[word]
            fields["control"] = Control(flow, conditional=word.endswith("?"))
        elif key == "mem":
            space, direction, *width = value.split(".")
            memory |= {"space": space, "direction": Direction(direction), "width_bytes": int(width[0]) if width else 4}
            fields.setdefault("kind", _KINDS[direction])
        elif word == "async":
            memory["is_async"] = True
        elif key == "to":
            memory["target"] = value
        elif key == "slot":
            base, offset = value.split(":")
            memory["slot"] = (base, int(offset))
        elif key == "lat":
            low, high = value.split("..")
            fields["latency"] = Latency(int(low), int(high), "test")
        elif word == "var":
            fields["variable"] = True
        elif word == "unknown":
            fields["known"] = False
        elif key == "line":
            fields["source"] = Source("kernel.cu", int(value))
        elif key in ("kind", "pipe"):
            fields[key] = value
        elif key in ("cost", "size"):
            fields["issue_cycles" if key == "cost" else "size"] = int(value)
        else:
            operands.append(word)
    joined = " ".join(operands)
    left, arrow, right = joined.partition("<-")
    if not arrow:
        left, right = "", left
    fields["defs"] = tuple(register(one) for one in left.replace(",", " ").split())
    fields["uses"] = tuple(_use(one) for one in right.replace(",", " ").split())
    if any(pend.when is When.RESULT and not pend.resource.endswith("@") for pend in pends):
        fields["variable"] = True
    if memory:
        fields["memory"] = Memory(**memory)
    return Instruction(**fields, pends=tuple(pends), waits=tuple(waits))
