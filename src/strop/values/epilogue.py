"""Epilogues: what is done to each accumulated value before it is stored.

The grammar, lowest precedence first; ``x`` is the accumulated value::

    sum      := product (("+" | "-") product)*
    product  := factor (("*" | "/") factor)*
    factor   := "-" factor | number | "x" | name axes? | function "(" sum ("," sum)* ")" | "(" sum ")"
    axes     := "[" (name (","? name)*)? "]"
    function := "min" | "max" (two arguments) | "relu" | "gelu" | "tanh" | "exp" | "sigmoid" (one)

``bias[n]`` is an operand with the axis n; ``scale`` alone is one value. ``relu(x)`` is max(x, 0), ``sigmoid(x)`` is
1 / (1 + exp(-x)), and ``gelu(x)`` is the exact form x * (1 + erf(x / sqrt(2))) / 2, not the tanh approximation.
Arithmetic is IEEE's; NaN passes through min, max and relu, as in NumPy.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from strop.errors import BadEpilogue, pointed

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
FUNCTIONS = {"min": 2, "max": 2, "relu": 1, "gelu": 1, "tanh": 1, "exp": 1, "sigmoid": 1}
"""Each function with the number of its arguments."""
RESERVED = frozenset({"x", "out", *FUNCTIONS})
"""Names no operand can have: ``out`` is a keyword of the call."""
DEEPEST, LONGEST = 50, 200  # generous for a person, small enough for the native emitter's registers

PostfixOp: TypeAlias = tuple[str] | tuple[str, int] | tuple[str, float]


@dataclass(frozen=True, slots=True)
class X:
    """The accumulated value."""


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Operand:
    """A named operand; no axes: one value for all."""

    name: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation: ``neg``, a word of ``OPERATORS``, or a function, on its arguments."""

    op: str
    arguments: tuple[Node, ...]


Node: TypeAlias = X | Number | Operand | Apply


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed epilogue."""

    root: Node

    @classmethod
    def parse(cls, text: str, *, axes: Sequence[str]) -> Expression:
        """Read an epilogue whose operands may have the output's ``axes``. Raises BadEpilogue, pointing at the place.

        >>> Expression.parse("relu(x + bias[n])", axes=("m", "n")).postfix()
        (('x',), ('operand', 0), ('add',), ('relu',))
        """
        if not isinstance(text, str):
            raise BadEpilogue(where=text, reason=f"it is a {type(text).__name__}, not a text")
        return cls(_Parser(text, tuple(axes)).parse())

    @property
    def operands(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Name and axes of each operand, in order of first appearance."""
        found = (node for node in _walk(self.root) if isinstance(node, Operand))
        return tuple(dict.fromkeys((node.name, node.axes) for node in found))

    @property
    def text(self) -> str:
        """The canonical text, which :meth:`parse` reads back to the same value."""
        return _written(self.root, 0)

    def postfix(self) -> tuple[PostfixOp, ...]:
        """The operations in the order of a stack machine: arguments first.

        ``("x",)``, ``("number", value)`` and ``("operand", i)``, the i-th of :attr:`operands`, push one value;
        ``("neg",)``, ``("relu",)``, ``("gelu",)``, ``("tanh",)``, ``("exp",)``, ``("sigmoid",)`` replace the top;
        ``("add",)``, ``("sub",)``, ``("mul",)``, ``("div",)``, ``("min",)``, ``("max",)`` replace the top two, the
        deeper one being the left.
        """
        place = {name: number for number, (name, _) in enumerate(self.operands)}
        return tuple(_postfix_op(node, place) for node in _walk(self.root))

    def evaluate(self, x: Array, operands: Mapping[str, Array], output_axes: Sequence[str]) -> Array:
        """The epilogue of ``x`` (shape: the output's) in float64. Operands have the shapes of their axes."""
        import numpy as np

        values = [np.asarray(x, dtype=np.float64)]
        with np.errstate(all="ignore"):
            stack: list[Array] = []
            for node in _walk(self.root):
                match node:
                    case X():
                        stack.append(values[0])
                    case Number(value):
                        stack.append(np.float64(value))  # type: ignore[arg-type]
                    case Operand(name, axes):
                        stack.append(spread(operands[name], axes, output_axes))
                    case Apply(op, arguments):
                        taken = [stack.pop() for _ in arguments][::-1]
                        stack.append(apply(op, *taken))
            (result,) = stack
            return np.broadcast_to(result, values[0].shape).copy()


