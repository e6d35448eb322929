"""A tuned contraction for people: lines on a terminal, a page, a notebook's output."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from strop.bench.machine import machine
from strop.bench.protocol import ratio
from strop.loops.nest import Nest
from strop.loops.results import sentence
from strop.report import chart
from strop.report.chart import Bar, Level, Line
from strop.report.page import Beside, Block, Drawing, Facts, Figures, Grid, Listing, Prose, Section, fragment, page
from strop.report.table import Column, Table
from strop.report.units import counted, digits, percent, seconds, times

if TYPE_CHECKING:
    from strop.bench.numpy_peer import NumpyComparison
    from strop.errors import PeerFailed
    from strop.loops.tuned import Tuned

# On a terminal -------------------------------------------------------------------------------------------------------


def finalists(tuned: Tuned) -> Table | None:
    """The fastest schedules as they were ranked, each measured interleaved with the others.

    Ranks go by paired rounds, shown as times the first; a schedule that dropped out early was timed in fewer rounds,
    perhaps faster ones of the machine, so the medians alone may disagree.
    """
    ranked = tuned.findings.finalists
    if not ranked:
        return None
    rows = []
    for number, finalist in enumerate(ranked, 1):
        measured, rate = finalist.measurement, tuned.rate(finalist.measurement)
        paired = ratio(ranked[0].measurement.samples, measured.samples)[1]
        times = (seconds(measured.median), seconds(measured.best), f"{paired:.2f}×")
        rates = (digits(rate), percent(rate / tuned.peak_gflops)) if rate and tuned.peak_gflops else ("–", "–")
        what = (finalist.summary, finalist.notes, "tie" if finalist.tie else "")
        rows.append((str(number), *times, *rates, *what))
    numbers = [Column(title, right=True) for title in ("", "median", "best", "to first", "GFLOP/s", "of peak")]
    table = Table((*numbers, Column("schedule"), Column("with"), Column("")), tuple(rows))
    return table.without_empty_columns()


def summary(tuned: Tuned) -> Iterator[str]:
    """What was tried, what came of it, and where it is kept."""
    found = tuned.findings
    if found.ties:
        yield f"{counted(len(found.ties), 'schedule')} can't be told from the first: a tie within noise"
    if found.verdicts:
        tried = counted(sum(found.verdicts.values()), "candidate")
        how = f" by search {found.search}" if found.search else ""
        kept = f"; run {found.run_id}" if found.run_id else ""
        yield f"{tried} tried{how}: {verdicts(tuned)}{kept}"


def verdicts(tuned: Tuned) -> str:
    """How many candidates ended how."""
    return ", ".join(f"{count:,} {verdict}" for verdict, count in tuned.findings.verdicts.items())


def compared(numpy: NumpyComparison) -> str:
    """The comparison with NumPy in a line.

    What was timed stands behind it: `1.12× NumPy (median of 60 interleaved rounds; np.matmul, OpenBLAS …)`.
    """
    rounds = counted(len(numpy.ours), "interleaved round")
    how = f"median of {rounds}; {numpy.way}, {blas(numpy)}"
    ratio = times(numpy.speedup_median)
    return f"a tie with NumPy ({ratio}, {how})" if numpy.tie else f"{ratio} NumPy ({how})"


def blas(numpy: NumpyComparison) -> str:
    """The library behind NumPy, short: `OpenBLAS 0.3.31 SkylakeX`."""
    name, _, kernel = numpy.blas.partition(", kernel ")
    library, _, number = name.partition(" ")
    known = "OpenBLAS" if "openblas" in library.lower() else library
    short = ".".join(number.split(".")[:3])
    return " ".join(filter(None, (known, short, kernel)))


# A page --------------------------------------------------------------------------------------------------------------


def report(tuned: Tuned, numpy: NumpyComparison | PeerFailed | None = None) -> str:
    """The HTML report, one file that stands alone."""
    from strop.errors import PeerFailed

    comparison = None if isinstance(numpy, PeerFailed) else numpy
    sections = [Section("", figures(tuned, comparison))]
    if tuned.trace:
        sections.append(Section("The search", [progress(tuned), *tried(tuned)]))
    if tuned.findings.finalists:
        sections.append(Section("The finalists", ranking(tuned)))
    if numpy is not None:
        sections.append(Section("Against NumPy", peer(numpy)))
    sections.append(Section("The loops", [before_and_after(tuned), *schedule(tuned)]))
    sections.append(Section("Where it was measured", [Facts(environment(tuned, comparison))]))
    if tuned.findings.command:
        sections.append(Section("Again", again(tuned)))
    return page(
        title=f"strop tune {tuned.contraction}",
        subject=str(tuned.contraction),
        sentence=capital(sentence(tuned, comparison)),
        sections=sections,
        warnings=tuned.findings.warnings,
    )


def notebook(tuned: Tuned) -> str:
    """The same, shorter, as a notebook shows it."""
    blocks: list[Block] = []
    table = finalists(tuned)
    if table is not None:
        blocks.append(Grid(table, ranking=True))
    blocks += tried(tuned)
    if tuned.trace:
        blocks.append(progress(tuned))
    blocks += [before_and_after(tuned), *schedule(tuned)]
    return fragment(
        subject=str(tuned.contraction),
        sentence=capital(sentence(tuned)),
        blocks=blocks,
        warnings=tuned.findings.warnings,
    )


def figures(tuned: Tuned, numpy: NumpyComparison | None) -> list[Block]:
    """The numbers at the top."""
    values = []
    if tuned.measurement is not None:
        values.append((seconds(tuned.measurement.median), "median of a call"))
    if tuned.gflops:
        values.append((f"{digits(tuned.gflops)} GFLOP/s", f"of {counted(tuned.contraction.flops, 'operation')}"))
    if tuned.share_of_peak:
        values.append((percent(tuned.share_of_peak), f"of the peak with {counted(tuned.threads, 'thread')}"))
    if numpy is not None:
        values.append((times(numpy.speedup_median), "the speed of NumPy" + ", within noise: a tie" * numpy.tie))
    return [Figures(values)] if values else []


def progress(tuned: Tuned) -> Block:
    """Best GFLOP/s over time, with every candidate that was measured as a dot."""
    flops = tuned.contraction.flops
    best = [(trial.seconds, trial.best_gflops) for trial in tuned.trace if trial.best_gflops is not None]
    each = [(trial.seconds, flops / trial.measured_s / 1e9) for trial in tuned.trace if trial.measured_s]
    levels = [Level(f"peak {digits(tuned.peak_gflops)}", tuned.peak_gflops)] if tuned.peak_gflops else []
    svg = chart.line_chart(
        [
            Line(name="a candidate", points=each, step=False, colour=chart.SECOND),
            Line(name="best so far", points=best),
        ],
        x_title="seconds",
        y_title="GFLOP/s",
        levels=levels,
    )
    return Drawing(svg, "Quick measurements while searching; the finalists are measured again, with care.")


def tried(tuned: Tuned) -> list[Block]:
    """What became of the candidates."""
    return [Prose(f"{capital(line)}.") for line in summary(tuned)]


def ranking(tuned: Tuned) -> list[Block]:
    """The finalists as a table, and their times as bars with intervals."""
    table = finalists(tuned)
    assert table is not None
    bars = [
        Bar(
            f"{each.summary} ({number})",
            each.measurement.median,
            seconds(each.measurement.median),
            each.measurement.interval,
        )
        for number, each in enumerate(tuned.findings.finalists, 1)
    ]
    drawing = Drawing(
        chart.bar_chart(bars, title="Time of the finalists"),
        "Median time of a call with its 95% interval; shorter is faster.",
    )
    return [Grid(table, ranking=True), drawing]


def peer(numpy: NumpyComparison | PeerFailed) -> list[Block]:
    """The comparison with NumPy, or why there is none."""
    from statistics import median

    from strop.bench.numpy_peer import NumpyComparison

    if not isinstance(numpy, NumpyComparison):
        return [Prose(numpy.message)]
    bars = [
        Bar("strop", median(numpy.ours), seconds(median(numpy.ours))),
        Bar("NumPy", median(numpy.theirs), seconds(median(numpy.theirs)), colour=chart.SECOND),
    ]
    low, high = numpy.interval
    caption = (
        f"Both timed in one process, turn by turn, from Python. Ratio {numpy.speedup_median:.3f} "
        f"(95% interval {low:.3f} to {high:.3f}); of the best rounds {numpy.speedup_best:.3f}."
    )
    return [
        Prose(f"{capital(compared(numpy))}."),
        Drawing(chart.bar_chart(bars, title="Time of a call", label_width=80), caption),
    ]


def before_and_after(tuned: Tuned) -> Block:
    """The nest as written beside the nest as tuned."""
    return Beside(
        [
            Listing("As written", str(Nest.default(tuned.contraction)) or "nothing to do"),
            Listing(f"Tuned: {tuned.nest.summary}", str(tuned.nest) or "nothing to do"),
        ]
    )


def schedule(tuned: Tuned) -> list[Block]:
    """The moves as text, and the document that `schedule=` and `--schedule` take."""
    moves = "\n".join(map(str, tuned.schedule)) or "no moves: the loops run as written"
    return [
        Listing("The schedule's moves", moves),
        Listing("As JSON, for strop.load and --schedule", json.dumps(tuned.to_json(), indent=2), folded=True),
    ]


def environment(tuned: Tuned, numpy: NumpyComparison | None) -> list[tuple[str, str]]:
    """Machine and versions."""
    import numpy as np

    from strop import __version__

    here, found = machine(), tuned.findings
    caches = ", ".join(
        f"L{cache.level} {cache.size_bytes >> 10:,} KiB" for cache in here.caches if cache.kind != "instruction"
    )
    rows = [
        ("CPU", f"{here.cpu}{', virtual' if here.virtual else ''}"),
        ("Caches", caches),
        ("Code for", f"{tuned.isa}, {counted(tuned.threads, 'thread')}"),
        ("strop", __version__),
        ("Python", f"{platform.python_version()}, {platform.system()} {platform.release()}"),
        ("NumPy", f"{numpy.numpy}, {numpy.blas}" if numpy else np.__version__),
        ("When", time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(time.time() - (found.age_seconds or 0.0)))),
        ("Effort", found.effort or ""),
        ("Protocol", tuned.measurement.protocol if tuned.measurement else ""),
        ("Machine id", here.fingerprint),
        ("Run", found.run_id or ""),
    ]
    return [(name, value) for name, value in rows if value]


def again(tuned: Tuned) -> list[Block]:
    """The command that measures this anew."""
    assert tuned.findings.command is not None
    return [Listing("This measures the same anew", tuned.findings.command, wrap=True)]


def capital(text: str) -> str:
    """The text with a capital where it begins with a letter.

    >>> capital("a tie with NumPy"), capital("77 µs")
    ('A tie with NumPy', '77 µs')
    """
    return text[:1].upper() + text[1:]
