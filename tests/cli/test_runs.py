"""`strop runs`: what each verb prints where, as text and as JSON, and how each mistake ends."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from strop.cli.main import main
from strop.store import Request, Trial, open_store
from strop.values.budget import Budget
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from strop.values.measurement import Measurement
from strop.values.run import Run
from strop.values.search import Candidate, Outcome
from strop.values.verdict import Verdict

SCHEMA = json.loads(files("strop.store").joinpath("schemas/runs.json").read_text("utf-8"))
SPLIT, SWAP, TILE = (
    {"move": "Split", "loop": "m.0", "factor": 6},
    {"move": "Swap", "loop": "n.0"},
    {"move": "Tile", "sizes": {"m": 6, "n": 16}},
)


def strop(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, (words, done.stdout, done.stderr)
    return done


def as_json(*words: str) -> dict[str, Any]:
    done = strop(*words, "--json")
    assert done.stderr == ""
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA, format_checker=jsonschema.FormatChecker())
    return dict(document)


def measured(us: float, *, machine: str = "cpu-1", protocol: str = "warm/1") -> Measurement:
    return Measurement(samples=tuple(us * 1e-6 * (1 + i / 1000) for i in range(12)), machine=machine, protocol=protocol)


def store_run(
    *,
    us: float | None = 77,
    schedule: tuple[dict[str, Any], ...] = (SPLIT, SWAP),
    sizes: str = "m=64",
    search: str = "local",
    machine: str = "cpu-1",
    id: str | None = None,
) -> str:
    """Store a run of three trials that took `us` in the end, or is unfinished; its id."""
    run = Run(
        verb="tune",
        problem={"contraction": f"mk,kn->mn {sizes}"},
        target={"isa": "avx2"},
        search=search,
        budget=Budget(seconds=1.0),
        options={"space": "full"},
    )
    trials = [
        Trial(Candidate.of({"schedule": [SPLIT], "n": n}, plan=f"try, {n}"), Outcome(Verdict.OK, measured(100.0 + n)))
        for n in range(2)
    ]
    trials.append(Trial(Candidate.of({"schedule": [SWAP]}), Outcome(Verdict.CRASH, None, "signal 11, in Swap")))
    with open_store() as store:
        with store.open_run(Request(run=run, title=f"mk,kn->mn {sizes}"), fresh=True, machine=machine) as work:
            work.record_many(trials)
            work.record_final(trials[1].candidate.id, measured(77))
            if us is not None:
                result = {
                    "sentence": f"{us} µs, 96% of this core's peak; schedule n16 m6 k",
                    "schedule": list(schedule),
                    "nest": "for m.0 in 11\n  for n.0 in 4",
                    "measurement": measured(us, machine=machine).to_json(),
                }
                work.finish(result)
        if id:
            with store._database.transaction() as connection:
                connection.execute("PRAGMA defer_foreign_keys = ON")
                for table, column in (("run", "id"), ("candidate", "run"), ("measurement", "run")):
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (id, work.id))
    return id or work.id


def test_an_empty_store_says_so_and_stays_unmade(own_home: Path) -> None:
    for words in (("runs",), ("runs", "list")):
        assert strop(*words).stdout == f"There are no runs in {own_home / 'store.sqlite'} yet; strop tune makes one.\n"
    assert as_json("runs") == {"schema": "strop.runs/1", "store": str(own_home / "store.sqlite"), "runs": []}
    assert list(own_home.iterdir()) == []


def test_the_list(own_home: Path) -> None:
    store_run(id="keen-adze")
    store_run(id="brisk-awl", us=None, sizes="m=65")
    lines = strop("runs").stdout.splitlines()
    assert lines[0] == f"2 runs in {own_home / 'store.sqlite'} (1 interrupted: the same command goes on)."
    assert lines[2].split() == ["run", "verb", "best", "trials", "effort", "search", "status", "written", "what"]
    assert lines[3].startswith("brisk-awl  tune   101 µs       3  standard  local   interrupted  ")
    assert lines[4].startswith("keen-adze  tune  77.4 µs       3  standard  local   finished     ")
    assert lines[4].endswith("mk,kn->mn m=64")
    assert "the last 1 shown, all with -n 0" in strop("runs", "-n", "1").stdout
    assert "keen-adze" not in strop("runs", "-n", "1").stdout
    assert " seed  space  machine " in strop("runs", "list", "-v").stdout
    document = as_json("runs", "list", "-n", "1")
    assert [run["id"] for run in document["runs"]] == ["brisk-awl", "keen-adze"]
    assert document["runs"][1]["best"] == {"unit": "s", "median": measured(77).median}


def test_show() -> None:
    store_run(id="keen-adze")
    text = strop("runs", "show", "keen").stdout
    assert text.startswith("77 µs, 96% of this core's peak; schedule n16 m6 k\n")
    for part in (
        "keen-adze: strop tune, finished, ",
        "2 ok, 1 crash",
        "1 × crash: signal 11, in Swap",
        "median 77.4 µs (",
        'Split("m.0", 6)',
        "  for m.0 in 11\n    for n.0 in 4",
    ):
        assert part in text
    table = strop("runs", "show", "keen", "-v").stdout.partition("  plan\n")[2].splitlines()
    assert table[0].endswith("77.4 µs  ok       try, 1"), "the finalist first, though another seemed faster at first"
    assert table[1].endswith("ok       try, 0")
    document = as_json("runs", "show", "k")
    assert document["verdicts"] == {"ok": 2, "crash": 1}
    assert document["reasons"] == [{"verdict": "crash", "detail": "signal 11, in Swap", "count": 1}]
    assert document["result"]["schedule"] == [SPLIT, SWAP]


def test_pages(tmp_path: Path) -> None:
    store_run(id="keen-adze")
    store_run(id="brisk-awl", us=154)
    said = {
        ("list",): "2 runs in ",
        ("show", "keen"): "77 µs, 96%",
        ("diff", "keen", "brisk"): "2.000× as fast",
        ("dump", "keen"): "try, 0",
        ("prune", "--older-than", "1h"): "Deleted 0 runs",
        ("prune", "--keep", "1", "--dry-run"): "Would delete 1 run: keen-adze",
    }
    for words, sentence in said.items():
        strop("runs", *words, "--html", str(tmp_path / "page.html"))
        page = (tmp_path / "page.html").read_text("utf-8")
        assert page.startswith("<!DOCTYPE html>")
        assert sentence in page


def test_show_the_machine_code() -> None:
    """The stored schedule is compiled again, for the layout it was tuned for."""
    native = pytest.importorskip("strop._native")
    contraction = Contraction.parse("mk,kn->mn", m=6, k=8, n=32)
    layout = Layout.default(contraction)
    problem = {"contraction": contraction.to_json(), "layout": layout.to_json(), "threads": 1}
    isa = native.supported_isas()[0]
    run = Run(verb="tune", problem=problem, target={"isa": isa}, search="local", budget=Budget(seconds=1.0))
    schedule = [{"move": "Split", "loop": "m.0", "factor": 3}]
    with open_store() as store, store.open_run(Request(run=run, title="x")) as work:
        work.finish({"schedule": schedule})
    text = strop("runs", "show", work.id, "--asm").stdout
    assert "machine code:" in text
    code = as_json("runs", "show", work.id, "--asm")["asm"]
    assert "vfmadd" in code or isa == "portable"
    assert code.splitlines()[0] in text


def test_show_an_unfinished_run() -> None:
    store_run(id="keen-adze", us=None)
    text = strop("runs", "show", "keen-adze").stdout
    assert text.startswith("No result yet.\n")
    assert text.endswith("\nnext       Run the same command again to go on.\n")
    assert as_json("runs", "show", "keen-adze")["result"] is None
    assert "signal 11" not in strop("runs", "show", "keen-adze", "--asm", code=1).stdout


def test_diff_names_the_faster_and_the_moves() -> None:
    store_run(id="keen-adze", us=77)
    store_run(id="brisk-awl", us=154, schedule=(SPLIT, TILE), search="random")
    text = strop("runs", "diff", "keen", "brisk").stdout
    assert text.startswith("keen-adze is 2.000× as fast as brisk-awl (1.98")
    assert "\nsearch  local      random\n" in text
    assert '    Split("m.0", 6)\n  - Swap("n.0")\n  + Tile({"m": 6, "n": 16})\n' in text
    assert strop("runs", "diff", "brisk", "keen").stdout.startswith("keen-adze is 2.000× as fast as brisk-awl")
    document = as_json("runs", "diff", "keen", "brisk")
    assert (document["judgement"], document["ratio"]["a_over_b"]) == ("a faster", pytest.approx(0.5))
    low, high = document["ratio"]["interval"]
    assert low < 0.5 < high


def test_a_difference_within_the_noise_is_a_tie() -> None:
    store_run(id="keen-adze", us=77)
    store_run(id="brisk-awl", us=77.2)
    assert strop("runs", "diff", "keen", "brisk").stdout.startswith(
        "keen-adze and brisk-awl tie: the ratio of their times, 0.997"
    )
    assert "the schedule of both:" in strop("runs", "diff", "keen", "brisk").stdout
    assert as_json("runs", "diff", "keen", "brisk")["judgement"] == "tie"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"machine": "cpu-2"}, "different machines"),
        ({"sizes": "m=1"}, "different problems (contraction)"),
        ({"us": None}, "no measured result"),
    ],
)
def test_only_like_is_ranked_with_like(other: dict[str, Any], why: str) -> None:
    store_run(id="keen-adze")
    store_run(id="brisk-awl", **other)
    assert why in strop("runs", "diff", "keen", "brisk").stdout.splitlines()[0]
    document = as_json("runs", "diff", "keen", "brisk")
    assert (document["judgement"], document["ratio"]) == ("not comparable", None)


def test_dump(tmp_path: Path) -> None:
    store_run(id="keen-adze")
    document = as_json("runs", "dump", "keen")
    assert [trial["outcome"]["verdict"] for trial in document["trials"]] == ["ok", "ok", "crash"]
    assert document["trials"][1]["final"]["median"] == measured(77).median
    rows = list(csv.DictReader(io.StringIO(strop("runs", "dump", "keen", "--format", "csv").stdout)))
    assert [row["plan"] for row in rows] == ["try, 0", "try, 1", ""]
    assert float(rows[1]["final_median"]) == measured(77).median
    assert json.loads(rows[2]["payload"]) == {"schedule": [SWAP]}
    assert rows[2]["median"] == ""
    done = strop("runs", "dump", "keen", "--format", "csv", "-o", str(tmp_path / "new"))
    assert (done.stdout, (tmp_path / "new" / "keen-adze.csv").read_text().count("\n")) == ("", 4)
    assert "keen-adze.csv" in done.stderr
    assert strop("runs", "dump", "keen", "-q", "-o", str(tmp_path)).stderr == ""
    assert json.loads((tmp_path / "keen-adze.json").read_text()) == {
        **document,
        "run": {**document["run"], "age_s": pytest.approx(document["run"]["age_s"], abs=60)},
    }


def test_every_verb_writes_its_artefacts(tmp_path: Path) -> None:
    store_run(id="keen-adze")
    store_run(id="brisk-awl")
    for words in (("list",), ("show", "keen"), ("diff", "keen", "brisk"), ("dump", "keen"), ("prune", "--keep", "5")):
        strop("runs", *words, "-o", str(tmp_path))
    names = ["keen-adze..brisk-awl.json", "keen-adze.json", "prune.json", "runs.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for path in tmp_path.iterdir():
        jsonschema.validate(json.loads(path.read_text("utf-8")), SCHEMA)


def test_prune_by_criteria() -> None:
    store_run(id="keen-adze")
    store_run(id="brisk-awl", us=None)
    store_run(id="calm-saw", us=None, sizes="m=2")
    with open_store() as store, store._database.transaction() as connection:
        connection.execute("UPDATE run SET updated = updated - 86400 * 31 WHERE id IN ('keen-adze', 'brisk-awl')")
    assert as_json("runs", "prune", "--dry-run", "--older-than", "30d")["deleted"] == ["brisk-awl", "keen-adze"]
    assert len(as_json("runs")["runs"]) == 3
    assert as_json("runs", "prune", "--older-than", "30d", "--unfinished")["deleted"] == ["brisk-awl"]
    assert strop("runs", "prune", "--keep", "1").stdout == "Deleted 1 run: keen-adze.\n"
    assert [run["id"] for run in as_json("runs")["runs"]] == ["calm-saw"]
    assert strop("runs", "prune", "--older-than", "1w").stdout == "Deleted 0 runs.\n"


def test_prune_all_asks_first() -> None:
    store_run()
    refused = strop("runs", "prune", "--all", code=2)
    assert "--yes" in refused.stderr
    assert json.loads(strop("runs", "prune", "--all", "--json", code=2).stdout)["error"]["code"] == "needs-yes"
    assert len(as_json("runs", "prune", "--all", "--yes")["deleted"]) == 1
    assert as_json("runs")["runs"] == []


def test_a_run_in_progress_is_left() -> None:
    run = Run(verb="tune", problem={}, target={}, search="local", budget=Budget())
    with open_store() as store, store.open_run(Request(run=run, title="x")) as work:
        work.record(Trial(Candidate.of({}), Outcome(Verdict.NOISY)))
        document = as_json("runs", "prune", "--all", "--yes")
        assert (document["deleted"], document["running"], document["left"]) == ([], [work.id], 1)
        assert "1 in progress" in strop("runs").stdout


def test_reset_moves_a_damaged_store_away(own_home: Path) -> None:
    (own_home / "store.sqlite").write_bytes(b"garbage" * 500)
    told = strop("runs", code=3).stderr
    assert told.startswith("strop: ")
    assert "strop runs prune --reset" in told
    assert "--yes" in strop("runs", "prune", "--reset", code=2).stderr
    aside = as_json("runs", "prune", "--reset", "--yes")["set_aside"]
    assert Path(aside).read_bytes() == b"garbage" * 500
    assert as_json("runs")["runs"] == []
    assert strop("runs", "prune", "--reset", "--yes").stdout.startswith("There is no store")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "nothing"], "There is no run 'nothing'"),
        (["diff", "keen-adze", "nothing"], "There is no run 'nothing'"),
        (["dump", "nothing"], "There is no run 'nothing'"),
        (["show", "k"], "keen-adze, kind-awl"),
        (["prune"], "--older-than"),
        (["prune", "--all", "--keep", "3"], "--older-than"),
        (["prune", "--older-than", "soon"], "such as 30d"),
        (["prune", "--keep", "-1"], "--keep"),
        (["dump", "keen", "--format", "xml"], "xml"),
        (["dump", "keen", "--format", "csv", "--json"], "exclude"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(words: list[str], said: str) -> None:
    store_run(id="keen-adze")
    store_run(id="kind-awl")
    done = strop("runs", *words, code=2)
    if "--json" in words:
        assert said in json.loads(done.stdout)["error"]["message"]
    else:
        assert said in done.stderr
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1


def test_the_error_form_with_json() -> None:
    error = json.loads(strop("runs", "show", "nothing", "--json", code=2).stdout)["error"]
    assert error["code"] == "unknown-run"
    assert set(error) == {"code", "message", "fix"}


def test_the_command_itself(own_home: Path) -> None:
    """Results on standard output, errors on standard error; a reader that has seen enough is no error."""
    store_run(id="keen-adze")
    script = [sys.executable, "-c", "from strop.cli.main import main; main()", "runs"]
    done = subprocess.run([*script, "show", "nothing"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("strop: There is no run 'nothing' in ")
    listing = subprocess.Popen([*script, "dump", "keen"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert listing.stdout
    listing.stdout.close()
    assert listing.communicate()[1] == ""


def test_home_is_a_flag_too(tmp_path: Path) -> None:
    assert str(tmp_path / "other" / "store.sqlite") in strop("runs", "--home", str(tmp_path / "other")).stdout


def test_the_schema_is_one_and_rejects_what_is_not_ours() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    store_run()
    document = as_json("runs")
    for broken in ({**document, "more": 1}, {**document, "schema": "strop.runs/2"}, {"schema": "strop.runs/1"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)


def test_the_verdicts_of_the_schema_are_those_of_strop() -> None:
    listed = SCHEMA["$defs"]["trial"]["properties"]["outcome"]["properties"]["verdict"]["enum"]
    assert listed == [verdict.value for verdict in Verdict]
