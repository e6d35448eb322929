"""What the three outputs of rocprofv3 share: the vocabulary of ROCprofiler-SDK, and counting its samples.

Host-trap samples say only where a wave was: their reason is OTHER with no word, and they may be late by up to two
instructions. Stochastic samples say whether the wave issued and, if not, why; the reason of one that issued is noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from strop.stalls.profiles.beside import binaries_near
from strop.stalls.profiles.profile import KernelProfile, Place, Profile, Reason
from strop.stalls.profiles.reasons import reason
from strop.stalls.profiles.tally import Tally

HOST_TRAP_SKID = 2  # instructions
UNNAMED = "all dispatches"
NO_REASONS = "host-trap samples carry no reason, and may be late by up to two instructions"
COLLECT = (
    "rocprofv3 --pc-sampling-beta-enabled --pc-sampling-method stochastic --pc-sampling-unit cycles "
    "--pc-sampling-interval 1048576"
)

_REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
_TYPE = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_"

# The enumerations of pc_sampling.h in their order, as rocpd and code.json store them.
REASONS = (
    "NONE",
    "NO_INSTRUCTION_AVAILABLE",
    "ALU_DEPENDENCY",
    "WAITCNT",
    "INTERNAL_INSTRUCTION",
    "BARRIER_WAIT",
    "ARBITER_NOT_WIN",
    "ARBITER_WIN_EX_STALL",
    "OTHER_WAIT",
    "SLEEP_WAIT",
)
TYPES = (
    "NONE",
    "VALU",
    "MATRIX",
    "SCALAR",
    "TEX",
    "LDS",
    "LDS_DIRECT",
    "FLAT",
    "EXPORT",
    "MESSAGE",
    "BARRIER",
    "BRANCH_NOT_TAKEN",
    "BRANCH_TAKEN",
    "JUMP",
    "OTHER",
    "NO_INST",
    "DUAL_VALU",
)


def word_of(written: object, names: tuple[str, ...]) -> str:
    """Return a reason or type without its prefix, from its name or its number.

    >>> word_of("ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT", REASONS), word_of(3, REASONS)
    ('WAITCNT', 'WAITCNT')
    """
    if isinstance(written, int) and not isinstance(written, bool):
        return names[written] if 0 <= written < len(names) else f"#{written}"
    text = str(written)
    return text.removeprefix(_REASON).removeprefix(_TYPE)


def add(tally: Tally, place: Place, samples: int, *, issued: bool | None, kind: object, why: object) -> None:
    """Count samples of one place: `issued` None for host trap, else the instruction's `kind` or the reason `why`."""
    if issued is None:
        tally.add(place, Reason.OTHER, "", samples)
    elif issued:
        tally.add(place, Reason.ISSUED, word_of(kind, TYPES), samples)
    else:
        add_stall(tally, place, word_of(why, REASONS), samples)


def add_stall(tally: Tally, place: Place, word: str, samples: int) -> None:
    """Count samples of a wave that didn't issue; where another wave won the arbiter, nothing was lost."""
    meaning = reason("rocprofiler", word)
    tally.add(place, meaning, word, samples, samples if meaning is Reason.SELECTED_OTHER else 0)


def kernel_name(names: Mapping[int, str], kernels: Mapping[int, int], dispatch: int) -> str:
    """Return the name of the kernel that a dispatch ran, `UNNAMED` where the profile doesn't say."""
    return names.get(kernels.get(dispatch, -1), UNNAMED)


def profile(
    path: Path,
    format_name: str,
    tallies: Mapping[tuple[str, str], Tally],
    launches: Mapping[tuple[str, str], int],
    *,
    trapped: bool,
) -> Profile:
    """The profile of samples that were tallied by kernel and module, the kernel with the most first."""
    kernels = [
        KernelProfile(
            name=name,
            module=module,
            counts=tally.counts(),
            skid=HOST_TRAP_SKID if trapped else 0,
            launches=launches[name, module],
        )
        for (name, module), tally in tallies.items()
    ]
    return Profile(
        path=str(path),
        format=format_name,
        vendor="amd",
        unit="samples",
        kernels=tuple(sorted(kernels, key=lambda one: -one.samples)),
        binaries=binaries_near(path),
        notes=(NO_REASONS,) if trapped else (),
    )
