"""Blame: who owns a stall, in what part of the accounting its samples are, and what it is called."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from strop.stalls.accounting import account
from strop.stalls.amd.listing import decode_listing
from strop.stalls.blame import blame
from strop.stalls.causes import Namer, table
from strop.stalls.instruction import Function
from strop.stalls.methods import METHODS
from strop.stalls.profiles.profile import Count, Reason
from strop.stalls.samples import Blame, Part, Samples, apportion
from strop.stalls.slice import LinkKind, Slicer
from tests.stalls.assembler import assemble


def samples(skid: int = 0, **at: dict[str, int]) -> Samples:
    """`samples(i3={"global_memory": 5})`: counts by index."""
    return Samples(
        {
            int(index[1:]): tuple(Count(Reason(reason), reason, count) for reason, count in counts.items())
            for index, counts in at.items()
        },
        skid,
    )


def classes(function: Function, seen: Samples) -> dict[tuple[int, int | None], str]:
    """What each stall is called, by (stall, cause)."""
    slicer = Slicer(function)
    namer = Namer(slicer)
    return {
        (one.stall, one.cause): namer.name(one).kind.cause_class
        for one in blame(function, seen, slicer).attributions
        if one.part is not Part.ISSUED
    }


CHASE = """
top:  ld  R4 <- [R2] mem=global.load.8 +SB2 lat=300..900 line=3
      ld  R5 <- [R4] mem=global.load.4 +SB2 lat=300..900 line=4 ?SB2
      lds R6 <- [R3] mem=shared.load.4 +SB3 lat=20..40 line=5
      fma R8 <- R5, R6 ?SB2 ?SB3 kind=float lat=4..4 line=6
      fma R8 <- R8, R8 kind=float lat=4..4
      br  <- (P0) ->top?
      exit
"""


def test_each_reason_finds_its_own_producer() -> None:
    seen = samples(i1={"global_memory": 500}, i3={"global_memory": 400, "shared_memory": 40}, i4={"fixed_latency": 9})
    assert classes(assemble(CHASE), seen) == {
        (1, 0): "global_load_latency",
        (3, 1): "dependent_load_chain",
        (3, 2): "shared_bank_or_latency",
        (4, 3): "fixed_latency_chain",
    }
    slicer = Slicer(assemble(CHASE))
    assert slicer.address_depth(1) == (2, False)
    assert [link.producer for link in slicer.chain(1)] == [0]


MASKED = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
global_load_dword v2, v[8:9], off
s_waitcnt vmcnt(0) lgkmcnt(0)
v_cmp_gt_i32_e32 vcc, 0, v2
s_and_saveexec_b64 s[2:3], vcc
v_lshl_add_u64 v[4:5], v[0:1], 3, s[4:5]
global_load_dwordx2 v[6:7], v[4:5], off
s_endpgm
"""


def test_chains_follow_addresses_before_the_mask_of_lanes() -> None:
    rows = [(8 * at, text, None) for at, text in enumerate(MASKED.split("\n")[1:-1])]
    (function,) = decode_listing([("k", rows)], path="test", arch="gfx942").functions
    slicer = Slicer(function)
    assert slicer.address_depth(6) == (1, False)
    assert [link.kind for link in slicer.links(6)] == [LinkKind.ADDRESS, LinkKind.PREDICATE]
    assert [link.producer for link in slicer.chain(6)] == [5, 0]


def test_a_chain_through_its_own_result_is_seen() -> None:
    chase = "top: ld R2 <- [R2] mem=global.load.8 +SB0 ?SB0 lat=300..900\n br <- (P0) ->top?\n exit"
    assert classes(assemble(chase), samples(i0={"global_memory": 9})) == {(0, 0): "dependent_load_chain"}
    assert Slicer(assemble(chase)).address_depth(0) == (1, True)


