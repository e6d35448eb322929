"""`gemmini/attention-sS-dD`: a block of attention in int8 with a ReLU where others have a softmax.

S = relu(Q Kᵀ / 256), O = S V / 256, each rounded half to even and saturated to int8: two matrix products of which the
second waits for all of the first, with a transpose in the first and a rescaling on each way out.
"""

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

SCALE = 1 / 256
LARGEST = 4096

NAIVE = """\
// S goes out to its own buffer and comes back in for the second product.
static void product(const elem_t *A, const elem_t *B, elem_t *C, int m, int n, int k, int b_row, bool transposed,
                    int act) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, transposed);
  config_ld(k, 1.0f, DIM, 0);
  config_ld(b_row, 1.0f, DIM, 1);
  gemmini_extended_config_st(n, act, 1.0f / 256);
  for (int i = 0; i < m; i += DIM)
    for (int j = 0; j < n; j += DIM) {
      for (int l = 0; l < k; l += DIM) {
        mvin(A + i * k + l, 0, DIM, DIM);
        mvin2(transposed ? B + j * b_row + l : B + l * b_row + j, DIM, DIM, DIM);
        preload(DIM, l == 0 ? 0x80000000 : 0xc0000000, DIM, DIM, DIM, DIM);
        compute_preloaded(0, 0xffffffff, DIM, DIM, DIM, DIM);
      }
      mvout(C + i * n + j, 0x80000000, DIM, DIM);
    }
  fence();
}

void solution(const elem_t Q[S][D], const elem_t K[S][D], const elem_t V[S][D], elem_t P[S][S], elem_t O[S][D]) {
  product(&Q[0][0], &K[0][0], &P[0][0], S, S, D, D, true, RELU);
  product(&P[0][0], &V[0][0], &O[0][0], S, D, S, D, false, NO_ACTIVATION);
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of a length and a width, both multiples of 16."""
    found = re.fullmatch(r"s([1-9]\d{0,3})-d([1-9]\d{0,3})", parameters)
    if found is None:
        raise ValueError(f"{parameters!r} isn't in the form")
    s, d = int(found[1]), int(found[2])
    if s % 16 or d % 16 or max(s, d) > LARGEST:
        raise ValueError(f"the length and the width are multiples of 16 up to {LARGEST}")

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        q, k, v = (inputs[name].astype(np.float64) for name in "QKV")
        p = int8_inputs.saturated(np.maximum(np.rint(q @ k.T * SCALE), 0))
        return Reference(outputs={"P": p, "O": int8_inputs.saturated(np.rint(p.astype(np.float64) @ v * SCALE))})

    def three(one: Any, two: Any, last: Any) -> Any:
        return lambda rng: {"Q": one(rng, (s, d)), "K": two(rng, (s, d)), "V": last(rng, (s, d))}

    names = (("Q", (s, d)), ("K", (s, d)), ("V", (s, d)), ("P", (s, s)), ("O", (s, d)))
    return Problem(
        id=f"gemmini/attention-s{s}-d{d}{'+fsm' if fsm else ''}",
        target="gemmini",
        family="attention",
        title=f"P = relu(Q Kᵀ / 256), O = P V / 256, length {s}, width {d}, int8, rounded and saturated",
        buffers=tuple(
            Buffer(name=name, shape=shape, dtype="int8", role=Role.OUTPUT if name in "PO" else Role.INPUT)
            for name, shape in names
        ),
        signature="void solution(const elem_t Q[S][D], const elem_t K[S][D], const elem_t V[S][D], elem_t P[S][S], "
        "elem_t O[S][D])",
        prelude=f"#define S {s}\n#define D {d}",
        reference=reference,
        families={
            "dense": three(int8_inputs.dense, int8_inputs.dense, int8_inputs.dense),
            "small": three(int8_inputs.small, int8_inputs.dense, int8_inputs.small),
            "extremes": three(int8_inputs.extremes, int8_inputs.sparse, int8_inputs.extremes),
            "ramps": three(int8_inputs.ramp, int8_inputs.sparse, int8_inputs.ramp),
        },
        work=Work(macs=2 * s * s * d, read_bytes=3 * s * d, write_bytes=s * s + s * d),
        descents=(Descent(output="P", inputs=("Q", "K")), Descent(output="O", inputs=("V",))),
        starts={"naive": NAIVE},
        fsm=fsm,
    )


FAMILY = Family(
    name="gemmini/attention",
    title="attention with a ReLU in place of the softmax, int8",
    form="gemmini/attention-sS-dD",
    make=make,
    examples=("gemmini/attention-s128-d64", "gemmini/attention-s64-d64"),
)
