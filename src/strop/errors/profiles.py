"""Profiles that can't be read, or hold nothing to diagnose."""

from __future__ import annotations

from strop.errors.base import StropError
from strop.errors.plain import _Plain

_KNOWN = (
    "an HPCToolkit v4 database, an .ncu-rep, an Nsight Compute source-page CSV, rocprofv3 PC sampling (CSV, JSON or "
    "rocpd), a rocprof viewer's code.json, an ATT stats CSV, or a unitrace stall-sampling CSV"
)


class MissingProfile(_Plain, StropError):
    """The path of a profile can't be opened."""

    code = "missing-profile"
    template = "The profile {path} can't be opened: {reason}."
    fix = "Give strop diagnose (strop.diagnose) the path of a profile that exists and may be read."


class NotAProfile(_Plain, StropError):
    """What the path names is no profile at all."""

    code = "not-a-profile"
    template = "{path} is no GPU profile: {found}."
    fix = f"Give strop diagnose (strop.diagnose) {_KNOWN}."


class SeveralProfiles(_Plain, StropError):
    """A directory holds more than one profile, and none of them is the directory itself."""

    code = "several-profiles"
    template = "The directory {path} holds {count} profiles: {names}."
    fix = "Name the one to diagnose: strop diagnose {example} (strop.diagnose of the same path)."


class UnknownProfile(_Plain, StropError):
    """A profile, or something like one, in a format without a reader."""

    code = "unknown-profile"
    template = "{path} is {found}, for which strop has no reader."
    fix = f"Export it as, or collect, one of these: {_KNOWN}."


class TruncatedProfile(_Plain, StropError):
    """A profile ends before what it announces."""

    code = "truncated-profile"
    template = "The {format} profile {path} ends too early: {what}."
    fix = "Copy the file again from where it was collected, whole, or collect the profile anew."


class CorruptProfile(_Plain, StropError):
    """A field of a profile can't be what it says."""

    code = "corrupt-profile"
    template = "The {format} profile {path} is damaged: {what}."
    fix = "Copy the file again from where it was collected, or collect the profile anew."


class NewerProfile(_Plain, StropError):
    """The container has a version that no reader knows."""

    code = "newer-profile"
    template = "The {format} profile {path} has version {found} of its container; strop reads {known}."
    fix = "Upgrade strop (pip install -U strop), or export the profile with an older version of its tool."


class NoSamples(_Plain, StropError):
    """A profile is whole but holds no samples."""

    code = "no-samples"
    template = "The {format} profile {path} holds no samples: {why}."
    fix = "Collect it again with sampling on: {collect}."
