"""A judgement as one HTML page that stands alone: the account, the timeline, the source with its heat."""

from __future__ import annotations

from collections.abc import Iterator

from strop.kernels.judgement import Judgement
from strop.kernels.render import sentence
from strop.kernels.targets.gemmini.timeline import Timeline, drawing
from strop.report.annotated import Annotated, Row
from strop.report.page import Block, Drawing, Facts, Figures, Grid, Listing, Panes, Section, page
from strop.report.table import Column, Table
from strop.report.units import percent
from strop.values.diagnosis import KernelDiagnosis

CAUSES = 15


def report(judgement: Judgement, code: str, timeline: Timeline | None = None) -> str:
    """Return the page. `timeline` is that of a simulated machine."""
    sections = []
    account = judgement.account.kernels[0] if judgement.account and judgement.account.kernels else None
    if account is not None:
        sections.append(Section("Where the time went", list(_account(account))))
    if timeline is not None:
        sections.append(Section("Timeline", [Drawing(*drawing(timeline))]))
    sections.append(Section("Source", list(_source(code, account))))
    sections.append(Section("How it was judged", [Facts(list(_facts(judgement)))]))
    warnings = [] if judgement.verified else ["Unverified: the sandbox was off."]
    return page(
        title=f"strop judge {judgement.problem}",
        subject=judgement.problem,
        sentence=sentence(judgement),
        sections=sections,
        warnings=warnings,
    )


def _account(account: KernelDiagnosis) -> Iterator[Block]:
    found = account.accounting
    total = found.total or 1
    yield Figures([(percent(part / total), f"{name}: {part:,} {found.unit}") for name, part in found.parts.items()])
    columns = (Column("of time", right=True), Column("waits at"), Column("for"), Column("class"), Column("evidence"))
    rows = []
    for cause in account.causes[:CAUSES]:
        stall = f"line {cause.stall_site.line}" if cause.stall_site.line else "–"
        source = cause.cause_site
        of = "–" if source is None or not source.line else f"line {source.line}"
        name = f"{cause.stall_site.text} " if cause.stall_site.text else ""
        kind = f"{cause.id} {cause.cause_class}"
        rows.append((percent(cause.share_of_time[1]), f"{name}{stall}", of, kind, "; ".join(cause.evidence)))
    if rows:
        yield Grid(Table(columns, tuple(rows)), ranking=True)


def _source(code: str, account: KernelDiagnosis | None) -> Iterator[Block]:
    heat: dict[int, float] = {}
    for cause in account.causes if account else ():
        if cause.stall_site.line:
            heat[cause.stall_site.line] = heat.get(cause.stall_site.line, 0.0) + cause.share_of_time[1]
    most = max(heat.values(), default=1.0) or 1.0
    if not heat:
        yield Listing("", code)
        return
    rows = [
        Row(
            text=text,
            anchor=f"line-{number}",
            spot=str(number),
            share=percent(heat[number]) if number in heat else "",
            heat=heat.get(number, 0.0) / most,
        )
        for number, text in enumerate(code.splitlines(), 1)
    ]
    yield Panes([[Annotated("waits by line, of the time", rows)]])


def _facts(judgement: Judgement) -> Iterator[tuple[str, str]]:
    yield "verdict", str(judgement.verdict)
    for name in ("seed", "toolchain", "sandbox", "instructions", "commands", "calibrated"):
        if name in judgement.evidence:
            value = judgement.evidence[name]
            yield name, f"{value:,}" if isinstance(value, int) and name != "seed" else str(value)
    trials = judgement.evidence.get("trials", [])
    if trials:
        yield "inputs", ", ".join(f"{each['family']} (placement {each['placement']})" for each in trials)
    for name, value in judgement.evidence.get("counters", {}).items():
        yield name.replace("_", " "), f"{value:,}"
    yield "candidate", judgement.digest