def spread(array: Array, axes: Sequence[str], output_axes: Sequence[str]) -> Array:
    """``array`` in float64 with its axes where the output has them and 1 elsewhere, so that it broadcasts."""
    import numpy as np

    value = np.asarray(array, dtype=np.float64)
    value = value.transpose([axes.index(axis) for axis in output_axes if axis in axes])
    extents = iter(value.shape)
    return value.reshape([next(extents) if axis in axes else 1 for axis in output_axes])


def apply(op: str, *arguments: Array) -> Array:
    """One operation in float64."""
    import numpy as np

    a = arguments[0]
    result: Any
    match op:
        case "add":
            result = a + arguments[1]
        case "sub":
            result = a - arguments[1]
        case "mul":
            result = a * arguments[1]
        case "div":
            result = np.divide(a, arguments[1])
        case "min":
            result = np.minimum(a, arguments[1])
        case "max":
            result = np.maximum(a, arguments[1])
        case "neg":
            result = -a
        case "relu":
            result = np.maximum(a, 0.0)
        case "tanh":
            result = np.tanh(a)
        case "exp":
            result = np.exp(a)
        case "sigmoid":
            result = 1.0 / (1.0 + np.exp(-a))
        case "gelu":
            # NumPy has no erf. erfc keeps the left tail's digits, which 1 + erf cancels, and with |x| held below 40,
            # where the tail is 0, minus infinity gives its limit 0 and not the NaN of infinity * 0.
            t = np.minimum(np.abs(a), 40.0)
            tail = np.frompyfunc(math.erfc, 1, 1)(t / math.sqrt(2.0))
            result = np.maximum(a, 0.0) - 0.5 * t * np.asarray(tail, dtype=np.float64)
        case _:
            raise AssertionError(op)
    return np.asarray(result)


def _walk(node: Node) -> Iterator[Node]:
    """All nodes, arguments before what they are given to."""
    if isinstance(node, Apply):
        for argument in node.arguments:
            yield from _walk(argument)
    yield node


def _postfix_op(node: Node, place: Mapping[str, int]) -> PostfixOp:
    match node:
        case X():
            return ("x",)
        case Number(value):
            return ("number", value)
        case Operand(name, _):
            return ("operand", place[name])
        case Apply(op, _):
            return (op,)


_SIGNS = {word: sign for sign, word in OPERATORS.items()}
_PRECEDENCE = {"add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 3}


def _written(node: Node, above: int) -> str:
    """The node as text, in parentheses if it binds less than ``above``."""
    match node:
        case X():
            return "x"
        case Number(value):
            return repr(value).removesuffix(".0")
        case Operand(name, axes):
            return f"{name}[{','.join(axes)}]" if axes else name
        case Apply("neg", (argument,)):
            return f"-{_written(argument, 3)}"
        case Apply(op, (left, right)) if op in _SIGNS:
            level = _PRECEDENCE[op]
            text = f"{_written(left, level)} {_SIGNS[op]} {_written(right, level + 1)}"
            return f"({text})" if level < above else text
        case Apply(op, arguments):
            return f"{op}({', '.join(_written(argument, 0) for argument in arguments)})"


_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>[-+*/(),\[\]]))",
    re.ASCII,
)


