"""Whether quick measurements rank schedules as careful ones do, and whether the final picks the same winner again.

200 legal schedules of one shape: random moves, half of them completed by the model. Those ten times as slow as the
fastest are left out: they would only flatter the correlation. *Quick* is what a run does, batches through the service.
*Careful* times all 200 against each other for hundreds of rounds. Spearman's coefficient compares the two orders, and
the careful run's two halves with each other, which is the most that can be hoped for.

Then the six fastest by quick meet in the interleaved final, five times. Each pick's regret is how much slower it is
than the best by careful runs of the six before and after; noise is how far the two runs typically disagree about what
one of the six takes relative to the best.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from problems import instruction_sets, question_of, random_schedules
from record import Column, Record, parser, progress
from shapes import Shape, spread_shapes

SCHEDULES, POOL = 200, 3
TOO_SLOW = 10.0
CORRELATION = 0.93
FINALS = 5
MOST_ROUNDS, CHUNK, SAMPLE_S, CAREFUL_S = 300, 10, 100e-6, 35.0
REFERENCE_ROUNDS = 300


def main() -> None:
    arguments = parser(__doc__ or "").parse_args()
    record = Record(
        benchmark="ranking",
        claim="200 random legal schedules of broad spread, none ten times as slow as the fastest: Spearman's "
        "coefficient of quick with careful measurements (interleaved, hundreds of rounds); and five finals among the "
        "six fastest.",
        smoke=arguments.smoke,
        path=arguments.json,
    )
    isa = instruction_sets()[-1] if instruction_sets() else None
    if isa is None:
        record.skip("ranking", "no instruction set that code is generated for")
        record.bar("Rank correlation of quick with careful", None, at_least=CORRELATION, reason="no code generator")
    else:
        found = [measure(shape, isa, smoke=arguments.smoke) for shape in spread_shapes(1 if arguments.smoke else 3)]
        report(record, isa, found)
    record.finish()


def report(record: Record, isa: str, found: list[dict[str, Any]]) -> None:
    """Add what was found to the record."""
    record.results[isa] = found
    record.table(
        f"Quick against careful, {isa}",
        [
            "m x n x k",
            *[Column(head, "d") for head in ("schedules", "rounds")],
            *[
                Column("slowest / fastest", ".1f"),
                Column("quick with careful", ".3f"),
                Column("careful with itself", ".3f"),
            ],
            *[Column("regret of quick's best", ".1%"), Column("quick s", ".2f")],
        ],
        [
            [
                *(each["shape"], each["schedules"], each["rounds"], each["spread"]),
                *(each["correlation"], each["careful_with_itself"], each["regret_of_quick"], each["quick_s"]),
            ]
            for each in found
        ],
    )
    record.table(
        f"Five finals among the six fastest by quick, {isa}",
        ["m x n x k", "picks", "ties", Column("largest regret", ".2%"), Column("noise", ".2%"), "within noise"],
        [
            [
                *(each["shape"], ", ".join(each["picks"]), f"{each['ties']} of {len(each['picks'])}"),
                *(max(each["regrets"]), each["noise"], f"{each['within']} of {len(each['picks'])}"),
            ]
            for each in found
        ],
    )
    for each in found:
        what = f"Rank correlation of quick with careful, {each['schedules']} schedules of {each['shape']}, {isa}"
        record.bar(what, each["correlation"], at_least=CORRELATION, digits=3)
    finals = [within for each in found for within in each["picks_within_noise"]]
    what = f"Finals whose pick repeats within noise, {len(found)} shapes, {isa}"
    record.bar(what, 100 * sum(finals) / len(finals), at_least=100, unit="%", digits=0)


def measure(shape: Shape, isa: str, *, smoke: bool) -> dict[str, Any]:
    """Both claims on one shape."""
    from strop.bench.race import final
    from strop.loops.hunt import service_for
    from strop.loops.lower import lower

    question = question_of(shape, isa)
    pool = random_schedules(question, POOL * (20 if smoke else SCHEDULES), seed=1, share_completed=0.5)
    specs = {str(i): lower(nest, question.problem.layout, isa) for i, (_, nest) in enumerate(pool)}
    names = {str(i): nest.summary for i, (_, nest) in enumerate(pool)}
    with service_for(question) as service:
        chosen = broad(service, specs, 20 if smoke else SCHEDULES)
        began = time.perf_counter()
        quick = evaluated(service, {id: specs[id] for id in chosen})
        quick_s = time.perf_counter() - began
        chosen = [id for id in chosen if id in quick]
        careful = carefully(service, {id: specs[id] for id in chosen}, most=12 if smoke else MOST_ROUNDS)
        finalists = sorted(chosen, key=lambda id: quick[id])[: question.effort.finalists]
        some = {id: specs[id] for id in finalists}
        rounds = 12 if smoke else REFERENCE_ROUNDS
        before = carefully(service, some, most=rounds)
        finals = [
            final(service, list(some.items()), seconds=question.effort.seconds * 0.3)
            for _ in range(2 if smoke else FINALS)
        ]
        after = carefully(service, some, most=rounds)
    costs = {id: median(samples) for id, samples in careful.items()}
    halves = [{id: median(samples[part::2]) for id, samples in careful.items()} for part in (0, 1)]
    best_by_quick = min(chosen, key=lambda id: quick[id])
    found = {
        "shape": str(shape),
        "schedules": len(chosen),
        "rounds": len(careful[chosen[0]]),
        "quick_s": quick_s,
        "spread": max(costs.values()) / min(costs.values()),
        "correlation": spearman([quick[id] for id in chosen], [costs[id] for id in chosen]),
        "careful_with_itself": spearman(*([half[id] for id in chosen] for half in halves)),
        "regret_of_quick": costs[best_by_quick] / min(costs.values()) - 1,
        "quick_median_s": [quick[id] for id in chosen],
        "careful_median_s": [costs[id] for id in chosen],
        **judged([told(result) for result in finals], before, after),
        "ties": sum(result.tie for result in finals),
    }
    found["picks"] = [names[id] for id in found.pop("pick_ids")]
    progress(f"{isa} {shape}: Spearman {found['correlation']:.3f}, largest regret {max(found['regrets']):.2%}")
    return found


def broad(service: Any, specs: dict[str, Any], count: int) -> list[str]:
    """`count` candidates that are right and not hopelessly slow, in random order, by a first look."""
    seconds = evaluated(service, specs)
    limit = TOO_SLOW * min(seconds.values())
    near = [id for id, each in seconds.items() if each <= limit]
    random.Random(0).shuffle(near)
    return near[:count]


def evaluated(service: Any, specs: dict[str, Any]) -> dict[str, float]:
    """The quick median of each candidate that came out right, in batches as a run sends them."""
    from strop.loops.hunt import BATCH
    from strop.values.verdict import Verdict

    items = list(specs.items())
    seconds = {}
    for first in range(0, len(items), BATCH):
        for result in service.evaluate(items[first : first + BATCH]):
            if result.verdict is Verdict.OK:
                seconds[result.id] = median(result.samples)
    return seconds


def carefully(service: Any, specs: dict[str, Any], *, most: int) -> dict[str, list[float]]:
    """Samples of all candidates, interleaved round by round: `most` rounds, or fewer if they would take too long."""
    from strop.values.verdict import Verdict

    kept = service.keep(list(specs.items()))
    numbers = [number for number, result in kept if result.verdict is Verdict.OK]
    rows: list[list[float]] = [[] for _ in numbers]
    began = time.perf_counter()
    while len(rows[0]) < most and (len(rows[0]) < most / 3 or time.perf_counter() - began < CAREFUL_S):
        new = service.rounds(numbers, rounds=CHUNK, sample_s=SAMPLE_S, expected_s=CAREFUL_S)
        if new is None:
            raise SystemExit("a candidate took the worker down while it was timed")
        for row, samples in zip(rows, new, strict=True):
            row += samples
    ids = [result.id for _, result in kept if result.verdict is Verdict.OK]
    return dict(zip(ids, rows, strict=True))


def told(final: Any) -> list[str]:
    """What a final says: its pick first, then the runner-up where it calls the two a tie."""
    return [result.id for result in final.ranked[: 2 if final.tie else 1]]


def judged(
    finals: Sequence[Sequence[str]], before: dict[str, list[float]], after: dict[str, list[float]]
) -> dict[str, Any]:
    """Whether the finals agree, and the regret of each pick by both careful runs together.

    A final agrees with the others when its pick is the most frequent one, when it calls that one a tie with its own, or
    when the careful runs differ more from each other than the two picks do.
    """
    picks = [final[0] for final in finals]
    usual = max(picks, key=picks.count)
    together = {id: median([*before[id], *after[id]]) for id in before}
    best = min(together, key=lambda id: together[id])
    # What the same schedule is found to take relative to the best: in one run, and in the other.
    relative = [{id: median(run[id]) / median(run[best]) for id in run} for run in (before, after)]
    noise = median(abs(relative[0][id] - relative[1][id]) for id in together if id != best)
    agree = [usual in final or abs(together[final[0]] / together[usual] - 1) <= noise for final in finals]
    return {
        "pick_ids": picks,
        "regrets": [together[pick] / together[best] - 1 for pick in picks],
        "noise": noise,
        "picks_within_noise": agree,
        "within": sum(agree),
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's coefficient: the correlation of the ranks, equal values sharing theirs."""
    import numpy as np

    def ranks(values: Sequence[float]) -> Any:
        _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        return (ends - (counts - 1) / 2)[where]

    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


if __name__ == "__main__":
    main()
