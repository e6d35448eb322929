"""`gemmini/gemm-MxNxK`: C = A B in int8, saturated, on the 16x16 array."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strop.kernels.problem import Buffer, Descent, Problem, Reference, Role, Work
from strop.kernels.problems import int8_inputs
from strop.kernels.registry import Family

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

LARGEST = 65536  # of a size
MOST_BYTES = 64 << 20  # of all buffers

NAIVE = """\
// Every tile of A and B is brought in each time that it is needed.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  const uint32_t a = 0, b = DIM, c = 0x80000000;
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  for (int i = 0; i < M; i += DIM)
    for (int j = 0; j < N; j += DIM) {
      const int rows = M - i < DIM ? M - i : DIM, cols = N - j < DIM ? N - j : DIM;
      for (int k = 0; k < K; k += DIM) {
        const int deep = K - k < DIM ? K - k : DIM;
        mvin(&A[i][k], a, deep, rows);
        mvin2(&B[k][j], b, cols, deep);
        preload(b, k == 0 ? c : c | 0x40000000, cols, deep, cols, rows);
        compute_preloaded(a, 0xffffffff, deep, rows, DIM, DIM);
      }
      mvout(&C[i][j], c, cols, rows);
    }
  fence();
}
"""

TILED = """\
// As the software library does: strips of A and B stay in the scratchpad for a tile of C, brought in four blocks wide.
#define TI (M < 64 ? (M + DIM - 1) / DIM : 4)
#define TJ (N < 64 ? (N + DIM - 1) / DIM : 4)
#define TK (K < 256 ? (K + DIM - 1) / DIM : 16)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))

void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  const uint32_t a = 0, b = TI * TK * DIM, c = 0x80000000;
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  for (int i0 = 0; i0 < M; i0 += TI * DIM)
    for (int j0 = 0; j0 < N; j0 += TJ * DIM) {
      const int wide = LEAST(N - j0, TJ * DIM), high = LEAST(M - i0, TI * DIM);
      for (int k0 = 0; k0 < K; k0 += TK * DIM) {
        const int deep = LEAST(K - k0, TK * DIM);
        for (int i = 0; i < high; i += DIM)
          for (int k = 0; k < deep; k += 4 * DIM)
            mvin(&A[i0 + i][k0 + k], a + i * TK + k, LEAST(deep - k, 4 * DIM), LEAST(high - i, DIM));
        for (int k = 0; k < deep; k += DIM)
          mvin2(&B[k0 + k][j0], b + k * TJ, wide, LEAST(deep - k, DIM));
        for (int j = 0; j < wide; j += DIM)
          for (int k = 0; k < deep; k += DIM)
            for (int i = 0; i < high; i += DIM) {
              const int rows = LEAST(high - i, DIM), cols = LEAST(wide - j, DIM), part = LEAST(deep - k, DIM);
              const uint32_t to = (c + i * TJ + j) | (k0 + k == 0 ? 0 : 0x40000000);
              preload(i == 0 ? b + k * TJ + j : 0xffffffff, to, cols, part, cols, rows);
              if (i == 0)
                compute_preloaded(a + i * TK + k, 0xffffffff, part, rows, DIM, DIM);
              else
                compute_accumulated(a + i * TK + k, 0xffffffff, part, rows, DIM, DIM);
            }
      }
      for (int i = 0; i < high; i += DIM)
        for (int j = 0; j < wide; j += DIM)
          mvout(&C[i0 + i][j0 + j], c + i * TJ + j, LEAST(wide - j, DIM), LEAST(high - i, DIM));
    }
  fence();
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of some sizes, `MxNxK`."""
    found = re.fullmatch(r"([1-9]\d{0,5})x([1-9]\d{0,5})x([1-9]\d{0,5})", parameters)
    if found is None:
        raise ValueError(f"{parameters!r} isn't three sizes")
    m, n, k = (int(each) for each in found.groups())
    if max(m, n, k) > LARGEST or m * k + k * n + m * n > MOST_BYTES:
        raise ValueError(f"sizes go to {LARGEST}, all matrices together to {MOST_BYTES >> 20} MiB")
    shapes = {"A": (m, k), "B": (k, n)}

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        # Sums of products stay far below 2^53: float64 is exact, and fast.
        return Reference(outputs={"C": int8_inputs.saturated(inputs["A"].astype(np.float64) @ inputs["B"])})

    def both(one: Any, two: Any) -> Any:
        return lambda rng: {"A": one(rng, shapes["A"]), "B": two(rng, shapes["B"])}

    def cancelling(rng: np.random.Generator) -> Arrays:
        """Large products of opposite sign, so that sums are small: a lost or doubled term shows."""
        a, b = int8_inputs.dense(rng, shapes["A"]), int8_inputs.dense(rng, shapes["B"])
        half = k // 2
        b[half : 2 * half] = b[:half]
        a[:, half : 2 * half] = ~a[:, :half]  # -a - 1
        b[2 * half :] //= 64
        a[:, 2 * half :] //= 64
        b[:half] //= 16
        b[half : 2 * half] //= 16
        return {"A": a, "B": b}

    int8 = "int8"
    return Problem(
        id=f"gemmini/gemm-{m}x{n}x{k}{'+fsm' if fsm else ''}",
        target="gemmini",
        family="gemm",
        title=f"C[{m}][{n}] = A[{m}][{k}] B[{k}][{n}], int8, sums saturated",
        buffers=(
            Buffer(name="A", shape=(m, k), dtype=int8, role=Role.INPUT),
            Buffer(name="B", shape=(k, n), dtype=int8, role=Role.INPUT),
            Buffer(name="C", shape=(m, n), dtype=int8, role=Role.OUTPUT),
        ),
        signature="void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N])",
        prelude=f"#define M {m}\n#define N {n}\n#define K {k}",
        reference=reference,
        families={
            "dense": both(int8_inputs.dense, int8_inputs.dense),
            "sparse": both(int8_inputs.sparse, int8_inputs.small),
            "cancelling": cancelling,
            "extremes": both(int8_inputs.extremes, int8_inputs.sparse),
            "ramps": both(int8_inputs.sparse, int8_inputs.ramp),
        },
        work=Work(macs=m * n * k, read_bytes=m * k + k * n, write_bytes=m * n),
        descents=(Descent(output="C", inputs=("A", "B")),),
        starts={"naive": NAIVE, "tiled": TILED},
        fsm=fsm,
    )


FAMILY = Family(
    name="gemmini/gemm",
    title="matrix product in int8, C = A B, saturated",
    form="gemmini/gemm-MxNxK",
    make=make,
    examples=tuple(
        f"gemmini/gemm-{size}"
        for size in (
            "512x512x512", "12544x256x64", "12544x64x256", "3136x512x128", "3136x128x512", "784x1024x256",
            "1024x1024x1024", "256x256x256", "64x1024x1024", "97x131x61", "16x16x16",
        )
    ),
)  # fmt: skip
