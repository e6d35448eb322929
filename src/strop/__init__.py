"""strop hones tensor kernels: from a contraction to checked machine code on this CPU."""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # `typing` costs the measuring worker a third of its start-up; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from strop.errors import StropError
    from strop.kernels.judge import judge
    from strop.kernels.registry import problem
    from strop.loops.compile import compile
    from strop.loops.einsum import einsum
    from strop.loops.load import load
    from strop.loops.tune import tune
    from strop.stalls.diagnose import diagnose
    from strop.values.contraction import Contraction

_WHERE = {
    "Contraction": "strop.values.contraction",
    "StropError": "strop.errors",
    "compile": "strop.loops.compile",
    "diagnose": "strop.stalls.diagnose",
    "einsum": "strop.loops.einsum",
    "judge": "strop.kernels.judge",
    "load": "strop.loops.load",
    "problem": "strop.kernels.registry",
    "tune": "strop.loops.tune",
}

__all__ = [
    "Contraction",
    "StropError",
    "__version__",
    "compile",
    "diagnose",
    "einsum",
    "judge",
    "load",
    "problem",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: `import strop` alone loads nothing."""
    if name not in _WHERE:
        raise AttributeError(f"module 'strop' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
