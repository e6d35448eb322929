"""Schedules and moves."""

from __future__ import annotations

from strop.errors.base import StropError


class BadSchedule(StropError):
    """A schedule isn't one, or is damaged."""

    code = "bad-schedule"
    template = "The schedule can't be read: {reason}."
    fix = "Pass a schedule that strop wrote (--schedule FILE, schedule=tuned.schedule), or drop it."


class WrongSchedule(StropError):
    """A schedule was made for another contraction."""

    code = "wrong-schedule"
    template = "The schedule is for {theirs!r}, not for {ours!r}."
    fix = "Pass the schedule of this contraction (--schedule, schedule=), or leave it away to search for one."


class NewerSchedule(StropError):
    """A schedule was written by a later strop."""

    code = "newer-schedule-format"
    template = "The schedule has format {found!r}; this strop {version} reads up to {known!r}."
    fix = "Upgrade strop (pip install -U strop), or tune again without --schedule / schedule=."


class IllegalMove(StropError):
    """A move of a schedule doesn't fit the nest it is applied to."""

    code = "illegal-move"
    template = "{move} can't be applied: {reason}."
    fix = "Change or drop that move of the schedule (--schedule, schedule=)."
