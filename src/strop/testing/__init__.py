"""Conformance suites for plug-ins, and faults for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strop.testing.search_conformance import SearchConformance as SearchConformance
    from strop.testing.target_conformance import TargetConformance as TargetConformance

__all__ = ["SearchConformance", "TargetConformance"]


def __getattr__(name: str) -> Any:
    if name == "SearchConformance":  # imported when asked for: the measuring worker needs the faults alone
        from strop.testing.search_conformance import SearchConformance

        return SearchConformance
    if name == "TargetConformance":
        from strop.testing.target_conformance import TargetConformance

        return TargetConformance
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
