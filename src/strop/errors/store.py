"""The store, and the runs in it."""

from __future__ import annotations

from strop.errors.base import MACHINE, StropError


class CorruptStore(StropError):
    """The store's file isn't a database, or its contents don't hold together."""

    code = "corrupt-store"
    template = "The store {path} is damaged: {reason}."
    fix = "Move it away with strop runs prune --reset (a new one is made), or point STROP_HOME (--home) elsewhere."
    exit_code = MACHINE


class ReadOnlyStore(StropError):
    """The store's directory can't be made or written."""

    code = "read-only-store"
    template = "The store {path} can't be written: {reason}."
    fix = "Give the directory write permission, or point STROP_HOME (--home) at one that has it."
    exit_code = MACHINE


class FullStore(StropError):
    """The disk under the store has no room left."""

    code = "full-store"
    template = "The disk of the store {path} is full; what was written before is safe."
    fix = "Free space, prune old runs (strop runs prune), or point STROP_HOME (--home) at another disk."
    exit_code = MACHINE


class NewerStore(StropError):
    """The store has the layout of a later strop."""

    code = "newer-store"
    template = "The store {path} was written by a newer strop (version {found} of its layout; this one knows {known})."
    fix = "Upgrade strop (pip install -U strop), or point STROP_HOME (--home) at another directory."


class StoreBusy(StropError):
    """Another process kept the store locked."""

    code = "store-busy"
    template = "The store {path} was locked by another process for {seconds} s."
    fix = "Wait for the other strop to end, or point STROP_HOME (--home) at another directory."
    exit_code = MACHINE


class UnknownRun(StropError):
    """No run has that id."""

    code = "unknown-run"
    template = "There is no run {run!r} in {path}."
    fix = "strop runs list shows them; the first letters of an id suffice where only one run has them."


class AmbiguousRun(StropError):
    """Several runs' ids begin with that text."""

    code = "ambiguous-run"
    template = "{run!r} is the beginning of {count} runs' ids: {ids}."
    fix = "Write more of the id (strop runs list)."


class LostRun(StropError):
    """The run that is being journalled is no longer this process's."""

    code = "lost-run"
    template = "The run {run} was pruned, or taken over by another process; what this one measures is no longer stored."
    fix = "Run the same command again; strop runs list shows what is stored."
    exit_code = MACHINE


class NeedsYes(StropError):
    """Something would be deleted, and nobody can be asked."""

    code = "needs-yes"
    template = "{what} was not confirmed."
    fix = "Add --yes."


class NothingMeasured(StropError):
    """Every candidate of a run failed."""

    code = "nothing-measured"
    template = "No candidate came out right: {counts}."
    fix = "Give it more budget (--budget, budget=), or see each trial with strop runs show {run}."
    exit_code = 1
