"""Ends that are no mistake of the user."""

from __future__ import annotations

from strop.errors.base import BUG, INTERRUPTED, StropError


class Interrupted(StropError):
    """Ctrl-C; not a mistake, but the exit code must say so."""

    code = "interrupted"
    template = "Interrupted after {trials}; what was measured is kept."
    fix = "Run the same command again to go on."
    exit_code = INTERRUPTED


class Stopped(StropError):
    """Ctrl-C before there was anything to keep."""

    code = "stopped"
    template = "Interrupted; there is no result yet."
    fix = "Run the same command again."
    exit_code = INTERRUPTED


class Bug(StropError):
    """Wraps an exception that should not have happened; ``report`` is the file that tells it."""

    code = "bug"
    template = "strop ran into a bug of its own: {what}."
    fix = "Please send {report} with what you did; running again with -v shows more."
    exit_code = BUG
