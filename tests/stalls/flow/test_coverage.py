"""The hazard check: waits that a dependence explains, dependences that a wait covers."""

from __future__ import annotations

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.coverage import coverage
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.needs import Need, Needs
from strop.stalls.flow.pending import Pending, touched_resources
from strop.stalls.instruction import Function
from tests.stalls.assembler import assemble

LOOP = """
      ld   R1 <- [R2]  mem=global.load.4 +SB0
top:  add  R3 <- R1, R3  ?SB0
      ld   R1 <- [R2]  mem=global.load.4 +SB0
      br   <- (P0) ->top?
      st   <- [R2], R3 mem=global.store.4 +SB1.read
      mov  R3 <- R2 ?SB1
      exit
"""


def needs_of(function: Function) -> dict[tuple[int, int], Need]:
    graph = Graph(function)
    pending = Pending(graph)
    found = Needs(pending, Definitions(graph)).edges(pending.waits)
    return {(edge.consumer, edge.producer): edge.need for edges in found.values() for edge in edges}


def test_a_loop_is_covered_and_each_wait_explained() -> None:
    found = coverage(assemble(LOOP))
    assert (found.dependences, found.covered, found.uncovered) == (2, 2, ())
    assert (found.waits, found.explained_waits) == (2, 2)
    assert needs_of(assemble(LOOP)) == {(1, 0): Need.RAW, (1, 2): Need.RAW, (5, 4): Need.WAR}


def test_a_wait_taken_away_is_noticed() -> None:
    found = coverage(assemble(LOOP.replace("R3  ?SB0", "R3")))
    assert [(producer, consumer) for producer, consumer, _ in found.uncovered] == [(0, 1), (2, 1)]


def test_a_count_that_is_too_large_is_noticed() -> None:
    text = """
    ld R1 <- [R8] mem=global.load.4 +vm
    ld R2 <- [R8] mem=global.load.4 +vm
    wait ?vm={}
    add R3 <- R1
    """
    assert coverage(assemble(text.format(1))).uncovered == ()
    assert len(coverage(assemble(text.format(2))).uncovered) == 1


def test_out_of_order_operations_make_counts_meaningless() -> None:
    text = """
    s_load s1 <- [s8] mem=constant.load.4 +lgkm~
    ds_read v1 <- [v8] mem=shared.load.4 +lgkm
    wait ?lgkm=1
    mov v2 <- s1
    """
    assert len(coverage(assemble(text)).uncovered) == 1
    assert coverage(assemble(text.replace("=1", "=0"))).uncovered == ()


def test_a_producer_on_two_counters_needs_both() -> None:
    text = "flat v1 <- [v8] mem=generic.load.4 +vm +lgkm\n wait ?vm {}\n mov v2 <- v1"
    assert len(coverage(assemble(text.format(""))).uncovered) == 1
    assert coverage(assemble(text.format("?lgkm"))).uncovered == ()


def test_views_of_one_order_need_one_wait() -> None:
    text = "math r1 <- r2 +float@ +all@ var\n add r3 <- r1 ?{}"
    assert coverage(assemble(text.format("all@"))).uncovered == ()
    assert coverage(assemble(text.format("float@"))).uncovered == ()
    assert len(coverage(assemble(text.format("int@"))).uncovered) == 1


def test_a_wait_that_nothing_needs_is_spurious() -> None:
    text = "ld R1 <- [R8] mem=global.load.4 +SB0\n ld R2 <- [R8] mem=global.load.4 +SB1\n add R3 <- R1 ?SB0 ?SB1\n exit"
    assert needs_of(assemble(text)) == {(2, 0): Need.RAW, (2, 1): Need.SPURIOUS}
    found = coverage(assemble(text))
    assert (found.waits, found.explained_waits) == (2, 1)


def test_a_result_that_is_read_later_and_one_that_is_overwritten() -> None:
    text = """
    ld R1 <- [R8] mem=global.load.4 +SB0
    ld R2 <- [R8] mem=global.load.4 +SB1
    st <- [R8], R9 mem=global.store.4 +SB2
    add R3 <- R9 ?SB0 ?SB1 ?SB2
    mov R2 <- R9
    add R4 <- R1
    """
    assert needs_of(assemble(text)) == {(3, 0): Need.RAW_LATER, (3, 1): Need.WAW, (3, 2): Need.ORDER}


def test_a_call_drains_unless_the_callee_is_known() -> None:
    text = "ld R1 <- [R8] mem=global.load.4 +SB0\n call call=f\n add R2 <- R1 ?SB0\n exit"
    function = assemble(text)
    assert Pending(Graph(function)).waits[2][0].producers == ()
    callee = assemble("ld R4 <- [R8] mem=global.load.4 +SB1\n add R5 <- R4 ?SB1\n ret", name="f", is_kernel=False)
    touched = touched_resources([function, callee])
    assert touched == {"kernel": frozenset({"SB0", "SB1"}), "f": frozenset({"SB1"})}
    assert [one for one, _ in Pending(Graph(function), callees=touched).waits[2][0].producers] == [0]
    unknown = assemble("call call=*\n ret", name="f", is_kernel=False)
    assert touched_resources([function, unknown]) == {"kernel": None, "f": None}


def test_a_device_function_may_wait_for_its_caller() -> None:
    text = "wait ?vm\n ret"
    assert needs_of(assemble(text, is_kernel=False)) == {(0, -1): Need.CALLER}
    found = coverage(assemble(text))
    assert (found.explained_waits, found.idle) == (0, 1)


def test_a_call_is_waited_for_with_nothing_pending() -> None:
    text = "ld R1 <- [R8] mem=global.load.4 +SB0\n call call=f ?SB0\n exit"
    assert needs_of(assemble(text)) == {(1, 0): Need.CALL}


def test_what_other_threads_issue_completes_on_a_barrier_in_memory() -> None:
    text = """
          br  <- (P0) ->use?
          cp  <- [R8] mem=global.copy.16 async to=shared +mbarrier~
          exit
    use:  try ?mbarrier
          exit
    """
    assert needs_of(assemble(text)) == {(3, 1): Need.ORDER}
