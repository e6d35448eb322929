"""Native data flow says what the Python classes say: on all code that we have, and on random graphs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions, Read
from strop.stalls.flow.native_definitions import NativeDefinitions, NativePieces, definitions
from strop.stalls.instruction import (
    Control,
    Direction,
    Flow,
    Function,
    Guard,
    Instruction,
    Memory,
    Register,
    Role,
    Use,
)
from tests.stalls.amd import fixtures as amd
from tests.stalls.intel import fixtures as intel
from tests.stalls.nvidia import recorded as nvidia

REGISTERS = [Register(space, index) for space in ("r", "r+2", "p") for index in range(6)]


def same(function: Function) -> None:
    graph = Graph(function)
    found, right = definitions(graph), Definitions(graph)
    assert type(found) is NativeDefinitions
    assert found.by_piece == right.by_piece
    assert all(type(read) is Read for reads in found.by_piece for read in reads)
    assert found.reads == right.reads
    assert found.readers == right.readers
    assert found.written_later() == right.written_later()
    count = len(function.instructions)
    asked = {
        index: {*chain.from_iterable(read.definitions for read in reads), -1, index * 7 % count, index * index % count}
        for index, reads in enumerate(right.by_piece)
    }
    asked |= {index: set(range(-1, count)) for index in range(0, count, 1 + count // 4)}
    assert found.needed_after(asked) == right.needed_after(asked)
    assert found.needed_after({}) == set()
    pieces = NativePieces(function.instructions)
    assert len(pieces) == len(pieces.first)
    for index in range(count):
        assert found.numbers(index) == right.numbers(index)
    assert [found.space(piece) for piece in range(len(pieces))] == [right.space(piece) for piece in range(len(pieces))]


def own() -> Iterator[tuple[str, Function]]:
    for name in nvidia.NAMES[::6]:
        for function in nvidia.binary(name).functions:
            yield f"{name} {function.name}", function
    for path in sorted(amd.FOLDER.glob("*.hsaco.xz")):
        source, isa = path.name.removesuffix(".hsaco.xz").split(".", 1)
        for name, function in amd.functions(source, isa).items():
            yield f"{path.name} {name}", function
    for device in intel.DEVICES:
        for name, function in intel.functions(device).items():
            yield f"{device} {name}", function
    for platform in ("xehpg", "xehpc"):
        yield platform, intel.program(platform)


def test_on_our_own_kernels() -> None:
    count = 0
    for _, function in own():
        same(function)
        count += 1
    assert count > 50


@st.composite
def functions(draw: st.DrawFn) -> Function:
    count = draw(st.integers(1, 24))
    code = []
    for index in range(count):
        control = None
        what = draw(st.integers(0, 9))
        if what <= 2:
            targets = tuple(draw(st.lists(st.integers(0, count - 1).map(lambda at: at * 16), min_size=1, max_size=2)))
            control = Control(Flow.BRANCH, targets, conditional=draw(st.booleans()))
        elif what == 3:
            control = Control(draw(st.sampled_from([Flow.EXIT, Flow.RETURN])), conditional=draw(st.booleans()))
        elif what == 4 and draw(st.booleans()):
            control = Control(Flow.BRANCH, None)
        memory = None
        if draw(st.integers(0, 3)) == 0:
            slot = draw(st.none() | st.tuples(st.sampled_from(["r1", "sp"]), st.integers(-8, 40)))
            directions = st.sampled_from([Direction.LOAD, Direction.STORE, Direction.ATOMIC])
            memory = Memory("scratch", draw(directions), draw(st.sampled_from([None, 1, 4, 8, 16])), slot=slot)
        roles = st.sampled_from(list(Role))
        first, length = draw(st.integers(0, 17)), draw(st.integers(0, 6))
        uses = draw(st.lists(st.builds(Use, st.sampled_from(REGISTERS), roles), max_size=4))
        code.append(
            Instruction(
                pc=index * 16,
                size=16,
                opcode="op",
                text="op",
                guard=draw(st.none() | st.none() | st.builds(Guard, st.sampled_from(REGISTERS))),
                defs=tuple(REGISTERS[first : first + length]),
                uses=(*uses, *(Use(one) for one in REGISTERS[draw(st.integers(0, 17)) :][:length])),
                memory=memory,
                control=control,
            )
        )
    return Function(name="f", arch="test", address=0, size=count * 16, is_kernel=True, instructions=tuple(code))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(functions())
def test_on_random_graphs(function: Function) -> None:
    same(function)


def test_without_the_native_module(monkeypatch: pytest.MonkeyPatch) -> None:
    function = intel.program("xehpc")
    monkeypatch.setitem(sys.modules, "strop._native", None)
    monkeypatch.delattr("strop._native", raising=False)
    found = definitions(Graph(function))
    assert type(found) is Definitions
    monkeypatch.undo()
    assert definitions(Graph(function)).by_piece == found.by_piece


def test_what_does_not_fit_together_is_refused() -> None:
    from strop._native import Reaching

    whole: list[object] = [[0], [2], [[]], [[]], [0], [0], b"\0\0", [(0,), ()], [(), ((0, Role.DATA),)], 1]
    made = Reaching(*whole)  # type: ignore[arg-type]
    assert made.by_piece(Read, [REGISTERS[0]], [(), ((0, Role.DATA),)])[1] == (Read(REGISTERS[0], Role.DATA, (0,)),)
    wrong: list[tuple[int, object]] = [
        (0, [1]), (1, [3]), (1, []), (2, [[1]]), (4, [1]), (5, []), (6, b"\0"), (7, [(1,), ()]), (7, [(-1,), ()]),
    ]  # fmt: skip
    for place, value in wrong:
        other = [*whole[:place], value, *whole[place + 1 :]]
        with pytest.raises((ValueError, IndexError)):
            Reaching(*other)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Reaching(None, *whole[1:])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same"):
        made.by_piece(Read, [], [(), ((0, Role.DATA),)])
    with pytest.raises(ValueError, match="named tuples"):
        made.by_piece(dict, [REGISTERS[0]], [(), ((0, Role.DATA),)])  # type: ignore[type-var]