class _Parser:
    """Recursive descent over the grammar at the top of this file."""

    def __init__(self, text: str, axes: tuple[str, ...]) -> None:
        self.text = text
        self.axes = axes
        self.known: dict[str, tuple[str, ...]] = {}
        self.tokens = self._tokens()
        self.next = 0
        self.depth = 0

    def parse(self) -> Node:
        if len(self.tokens) > LONGEST:
            self._fail(self.tokens[LONGEST][2], f"it is longer than {LONGEST} words and signs")
        node = self._sum()
        if self._sign() is not None or self._kind() != "end":
            self._fail(self._position(), "something follows where the expression has ended")
        return node

    def _tokens(self) -> list[tuple[str, str, int]]:
        tokens, position = [], 0
        while position < len(self.text.rstrip()):
            match = _TOKEN.match(self.text, position)
            if not match or match.lastgroup is None:
                position += len(self.text[position:]) - len(self.text[position:].lstrip())
                self._fail(position, f"{self.text[position]!r} isn't in the grammar")
            tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        return [*tokens, ("end", "", len(self.text.rstrip()))]

    def _kind(self) -> str:
        return self.tokens[self.next][0]

    def _position(self) -> int:
        return self.tokens[self.next][2]

    def _sign(self) -> str | None:
        kind, text, _ = self.tokens[self.next]
        return text if kind == "sign" else None

    def _take(self, sign: str, reason: str) -> None:
        if self._sign() != sign:
            self._fail(self._position(), reason)
        self.next += 1

    def _sum(self) -> Node:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._chain(("*", "/"), self._factor)

    def _chain(self, signs: tuple[str, ...], part: Any) -> Node:
        node: Node = part()
        while (sign := self._sign()) in signs:
            assert sign is not None
            self.next += 1
            node = Apply(OPERATORS[sign], (node, part()))
        return node

    def _factor(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail(self._position(), f"it is nested deeper than {DEEPEST}")
        node = self._unnested_factor()
        self.depth -= 1
        return node

    def _unnested_factor(self) -> Node:
        kind, text, position = self.tokens[self.next]
        self.next += kind != "end"
        if text == "-" and kind == "sign":
            return Apply("neg", (self._factor(),))
        if text == "(" and kind == "sign":
            node = self._sum()
            self._take(")", "a ')' is missing here")
            return node
        if kind == "number":
            value = float(text)
            if math.isinf(value):
                self._fail(position, "the number is too large")
            return Number(value)
        if kind == "name":
            return self._named(text, position)
        self._fail(position, "a value is expected here")

    def _named(self, name: str, position: int) -> Node:
        if name in FUNCTIONS:
            return self._call(name, position)
        if self._sign() == "(":
            self._fail(position, f"there is no function {name!r} (only {', '.join(FUNCTIONS)})")
        if name == "x":
            if self._sign() == "[":
                self._fail(self._position(), "x is the accumulated value and takes no axes")
            return X()
        if name in RESERVED:
            self._fail(position, f"{name!r} is reserved and can't name an operand")
        axes = self._axes() if self._sign() == "[" else ()
        if self.known.setdefault(name, axes) != axes:
            self._fail(position, f"{name!r} has other axes here than before")
        return Operand(name, axes)

    def _call(self, name: str, position: int) -> Node:
        self._take("(", f"{name!r} is a function: a '(' is missing here")
        arguments = [self._sum()]
        while self._sign() == ",":
            self.next += 1
            arguments.append(self._sum())
        self._take(")", "a ')' is missing here")
        if len(arguments) != FUNCTIONS[name]:
            self._fail(position, f"{name!r} takes {FUNCTIONS[name]} argument(s), not {len(arguments)}")
        return Apply(name, tuple(arguments))

    def _axes(self) -> tuple[str, ...]:
        self.next += 1
        axes: list[str] = []
        while self._sign() != "]":
            kind, axis, position = self.tokens[self.next]
            if kind != "name":
                self._fail(position, "the name of an axis is expected here")
            if axis not in self.axes:
                self._fail(position, f"{axis!r} is no axis of the result ({', '.join(self.axes) or 'it has none'})")
            if axis in axes:
                self._fail(position, f"the axis {axis!r} stands here twice")
            axes.append(axis)
            self.next += 1
            if self._sign() == ",":
                self.next += 1
                if self._sign() == "]":
                    self._fail(self._position(), "the name of an axis is expected here")
        self.next += 1
        return tuple(axes)

    def _fail(self, position: int, reason: str) -> NoReturn:
        raise BadEpilogue(where=pointed(self.text, position), reason=reason)
