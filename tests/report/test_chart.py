"""Charts: well-formed SVG whose marks stand where the numbers say."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.report.chart import Bar, Level, Line, bar_chart, line_chart, ticks


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter("text")]


def test_a_line_goes_up_and_on_to_the_end() -> None:
    line = Line(name="best", points=[(0.0, 10.0), (0.5, 20.0), (1.0, 20.0)])
    svg = line_chart([line], x_title="seconds", y_title="GFLOP/s", levels=[Level("peak 25", 25.0)])
    path = next(element for element in parsed(svg).iter("path")).attrib["d"]
    heights = [float(value) for value in re.findall(r"[V ]([\d.]+)", path)]
    assert heights[0] > heights[1], "more is higher"
    assert path.endswith("H844.0"), "to the right edge"
    assert {"seconds", "GFLOP/s", "peak 25", "best", "0", "25"} <= set(texts(svg))


def test_names_are_escaped() -> None:
    hostile = '<script>alert("x")</script>&'
    for svg in (
        line_chart([Line(name=hostile, points=[(0, 1)])], x_title=hostile, y_title=hostile, levels=[Level(hostile, 1)]),
        bar_chart([Bar(hostile[:20], 1.0, hostile)], title=hostile),
    ):
        assert "<script" not in svg
        assert hostile in "".join(parsed(svg).itertext())


def test_charts_without_anything_are_charts() -> None:
    parsed(line_chart([], x_title="x", y_title="y"))
    parsed(line_chart([Line(name="one", points=[(0.0, 0.0)])], x_title="x", y_title="y"))
    parsed(bar_chart([], title="none"))
    parsed(bar_chart([Bar("zero", 0.0, "0")], title="zero"))


def test_bars_are_as_long_as_their_values() -> None:
    svg = bar_chart([Bar("a", 1.0, "1 s", (0.9, 1.2)), Bar("b", 2.0, "2 s")], title="times")
    one, two = (float(element.attrib["width"]) for element in parsed(svg).iter("rect"))
    assert two == pytest.approx(2 * one, abs=0.2)


def test_long_names_are_cut() -> None:
    assert "…" in "".join(texts(bar_chart([Bar("n" * 300, 1.0, "1 s")], title="times")))


@given(st.floats(min_value=1e-9, max_value=1e15))
def test_ticks_are_few_and_reach_the_largest_value(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert found[-1] >= most * (1 - 1e-6)
    assert 2 <= len(found) <= 7
