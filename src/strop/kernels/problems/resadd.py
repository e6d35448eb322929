"""`gemmini/resadd-MxN`: C = A + B in int8, saturated: what joins the branches of a residual network."""

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

MOST_BYTES = 16 << 20  # of one array

NAIVE = """\
// Both tiles go into the accumulator, the second on top of the first.
void solution(const elem_t A[M][N], const elem_t B[M][N], elem_t C[M][N]) {
  const uint32_t sum = 0x80000000;
  gemmini_extended3_config_ld(N, 1.0f, true, 0);
  gemmini_extended3_config_ld(N, 1.0f, true, 1);
  config_st(N);
  for (int i = 0; i < M; i += DIM)
    for (int j = 0; j < N; j += DIM) {
      const int rows = M - i < DIM ? M - i : DIM, cols = N - j < DIM ? N - j : DIM;
      mvin(&A[i][j], sum, cols, rows);
      mvin2(&B[i][j], sum | 0x40000000, cols, rows);
      mvout(&C[i][j], sum, cols, rows);
    }
  fence();
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of some sizes, `MxN`."""
    found = re.fullmatch(r"([1-9]\d{0,6})x([1-9]\d{0,6})", parameters)
    if found is None:
        raise ValueError(f"{parameters!r} isn't two sizes")
    m, n = (int(each) for each in found.groups())
    if m * n > MOST_BYTES:
        raise ValueError(f"an array goes to {MOST_BYTES >> 20} MiB")

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        return Reference(outputs={"C": int8_inputs.saturated(inputs["A"].astype(np.int32) + inputs["B"])})

    def both(one: Any, two: Any) -> Any:
        return lambda rng: {"A": one(rng, (m, n)), "B": two(rng, (m, n))}

    def cancelling(rng: np.random.Generator) -> Arrays:
        a = int8_inputs.dense(rng, (m, n))
        return {"A": a, "B": ~a ^ (int8_inputs.small(rng, (m, n)) & 3)}

    return Problem(
        id=f"gemmini/resadd-{m}x{n}{'+fsm' if fsm else ''}",
        target="gemmini",
        family="resadd",
        title=f"C[{m}][{n}] = A + B, int8, saturated",
        buffers=tuple(
            Buffer(name=name, shape=(m, n), dtype="int8", role=Role.OUTPUT if name == "C" else Role.INPUT)
            for name in ("A", "B", "C")
        ),
        signature="void solution(const elem_t A[M][N], const elem_t B[M][N], elem_t C[M][N])",
        prelude=f"#define M {m}\n#define N {n}",
        reference=reference,
        families={
            "dense": both(int8_inputs.dense, int8_inputs.dense),
            "small": both(int8_inputs.small, int8_inputs.small),
            "cancelling": cancelling,
            "extremes": both(int8_inputs.extremes, int8_inputs.extremes),
            "ramps": both(int8_inputs.ramp, int8_inputs.ramp),
        },
        work=Work(macs=0, read_bytes=2 * m * n, write_bytes=m * n),
        descents=(Descent(output="C", inputs=("A", "B"), through_array=False),),
        starts={"naive": NAIVE},
        fsm=fsm,
    )


FAMILY = Family(
    name="gemmini/resadd",
    title="residual addition in int8, C = A + B, saturated",
    form="gemmini/resadd-MxN",
    make=make,
    examples=("gemmini/resadd-3136x256", "gemmini/resadd-196x1024", "gemmini/resadd-50x37"),
)
