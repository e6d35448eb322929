"""The loop searches by name. Each is imported when it is made; plug-ins come by the entry-point group `strop.searches`.

A plug-in's entry point names a factory, called as `factory(problem, seed=..., space=...)`, that returns a
`strop.values.search.Search` whose candidates' payload is `{"schedule": [move, ...]}`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from strop.errors import BadPlugin, BadSearch, SearchClash
from strop.loops.problem import LoopProblem
from strop.values.search import Search

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "strop.searches"

_BUILTIN: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("constant:Default", {}),
    "constant": ("constant:Constant", {}),
    "constant-4": ("constant:Constant", {"rows": (4,)}),
    "constant-6": ("constant:Constant", {"rows": (6,)}),
    "constant-14": ("constant:Constant", {"rows": (14,)}),
    "analytic": ("analytic:Analytic", {}),
    "greedy1": ("greedy:Greedy", {"depth": 1}),
    "greedy2": ("greedy:Greedy", {"depth": 2}),
    "beam2-dfs": ("beam:Beam", {"width": 2, "first": "depth"}),
    "beam2-bfs": ("beam:Beam", {"width": 2, "first": "breadth"}),
    "beam4-dfs": ("beam:Beam", {"width": 4, "first": "depth"}),
    "beam4-bfs": ("beam:Beam", {"width": 4, "first": "breadth"}),
    "random": ("random:Random", {}),
    "local": ("local:Local", {}),
}


def names() -> list[str]:
    """The ids of all searches, ours first. Raises SearchClash."""
    return [*_BUILTIN, *_plugins()]


def make(name: str, problem: LoopProblem, *, seed: int = 0, space: str = "full", plugins: bool = True) -> Search:
    """A new search of that id. Raises BadSearch, SearchClash, and BadPlugin for a plug-in that doesn't load.

    Without `plugins` only ours are looked at, which saves the time that listing what is installed takes.
    """
    found = _plugins() if plugins else {}
    if name in _BUILTIN:
        place, options = _BUILTIN[name]
        module, _, kind = place.partition(":")
        factory = getattr(import_module(f"strop.loops.searches.{module}"), kind)
        search: Search = factory(problem, seed=seed, space=space, **options)
        return search
    if name not in found:
        raise BadSearch(search=name, known=", ".join([*_BUILTIN, *found]))
    return _made(found[name], problem, seed, space)


def _made(plugin: EntryPoint, problem: LoopProblem, seed: int, space: str) -> Search:
    try:
        made: Any = plugin.load()(problem, seed=seed, space=space)
    except Exception as cause:  # foreign code: whatever goes wrong in it is one clear sentence
        raise BadPlugin(
            group=GROUP, name=plugin.name, source=_source(plugin), reason=f"{type(cause).__name__}: {cause}"
        ) from cause
    if not isinstance(made, Search):
        reason = f"its factory returned a {type(made).__name__} without ask, tell, state and restore"
        raise BadPlugin(group=GROUP, name=plugin.name, source=_source(plugin), reason=reason)
    return made


def _plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for plugin in entry_points(group=GROUP):
        if plugin.name in _BUILTIN:
            raise SearchClash(search=plugin.name, first="strop", second=_source(plugin))
        if plugin.name in found and found[plugin.name].value != plugin.value:
            raise SearchClash(search=plugin.name, first=_source(found[plugin.name]), second=_source(plugin))
        found[plugin.name] = plugin
    return found


def _source(plugin: EntryPoint) -> str:
    """Who brings a plug-in: the distribution, where known, and the object."""
    return f"{plugin.dist.name} ({plugin.value})" if plugin.dist else plugin.value
