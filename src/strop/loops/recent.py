"""What `strop.einsum` tuned lately in this process, so that a second call costs a look-up and the kernel."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from strop.loops.tune import tune
from strop.values.canonical import digest

if TYPE_CHECKING:
    from strop.loops.tuned import Tuned

MOST = 256
_recent: OrderedDict[Any, tuple[Tuned, tuple[str, ...]]] = OrderedDict()


def recent(
    text: str, operands: tuple[Any, ...], *, effort: str, options: dict[str, Any]
) -> tuple[Tuned, dict[str, Any]]:
    """The tuned contraction for operands of these forms, and the epilogue's operands among the options."""
    epilogue = options.get("epilogue")
    named = _named(epilogue, options) if isinstance(epilogue, str) else {}
    rest = {name: value for name, value in options.items() if name not in named}
    key = (text, effort, digest(sorted((name, repr(value)) for name, value in rest.items())), *map(_form, operands))
    found = _recent.get(key)
    if found is None:
        found = _recent[key] = (tune(text, *operands, effort=effort, **rest), tuple(named))
        if len(_recent) > MOST:
            _recent.popitem(last=False)
    else:
        _recent.move_to_end(key)
    return found[0], named


def _named(epilogue: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options that are operands of the epilogue: arrays, or numbers whose name the text holds."""
    import re

    words = set(re.findall(r"[A-Za-z_]\w*", epilogue))
    sizes = options.get("sizes") or {}
    return {
        name: value
        for name, value in options.items()
        if name in words and name not in sizes and (hasattr(value, "shape") or isinstance(value, float))
    }


def _form(operand: Any) -> Any:
    """What the kernel depends on of an array."""
    return (
        getattr(operand, "shape", None),
        str(getattr(operand, "dtype", "")),
        getattr(operand, "strides", None) if not callable(getattr(operand, "stride", None)) else operand.stride(),
    )
