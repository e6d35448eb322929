"""A diagnosis on a terminal: a sentence, the kernels by cost, each kernel's causes with their chains."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from strop.report.units import percent, times
from strop.stalls.groups import Group, copies, grouped, told
from strop.stalls.headline import accounting, coverage, full, headline, interval, named, notes, plain, raises, sentence
from strop.values.diagnosis import Diagnosis, KernelDiagnosis, Site

LEAST_WIDTH = 30  # narrower terminals break the lines themselves


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is shown: kernels in the list, kernels in full, causes of each from some share on, links of a chain."""

    listed: int = 10
    kernels: int = 3
    causes: int = 5
    least: float = 0.005  # of the stalls
    links: int = 5


BRIEF, WHOLE = Amount(), Amount(listed=100, kernels=10, causes=25, least=0.0, links=100)


def lines(diagnosis: Diagnosis, *, width: int | None = None, amount: Amount = BRIEF) -> Iterator[str]:
    """The whole text, folded to `width` columns, or not at all where it is None (a pipe)."""
    yield from fold(sentence(diagnosis), width)
    if len(diagnosis.kernels) > 1:
        yield ""
        yield from _kernels(diagnosis, width, amount)
    for kernel in diagnosis.kernels[: amount.kernels]:
        yield ""
        yield from _kernel(kernel, width, amount, alone=len(diagnosis.kernels) == 1)


def fold(text: str, width: int | None, first: str = "", later: str | None = None) -> Iterator[str]:
    """Lines of at most `width` columns; `first` stands before the first, `later` (or as many blanks) before others."""
    later = " " * len(first) if later is None else later
    if width is None:
        yield f"{first}{text}".rstrip()
        return
    room = max(width, LEAST_WIDTH)
    found = textwrap.wrap(text, room, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    yield from found or [first.rstrip()]


def _kernels(diagnosis: Diagnosis, width: int | None, amount: Amount) -> Iterator[str]:
    whole = sum(kernel.accounting.total for kernel in diagnosis.kernels)
    shown = diagnosis.kernels[: amount.listed]
    counts = [f"{kernel.accounting.total:,}" for kernel in shown]
    archs = [plain(kernel.arch) for kernel in shown]
    for kernel, count, arch in zip(shown, counts, archs, strict=True):
        share = percent(kernel.accounting.total / whole) if whole else "–"
        row = f"{share:>5}  {count:>{max(map(len, counts))}} {kernel.accounting.unit}  {arch:{max(map(len, archs))}}  "
        yield from fold(named(kernel), width, row, " " * 7)
    if len(diagnosis.kernels) > len(shown):
        rest = diagnosis.kernels[len(shown) :]
        share = percent(sum(kernel.accounting.total for kernel in rest) / whole) if whole else "–"
        yield from fold(f"{len(rest):,} more kernels; --json has all", width, f"{share:>5}  ", " " * 7)


def _kernel(kernel: KernelDiagnosis, width: int | None, amount: Amount, *, alone: bool) -> Iterator[str]:
    arch = f"  [{plain(kernel.arch)}]" if kernel.arch != "unknown" else ""
    yield from fold(f"{named(kernel)}{arch}", width, "kernel  ")
    if not alone:
        yield from fold(headline(kernel, "its").replace("its's", "its"), width, "        ")
    yield from fold(accounting(kernel), width, "        ")
    groups = grouped(kernel)
    large = [group for group in groups if group.share_of_stalls[1] >= amount.least]
    shown = (large or groups)[: amount.causes]
    for rank, group in enumerate(shown, 1):
        yield ""
        yield from _group(group, rank, width, amount, kernel)
    left = [group for group in groups if group not in shown]
    if left:
        yield ""
        hint = "; -v shows more" if amount == BRIEF else "; --json has all"
        more = "1 more cause" if len(left) == 1 else f"{len(left):,} more causes"
        yield from fold(f"{more}, {_together(left)}{hint}", width, "   ")
    yield ""
    for label, texts in (("covered", coverage(kernel)), ("note", notes(kernel)), ("surer with", raises(kernel))):
        for line in texts:
            yield from fold(line, width, f"{label:10}  ")


def _together(groups: list[Group]) -> str:
    """What several cost."""
    shares = [
        tuple(min(1.0, sum(getattr(group, name)[end] for group in groups)) for end in (0, 1))
        for name in ("share_of_stalls", "share_of_time")
    ]
    return f"{interval((shares[0][0], shares[0][1]))} of stalls, {interval((shares[1][0], shares[1][1]))} of time"


def _group(group: Group, rank: int, width: int | None, amount: Amount, kernel: KernelDiagnosis) -> Iterator[str]:
    cause = group.first
    most = group.speedup(kernel)
    best = f", at most {times(most)} faster without" if most and most > 1.005 else ""
    hidden = ", hidden: not worth fixing" if not group.share_of_time[1] else ""
    yield from fold(f"{_together([group])}{best}{hidden}", width, f"{rank:>2} ")
    says, *evidence = cause.evidence or ("",)
    yield from fold(f"{cause.id} {cause.cause_class}: {plain(says)}".removesuffix(": "), width, "   ")
    yield from fold(full(cause.stall_site), width, "   stalls at  ", " " * 14)
    if cause.cause_site is not None:
        yield from fold(full(cause.cause_site), width, "   waits for  ", " " * 14)
    known = [site for site in (cause.stall_site, cause.cause_site) if site is not None]
    yield from _chain([site for site in cause.chain if site not in known], amount.links, width)
    if len(group.causes) > 1:
        yield from fold(copies(group, kernel.accounting.unit), width, "   · ")
    for said in told(evidence):
        yield from fold(plain(said), width, "   · ")


def _chain(above: list[Site], most: int, width: int | None) -> Iterator[str]:
    for depth, site in enumerate(above[:most]):
        yield from fold(full(site), width, f"{_indent(depth, width)}└─ ")
    if len(above) > most:
        yield from fold(f"… and {len(above) - most} more; -v shows them", width, f"{_indent(most, width)}└─ ")


def _indent(depth: int, width: int | None) -> str:
    return " " * (14 + 3 * depth if width is None else max(3, min(14 + 3 * depth, width // 2 - 3)))
