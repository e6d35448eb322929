"""The service with kernels of the code generator: what is right, what is refused, one thread and two."""

from __future__ import annotations

from typing import Any

import pytest

from strop.bench.race import final
from strop.bench.service import Result, Service, Spec
from strop.loops.lower import lower
from strop.loops.moves import Reorder, Tile, replay
from strop.loops.nest import Nest
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from strop.values.verdict import Verdict

native = pytest.importorskip("strop._native")
ISAS = native.supported_isas()


def lowered(contraction: Contraction, isa: str, *moves: Any) -> Spec:
    return lower(replay(contraction, moves), Layout.default(contraction), isa)


def service_for(contraction: Contraction, isa: str, **options: Any) -> Service:
    layout = Layout.default(contraction)
    _, *problem, _, epilogue = lower(Nest.default(contraction), layout, isa)
    del problem[4]  # accumulators
    return Service(
        (*problem, epilogue, layout.alignment, 1), isa=isa, flops=float(contraction.flops), estimate_s=1.0, **options
    )


def evaluated(service: Service, *specs: Spec) -> list[Result]:
    results = {result.id: result for result in service.evaluate((str(i), spec) for i, spec in enumerate(specs))}
    return [results[str(i)] for i in range(len(specs))]


@pytest.mark.parametrize("isa", ISAS)
def test_kernels_are_checked_and_timed(isa: str) -> None:
    contraction = Contraction.parse("mk,kn->mn", m=24, k=20, n=33)
    tile = Tile(("m.0", "n.0"), (4, 16))
    specs = [lowered(contraction, isa), lowered(contraction, isa, tile)]
    with service_for(contraction, isa) as service:
        for result in evaluated(service, *specs):
            assert (result.verdict, result.detail) == (Verdict.OK, "")
            assert all(sample > 0 for sample in result.samples)
        outcome = final(service, [("a", specs[0]), ("b", specs[1])], seconds=0.05)
        assert sorted(result.id for result in outcome.ranked) == ["a", "b"]
        assert service.peak() > 0
        assert service.restarts == 0


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("mk,kn->mn", {"m": 17, "k": 9, "n": 31, "dtype": "float64"}),
        ("mk,kn->mn", {"m": 8, "k": 40, "n": 16, "semiring": "max,+"}),
        ("mk,kn->mn", {"m": 8, "k": 40, "n": 16, "accumulate": True}),
        ("mk,kn->mn", {"m": 8, "k": 40, "n": 16, "epilogue": "relu(x + bias[n])"}),
        ("n c 2h+3r w+s, o c r s -> n o h w", {"n": 1, "c": 3, "h": 5, "r": 2, "w": 6, "s": 2, "o": 4}),
    ],
)
def test_every_kind_of_contraction_goes_through(text: str, options: dict[str, Any]) -> None:
    contraction = Contraction.parse(text, **options)
    with service_for(contraction, ISAS[0]) as service:
        (result,) = evaluated(service, lowered(contraction, ISAS[0]))
    assert (result.verdict, result.detail) == (Verdict.OK, "")


def test_a_kernel_of_another_contraction_is_wrong() -> None:
    ours = Contraction.parse("mk,kn->mn", m=16, k=16, n=16)
    theirs = Contraction.parse("mk,kn->mn", m=16, k=8, n=16)
    with service_for(ours, "portable") as service:
        wrong, right = evaluated(service, lowered(theirs, "portable"), lowered(ours, "portable"))
    assert wrong.verdict is Verdict.WRONG_RESULT
    assert "values" in wrong.detail
    assert right.verdict is Verdict.OK


def test_what_cannot_be_compiled_is_illegal_or_an_error_of_compiling() -> None:
    contraction = Contraction.parse("mk,kn->mn", m=16, k=16, n=16)
    good = lowered(contraction, "portable")
    with service_for(contraction, "portable") as service:
        malformed, short, right = evaluated(service, ("no such isa", *good[1:]), good[:5], good)
    assert malformed.verdict is Verdict.COMPILE_ERROR
    assert "no such isa" in malformed.detail
    assert short.verdict is Verdict.COMPILE_ERROR
    assert right.verdict is Verdict.OK


def test_a_hopelessly_slow_kernel_is_run_once() -> None:
    contraction = Contraction.parse("mk,kn->mn", m=200, k=200, n=400)
    fast = lowered(contraction, ISAS[0], Tile(("m.0", "n.0"), (4, 16)))
    slow = lowered(contraction, "portable", Reorder(("n.0", "m.0", "k.0")))
    with service_for(contraction, ISAS[0]) as service:
        _, hopeless = evaluated(service, fast, slow)
    assert hopeless.verdict is Verdict.OK
    if ISAS[0] != "portable":
        assert len(hopeless.samples) == 1


def test_two_threads() -> None:
    contraction = Contraction.parse("mk,kn->mn", m=64, k=32, n=64)
    with service_for(contraction, ISAS[0], threads=2) as service:
        (result,) = evaluated(service, lowered(contraction, ISAS[0]))
    assert result.verdict is Verdict.OK


def test_a_reference_of_the_callers_is_used_and_a_bad_one_left_out() -> None:
    contraction = Contraction.parse("mk,kn->mn", m=16, k=16, n=16)
    spec = lowered(contraction, "portable")
    with service_for(contraction, "portable", reference=spec) as service:
        assert evaluated(service, spec)[0].verdict is Verdict.OK
        assert service._level is not None
    with service_for(contraction, "portable", reference=spec[:4]) as service:
        assert evaluated(service, spec)[0].verdict is Verdict.OK
