"""A diagnosis on a terminal: a sentence, the kernels by cost, each kernel's causes with their chains."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from strop.report.units import percent, times
from strop.stalls.headline import accounting, coverage, full, headline, interval, plain, raises, sentence
from strop.values.diagnosis import Cause, Diagnosis, KernelDiagnosis

LEAST_WIDTH = 30  # narrower terminals break the lines themselves


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is shown: kernels in the list, kernels in full, causes of each."""

    listed: int = 10
    kernels: int = 3
    causes: int = 5


BRIEF, WHOLE = Amount(), Amount(listed=100, kernels=10, causes=25)


def lines(diagnosis: Diagnosis, *, width: int | None = None, amount: Amount = BRIEF) -> Iterator[str]:
    """The whole text, folded to `width` columns, or not at all where it is None (a pipe)."""
    yield from fold(sentence(diagnosis), width)
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
        yield from fold(plain(kernel.name), width, row, " " * 7)
    if len(diagnosis.kernels) > len(shown):
        rest = diagnosis.kernels[len(shown) :]
        share = percent(sum(kernel.accounting.total for kernel in rest) / whole) if whole else "–"
        yield from fold(f"{len(rest):,} more kernels; --json has all", width, f"{share:>5}  ", " " * 7)


def _kernel(kernel: KernelDiagnosis, width: int | None, amount: Amount, *, alone: bool) -> Iterator[str]:
    yield from fold(plain(kernel.name), width, "kernel  ")
    if not alone:
        yield from fold(headline(kernel, "its").replace("its's", "its"), width, "        ")
    yield from fold(accounting(kernel), width, "        ")
    for rank, cause in enumerate(kernel.causes[: amount.causes], 1):
        yield ""
        yield from _cause(cause, rank, width)
    left = kernel.causes[amount.causes :]
    if left:
        yield ""
        shares = (sum(cause.share_of_stalls[0] for cause in left), sum(cause.share_of_stalls[1] for cause in left))
        most = (min(1.0, shares[0]), min(1.0, shares[1]))
        yield from fold(f"{len(left):,} more causes, {interval(most)} of the stalls; -v shows more", width, "   ")
    yield ""
    for line in coverage(kernel):
        yield from fold(line, width, "covered  ")
    for line in raises(kernel):
        yield from fold(line, width, "surer with  ")


def _cause(cause: Cause, rank: int, width: int | None) -> Iterator[str]:
    cost = f"{interval(cause.share_of_stalls)} of stalls, {interval(cause.share_of_time)} of time"
    best = f", at most {times(cause.speedup[1])} faster without" if cause.speedup and cause.speedup[1] > 1.005 else ""
    hidden = ", hidden: not worth fixing" if not cause.share_of_time[1] else ""
    yield from fold(f"{cost}{best}{hidden}  [{cause.id} {cause.cause_class}]", width, f"{rank:>2} ")
    yield from fold(full(cause.stall_site), width, "   stalls at  ", " " * 14)
    if cause.cause_site is not None:
        yield from fold(full(cause.cause_site), width, "   waits for  ", " " * 14)
    known = [site for site in (cause.stall_site, cause.cause_site) if site is not None]
    above = [site for site in cause.chain if site not in known]
    for depth, site in enumerate(above):
        indent = 14 + 3 * depth if width is None else max(3, min(14 + 3 * depth, width // 2 - 3))
        yield from fold(full(site), width, f"{' ' * indent}└─ ")
    for said in cause.evidence:
        yield from fold(plain(said), width, "   · ")