@pytest.mark.parametrize(
    ("text", "seen", "expected"),
    [
        (
            "st <- R1 mem=local.store.4 slot=sp:16\n ld R2 <- mem=local.load.4 slot=sp:16 +SB0\n add R3 <- R2 ?SB0",
            {"i2": {"global_memory": 5}},
            {(2, 1): "spill_reload"},
        ),
        (
            "ld R1 <- [R8] mem=global.load.4 +SB0 lat=30..40\n ld R2 <- [R8] mem=global.load.4 +SB0 lat=400..900\n"
            "add R3 <- R1 ?SB0\n add R4 <- R2",
            {"i2": {"global_memory": 50}},
            {(2, 1): "scoreboard_sharing"},
        ),
        (
            "ld v1 <- [v8] mem=global.load.4 +vm lat=30..40\n ld v2 <- [v8] mem=global.load.4 +vm lat=400..900\n"
            "wait kind=wait ?vm=0\n add v3 <- v1\n wait kind=wait ?vm=0\n add v4 <- v2\n wait kind=wait ?vm=1",
            {"i2": {"memory": 50}},
            {(2, 1): "over_wait"},
        ),
        (
            "st <- [R8], R1 mem=global.store.4 +SB1.read\n mov R1 <- R2 ?SB1",
            {"i1": {"memory_queue": 2, "global_memory": 5}},
            {(1, None): "lsu_queue_throttle", (1, 0): "war_operand_wait"},
        ),
        (
            "cp <- [R8] mem=global.copy.16 async to=shared +cp\n fence ?cp=0 kind=wait",
            {"i1": {"sync": 5}},
            {(1, 0): "async_copy_wait"},
        ),
        (
            "cp <- [R8] mem=global.copy.16 async to=shared +mbarrier~\n try ?mbarrier",
            {"i1": {"sync": 5}},
            {(1, 0): "tma_mbarrier_wait"},
        ),
        (
            "st <- [R8], R1 mem=shared.store.4 +SB3\n bar bar\n"
            "lds R2 <- [R9] mem=shared.load.4 +SB0\n add R3 <- R2 ?SB0",
            {"i3": {"shared_memory": 5}},
            {(3, 2): "smem_write_read_handoff"},
        ),
        (
            "at R2 <- [R8] mem=global.atomic.4 +SB0\n add R3 <- R2 ?SB0",
            {"i1": {"memory": 5}},
            {(1, 0): "atomic_contention"},
        ),
        ("rcp R2 <- R1 kind=special +SB0\n add R3 <- R2 ?SB0", {"i1": {"shared_memory": 5}}, {(1, 0): "sfu_chain"}),
        ("f2i R2 <- R1 kind=convert +SB0\n add R3 <- R2 ?SB0", {"i1": {"shared_memory": 5}}, {(1, 0): "convert_chain"}),
        (
            "mma R2 <- R1 kind=tensor lat=16..32\n mma R2 <- R2 kind=tensor",
            {"i1": {"fixed_latency": 5}},
            {(1, 0): "tensor_chain"},
        ),
        (
            "lea R2 <- R1 kind=int lat=4..6\n ld R3 <- [R2] mem=global.load.4 +SB0",
            {"i1": {"fixed_latency": 5}},
            {(1, 0): "int_address_chain"},
        ),
        (
            "ld R2 <- [R8] mem=global.load.4 +SB0\n add R3 <- R2 ?SB0\n bar bar",
            {"i1": {"global_memory": 50}, "i2": {"barrier": 20}},
            {(1, 0): "global_load_latency", (2, 0): "barrier_skew"},
        ),
        (
            "add R1 <- R2",
            {"i0": {"pipe": 1, "fetch": 1, "branch": 1, "selected_other": 1}},
            {(0, None): "scheduler_not_selected"},
        ),
        ("add R1 <- R2", {"i0": {"global_memory": 1}}, {(0, None): "unknown"}),
    ],
)
def test_classes(text: str, seen: dict[str, dict[str, int]], expected: dict[tuple[int, int | None], str]) -> None:
    assert classes(assemble(text), samples(**seen)) == expected


def test_what_a_loop_loaded_before_is_found() -> None:
    text = """
          ld  R1 <- [R2] mem=global.load.4 +SB0 lat=300..900
    top:  add R3 <- R1 ?SB0
          ld  R1 <- [R2] mem=global.load.4 +SB0 lat=300..900
          br  <- (P0) ->top?
          exit
    """
    seen = samples(i0={"issued": 1}, i1={"issued": 100, "global_memory": 900}, i2={"issued": 98}, i3={"issued": 99})
    owned = blame(assemble(text), seen).by_cause()
    assert owned[2] > 0.9 * 900, "the one in the loop runs a hundred times as often"


def test_partial_waits_leave_the_young() -> None:
    text = """
    ld v1 <- [v8] mem=global.load.4 +vm lat=300..900
    ld v2 <- [v8] mem=global.load.4 +vm lat=300..900
    wait ?vm=1
    add v3 <- v1
    wait ?vm=0
    add v4 <- v2
    """
    found = blame(assemble(text), samples(i2={"memory": 100}, i4={"memory": 100}))
    assert {(one.stall, one.cause) for one in found.attributions} == {(2, 0), (4, 1)}


