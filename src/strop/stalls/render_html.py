"""A diagnosis as one HTML page that stands alone: no script, nothing from the network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from strop.report.page import Block, Facts, Figures, Grid, Listing, Panes, Prose, Section, page
from strop.report.table import Column, Table
from strop.report.units import percent
from strop.stalls.code_view import View, panes, view
from strop.stalls.diagnose import Analysis
from strop.stalls.groups import Group, copies, grouped, told
from strop.stalls.headline import (
    accounting,
    code_of,
    coverage,
    full,
    headline,
    interval,
    named,
    notes,
    plain,
    raises,
    sentence,
    where,
)
from strop.values.diagnosis import KernelDiagnosis, Site

KERNELS = 20  # shown in full; the list above has all
CAUSES = 12  # of a kernel, in the table
CHAINS = 10


def report(analysis: Analysis) -> str:
    """The page."""
    found = analysis.diagnosis
    sections = []
    if len(found.kernels) > 1:
        sections.append(Section("Kernels by cost", [_kernels(found.kernels)]))
    for number, kernel in enumerate(found.kernels[:KERNELS]):
        sections.append(Section(named(kernel), list(_kernel(kernel, number, analysis))))
    path = plain(analysis.profile.path)
    return page(
        title=f"strop diagnose {plain(PurePath(analysis.profile.path).name)}",
        subject=path,
        sentence=sentence(found),
        sections=sections,
    )


def _kernels(kernels: tuple[KernelDiagnosis, ...]) -> Grid:
    whole = sum(kernel.accounting.total for kernel in kernels) or 1
    names = dict.fromkeys(part for kernel in kernels for part in kernel.accounting.parts)
    columns = (Column("of all", right=True), Column("kernel"), *(Column(name, right=True) for name in names))
    rows = []
    for kernel in kernels:
        parts = (f"{kernel.accounting.parts.get(name, 0):,}" for name in names)
        rows.append((percent(kernel.accounting.total / whole), named(kernel), *parts))
    return Grid(Table(columns, tuple(rows)), ranking=True)


def _kernel(kernel: KernelDiagnosis, number: int, analysis: Analysis) -> Iterator[Block]:
    if len(analysis.diagnosis.kernels) > 1:
        yield Prose(headline(kernel, "this kernel"))
    total = kernel.accounting.total or 1
    yield Figures([(percent(count / total), f"{part}: {count:,}") for part, count in kernel.accounting.parts.items()])
    profile = next(
        one
        for one in analysis.profile.kernels
        if one.name == kernel.name and one.samples in (kernel.accounting.total, kernel.coverage.get("samples"))
    )
    found = view(kernel, number, profile, analysis.binaries.get(kernel.name))
    columns = panes(found, analysis.profile.sources)
    yield _causes(kernel, found)
    if columns:
        yield Panes(columns)
    for rank, group in enumerate(grouped(kernel)[:CHAINS], 1):
        yield Listing(
            f"{rank}: {_title(group)}", "\n".join(_chain(group, kernel.accounting.unit)), folded=True, wrap=True
        )
    facts = [("accounting", accounting(kernel)), ("architecture", plain(kernel.arch))]
    facts += [("covered", line) for line in coverage(kernel)]
    facts += [("note", line) for line in notes(kernel)]
    facts += [("surer with", line) for line in raises(kernel)]
    yield Facts(facts)


def _causes(kernel: KernelDiagnosis, found: View) -> Grid:
    columns = (
        *(Column(title, right=True) for title in ("", "of stalls", "of time")),
        *(Column(title) for title in ("stalls at", "waits for", "class")),
        Column("copies", right=True),
    )
    rows, links = [], []
    for rank, group in enumerate(grouped(kernel)[:CAUSES], 1):
        cause = group.first
        shares = (interval(group.share_of_stalls), interval(group.share_of_time))
        count = f"{len(group.causes):,}" if len(group.causes) > 1 else ""
        sites = (_short(cause.stall_site), _short(cause.cause_site) if cause.cause_site else "–")
        rows.append((str(rank), *shares, *sites, f"{cause.id} {cause.cause_class}", count))
        anchors = (found.anchor(cause.stall_site), found.anchor(cause.cause_site))
        links.append((None, None, None, *anchors, None, None))
    return Grid(Table(columns, tuple(rows)), ranking=True, links=links)


def _short(site: Site) -> str:
    return " ".join(dict.fromkeys(part for part in (where(site), code_of(site)) if part))


def _title(group: Group) -> str:
    return f"{group.first.id} {group.first.cause_class}, {interval(group.share_of_stalls)} of stalls"


def _chain(group: Group, unit: str) -> Iterator[str]:
    cause = group.first
    yield f"stalls at  {full(cause.stall_site)}"
    if cause.cause_site is not None:
        yield f"waits for  {full(cause.cause_site)}"
    known = [site for site in (cause.stall_site, cause.cause_site) if site is not None]
    for depth, site in enumerate(site for site in cause.chain if site not in known):
        yield f"{' ' * 11}{'   ' * depth}└─ {full(site)}"
    if len(group.causes) > 1:
        yield f"· {copies(group, unit)}"
    yield from (f"· {plain(said)}" for said in told(cause.evidence))
