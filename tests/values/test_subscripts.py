"""The grammar of a contraction's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strop.errors import BadContraction, OutputAxisNotInInputs
from strop.values.subscripts import Subscripts, parse


def test_letters() -> None:
    read = parse("mk,kn->mn")
    assert read.operands == ((((1, "m"),), ((1, "k"),)), (((1, "k"),), ((1, "n"),)))
    assert read.output == ("m", "n")


def test_names_and_windows() -> None:
    read = parse("n c 2h+3r w+s, o c r s -> n o h w")
    assert read.operands[0] == (((1, "n"),), ((1, "c"),), ((2, "h"), (3, "r")), ((1, "w"), (1, "s")))
    assert read.axes == ("n", "c", "h", "r", "w", "s", "o")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" mk , kn -> mn ", "mk,kn->mn"),
        ("m k, k n -> m n", "mk,kn->mn"),
        ("m k,kn -> m n", "m k, kn -> m n"),  # one operand with a blank: kn is a name
        ("row col, col -> row", "row col, col -> row"),
        ("1row -> row", "1row -> row"),
        ("h + r, r -> h", "h+r, r -> h"),
        ("h+h+r, r -> h", "2h+r, r -> h"),
        ("ii->i", "ii->i"),
        ("mk->", "mk->"),
        ("->", "->"),
        (",k->k", ",k->k"),
        ("2h -> h", "2h -> h"),
        ("_a b1 -> b1", "_a b1 -> b1"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    if text == "m k,kn -> m n":
        with pytest.raises(OutputAxisNotInInputs):
            parse(text)
        return
    assert parse(text).text == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mk,kn", "no '->'"),
        ("a,b,c->a", "'a,b,^c->a'"),
        ("m k+, k -> m", "'m k+^, k -> m'"),
        ("0m k -> m", "'^0m k -> m'"),
        ("m 2, k -> m", "'m ^2, k -> m'"),
        ("m k* -> m", "'m k^* -> m'"),
        ("m-k->m", "'m^-k->m'"),
        ("mk->m n", "'mk->m^ n'"),
        ("m k -> m+k", "'m k -> ^m+k'"),
        ("m k -> 2m", "'m k -> ^2m'"),
        ("mk->mm", "'mk->m^m'"),
        ("mk->m->k", "'mk->m^->k'"),
        ("mé->m", "'m^é->m'"),
        ("m ² -> m", "'m ^² -> m'"),
        ("m_->m", "'m^_->m'"),
        ("", "no '->'"),
    ],
)
def test_bad_text_is_pointed_at(text: str, said: str) -> None:
    with pytest.raises(BadContraction) as caught:
        parse(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_text() -> None:
    with pytest.raises(BadContraction, match="int"):
        parse(7)  # type: ignore[arg-type]


def test_output_axis_not_in_inputs() -> None:
    with pytest.raises(OutputAxisNotInInputs, match="'q'"):
        parse("mk,kn->mq")


names = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,3}", fullmatch=True)


@st.composite
def subscripts(draw: st.DrawFn) -> Subscripts:
    axes = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    term = st.tuples(st.integers(1, 12), st.sampled_from(axes))
    index = st.lists(term, min_size=1, max_size=3, unique_by=lambda pair: pair[1]).map(tuple)
    operands = draw(st.lists(st.lists(index, max_size=4).map(tuple), min_size=1, max_size=2).map(tuple))
    known = list(dict.fromkeys(axis for operand in operands for dimension in operand for _, axis in dimension))
    output = draw(st.lists(st.sampled_from(known), unique=True).map(tuple)) if known else ()
    return Subscripts(operands, output)


@given(subscripts())
def test_text_round_trips(value: Subscripts) -> None:
    assert parse(value.text) == value


@given(st.text(alphabet="mkn ,->+203_é*", max_size=14))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read = parse(text)
    except (BadContraction, OutputAxisNotInInputs):
        return
    assert parse(read.text) == read
