"""The page of figures says what its source says, misses as plainly as wins."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import write_performance

    return write_performance


@pytest.fixture
def record(writer: ModuleType, tmp_path: Path) -> dict[str, Any]:
    from record import Column, Record

    made = Record(benchmark="ranking", claim="What is measured.", smoke=False, path=tmp_path / "ranking.json")
    made.bar("fast enough", 1.5, at_least=1.0, unit="×", headline=True)
    made.bar("small enough", 130.0, at_most=120, unit=" MB", digits=0)
    made.bar("unknown", None, at_most=1, reason="no compiler")
    made.table("Times", ["what", Column("ms", ".2f")], [["one | two", 1.234], ["three", None]])
    made.results["one"] = {"median_s": 1.0, "samples_s": [1.0, 2.0]}
    made.finish()
    written: dict[str, Any] = json.loads((tmp_path / "ranking.json").read_text())
    return written


def test_the_page_says_what_its_source_says(writer: ModuleType) -> None:
    page = writer.PAGE.read_text()
    if writer.SOURCE.exists():
        assert page == writer.filled(page, writer.page(json.loads(writer.SOURCE.read_text())))
    else:
        assert page == writer.filled(page, "Not measured yet on this version.")


def test_a_missed_bar_is_shown(writer: ModuleType, record: dict[str, Any]) -> None:
    page = writer.page([record])
    assert "| fast enough | ≥ 1.00× | 1.50× | reached |" in page
    assert "| small enough | ≤ 120 MB | 130 MB | **missed** |" in page
    assert "| unknown | ≤ 1.00 | not measured | not measured: no compiler |" in page
    assert "Of 3 bars 1 were reached, 1 missed, 1 not measured." in page
    assert "| one \\| two | 1.23 |\n| three | – |" in page


def test_the_readme_shows_headlines_and_the_count_of_all(writer: ModuleType, record: dict[str, Any]) -> None:
    shown = writer.headlines([record])
    assert "fast enough" in shown
    assert "small enough" not in shown
    assert "1 missed" in shown


def test_single_samples_stay_out_of_the_committed_copy(
    writer: ModuleType, record: dict[str, Any], tmp_path: Path
) -> None:
    (gathered,) = writer.gathered(tmp_path)
    assert gathered["results"]["one"] == {"median_s": 1.0}
    assert gathered["bars"] == record["bars"]


@pytest.mark.parametrize("spoilt", ["smoke", "schema"])
def test_what_is_no_measurement_is_refused(
    writer: ModuleType, record: dict[str, Any], tmp_path: Path, spoilt: str
) -> None:
    (tmp_path / "ranking.json").write_text(json.dumps({**record, spoilt: True}))
    with pytest.raises(SystemExit):
        writer.gathered(tmp_path)


def test_two_machines_do_not_share_a_page(writer: ModuleType, record: dict[str, Any], tmp_path: Path) -> None:
    other = {**record, "benchmark": "matmul", "machine": {**record["machine"], "fingerprint": "0" * 16}}
    (tmp_path / "matmul.json").write_text(json.dumps(other))
    with pytest.raises(SystemExit, match="different machines"):
        writer.gathered(tmp_path)


def test_no_records_are_said(writer: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="make bench"):
        writer.gathered(tmp_path)
