"""Loops of the unrollers without end, or over far too much: the judge stops them, with time and without."""

from __future__ import annotations

import re
import time

import pytest

from strop.kernels.judge import draw
from strop.kernels.registry import problem
from strop.kernels.targets.gemmini.toolchain import toolchains
from strop.kernels.targets.target import target
from strop.values.verdict import Verdict

pytestmark = pytest.mark.skipif(next(toolchains(), None) is None, reason="there is no compiler for RISC-V here")

HEAD = "void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {\n"
ZEROS = """\
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(0, 1.0f, DIM, 0);
  for (int i = 0; i < 16384; i += 64) mvin(0, i, 64, 16);
  for (int i = 0; i < 1024; i += 16) mvin(0, 0x80000000 | i, 16, 16);
"""
LOOP_WS = "gemmini_loop_ws({}, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0);\n}}\n"
LOOP_CONV = (
    "gemmini_loop_conv_ws(1, {0}, 20, 16, 16, 20, 20, 20, 20, 1, 0, 21, 1, 0, 0, 0, 1, 20, 20, 16, 21, 1, 16, 0, 0, 0,"
    " 0, 0, 0, 0, 0, {1}, 20, NULL, NULL, NULL, NULL, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 16, 16, 16, 0, 0, 0);\n}}\n"
)
SECONDS = 15  # of a shared, busy machine; about one where nothing else runs


def runs(code: str, *, timed: bool) -> tuple[Verdict, str]:
    found = problem("gemmini/gemm-16x16x16+fsm")
    machine = target("gemmini")
    built = machine.build(found, HEAD + code, sandbox="none")
    trial = next(trial for trial in draw(found, machine, 1) if trial.planned.timed is timed)
    start = time.process_time()
    outcome = next(iter(machine.run(found, built, [trial], sandbox="none")))
    assert time.process_time() - start < SECONDS
    assert outcome.broken is not None
    return outcome.broken.verdict, outcome.broken.reason


@pytest.mark.parametrize("timed", [False, True], ids=["untimed", "timed"])
@pytest.mark.parametrize("loop", [LOOP_WS.format("4, 8, 40"), LOOP_CONV.format(40, 20)], ids=["loop_ws", "loop_conv"])
def test_a_loop_that_never_ends(loop: str, timed: bool) -> None:
    verdict, reason = runs(f"{ZEROS}  for (;;) {loop}", timed=timed)
    assert verdict is Verdict.RUN_TIMEOUT
    assert re.search("cycles|rows have been moved", reason)


@pytest.mark.parametrize("timed", [False, True], ids=["untimed", "timed"])
@pytest.mark.parametrize(
    "loop", [LOOP_WS.format("65535, 65535, 65535"), LOOP_CONV.format(65535, 65535)], ids=["loop_ws", "loop_conv"]
)
def test_bounds_that_no_memory_holds(loop: str, timed: bool) -> None:
    verdict, reason = runs(ZEROS + loop, timed=timed)
    assert verdict is Verdict.ILLEGAL, reason
    assert "line 6" in reason
