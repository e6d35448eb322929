"""Charts as inline SVG: lines over an axis, and bars. Colours follow the page's, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

ACCENT, SECOND, MUTED, GRID = (
    f"var(--{name}, {fallback})"
    for name, fallback in (("accent", "#2563eb"), ("second", "#d97706"), ("muted", "#6b7280"), ("grid", "#9ca3af55"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points joined by steps (`step`) or left as dots; `name` stands in the legend."""

    name: str
    points: Sequence[tuple[float, float]]
    step: bool = True
    colour: str = ACCENT


@dataclass(frozen=True, slots=True)
class Level:
    """A dashed horizontal line with its name."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar with the interval that its value is known to; `text` stands at its end."""

    name: str
    value: float
    text: str
    interval: tuple[float, float] | None = None
    colour: str = ACCENT


def line_chart(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    levels: Sequence[Level] = (),
    width: int = 860,
    height: int = 320,
) -> str:
    """Lines over two axes that begin at 0. An SVG element that scales with the page's width."""
    left, right, top, bottom = 56, 16, 34, 46
    points = [point for line in lines for point in line.points]
    x_ticks = ticks(max((x for x, _ in points), default=0.0))
    y_ticks = ticks(max([*(y for _, y in points), *(level.value for level in levels)], default=0.0))
    x_most = max(max((x for x, _ in points), default=0.0), x_ticks[1] * 0.2)
    y_most = y_ticks[-1]

    def x_at(x: float) -> float:
        return left + x / x_most * (width - left - right)

    def y_at(y: float) -> float:
        return height - bottom - y / y_most * (height - top - bottom)

    marks = []
    for tick in y_ticks:
        y = y_at(tick)
        marks.append(_rule(left, y, width - right, y, GRID))
        marks.append(_text(left - 8, y + 4, number(tick), anchor="end"))
    for tick in x_ticks:
        if tick <= x_most:
            marks.append(_rule(x_at(tick), height - bottom, x_at(tick), height - bottom + 5, GRID))
            marks.append(_text(x_at(tick), height - bottom + 20, number(tick), anchor="middle"))
    marks.append(_text(left + (width - left - right) / 2, height - 6, x_title, anchor="middle"))
    marks.append(_text(left - 40, 14, y_title))
    for level in levels:
        y = y_at(level.value)
        marks.append(_rule(left, y, width - right, y, MUTED, dash=True))
        marks.append(_text(width - right, y - 5, level.name, anchor="end"))
    for line in lines:
        placed = [(x_at(x), y_at(y)) for x, y in line.points]
        marks += _steps(placed, line.colour, x_at(x_most)) if line.step else _dots(placed, line.colour)
    marks += _legend(lines, width - right)
    title = f"{y_title} over {x_title}"
    return _svg(width, height, title, marks)


def bar_chart(bars: Sequence[Bar], *, title: str, width: int = 860, label_width: int = 250) -> str:
    """Horizontal bars from 0, a row each."""
    row, top = 30, 6
    height = top + row * len(bars) + 4
    most = max((max(bar.value, *(bar.interval or (0.0, 0.0))) for bar in bars), default=0.0) or 1.0
    room = width - label_width - 110
    fits = label_width // 8
    marks = []
    for number_, bar in enumerate(bars):
        y = top + row * number_
        length = bar.value / most * room
        name = bar.name if len(bar.name) <= fits else bar.name[: fits - 1] + "…"
        marks.append(_text(label_width - 10, y + 17, name, anchor="end", mono=True))
        marks.append(
            f'<rect x="{label_width}" y="{y + 4}" width="{length:.1f}" height="18" rx="3" style="fill:{bar.colour}"/>'
        )
        if bar.interval:
            low, high = (label_width + value / most * room for value in bar.interval)
            middle = y + 13
            marks.append(_rule(low, middle, high, middle, "currentColor"))
            marks += [_rule(end, middle - 4, end, middle + 4, "currentColor") for end in (low, high)]
            length = max(length, high - label_width)
        marks.append(_text(label_width + length + 8, y + 17, bar.text))
    return _svg(width, height, title, marks)


def ticks(most: float, *, count: int = 5) -> list[float]:
    """Round numbers from 0 to the first that is `most` or more.

    >>> ticks(93), ticks(0.7), ticks(0)
    ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.0, 0.2, 0.4, 0.6, 0.8], [0.0, 1.0])
    """
    if not most > 0:
        return [0.0, 1.0]
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= rough * (1 - 1e-9))
    return [round(step * n, 12) for n in range(math.ceil(most / step - 1e-9) + 1)]


def number(value: float) -> str:
    """A tick's label.

    >>> number(0.2), number(1500), number(20.0)
    ('0.2', '1,500', '20')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def _steps(points: Sequence[tuple[float, float]], colour: str, end: float) -> list[str]:
    if not points:
        return []
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest) + f"H{end:.1f}"
    return [f'<path d="{path}" style="fill:none;stroke:{colour};stroke-width:2.5;stroke-linejoin:round"/>']


def _dots(points: Sequence[tuple[float, float]], colour: str) -> list[str]:
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
    return (
        [f'<path d="{dots}" style="stroke:{colour};stroke-width:5;stroke-linecap:round;opacity:.4"/>'] if dots else []
    )


def _legend(lines: Sequence[Line], right: float) -> list[str]:
    marks, x = [], right
    for line in reversed(lines):
        marks.append(_text(x, 14, line.name, anchor="end"))
        x -= 7 * len(line.name) + 12
        marks.append(f'<circle cx="{x:.0f}" cy="10" r="4.5" style="fill:{line.colour}"/>')
        x -= 20
    return marks


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str, *, dash: bool = False) -> str:
    style = f"stroke:{colour};stroke-width:1.2" + (";stroke-dasharray:6 4" if dash else "")
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="{style}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", mono: bool = False) -> str:
    family = "ui-monospace,monospace" if mono else "inherit"
    style = f"fill:currentColor;font-size:12px;font-family:{family}"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{style}">{escape(text)}</text>'


def _svg(width: int, height: int, title: str, marks: Sequence[str]) -> str:
    name = escape(title)
    head = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}" style="width:100%;height:auto">'
    return f"{head}<title>{name}</title>{''.join(marks)}</svg>"
