"""The source check let everything through: what then? Any instruction may run, and none gains anything."""

from __future__ import annotations

import pytest

from strop.kernels.judge import judge_code
from strop.kernels.judgement import Judgement
from strop.kernels.registry import problem
from strop.kernels.targets.gemmini import target as gemmini
from strop.kernels.targets.gemmini import toolchain
from strop.kernels.targets.target import target

PROBLEM = "gemmini/gemm-16x16x16"
SIGNATURE = "void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {\n"
WORK = """\
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  mvin(A, 0, 16, 16);
  mvin2(B, 16, 16, 16);
  preload(16, 0x80000000, 16, 16, 16, 16);
  compute_preloaded(0, GARBAGE_ADDR, 16, 16, 16, 16);
  mvout(C, 0x80000000, 16, 16);
"""
HANDLER = (
    '__attribute__((aligned(4), naked)) static void handler(void) { __asm__("csrr t0, mepc; addi t0, t0, 4; '
    'csrw mepc, t0; mret"); }\n'
)
CATCH = '  __asm__ volatile("csrw mtvec, %0" ::"r"(handler));\n'

pytestmark = pytest.mark.skipif(
    next(toolchain.toolchains(), None) is None, reason="there is no compiler for RISC-V here"
)


def run(text: str, *, operand: str = "0", clobbers: str = '"t0", "t1", "a0", "a1", "a2", "a7", "memory"') -> str:
    return f'  __asm__ volatile("{text}" ::"r"({operand}) : {clobbers});\n'


def kernel(before: str = "", after: str = "", outside: str = "") -> str:
    return f"{outside}{SIGNATURE}{before}{WORK}  fence();\n{after}}}\n"


@pytest.fixture(autouse=True)
def no_source_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "check_expanded", lambda *words, **named: None)
    monkeypatch.setattr(gemmini, "check", lambda *words, **named: None)


def judged(code: str) -> Judgement:
    return judge_code(problem(PROBLEM), code, target("gemmini"))


NOTHING_GAINED = {
    "the clock is set": kernel(after=run("csrw mcycle, x0; csrw minstret, x0")),
    "the clock is stopped": kernel(before=run("li t0, -1; csrw mcountinhibit, t0")),
    "a write to C is caught": kernel(CATCH, run(".option norvc; sb x0, 0(%0)", operand="C"), HANDLER),
    "a read of A is caught": kernel(CATCH + run(".option norvc; ld t1, 0(%0)", operand="A"), "", HANDLER),
    "it waits for an interrupt": kernel(before=run("wfi")),
    "it leaves before its work is done": kernel().replace("  fence();", run("li t0, -4096; jr t0")),
    "the stack is elsewhere": kernel(after=run("li sp, 0")),
    "it writes its code anew": kernel(
        outside='__asm__(".section .other, \\"awx\\"\\n.globl other\\n.align 2\\nother: nop\\nret\\n.text");\n'
        "void other(void);\n",
        after="  other();\n  *(volatile unsigned *)other = 0x00008067;\n" + run("fence.i") + "  other();\n",
    ),
}
REFUSED = {
    "it ends with exit code 0": (kernel(before=run("li a7, 93; li a0, 0; ecall")), "crash"),
    "A goes to the console": (
        kernel(after=run("mv a1, %0; li a7, 64; li a0, 1; li a2, 256; ecall", operand="A")),
        "illegal",
    ),
    "much goes to the console": (
        kernel(
            outside="static char many[100000];\n",
            after=run("mv a1, %0; li a7, 64; li a0, 1; li a2, 100000 - 1; ecall", operand="many"),
        ),
        "limit",
    ),
    "C is the host's mailbox": (kernel(outside='__asm__(".globl tohost\\n.set tohost, 0x81004000");\n'), "illegal"),
    "a trap in a trap": (kernel(before=run("li t0, 4; csrw mtvec, t0; lw t1, 0(x0)")), "run_timeout"),
    "an atomic on C": (kernel(after=run("amoadd.w t0, x0, (%0)", operand="C")), "illegal"),
    "a reservation of C": (kernel(after=run("lr.w t0, (%0)", operand="C")), "illegal"),
    "a float into C": (kernel(after=run("fsd f0, 8(%0)", operand="C")), "illegal"),
    "a load that ends in C": (kernel(after=run("ld t0, -4(%0)", operand="C")), "crash"),
    "another accelerator": (kernel(before=run(".insn r 0x0b, 3, 7, x0, x0, x0")), "crash"),
    "it returns by mret, first": (
        kernel(before=run("csrw mepc, %0; mret", operand="-4096L")),
        "no_work",
    ),
    "it does less while nobody looks": (
        kernel(
            after="  long from, till, done, then;\n"
            '  __asm__ volatile("csrr %0, mcycle; csrr %1, minstret" : "=r"(from), "=r"(done));\n  fence();\n'
            "  mvin(A, 64, 16, 16);\n  fence();\n"
            '  __asm__ volatile("csrr %0, mcycle; csrr %1, minstret" : "=r"(till), "=r"(then));\n'
            "  mvin(A, till - from > then - done + 20 ? 64 : 128, 16, 16);\n  fence();\n"
        ),
        "nondeterministic",
    ),
}


@pytest.mark.parametrize("code", NOTHING_GAINED.values(), ids=NOTHING_GAINED.keys())
def test_nothing_is_gained(code: str) -> None:
    own, found = judged(kernel()), judged(code)
    assert own.cycles is not None
    assert found.cycles is not None, found.reason
    assert found.cycles >= own.cycles - 10  # a return and a fence more or less


@pytest.mark.parametrize(("code", "verdict"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(code: str, verdict: str) -> None:
    found = judged(code)
    assert found.verdict == verdict, found.reason
