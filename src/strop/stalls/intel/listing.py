"""iga64's JSON, read: part by part, as iga64 writes it, or as whatever JSON it is.

Code has few operands, and names them again and again: each line is parsed, and asked whether it can be meant, once.
Instructions that differ in nothing but where they are and what their scoreboard says are one node, without both.
"""

from __future__ import annotations

import json
import re
from typing import Any

from strop.stalls.intel.nodes import Node, are_numbers, are_sound_but_operands, is_sound, is_sound_operand

_BARE_OPTIONS = re.compile(r'"opts":\[([A-Za-z][^\]\n]*)\]')  # iga64 forgets the quotes around some (NoAccSBSet)
_BEGIN = '{"kind":"I", "id":'
_SCOREBOARD = ', "regDist":'
_WHERE = re.compile(r'(?:0|[1-9][0-9]{0,15}), "pc":(0|[1-9][0-9]{0,15}), ')
_LABEL = r'\{"kind":"L","value":"L[0-9]+","pc":(?:0|[1-9][0-9]*)\}'
_LABELS = re.compile(rf"(?:    {_LABEL},\n)*    ")
_FIRST = re.compile(rf'\{{\n  "version":"[\w.]*",  "platform":"\w*",  "insts":\[\n(?:    {_LABEL},\n)*    ')
_LAST = re.compile(rf"(.*)\}}(?:,\n    {_LABEL})*\n  \]\n\}}\s*")
_HEAD = {"kind", "pred", "wren", "op", "subop", "es", "eo", "fm", "freg", "other"}
_TAIL = {"regDist", "sbid", "opts", "comment"}
_DESTINATION, _SOURCES, _END = '      "dst":', '      "srcs":[', "      ]"
_INDENT = " " * 8


def listed(said: str) -> dict[int, Node]:
    """The instructions of a JSON listing by their offset, those that can be read; none where it isn't a listing."""
    found = as_written(said)
    return as_json(said) if found is None else found


def as_json(said: str) -> dict[int, Node]:
    """The instructions of JSON however it is laid out."""
    try:
        made = json.loads(_BARE_OPTIONS.sub(_quoted, said))
        told = (each for each in made["insts"] if each["kind"] == "I" and each["op"])
        return {each["pc"]: each for each in told if is_sound(each)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def as_written(said: str) -> dict[int, Node] | None:
    """The instructions of a listing laid out as iga64 does; None for any other."""
    first, *each = said.split(_BEGIN)
    if not each or _FIRST.fullmatch(first) is None:
        return None
    last = each.pop()
    parts = _Parts()
    try:
        found = [parts.instruction(one) for one in each]
        found.append(parts.last(last))
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return {pc: node for pc, node in found if node is not None}


class _Parts:
    """What was read, by its text. All raise what `as_written` catches for what iga64 wouldn't write."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], Node | None] = {}
        self._heads: dict[str, Node] = {}
        self._operands: dict[tuple[str, bool], tuple[Any, bool]] = {}
        self._tails: dict[str, str] = {}
        self._options: dict[str, Node] = {}
        self._plain: dict[tuple[str, str], bool] = {}

    def instruction(self, said: str) -> tuple[int, Node | None]:
        """An instruction that another follows, or a label."""
        where = _WHERE.match(said)
        if where is None:
            raise ValueError(said)
        what, _, tail = said[where.end() :].partition(_SCOREBOARD)
        options = self._tails.get(tail)
        if options is None:
            line, _, rest = tail.partition("\n")
            if not line.endswith("},") or _LABELS.fullmatch(rest) is None:
                raise ValueError(tail)
            options = self._tails[tail] = self._tail(line[:-2])
        return int(where[1]), self._node(what, options)

    def last(self, said: str) -> tuple[int, Node | None]:
        """The last one, and the listing's end."""
        where = _WHERE.match(said)
        what, _, tail = said.partition(_SCOREBOARD)
        end = _LAST.fullmatch(tail)
        if where is None or end is None:
            raise ValueError(said)
        return int(where[1]), self._node(what[where.end() :], self._tail(end[1]))

    def _tail(self, text: str) -> str:
        """The options and the comment of an instruction: what of its end isn't the scoreboard's."""
        made = json.loads('{"regDist":' + _BARE_OPTIONS.sub(_quoted, text) + "}")
        if made.keys() != _TAIL:
            raise ValueError(text)
        del made["regDist"], made["sbid"]
        key = json.dumps(made)
        self._options.setdefault(key, made)
        return key

    def _node(self, what: str, options: str) -> Node | None:
        key = what, options
        if key in self._nodes:
            return self._nodes[key]
        head, destination, sources, *read, end = what.split("\n")
        if sources != _SOURCES or end != _END or not head.endswith(",") or not destination.endswith(","):
            raise ValueError(what)
        if not destination.startswith(_DESTINATION):
            raise ValueError(destination)
        written, sound = self._operand(destination[len(_DESTINATION) : -1], True)
        operands = []
        if read != [""]:
            for place, line in enumerate(read, 1):
                if not line.startswith(_INDENT) or (place < len(read)) is not line.endswith(","):
                    raise ValueError(line)
                operand, is_meant = self._operand(line[:-1] if place < len(read) else line, False)
                operands.append(operand)
                sound = sound and is_meant
        node = {**self._head(head), "dst": written, "srcs": operands, **self._options[options]}
        if not node["op"] or not sound or not self._is_plain(head, options, node) or not are_numbers(node):
            self._nodes[key] = None
        else:
            self._nodes[key] = node
        return self._nodes[key]

    def _head(self, text: str) -> Node:
        found = self._heads.get(text)
        if found is None:
            found = json.loads('{"kind":"I", ' + text[:-1] + "}")
            if found.keys() != _HEAD or found["kind"] != "I":
                raise ValueError(text)
            self._heads[text] = found
        return found

    def _operand(self, text: str, is_written: bool) -> tuple[Any, bool]:
        """An operand's JSON, and whether it can be meant."""
        found = self._operands.get((text, is_written))
        if found is None:
            operand = json.loads(text)
            found = self._operands[text, is_written] = operand, is_sound_operand(operand, is_written=is_written)
        return found

    def _is_plain(self, head: str, options: str, node: Node) -> bool:
        """Whether all but its operands can be meant."""
        found = self._plain.get((head, options))
        if found is None:
            found = self._plain[head, options] = are_sound_but_operands(node)
        return found


def _quoted(match: re.Match[str]) -> str:
    words = (word.strip().strip('"') for word in match[1].split(","))
    return '"opts":[' + ", ".join(f'"{word}"' for word in words) + "]"
