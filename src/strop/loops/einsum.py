"""`strop.einsum`: tune for the operands at hand and run, remembering in this process what was tuned."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from strop.loops.tune import tune
from strop.values.canonical import digest
from strop.values.epilogue import Expression
from strop.values.subscripts import parse

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned

MOST = 256
"""Contractions kept; the one not used for longest goes."""

_recent: OrderedDict[Any, Tuned] = OrderedDict()
_lock = Lock()


def einsum(text: str, /, *operands: Any, out: Any = None, effort: str = "quick", **options: Any) -> Any:
    """Tune (or recall) a contraction for these operands and run it: `np.einsum` for one or two of them.

    Options are those of `tune`; keywords that the epilogue names are its operands. The result is of the first
    operand's library.
    """
    names = operand_names(text, options.get("epilogue"))
    extras = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    return tuned_for(text, operands, effort, rest)(*operands, out=out, **extras)


def operand_names(text: str, epilogue: Any) -> frozenset[str]:
    """The names of the epilogue's operands; none without an epilogue. Raises BadContraction, BadEpilogue."""
    if epilogue is None:
        return frozenset()
    if not isinstance(epilogue, Expression):
        epilogue = Expression.parse(epilogue, axes=parse(text).output)
    return frozenset(name for name, _ in epilogue.operands)


def tuned_for(text: str, operands: tuple[Any, ...], effort: str, options: Mapping[str, Any]) -> Tuned:
    """The contraction tuned for operands of these forms, from this process's memory where it has been before."""
    said = digest(sorted((name, repr(value)) for name, value in options.items()))
    key = (str(text), str(effort), said, *map(_form, operands))
    with _lock:
        found = None if options.get("fresh") else _recent.get(key)
        if found is not None:
            _recent.move_to_end(key)
            return found
    found = tune(text, *operands, effort=effort, **options)
    with _lock:
        _recent[key] = found
        if len(_recent) > MOST:
            _recent.popitem(last=False)
    return found


def _form(operand: Any) -> Any:
    """What the kernel depends on of an array."""
    return (
        getattr(operand, "shape", None),
        str(getattr(operand, "dtype", "")),
        getattr(operand, "strides", None) if not callable(getattr(operand, "stride", None)) else operand.stride(),
    )
