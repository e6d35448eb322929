"""Blame for flame graphs: folded stacks and a speedscope file. Both hold all samples of all kernels, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from strop.stalls.headline import code_of, plain, where
from strop.values.diagnosis import Cause, Diagnosis, KernelDiagnosis, Site

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def stacks(kernel: KernelDiagnosis) -> Iterator[tuple[tuple[str, ...], int]]:
    """Each cause as a stack, the kernel first: class, what is waited for (and its callers), what stalls; its samples.

    Issued samples are one stack, what no listed cause has is another: together they are the accounting's total.
    """
    name, parts = plain(kernel.name), kernel.accounting.parts
    left = kernel.accounting.total - parts.get("issued", 0)
    stalls = left
    if parts.get("issued"):
        yield (name, "issued"), parts["issued"]
    for cause in kernel.causes:
        samples = min(left, _samples(cause, stalls))
        if samples:
            yield (name, *_frames(cause)), samples
            left -= samples
    if left:
        yield (name, "not listed"), left


def _samples(cause: Cause, stalls: int) -> int:
    if cause.samples is not None:
        return cause.samples
    return round(sum(cause.share_of_stalls) / 2 * stalls)


def _frames(cause: Cause) -> Iterator[str]:
    yield f"{cause.id} {cause.cause_class}"
    if cause.cause_site is not None:
        for file, line in reversed(cause.cause_site.inline):
            yield plain(f"{PurePath(file).name}:{line}")
        yield f"waits for {_frame(cause.cause_site)}"
    yield f"stalls at {_frame(cause.stall_site)}"


def _frame(site: Site) -> str:
    return " ".join(dict.fromkeys(part for part in (where(site), code_of(site)) if part))


def folded(diagnosis: Diagnosis) -> str:
    """Stacks as flamegraph.pl and its kin read them: frames joined by `;`, a blank, the samples."""
    found = [
        f"{';'.join(frame.replace(';', ',') for frame in stack)} {samples}\n"
        for kernel in diagnosis.kernels
        for stack, samples in stacks(kernel)
    ]
    return "".join(found)


def speedscope(diagnosis: Diagnosis, *, name: str) -> dict[str, Any]:
    """The file format of speedscope.app: one sampled profile a kernel."""
    from strop import __version__

    frames: dict[str, int] = {}
    profiles = []
    for kernel in diagnosis.kernels:
        found = list(stacks(kernel))
        profiles.append(
            {
                "type": "sampled",
                "name": plain(kernel.name),
                "unit": "none",
                "startValue": 0,
                "endValue": sum(samples for _, samples in found),
                "samples": [[frames.setdefault(frame, len(frames)) for frame in stack] for stack, _ in found],
                "weights": [samples for _, samples in found],
            }
        )
    return {
        "$schema": SCHEMA,
        "exporter": f"strop {__version__}",
        "name": plain(name),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": profiles,
    }
