"""Which stored result answers which request."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strop.errors import AmbiguousRun, BadEffort, UnknownRun
from strop.store import Request, Store, Trial, open_store
from strop.values.measurement import Measurement
from strop.values.search import Candidate, Outcome
from strop.values.verdict import Verdict

Requests = Callable[..., Request]
Trials = Callable[..., Trial]


@pytest.fixture
def store(own_home: Path) -> Iterator[Store]:
    with open_store() as store:
        yield store


def finish(store: Store, request: Request, sentence: str, *, fresh: bool = False) -> str:
    with store.open_run(request, fresh=fresh) as work:
        assert work.origin == "new"
        assert work.finish({"sentence": sentence})
    return work.id


def answer(store: Store, request: Request) -> str | None:
    found = store.find_answer(request)
    return None if found is None else (store.result(found.id) or {})["sentence"]


def test_the_second_request_is_answered(store: Store, request_for: Requests) -> None:
    first = finish(store, request_for(), "77 µs")
    with store.open_run(request_for()) as work:
        assert (work.origin, work.id, work.answer) == ("answered", first, {"sentence": "77 µs"})
    assert [run.status for run in store.runs()] == ["finished"]


@pytest.mark.parametrize("stored", ["quick", "standard", "thorough"])
@pytest.mark.parametrize("asked", ["quick", "standard", "thorough"])
def test_a_result_answers_equal_or_lower_effort(store: Store, request_for: Requests, stored: str, asked: str) -> None:
    order = ["quick", "standard", "thorough"]
    # each effort has its own limits, as tune gives them
    finish(
        store,
        dataclasses.replace(request_for(effort=stored, budget=f"{order.index(stored) + 1}s"), explicit=frozenset()),
        "x",
    )
    found = answer(
        store, dataclasses.replace(request_for(effort=asked, budget=f"{order.index(asked) + 1}s"), explicit=frozenset())
    )
    assert (found == "x") == (order.index(asked) <= order.index(stored))


@pytest.mark.parametrize("given", [{"search": "random"}, {"budget": "9s"}, {"seed": 3}])
def test_an_explicit_choice_is_answered_by_an_equal_run_only(
    store: Store, request_for: Requests, given: dict[str, object]
) -> None:
    finish(store, request_for(effort="thorough"), "the effort's")
    assert answer(store, request_for(**given)) is None
    finish(store, request_for(**given), "the choice's")
    assert answer(store, request_for(**given)) == "the choice's"
    assert answer(store, request_for(**given, effort="quick")) is None


def test_naming_the_default_search_is_answered_by_the_default_run(store: Store, request_for: Requests) -> None:
    finish(store, request_for(), "77 µs")
    assert answer(store, request_for(search="local")) == "77 µs"


@pytest.mark.parametrize("given", [{"search": "constant"}, {"budget": "1evals"}])
def test_a_chosen_search_or_budget_says_nothing_of_the_effort(
    store: Store, request_for: Requests, given: dict[str, str]
) -> None:
    finish(store, request_for(effort="thorough", **given), "one evaluation")
    assert answer(store, request_for(effort="quick")) is None


def test_another_seed_answers_for_its_effort(store: Store, request_for: Requests) -> None:
    finish(store, request_for(seed=5), "seed 5")
    assert answer(store, request_for(effort="quick")) == "seed 5"


@pytest.mark.parametrize("other", [{"sizes": "m=65 n=80 k=96"}, {"space": "literal"}])
def test_another_problem_or_space_is_another_question(
    store: Store, request_for: Requests, other: dict[str, str]
) -> None:
    finish(store, request_for(), "77 µs")
    assert answer(store, request_for(**other)) is None


def test_fresh_measures_anew_and_then_answers(store: Store, request_for: Requests) -> None:
    finish(store, request_for(), "old")
    finish(store, request_for(), "new", fresh=True)
    assert answer(store, request_for()) == "new"


def test_a_run_without_result_answers_nothing(store: Store, request_for: Requests, trial: Trials) -> None:
    with store.open_run(request_for()) as work:
        work.record(trial(1, verdict=Verdict.CRASH))
        work.finish(None)
    with store.open_run(request_for()) as work:
        assert work.origin == "new"


def test_an_unknown_effort_is_named(request_for: Requests) -> None:
    with pytest.raises(BadEffort, match="heroic"):
        request_for(effort="heroic")


def test_requests_survive_storage(store: Store, request_for: Requests) -> None:
    request = request_for(search="beam4-dfs", budget="90m,200evals", seed=7, space="literal", effort="quick")
    finish(store, request, "x")
    again = store.runs()[0].request
    assert (again, again.key, again.problem_key) == (request, request.key, request.problem_key)
    assert again.run.problem == request.run.problem


def test_trials_come_back_as_they_were(store: Store, request_for: Requests, trial: Trials) -> None:
    trials = [trial(number) for number in range(1, 1500)]  # more than one page of rows
    trials[7] = trial(8, verdict=Verdict.WRONG_RESULT, detail="3 of 64 elements differ; 'quoted', µ")
    final = Measurement(samples=(1e-6, 1.25e-6), protocol="final/1", machine="cpu-1")
    with store.open_run(request_for()) as work:
        work.record_many(trials[:100])
        work.record_many(trials[100:])
        work.record_final(trials[2].candidate.id, final)
        work.record_final("no such candidate", final)
        work.finish({})
    stored = list(store.trials(work.id))
    assert [one.trial for one in stored] == trials
    assert [dict(one.trial.candidate.payload) for one in stored] == [dict(one.candidate.payload) for one in trials]
    assert {(one.trial.candidate.parent, one.trial.candidate.plan) for one in stored[:1]} == {("start", "split m by 1")}
    assert [one.seq for one in stored if one.final == final] == [3]
    assert [one.seq for one in stored] == list(range(1, 1500))
    assert store.verdicts(work.id) == {"ok": 1498, "wrong_result": 1}
    assert store.reasons(work.id) == [("wrong_result", "3 of 64 elements differ; 'quoted', µ", 1)]


def test_nothing_of_a_trial_is_left_out() -> None:
    """The store has a column for each field: a new field needs a migration."""
    assert [field.name for field in dataclasses.fields(Candidate)] == ["id", "payload", "parent", "plan"]
    assert [field.name for field in dataclasses.fields(Outcome)] == ["verdict", "measurement", "detail"]
    assert [field.name for field in dataclasses.fields(Measurement)] == ["samples", "unit", "protocol", "machine"]


def test_the_best_is_the_final_measurement_once_there_is_one(
    store: Store, request_for: Requests, trial: Trials
) -> None:
    with store.open_run(request_for()) as work:
        work.record_many([trial(9), trial(4), trial(6), trial(2, verdict=Verdict.IMPLAUSIBLE)])
        assert (store.run(work.id).best, store.run(work.id).unit) == (trial(4).outcome.cost, "s")
        careful = Measurement(samples=(5e-6,), protocol="final/1", machine="cpu-1")
        work.finish({"measurement": careful.to_json()})
    assert store.run(work.id).best == 5e-6


def test_blobs_are_kept_once_and_go_with_their_last_run(store: Store, request_for: Requests) -> None:
    ids = []
    for sizes in ("m=1", "m=2"):
        with store.open_run(request_for(sizes=sizes)) as work:
            digest = work.attach("machine", b"{}")
            work.finish({})
        ids.append(work.id)
    assert digest == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert store.delete(ids[:1]) == ids[:1]
    assert store.blob(ids[1], "machine") == b"{}"
    assert store.blob(ids[0], "machine") is None
    store.delete(ids[1:])
    assert store._database.rows("SELECT count(*) FROM blob") == [(0,)]


def test_runs_are_found_by_the_beginning_of_their_id(store: Store, request_for: Requests) -> None:
    ids = [finish(store, request_for(sizes=f"m={m}"), "x") for m in range(30)]
    with store._database.transaction() as connection:
        connection.execute("UPDATE run SET id = 'keen-adze' WHERE id = ?", (ids[0],))
        connection.execute("UPDATE run SET id = 'keen-adze-2' WHERE id = ?", (ids[1],))
    assert store.run("keen-adze").id == "keen-adze"
    assert store.run("keen-adze-").id == "keen-adze-2"
    with pytest.raises(AmbiguousRun, match="keen-adze, keen-adze-2"):
        store.run("keen-ad")
    for text in ("", "nothing", "%", "_", "*", "'"):
        with pytest.raises(UnknownRun, match="strop runs list"):
            store.run(text)


def test_deleting_leaves_nothing_behind(store: Store, request_for: Requests, trial: Trials) -> None:
    with store.open_run(request_for()) as work:
        work.record_many([trial(number) for number in range(2000)])
        work.finish({})
    store._database.shrink()
    before = store.path.stat().st_size
    assert store.delete([work.id, "never was"]) == [work.id]
    for table in ("run", "candidate", "measurement"):
        assert store._database.rows(f"SELECT count(*) FROM {table}") == [(0,)]
    assert store.path.stat().st_size < before / 4
