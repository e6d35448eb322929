"""Contractions: sizes from every source, and the JSON form."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from strop.errors import (
    BadContraction,
    BadDtype,
    BadEpilogue,
    BadSemiring,
    BadSize,
    ContradictedSize,
    MissingSize,
    OperandCount,
    StropError,
    TooLarge,
    UnknownAxis,
    WrongRank,
)
from strop.values.contraction import Contraction

CONV = "n c 2h+3r w+s, o c r s -> n o h w"


def test_matmul() -> None:
    c = Contraction.parse("mk,kn->mn", m=2, k=3, n=4)
    assert c.axes == ("m", "k", "n")
    assert c.reduction == ("k",)
    assert c.operand_shapes == ((2, 3), (3, 4))
    assert c.output_shape == (2, 4)
    assert c.flops == 2 * 2 * 3 * 4
    assert c.extent("k") == 3
    assert (c.dtype, c.itemsize) == ("float32", 4)
    assert str(c) == "mk,kn->mn m=2 k=3 n=4"


def test_windows() -> None:
    c = Contraction.parse(CONV, n=1, c=8, h=10, w=10, r=3, s=3, o=4)
    assert c.operand_shapes == ((1, 8, 25, 12), (4, 8, 3, 3))
    assert c.reduction == ("c", "r", "s")


@pytest.mark.parametrize(("text", "flops"), [("mk->m", 12), ("mk->km", 12), ("mk,mk->", 24), ("mm->", 3)])
def test_flops(text: str, flops: int) -> None:
    sizes = {"m": 3, "k": 4} if "k" in text else {"m": 3}
    assert Contraction.parse(text, sizes=sizes).flops == flops


def test_axes_named_like_options() -> None:
    c = Contraction.parse("dtype epilogue -> dtype", sizes={"dtype": 3, "epilogue": 4})
    assert c.output_shape == (3,)


@pytest.mark.parametrize(
    ("text", "shapes", "sizes"),
    [
        ("mk,kn->mn", ((2, 3), (3, 4)), {"m": 2, "k": 3, "n": 4}),
        ("mk,kn->mn", (None, (3, 4)), None),
        ("c 2h+r, c r -> c h", ((3, 7), (3, 3)), {"c": 3, "h": 3, "r": 3}),
        ("c 2h+r, c r -> c h", ((3, 8), (3, 3)), {"c": 3, "h": 3, "r": 3}),  # a row is left over
        ("c 2h+r, c r -> c h", ((3, 9), (3, 3)), {"c": 3, "h": 4, "r": 3}),
        ("3h -> h", ((8,),), {"h": 3}),
        ("h+r, r -> h", ((0,), (3,)), {"h": 0, "r": 3}),
        ("ii->i", ((5, 5),), {"i": 5}),
        ("h+r w+h, r -> h w", ((6, 9), (2,)), {"h": 5, "r": 2, "w": 5}),  # h first, then w
    ],
)
def test_sizes_from_shapes(text: str, shapes: Any, sizes: dict[str, int] | None) -> None:
    if sizes is None:
        with pytest.raises(MissingSize, match="'m'"):
            Contraction.parse(text, shapes=shapes)
    else:
        assert dict(Contraction.parse(text, shapes=shapes).sizes) == sizes


def test_a_size_and_the_shapes_together() -> None:
    c = Contraction.parse("c h+r, c q -> c h r q", shapes=((3, 8), (3, 2)), r=4)
    assert dict(c.sizes) == {"c": 3, "h": 5, "r": 4, "q": 2}


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"shapes": ((2, 3), (4, 4))}, ContradictedSize, ["Operand 2, dimension 0 (k)", "is 4", "makes it 3"]),
        ({"shapes": ((2, 3), (3, 4)), "m": 5}, ContradictedSize, ["Operand 1, dimension 0 (m)", "is 2", "m=5"]),
        ({"shapes": ((2, 3), (3,))}, WrongRank, ["Operand 2", "1 dimension", "2"]),
        ({"shapes": ((2, 3),)}, OperandCount, ["2 operand(s)", "1 came"]),
        ({"m": 2, "k": 3, "n": 4, "q": 5}, UnknownAxis, ["'q'", "m, k, n", "--", "sizes="][:2]),
        ({"m": 2, "k": 3}, MissingSize, ["'n'", "n=N"]),
        ({"m": 2, "k": 3, "n": -1}, BadSize, ["'n'", "-1"]),
        ({"m": 2, "k": 3, "n": 1.0}, BadSize, ["'n'", "1.0"]),
        ({"m": 2, "k": 3, "n": True}, BadSize, ["'n'", "True"]),
        ({"m": 2, "k": 3, "n": "4"}, BadSize, ["'n'", "'4'"]),
        ({"m": 2, "k": 3, "n": 4, "sizes": {"m": 9}}, ContradictedSize, ["Axis m", "2", "9"]),
        ({"m": 2, "k": 3, "n": 4, "dtype": "float16"}, BadDtype, ["float16", "--dtype", "dtype="]),
        ({"m": 2, "k": 3, "n": 4, "dtype": "int32"}, BadDtype, ["int32"]),
        ({"m": 2, "k": 3, "n": 4, "semiring": "*,+"}, BadSemiring, ["'*,+'", "max,+"]),
        ({"m": 2, "k": 3, "n": 4, "epilogue": "relu(x"}, BadEpilogue, ["relu(x^"]),
        ({"m": 2**31, "k": 2**31, "n": 4}, TooLarge, ["address"]),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[StropError], said: list[str]) -> None:
    with pytest.raises(error) as caught:
        Contraction.parse("mk,kn->mn", **options)
    assert caught.value.exit_code == 2
    for word in said:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("shapes", "options", "said"),
    [
        (((3, 8), (3, 3)), {"h": 2}, ["dimension 1 (2h+r)", "is 8", "makes it 5"]),  # 3 rows too many
        (((3, 4), (3, 3)), {"h": 2}, ["is 4", "makes it 5"]),
        (((3, 8), (3, 9)), {}, ["is 8", "at least h=1", "makes it 9"]),
    ],
)
def test_a_window_that_does_not_fit(shapes: Any, options: dict[str, int], said: list[str]) -> None:
    with pytest.raises(ContradictedSize) as caught:
        Contraction.parse("c 2h+r, c r -> c h", shapes=shapes, **options)
    for word in said:
        assert word in str(caught.value)


def test_zero_sizes() -> None:
    c = Contraction.parse("h+r, r -> h", h=4, r=0)
    assert c.operand_shapes == ((0,), (0,))
    assert c.output_shape == (4,)
    assert c.flops == 0


def test_types_from_libraries() -> None:
    for dtype in (np.float64, np.dtype("f8"), "float64", "torch.float64"):
        assert Contraction.parse("m->m", m=1, dtype=dtype).dtype == "float64"


def test_numpy_sizes_become_plain() -> None:
    c = Contraction.parse("m->m", m=np.int64(3))
    assert type(c.extent("m")) is int


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("mk,kn->mn", {"m": 2, "k": 3, "n": 4}),
        (CONV, {"n": 1, "c": 8, "h": 10, "w": 10, "r": 3, "s": 3, "o": 4, "dtype": "float64"}),
        ("row col, col -> row", {"row": 3, "col": 4, "semiring": "max,+", "accumulate": True}),
        ("mk,kn->mn", {"m": 2, "k": 3, "n": 4, "epilogue": "relu(x*2 + bias[n]) / s"}),
        ("->", {}),
    ],
)
def test_json_round_trips(text: str, options: dict[str, Any]) -> None:
    c = Contraction.parse(text, **options)
    again = Contraction.from_json(json.loads(json.dumps(c.to_json())))
    assert again == c
    assert again.digest == c.digest
    assert hash(again) == hash(c)


def test_digest_tells_meanings_apart() -> None:
    sizes = {"m": 2, "k": 3, "n": 4}
    options: list[dict[str, Any]] = [
        {},
        {"dtype": "float64"},
        {"semiring": "max,+"},
        {"accumulate": True},
        {"epilogue": "relu(x)"},
    ]
    digests = {Contraction.parse("mk,kn->mn", sizes=sizes, **each).digest for each in options}
    assert len(digests) == len(options)
    assert Contraction.parse("m k, k n -> m n", sizes=sizes).digest in digests


def test_mixed_types_in_json() -> None:
    value = Contraction.parse("m->m", m=1).to_json() | {"operand_dtypes": ["float64"]}
    with pytest.raises(BadDtype):
        Contraction.from_json(value)


def test_text_with_a_bad_escape_is_one_line() -> None:
    with pytest.raises(BadContraction) as caught:
        Contraction.parse("m\nk*->m")
    assert "\n" not in str(caught.value)