def test_equal_producers_are_ambiguous_and_a_late_one_is_not() -> None:
    equal = """
    ld R1 <- [R8] mem=global.load.4 +SB0 lat=300..900
    ld R2 <- [R8] mem=global.load.4 +SB0 lat=300..900
    add R3 <- R1, R2 ?SB0
    """
    found = [
        one for one in blame(assemble(equal), samples(i2={"global_memory": 100})).attributions if one.cause is not None
    ]
    assert len(found) == 2
    late = equal.replace("ld R2", "mov R9 <- R8 cost=600\n ld R2")
    found = [one for one in blame(assemble(late), samples(i3={"global_memory": 100})).attributions if one.samples > 50]
    assert [(one.cause, one.ambiguous) for one in found] == [(2, False)]


def test_a_late_sample_goes_to_the_wait_before() -> None:
    text = """
    ld v1 <- [v8] mem=global.load.4 +vm lat=300..900
    mov v9 <- v8 lat=1..1
    wait ?vm=0
    add v3 <- v1 lat=1..1 kind=float
    mul v4 <- v3 lat=1..1 kind=float
    """
    found = blame(assemble(text), samples(skid=2, i4={"other": 40}))
    best = max(found.attributions, key=lambda one: one.samples)
    assert (best.cause, best.anchor, best.stall) == (0, 2, 4)
    assert best.samples > 30


def test_hidden_samples_stay_with_their_cause_and_are_counted() -> None:
    seen = Samples({3: (Count(Reason.GLOBAL_MEMORY, "long_scoreboard", 100, 60),)})
    found = blame(assemble(CHASE), seen)
    assert sum(one.hidden for one in found.attributions) == 60


REASONS = st.sampled_from(list(Reason))


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 6), st.lists(st.tuples(REASONS, st.integers(0, 50), st.integers(0, 50)), max_size=4), max_size=7
    ),
    st.integers(0, 2),
    st.sampled_from(sorted(METHODS)),
)
def test_every_sample_is_in_one_part(at: dict[int, list[tuple[Reason, int, int]]], skid: int, method: str) -> None:
    seen = Samples(
        {index: tuple(Count(r, r.value, n, min(h, n)) for r, n, h in counts) for index, counts in at.items()}, skid
    )
    found: Blame = METHODS[method](assemble(CHASE), seen, None)
    total = sum(count.samples for counts in seen.at.values() for count in counts)
    hidden = sum(count.hidden for counts in seen.at.values() for count in counts)
    accounting = account("samples", found.attributions)
    assert accounting.total == total
    assert accounting.parts["issued"] == sum(seen.issued.values())
    assert sum(one.hidden for one in found.attributions) == hidden
    assert all(0 <= one.share[0] <= one.share[1] <= 1 for one in found.attributions)


@given(st.integers(0, 1000), st.lists(st.floats(0, 10), min_size=1, max_size=9))
def test_apportioning_loses_nothing(total: int, weights: list[float]) -> None:
    parts = apportion(total, weights)
    assert sum(parts) == total
    assert min(parts) >= 0


def test_twice_the_samples_change_no_ranking() -> None:
    once = samples(i1={"global_memory": 50, "issued": 9}, i3={"global_memory": 40, "shared_memory": 30, "issued": 9})
    twice = Samples({i: tuple(Count(c.reason, "", 2 * c.samples) for c in cs) for i, cs in once.at.items()})
    ranked = [
        sorted(owned, key=owned.__getitem__) for owned in (blame(assemble(CHASE), s).by_cause() for s in (once, twice))
    ]
    assert ranked[0] == ranked[1]


def test_the_table_has_the_fixed_vocabulary() -> None:
    ids = [row.id for row in table().values()]
    assert len(set(ids)) == len(ids)
    assert sum(id.startswith("ST") for id in ids) == 24
    assert all(row.id[:2] in ("ST", "GM") and row.says.endswith(".") for row in table().values())


def test_the_methods_differ_where_they_should() -> None:
    seen = samples(i1={"global_memory": 500, "issued": 9}, i3={"global_memory": 400, "shared_memory": 40, "issued": 9})
    function = assemble(CHASE)
    assert METHODS["raw"](function, seen, None).by_cause() == {1: 500, 3: 440}
    assert METHODS["nearest"](function, seen, None).by_cause() == {0: 500, 2: 440}
    leo = METHODS["leo"](function, seen, None)
    assert leo.figures.keys() == {"single_dependency_before", "single_dependency_after"}
    assert leo.by_cause()[0] == 500
