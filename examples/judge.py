"""Write a kernel for the simulated Gemmini accelerator, have it judged, and see what holds it back.

Run: python examples/judge.py
"""

from __future__ import annotations

import strop
from strop.errors import NoCompiler

PROBLEM = "gemmini/gemm-64x64x64"

# All of A and B fits into the scratchpad: bring both in once, 64 columns at a time, in banks of their own.
KERNEL = """
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  const uint32_t a = 0, b = 4096, c = 0x80000000;
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  for (int i = 0; i < 64; i += 16) mvin(&A[i][0], a + 4 * i, 64, 16);
  for (int k = 0; k < 64; k += 16) mvin2(&B[k][0], b + 4 * k, 64, 16);
  for (int j = 0; j < 64; j += 16) {
    for (int k = 0; k < 64; k += 16)
      for (int i = 0; i < 64; i += 16) {
        preload(i == 0 ? b + 4 * k + j : 0xffffffff, (c + 4 * j + i) | (k ? 0x40000000 : 0), 16, 16, 16, 16);
        if (i == 0)
          compute_preloaded(a + 4 * i + k, 0xffffffff, 16, 16, 16, 16);
        else
          compute_accumulated(a + 4 * i + k, 0xffffffff, 16, 16, 16, 16);
      }
    for (int i = 0; i < 64; i += 16) mvout(&C[i][j], c + 4 * j + i, 16, 16);
  }
  fence();
}
"""


def main() -> None:
    problem = strop.problem(PROBLEM)
    print(f"{problem.id}: at best {problem.bound:,.0f} {problem.unit}")
    for name, code in (*problem.starts.items(), ("ours", KERNEL)):
        judgement = strop.judge(problem, code)
        if judgement.cycles is None or judgement.share_of_bound is None:
            print(f"{name:6} {judgement.verdict}: {judgement.reason}")
            continue
        cost = f"{judgement.cycles:>7,.0f} cycles, {judgement.share_of_bound:.0%} of the bound"
        print(f"{name:6} {cost}: {judgement.bottleneck}")
    wrong = strop.judge(problem, KERNEL.replace("k += 16) mvin2", "k += 32) mvin2"))
    print(f"{'broken':6} {wrong.verdict}: {wrong.reason}")


if __name__ == "__main__":
    try:
        main()
    except NoCompiler as error:
        print(error)
