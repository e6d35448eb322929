"""What the machine did when: as a Chrome trace, and as a drawing of its units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from strop.kernels.problem import Problem
from strop.kernels.targets.gemmini.account import COMMANDS
from strop.kernels.targets.gemmini.lines import SourceLines
from strop.kernels.targets.gemmini.run import run
from strop.kernels.targets.gemmini.target import Gemmini
from strop.kernels.targets.target import Planned, Trial

MOST_EVENTS = 200_000
UNITS = ("load", "execute", "store", "fence")
DRAWN = 3000  # events in a drawing
WIDTH, ROW, LEFT = 1080, 34, 70
COLOURS = {
    "load": "var(--accent, #0f62c4)",
    "execute": "var(--second, #c46a0f)",
    "store": "#2e8b57",
    "fence": "#9a5fb4",
}


@dataclass(frozen=True, slots=True)
class Timeline:
    """The commands of one run in the order in which they were done; `dropped` more didn't fit."""

    problem: str
    cycles: int
    events: Sequence[Mapping[str, Any]]
    dropped: int
    lines: SourceLines

    def window(self, most: int = DRAWN) -> tuple[int, int]:
        """Return the cycles that a drawing shows: all, or as many as hold a number of events from the middle on."""
        if len(self.events) <= most:
            return 0, self.cycles
        first = len(self.events) // 2 - most // 2
        part = self.events[first : first + most]
        return min(event["start"] for event in part), max(event["end"] for event in part)


def timeline(problem: Problem, code: str, machine: Gemmini, *, sandbox: str = "auto", seed: int = 0) -> Timeline:
    """Run a candidate once on dense inputs and keep what the machine did. Raises :class:`Refused`."""
    import numpy as np

    built = machine.build(problem, code, sandbox=sandbox)
    family = next(iter(problem.families))
    trial = Trial(
        planned=Planned(family=family), seed=seed, inputs=problem.families[family](np.random.default_rng(seed))
    )
    outcome = run(
        problem, built, trial, machine.values(problem), most_cycles=machine.most_cycles(problem), events=MOST_EVENTS
    )
    account = outcome.detail["account"]
    events = sorted(account["events"], key=lambda event: (event["start"], event["index"]))
    cycles = int(outcome.detail["cycles"])
    return Timeline(problem.id, cycles, events, int(account["events_dropped"]), built.lines)


def chrome_trace(shown: Timeline) -> dict[str, Any]:
    """Return a trace for chrome://tracing or Perfetto: a cycle is a microsecond there."""
    rows: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": f"{shown.problem} (1 µs = 1 cycle)"}}
    ]
    rows += [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": {"name": unit}}
        for number, unit in enumerate(UNITS)
    ]
    for event in shown.events:
        rows.append(
            {
                "name": _name(event),
                "cat": event["unit"],
                "ph": "X",
                "pid": 1,
                "tid": UNITS.index(event["unit"]),
                "ts": event["start"],
                "dur": max(event["end"] - event["start"], 1),
                "args": {
                    "command": event["index"],
                    "line": shown.lines.at(event["pc"]),
                    "waited_cycles": event["start"] - event["allocated"],
                    "wait": event["wait"],
                    "for_line": shown.lines.at(event["cause_pc"]) if event["cause_pc"] else None,
                },
            }
        )
    return {"displayTimeUnit": "ns", "otherData": {"events_dropped": shown.dropped}, "traceEvents": rows}


def _name(event: Mapping[str, Any]) -> str:
    if event["unit"] == "fence":
        return "fence"
    return COMMANDS.get(event["funct"], f"funct {event['funct']}")


def drawing(shown: Timeline) -> tuple[str, str]:
    """Return an SVG of the units over time and its caption: hovering names a command, its line and its wait."""
    begin, end = shown.window()
    scale = (WIDTH - LEFT) / max(end - begin, 1)
    units = [unit for unit in UNITS if any(event["unit"] == unit for event in shown.events)]
    height = ROW * len(units) + 26
    marks = []
    for number, unit in enumerate(units):
        y = number * ROW
        marks.append(f'<text x="0" y="{y + 20}" style="fill:currentColor;font-size:13px">{unit}</text>')
        lanes = [begin, begin]  # two rows: commands of a unit overlap
        for event in shown.events:
            if event["unit"] != unit or event["end"] < begin or event["start"] > end:
                continue
            lane = 0 if event["start"] >= lanes[0] or lanes[0] <= lanes[1] else 1
            lanes[lane] = event["end"]
            x = LEFT + (event["start"] - begin) * scale
            width = max((event["end"] - event["start"]) * scale - 0.3, 0.4)
            marks.append(
                f'<rect x="{x:.1f}" y="{y + 4 + 13 * lane}" width="{width:.1f}" height="11" '
                f'style="fill:{COLOURS[unit]};fill-opacity:.85"><title>{escape(_said(shown, event))}</title></rect>'
            )
    for part in range(5):
        x = LEFT + (WIDTH - LEFT) * part / 4
        anchor = "start" if part == 0 else "end" if part == 4 else "middle"
        text = f"{begin + (end - begin) * part // 4:,}"
        y = height - 6
        marks.append(
            f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}" style="fill:currentColor;font-size:12px">{text}</text>'
        )
    title = f"cycles {begin:,} to {end:,} of {shown.cycles:,}"
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}" style="width:100%;height:auto">'
        f"<title>{title}</title>{''.join(marks)}</svg>"
    )
    whole = "all of the run" if (begin, end) == (0, shown.cycles) else f"{title}, from the middle of the run"
    return svg, f"What each unit does, {whole}. Hover over a command for its line and what it waited for."


def _said(shown: Timeline, event: Mapping[str, Any]) -> str:
    line = shown.lines.at(event["pc"])
    waited = event["start"] - event["allocated"]
    cause = shown.lines.at(event["cause_pc"]) if event["cause_pc"] else None
    why = f"; waited {waited:,} cycles ({event['wait'].replace('_', ' ')}" if waited else ""
    why += f", line {cause})" if why and cause else ")" if why else ""
    where = f", line {line}" if line else ""
    return f"{_name(event)} {event['index']:,}{where}: cycles {event['start']:,} to {event['end']:,}{why}"
