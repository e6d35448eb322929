"""The control-flow graph: edges of every kind, loops, dominators, what isn't known."""

from __future__ import annotations

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.memory import SharedMemory
from tests.stalls.assembler import assemble


def edges(graph: Graph) -> dict[int, list[int]]:
    """Edges by first instruction."""
    return {graph.starts[block]: [graph.starts[to] for to in tos] for block, tos in enumerate(graph.successors)}


def test_branches_exits_calls_and_what_falls_through() -> None:
    graph = Graph(
        assemble(
            """
            @P0 exit
            br   <- (P1) ->out?
            call call=f
            @!P2 br ->out
            bar  bar
            br   ->out
            dead
      out:  exit
            """
        )
    )
    assert edges(graph) == {0: [1], 1: [7, 2], 2: [3], 3: [7, 4], 4: [7], 6: [7], 7: []}
    assert [graph.starts[block] for block in graph.entries] == [0, 6], "code that nothing leads to is analysed too"


def test_nested_loops_and_dominators() -> None:
    graph = Graph(
        assemble(
            """
            mov R1
      outer: mov R2
      inner: add R3
            br <- (P0) ->inner?
            br <- (P1) ->outer?
            exit
            """
        )
    )
    assert [(loop.header, loop.blocks, loop.depth) for loop in graph.loops] == [(1, (1, 2, 3), 1), (2, (2,), 2)]
    assert graph.depth == [0, 1, 2, 1, 0]
    assert graph.dominators == [-1, 0, 1, 2, 3]
    assert graph.dominates(1, 4)
    assert not graph.dominates(4, 1)


def test_a_branch_to_nobody_knows_where_goes_everywhere_and_is_reported() -> None:
    graph = Graph(assemble("a: mov R1\n br <- R1 ->*\n b: mov R2\n br <- (P0) ->b?\n exit"))
    assert graph.unknown == [1]
    assert graph.hub is not None
    assert graph.successors[0] == [graph.hub]
    assert graph.successors[graph.hub] == list(range(graph.hub))


def test_a_branch_out_of_the_function_is_reported() -> None:
    function = assemble("a: mov R1\n br ->a\n exit")
    moved = Graph(type(function)(**{**fields(function), "instructions": function.instructions[1:]}))
    assert moved.outside == [0]


def fields(function: object) -> dict[str, object]:
    return {name: getattr(function, name) for name in type(function).__dataclass_fields__}  # type: ignore[attr-defined]


def test_an_empty_function_is_a_graph() -> None:
    graph = Graph(assemble(""))
    assert (len(graph), graph.loops, graph.entries) == (0, (), [])


def reads(text: str) -> dict[tuple[int, str], tuple[int, ...]]:
    found = Definitions(Graph(assemble(text))).reads
    return {(at, str(one.register)): one.definitions for at, several in enumerate(found) for one in several}


def test_guarded_definitions_do_not_kill() -> None:
    assert reads("mov R1 <- R9\n @P0 mov R1 <- R8\n add R2 <- R1\n mov R1 <- R7\n add R2 <- R1") == {
        (0, "R9"): (),
        (1, "R8"): (),
        (1, "P0"): (),
        (2, "R1"): (0, 1),
        (3, "R7"): (),
        (4, "R1"): (3,),
    }


def test_spills_are_followed_by_slot_and_width() -> None:
    text = """
    st <- R1 mem=local.store.8 slot=sp:16
    st <- R2 mem=local.store.4 slot=sp:20
    ld R3 <- mem=local.load.8 slot=sp:16
    ld R4 <- mem=local.load.4 slot=sp:24
    """
    found = reads(text)
    assert found[2, "slot:sp4"] == (0,)
    assert found[2, "slot:sp5"] == (1,)
    assert found[3, "slot:sp6"] == ()


def test_shared_memory_is_followed_across_a_barrier() -> None:
    text = """
    top: st  <- R1 mem=shared.store.4
         bar bar
         lds R2 <- mem=shared.load.4
         bar bar
         cp  mem=global.copy.16 to=shared async
         br  <- (P0) ->top?
         lds R3 <- mem=shared.load.4
    """
    shared = SharedMemory(Graph(assemble(text)))
    assert shared.sources(2) == (0, 4)
    assert shared.sources(6) == (0, 4), "two barriers ago: this iteration's store, the copy of the one before"
