"""Pending sets and definitions equal those of walking every path, on random graphs."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from strop.stalls.flow.bruteforce import TooManyStatesError, walk
from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions
from strop.stalls.flow.pending import VIEW_DEPTH, Pending
from strop.stalls.instruction import (
    Control,
    Flow,
    Function,
    Guard,
    Instruction,
    Pend,
    Register,
    Use,
    Wait,
    When,
)

REGISTERS = [Register("R", index) for index in range(3)]


@st.composite
def functions(draw: st.DrawFn, *, resources: tuple[str, ...] = ("SB0", "vm", "$1"), splits: bool = True) -> Function:
    count = draw(st.integers(2, 9))
    kinds = {
        "SB0": (st.just(0), st.none(), st.booleans()),
        "vm": (st.integers(0, 3), st.none(), st.just(True)),
        "lgkm": (st.integers(0, 2), st.none(), st.booleans()),
        "$1": (
            st.integers(0, 1),
            st.sampled_from([None, When.RESULT, When.OPERANDS_READ]) if splits else st.none(),
            st.booleans(),
        ),
        "float@": (st.integers(0, 3), st.none(), st.just(True)),
        "all@": (st.integers(0, 3), st.none(), st.just(True)),
    }
    code = []
    for index in range(count):
        pends, waits = [], []
        for resource in resources:
            depth, when, in_order = kinds[resource]
            which = draw(st.integers(0, 5))
            if which == 1:
                waits.append(Wait(resource, draw(depth), draw(when)))
            elif which in (2, 3):
                results = st.sampled_from([When.RESULT, When.RESULT, When.OPERANDS_READ])
                result = draw(results) if resource in ("SB0", "$1") else When.RESULT
                pends.append(Pend(resource, result, draw(in_order)))
                if resource == "$1" and draw(st.booleans()):
                    other = When.RESULT if result is When.OPERANDS_READ else When.OPERANDS_READ
                    pends.append(Pend(resource, other, draw(in_order)))
        control = None
        what = draw(st.integers(0, 9))
        if what <= 2:
            targets = tuple(draw(st.lists(st.integers(0, count - 1).map(lambda at: at * 16), min_size=1, max_size=2)))
            control = Control(Flow.BRANCH, targets, conditional=draw(st.booleans()))
        elif what == 3:
            control = Control(draw(st.sampled_from([Flow.EXIT, Flow.RETURN])), conditional=draw(st.booleans()))
        elif what == 4:
            control = Control(Flow.CALL, draw(st.sampled_from([None, ("f",), ("g",)])))
        elif what == 5 and draw(st.integers(0, 4)) == 0:
            control = Control(Flow.BRANCH, None)
        code.append(
            Instruction(
                pc=index * 16,
                size=16,
                opcode="op",
                text="op",
                guard=draw(st.none() | st.none() | st.just(Guard(REGISTERS[2]))),
                defs=tuple(draw(st.lists(st.sampled_from(REGISTERS), max_size=1))),
                uses=tuple(Use(one) for one in draw(st.lists(st.sampled_from(REGISTERS), max_size=2))),
                waits=tuple(waits),
                pends=tuple(pends),
                control=control,
                variable=any(pend.when is When.RESULT for pend in pends),
            )
        )
    return Function(
        name="f0", arch="test", address=0, size=16 * count, is_kernel=draw(st.booleans()), instructions=tuple(code)
    )


CALLEES = {"f": frozenset({"vm"}), "g": None}
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking takes minutes here
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def compare(function: Function) -> None:
    graph = Graph(function)
    try:
        walked = walk(graph, callees=CALLEES, limit=4_000)
    except TooManyStatesError:
        return
    pending = Pending(graph, callees=CALLEES)
    found = {
        (index, number): set(waited.producers)
        for index, several in pending.waits.items()
        for number, waited in enumerate(several)
    }
    assert found == walked.waits
    definitions = Definitions(graph)
    reads = {
        (at, one.register): set(one.definitions) for at, several in enumerate(definitions.reads) for one in several
    }
    assert reads == walked.reads
    asked: dict[int, set[int]] = {}
    for producer, consumer, _ in definitions.dependences():
        asked.setdefault(consumer, set()).add(producer)
    open_pairs = pending.unfinished(asked)
    assert open_pairs >= {(consumer, producer) for consumer, producer, _ in walked.unfinished}


@SETTINGS
@given(functions(resources=("SB0", "vm", "$1")))
def test_scoreboards_counters_and_tokens(function: Function) -> None:
    compare(function)


@SETTINGS
@given(functions(resources=("lgkm", "vm"), splits=False))
def test_out_of_order_counters(function: Function) -> None:
    compare(function)


@SETTINGS
@given(functions(resources=("float@",)))
def test_distances(function: Function) -> None:
    compare(function)


@SETTINGS
@given(functions(resources=("float@", "all@")), st.lists(st.integers(0, 7), min_size=30, max_size=60))
def test_several_views_of_one_order(function: Function, choices: list[int]) -> None:
    """Follow one path with each operation known by its own number: whatever a wait ends there was found."""
    pending = Pending(Graph(function), callees=CALLEES)
    code, at = function.instructions, 0
    lines: dict[str, list[tuple[int, int]]] = {"float@": [], "all@": []}
    for step, choice in enumerate(choices):
        instruction = code[at]
        for number, wait in enumerate(instruction.waits):
            gone = lines[wait.resource][wait.pending :]
            seen = {producer for producer, _ in pending.waits[at][number].producers}
            assert {producer for producer, _ in gone} <= seen
            lines = {name: [one for one in line if one not in gone] for name, line in lines.items()}
        control = instruction.control
        if control is not None and control.flow is Flow.CALL and control.targets != ("f",):
            lines = {name: [] for name in lines}
        for pend in instruction.pends:
            lines[pend.resource] = [(at, step), *lines[pend.resource]][:VIEW_DEPTH]
        ways = [at + 1]
        if control is not None and control.flow is not Flow.CALL:
            ways = [] if not (control.conditional or instruction.guard) else ways
            if control.flow is Flow.BRANCH:
                ways += [pc // 16 for pc in control.targets or () if isinstance(pc, int)]
        ways = [way for way in ways if way < len(code)]
        if not ways:
            return
        at = ways[choice % len(ways)]


def test_the_walk_gives_up_on_what_is_too_large() -> None:
    function = Function(
        name="f",
        arch="test",
        address=0,
        size=64,
        is_kernel=True,
        instructions=tuple(Instruction(pc=at * 16, size=16, opcode="op", text="op") for at in range(4)),
    )
    with pytest.raises(TooManyStatesError):
        walk(Graph(function), limit=2)
