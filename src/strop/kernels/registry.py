"""Problems by id: the families that come with strop, those of installed packages, and those in a user's own files.

An id is `target/family-parameters`, for gemmini with an optional `+fsm`. A family makes a problem of its parameters
(what follows the first `-`) and `fsm`; it raises ValueError, with the reason, where it can't read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module

from strop.errors import BadPlugin, UnknownProblem
from strop.kernels.problem import Problem

GROUP = "strop.problems"  # entry points: the name is `target/family`, the object a Family


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of problems. `examples` are ids that `strop problems` lists; `form` shows how an id is written."""

    name: str  # target/family
    title: str
    form: str
    make: Callable[[str, bool], Problem]
    examples: tuple[str, ...] = ()


_OURS = {
    "gemmini/gemm": "strop.kernels.problems.gemm",
    "gemmini/conv": "strop.kernels.problems.conv",
    "gemmini/resadd": "strop.kernels.problems.resadd",
    "gemmini/attention": "strop.kernels.problems.attention",
    "gemmini/tinympc": "strop.kernels.problems.tinympc",
    "cpu/softmax": "strop.kernels.problems.softmax",
    "cpu/rowsum": "strop.kernels.problems.rowsum",
    "cpu/depthwise": "strop.kernels.problems.depthwise",
    "cpu/spmv": "strop.kernels.problems.spmv",
}


def families() -> Mapping[str, Family]:
    """Return all families by name: strop's own and those of installed packages."""
    return {name: family for name in (*_OURS, *_plugins()) if (family := _family(name)) is not None}


def _plugins() -> Iterator[str]:
    from importlib.metadata import entry_points

    for each in entry_points(group=GROUP):
        if each.name not in _OURS:
            yield each.name


def _family(name: str) -> Family | None:
    if name in _OURS:
        family: Family = import_module(_OURS[name]).FAMILY
        return family
    from importlib.metadata import entry_points

    for each in entry_points(group=GROUP, name=name):
        try:
            found = each.load()
        except Exception as error:
            raise BadPlugin(name=each.name, reason=f"it can't be loaded: {error}") from error
        if not isinstance(found, Family):
            raise BadPlugin(name=each.name, reason="it is no strop.kernels.registry.Family")
        return found
    return None


def problem(id: str) -> Problem:
    """Return the problem with an id. Raises :class:`UnknownProblem` with what is wrong with it.

    >>> problem("gemmini/gemm-512x512x512").unit
    'cycles'
    """
    base, plus, suffix = id.partition("+")
    if plus and suffix != "fsm":
        raise UnknownProblem(problem=id, reason=f": the suffix is +fsm, not +{suffix}")
    name, dash, parameters = base.partition("-")
    family = _family(name)
    if family is None or not dash:
        raise UnknownProblem(problem=id, reason="" if family is None else f": write {family.form}")
    try:
        return family.make(parameters, bool(plus))
    except ValueError as error:
        raise UnknownProblem(problem=id, reason=f": {error}; write {family.form}") from None
