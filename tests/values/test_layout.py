"""Layouts: strides by axis."""

from __future__ import annotations

import json

from strop.values.contraction import Contraction
from strop.values.layout import Layout, c_order


def test_default() -> None:
    c = Contraction.parse("mk,kn->mn", m=2, k=3, n=4, epilogue="x + b[n] * s")
    layout = Layout.default(c)
    assert layout.operands == ((3, 1), (4, 1))
    assert layout.output == (4, 1)
    assert layout.epilogue == ((1,), ())
    assert layout.alignment == (4,) * 5


def test_axis_strides_of_windows_and_diagonals() -> None:
    c = Contraction.parse("n n 2h+3r, r -> n h", n=4, h=5, r=3)
    layout = Layout(operands=((100, 10, -2), (1,)), output=(1, 4), epilogue=(), alignment=(64, 4, 4))
    strides = layout.axis_strides(c)
    assert strides.operands == ({"n": 110, "h": -4, "r": -6}, {"r": 1})
    assert strides.output == {"n": 1, "h": 4}


def test_axis_strides_of_the_epilogue() -> None:
    c = Contraction.parse("mk,kn->mn", m=2, k=3, n=4, epilogue="x + r[n,m] * s")
    assert Layout.default(c).axis_strides(c).epilogue == ({"n": 2, "m": 1}, {})


def test_c_order_with_zeros() -> None:
    assert c_order((2, 0, 3)) == (3, 3, 1)
    assert c_order(()) == ()


def test_json_round_trips() -> None:
    layout = Layout(operands=((3, 1), (0, -4)), output=(4, 1), epilogue=((1,), ()), alignment=(64, 32, 4, 4, 16))
    assert Layout.from_json(json.loads(json.dumps(layout.to_json()))) == layout
