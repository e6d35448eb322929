"""What the machine refuses: each refusal names the command, its index, its pc and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strop import _native
from tests.native.gemmini.programs import (
    ACC,
    ACCA,
    FULL,
    GARBAGE,
    WHERE,
    Command,
    ex,
    flip,
    ld,
    local,
    loop_ws,
    mvin,
    mvin2,
    mvout,
    norm,
    pool,
    preload,
    st,
    stay,
)

A, B, D, O = (WHERE[name] for name in "ABDO")  # noqa: E741 - the arrays' names in the vectors
WS = ex(1, 0, 0, 0, 1, 1, 0)
OS = ex(0, 0, 0, 0, 1, 1, 0)
START = [ld(0, 0, 16, 1, 16), ld(1, 0, 16, 1, 16), ld(2, 0, 16, 1, 64), st(0, 1, 16), WS]
FILL = [mvin(A, local(0, 16, 16)), mvin(B, local(16, 16, 16)), mvin(0, local(ACC, 16, 16))]
POOL = pool(stride=1, size=2, up=0, left=0, out_dim=4, pooled=(4, 4), image=(5, 5), row=16, scale=1)

ALWAYS: list[tuple[str, list[Command], str]] = [
    ("rows", [mvin(A, local(0, 16, 17))], "17 rows; at most 16"),
    ("columns", [mvin(A, local(0, 65, 16))], "65 columns; at most 64"),
    ("accumulator columns", [mvin(A, local(ACC, 17, 16))], "17 columns; at most 16"),
    ("block stride", [ld(1, 0, 8, 1, 64), mvin2(A, local(0, 64, 16))], "block stride 8 is less than its 16 rows"),
    ("past the scratchpad", [mvin(A, local(16383, 16, 2))], "reaches row 16384 of the scratchpad, which has 16384"),
    ("past it by blocks", [mvin(A, local(16352, 64, 16))], "reaches row 16415"),
    (
        "past the accumulator",
        [mvin(A, local(ACC | 1020, 16, 5))],
        "reaches row 1024 of the accumulator, which has 1024",
    ),
    ("garbage destination", [mvin(A, local(GARBAGE))], "garbage address"),
    ("pixels in the accumulator", [ld(0, 0, 16, 1, 16, pixels=2), mvin(A, local(ACC, 3, 4))], "scratchpad only"),
    ("pixels too wide", [ld(0, 0, 16, 1, 16, pixels=3), mvin(A, local(8, 6, 4))], "don't fit a row"),
    ("store rows", [*FILL, mvout(O, local(0, 16, 17))], "17 rows"),
    ("store columns", [mvout(O, local(0, 65, 1))], "65 columns"),
    ("full width blocks", [mvout(O, local(ACC | FULL, 32, 4))], "one block of columns"),
    ("pooled blocks", [POOL, mvout(O, local(ACC, 32, 0))], "one block of columns"),
    ("pooled full width", [POOL, mvout(O, local(ACC | FULL, 16, 0))], "aren't pooled"),
    ("pooled image", [POOL, mvout(O, local(ACC | 1000, 16, 0))], "reaches row 1024"),
    ("pool without size", [(0, 1 << 4 | 2, 16)], "without a pool size"),
    ("weight-stationary, both turned", [ex(1, 0, 1, 1, 1, 1, 0)], "both A and B"),
    ("output-stationary, B turned", [ex(0, 0, 0, 1, 1, 1, 0)], "B alone"),
    ("shift", [ex(0, 0, 0, 0, 1, 1, 32)], "shift of 32"),
    ("load state", [(0, 3 << 3 | 1, 16)], "configurations 0 to 2"),
    ("statistics", [norm(stat=4)], "statistics 4 of 4"),
    ("preload dims", [*FILL, preload(local(0, 17, 16), local(ACC))], "17 columns"),
    ("C rows", [*FILL, preload(local(0), local(ACC, 16, 17))], "17 rows"),
    ("C past the end", [ex(1, 0, 0, 0, 1, 100, 0), *FILL, preload(local(0), local(ACC, 16, 16))], "row 1500"),
    (
        "A past the end",
        [ex(1, 0, 0, 0, 2000, 1, 0), *FILL, preload(local(0), local(ACC)), flip(local(0), local(GARBAGE))],
        "A reaches",
    ),
    ("A dims", [*FILL, preload(local(0), local(ACC)), flip(local(0, 16, 17), local(GARBAGE))], "A has 17 rows"),
    (
        "C past the end by a later stride",
        [*FILL, preload(local(0), local(ACC)), ex(1, 0, 0, 0, 1, 100, 0), flip(local(0), local(GARBAGE))],
        "C reaches row 1500",
    ),
    ("no preload", [*FILL, flip(local(0), local(GARBAGE))], "no preload"),
    ("funct", [(99, 0, 0)], "funct 99"),
    ("loop of nothing", loop_ws((0, 1, 1), (0, 0, 0), (A, B, 0, O), (16, 16, 16, 16)), "at least 1"),
    ("loop too large for A and B", loop_ws((4, 8, 64), (0, 0, 0), (A, B, 0, O), (1024, 128, 128, 128)), "12288 rows"),
    (
        "loop too large for C",
        loop_ws((8, 8, 1), (0, 0, 0), (A, B, 0, O), (16, 128, 128, 128)),
        "half of the accumulator",
    ),
    ("loop padding", loop_ws((1, 1, 1), (16, 0, 0), (A, B, 0, O), (16, 16, 16, 16)), "padding of 16"),
    ("loop, both turned", loop_ws((1, 1, 1), (0, 0, 0), (A, B, 0, O), (16, 16, 16, 16), 0, 3), "both A and B"),
    ("convolution of nothing", [(15, 0, 0)], "bounds is 0"),
    ("DMA read", [mvin(0x1000, local(0))], "read"),
    ("DMA write", [*FILL, mvout(0x1000, local(0))], "writ"),
]

STRICTLY: list[tuple[str, list[Command], str]] = [
    ("nothing", [mvin(A, local(0, 0, 16))], "moves nothing"),
    ("block stride of one block", [ld(0, 0, 8, 1, 16), mvin(A, local(0, 16, 16))], "block stride 8"),
    (
        "never-written store",
        [mvout(O, local(700))],
        "reads row 700 of the scratchpad, whose column 0 was never written",
    ),
    ("a column", [mvin(A, local(700, 7, 16)), mvout(O, local(700, 8, 1))], "row 700 of the scratchpad, whose column 7"),
    ("never-written sum", [mvin(A, local(ACCA | 40))], "adds to row 40 of the accumulator, whose column 0"),
    ("never-written B", [preload(local(800), local(ACC))], "reads row 800"),
    ("never-written A", [*FILL, preload(local(0), local(ACC)), flip(local(900), local(GARBAGE))], "reads row 900"),
    ("never-written C", [*FILL, preload(local(0), local(ACCA | 64)), flip(local(0), local(GARBAGE))], "adds to row 64"),
    ("never-written D", [*FILL, preload(local(0), local(ACC)), flip(local(0), local(901))], "reads row 901"),
    ("empty array", [*FILL, preload(local(GARBAGE), local(ACC)), stay(local(0), local(GARBAGE))], "never loaded"),
    (
        "computes share a preload",
        [*FILL, preload(local(0), local(ACC)), flip(local(0), local(GARBAGE)), stay(local(0), local(GARBAGE))],
        "preload of its own",
    ),
    (
        "rows that aren't fed",
        [
            *FILL,
            preload(local(0), local(ACC)),
            flip(local(0), local(GARBAGE)),
            preload(local(GARBAGE), local(ACC, 16, 9)),
            stay(local(0, 16, 8), local(GARBAGE, 16, 8)),
        ],
        "feeds 8",
    ),
]


def fault(bench: Any, commands: list[Command]) -> tuple[str, str, int]:
    with pytest.raises(_native.CommandFault) as caught:
        bench.execute([*START, *commands])
    text, kind, index, _ = caught.value.args
    return text, kind, index


@pytest.mark.parametrize(("commands", "why"), [row[1:] for row in ALWAYS], ids=[row[0] for row in ALWAYS])
@pytest.mark.parametrize("strict", [True, False])
def test_refused(bench: Callable[..., Any], commands: list[Command], why: str, strict: bool) -> None:
    text, _, index = fault(bench(strict=strict), commands)
    assert why in text
    last = len(START) + len(commands) - 1
    assert index == last
    assert f"(command {last}, at 0x{4 * last:x})" in text


@pytest.mark.parametrize(("commands", "why"), [row[1:] for row in STRICTLY], ids=[row[0] for row in STRICTLY])
def test_refused_if_strict(bench: Callable[..., Any], commands: list[Command], why: str) -> None:
    text, kind, index = fault(bench(), commands)
    assert why in text
    assert kind == "illegal-command"
    assert index == len(START) + len(commands) - 1
    bench(strict=False).execute([*START, *commands])


def test_a_command_of_a_loop_is_named_by_the_loop(bench: Callable[..., Any]) -> None:
    # No A in memory and none in the scratchpad: the compute reads rows that were never written.
    text, _, _ = fault(bench(), loop_ws((1, 1, 1), (0, 0, 0), (0, B, 0, O), (16, 16, 16, 16)))
    assert text.startswith("compute_preloaded (step 3 of a loop, command 10, at 0x28): reads row 0 of the scratchpad")


def test_dma_outside_the_ranges_names_the_command_and_the_range(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.add_range(A, A + 256, "A", writable=False)
    machine.add_range(O, O + 255, "O", readable=False)
    text, kind, index = fault(machine, [mvin(A + 1, local(0, 16, 16))])
    assert kind == "dma-read-access"
    assert index == 5
    assert text.startswith("mvin (command 5, at 0x14): ")
    assert "A" in text
    machine.reset()
    text, kind, index = fault(machine, [mvin(A, local(0)), mvout(O, local(0))])
    assert kind == "dma-write-access"
    assert index == 6
    assert text.startswith("mvout (command 6, at 0x18): ")


def test_what_was_never_written_reads_as_poison_when_not_strict(bench: Callable[..., Any]) -> None:
    machine = bench(strict=False, poison=0x3C)
    machine.execute([*START, mvin(A, local(700, 7, 1)), mvout(O, local(700, 16, 1))])
    assert machine.read(O, 16) == machine.read(A, 7) + b"\x3c" * 9


def test_a_refused_configuration_changes_nothing(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.execute([*START, ld(0, 0, 16, 1, 64), mvin(D, local(ACC)), norm(stat=2)])
    for wrong in (norm(stat=9, act_msb=1), ex(1, 0, 1, 1, 7, 7, 0), (0, 1 << 4 | 2, 16)):
        with pytest.raises(_native.CommandFault):
            machine.execute([wrong])
    machine.execute([*FILL[:2], preload(local(16), local(ACC)), flip(local(0), local(GARBAGE)), mvout(O, local(ACC))])


def test_what_one_program_may_cost_is_bounded(bench: Callable[..., Any]) -> None:
    machine = bench()
    machine.limit_rows(100)
    text, _, index = fault(machine, [ld(0, 0, 16, 1, 64), mvin(A, local(0, 64, 16)), *FILL, *FILL])
    assert "more than 100 rows" in text
    assert index == 8
