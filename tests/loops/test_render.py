"""What is said about a tuned contraction: the sentence, the table, the page, the notebook."""

from __future__ import annotations

import html
import re

import pytest

import strop
from strop.errors import PeerFailed
from strop.loops import render
from strop.loops.results import origin, sentence
from strop.report.table import lines
from tests.loops.findings import compared, found


def plain(page: str) -> str:
    """The text of a page."""
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", body))


def test_the_sentence() -> None:
    assert sentence(found()) == "10.1 µs, 96% of this core's peak; schedule n16 m6 k"
    assert sentence(found(peak_gflops=None)) == "10.1 µs; schedule n16 m6 k"
    assert sentence(found(measurement=None)) == "schedule n16 m6 k, not measured"
    assert sentence(found(), compared(1.5)) == "10.1 µs, 96% of this core's peak, 1.50× NumPy; schedule n16 m6 k"


def test_a_tie_is_called_a_tie() -> None:
    tie = compared(1.0, spread=0.2)
    assert "a tie with NumPy (1.0" in sentence(found(), tie)
    assert render.compared(tie).startswith("a tie with NumPy (1.0")
    assert "1 schedule can't be told from the first: a tie within noise" in list(render.summary(found()))


def test_slower_than_numpy_is_said() -> None:
    assert "0.50× NumPy" in sentence(found(), compared(0.5))


def test_several_threads() -> None:
    tuned = found()
    tuned.threads = 4
    assert "of the 4 threads' peak" in sentence(tuned)


@pytest.mark.parametrize(("sizes", "said"), [({"m": 0, "k": 3}, "empty"), ({"m": 3, "k": 0}, "constant")])
def test_nothing_to_compute(sizes: dict[str, int], said: str) -> None:
    tuned = strop.tune("mk,kn->mn", n=4, **sizes)
    assert sentence(tuned) == f"nothing to compute: the result is {said}"
    assert said in plain(render.report(tuned))
    assert said in plain(render.notebook(tuned))


def test_the_comparison_says_what_was_timed() -> None:
    how = "median of 20 interleaved rounds; np.matmul(a, b, out=out), OpenBLAS 0.3.31 SkylakeX"
    assert render.compared(compared(1.5)) == f"1.50× NumPy ({how})"


def test_a_stored_answer_says_so() -> None:
    tuned = found(from_store=True, age_seconds=185.0)
    assert origin(tuned) == "from the store, measured 3 minutes ago; --fresh measures anew"


def test_the_table_ranks_and_tells_equal_nests_apart() -> None:
    table = render.finalists(found())
    assert table is not None
    assert list(lines(table)) == [
        "    median     best  to first  GFLOP/s  of peak  schedule  with",
        "1  10.1 µs  10.0 µs     1.00×      154      96%  n16 m6 k",
        "2  10.1 µs  10.0 µs     1.00×      154      96%  n16 m6 k  unroll k 2  tie",
        "3  12.1 µs  12.0 µs     1.20×      128      80%  n32 m6 k",
    ]
    assert render.finalists(found(finalists=())) is None


def test_the_verdicts_are_counted() -> None:
    assert list(render.summary(found()))[-1] == "3 candidates tried by search local: 2 ok, 1 illegal; run keen-adze"


def test_the_report_has_all_of_it() -> None:
    tuned = found(warnings=("Going on without saving.",))
    page = render.report(tuned, compared(1.5))
    text = " ".join(plain(page).split())
    for said in (
        "10.1 µs, 96% of this core's peak, 1.50× NumPy; schedule n16 m6 k",
        "mk,kn->mn m=61 k=97 n=131 epilogue='relu(x + bias[n])'",
        "Going on without saving.",
        "best so far",
        "peak 160",
        "2 ok, 1 illegal",
        "unroll k 2",
        "for m.0 in 61 for k.0 in 97 for n.0 in 131 # vector",
        "for n.0 in 131 by 16 for m.0 in 61 by 6",
        'Tile(("m.0", "n.0"), (6, 16))',
        '"schema": "strop.schedule/1"',
        "median of 20 interleaved rounds",
        strop.__version__,
        "strop tune 'mk,kn->mn' m=61 k=97 n=131",
    ):
        assert said in text, said


def test_a_report_without_numpy_says_why() -> None:
    assert "NumPy could not be timed: no luck" in plain(
        render.report(found(), PeerFailed(peer="NumPy", reason="no luck"))
    )
    assert "Against NumPy" not in render.report(found())


def test_what_a_user_wrote_is_escaped() -> None:
    page = render.report(found(warnings=("<script>alert(1)</script>",), command="strop tune '<b>'"))
    assert "<script>" not in page
    assert "<b>" not in page


def test_a_notebook_shows_the_same() -> None:
    text = plain(found()._repr_html_())
    assert "10.1 µs, 96% of this core's peak; schedule n16 m6 k" in text
    assert "n32 m6 k" in text
    assert "best so far" in text


def test_a_compiled_schedule_has_a_notebook_form_too() -> None:
    kernel = strop.compile(strop.Contraction.parse("mk,kn->mn", m=6, k=5, n=4), (), "literal")
    assert "not measured" in plain(kernel._repr_html_())
