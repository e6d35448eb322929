"""`cpu/softmax-MxN`: the softmax of each row, float32."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strop.kernels.problem import Buffer, Descent, Problem, Reference, Role, Tolerance, Work
from strop.kernels.problems import float_inputs
from strop.kernels.registry import Family

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

MOST = 1 << 24  # elements
EXP_FLOPS = 8  # multiply-adds of a short polynomial exp, the least that is known to reach the tolerance

NAIVE = """\
float expf(float);

void solution(const float X[M][N], float Y[M][N]) {
  for (int i = 0; i < M; i++) {
    float top = X[i][0], sum = 0;
    for (int j = 1; j < N; j++)
      if (X[i][j] > top) top = X[i][j];
    for (int j = 0; j < N; j++) {
      Y[i][j] = expf(X[i][j] - top);
      sum += Y[i][j];
    }
    for (int j = 0; j < N; j++) Y[i][j] /= sum;
  }
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of some sizes, `MxN`."""
    found = re.fullmatch(r"([1-9]\d{0,6})x([1-9]\d{0,6})", parameters)
    if found is None or fsm:
        raise ValueError(f"{parameters!r} isn't two sizes" if not fsm else "+fsm is gemmini's")
    m, n = (int(each) for each in found.groups())
    if m * n > MOST:
        raise ValueError(f"an array goes to {MOST:,} elements")

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        x = inputs["X"].astype(np.float64)
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        y = powers / powers.sum(axis=1, keepdims=True)
        # Relative, down to what float32 holds as a normal number: fast exps flush below it.
        return Reference(outputs={"Y": y.astype(np.float32)}, scales={"Y": np.maximum(y, 1e-30)})

    def one(family: Any, scale: float = 1.0) -> Any:
        return lambda rng: {"X": family(rng, (m, n)) * scale}

    def wide(rng: np.random.Generator) -> Arrays:
        import numpy as np

        return {"X": rng.uniform(-80, 80, (m, n)).astype(np.float32)}

    return Problem(
        id=f"cpu/softmax-{m}x{n}",
        target="cpu",
        family="softmax",
        title=f"Y[{m}][{n}] = softmax of each row of X, float32",
        buffers=(
            Buffer(name="X", shape=(m, n), dtype="float32", role=Role.INPUT),
            Buffer(name="Y", shape=(m, n), dtype="float32", role=Role.OUTPUT),
        ),
        signature="void solution(const float X[M][N], float Y[M][N])",
        prelude=f"#define M {m}\n#define N {n}",
        reference=reference,
        families={
            "dense": one(float_inputs.dense),
            "wide": wide,
            "sparse": one(float_inputs.sparse),
            "ramps": one(float_inputs.ramp, 0.25),
        },
        tolerance=Tolerance(relative=max(1e-4, n**0.5 * 1e-7)),  # a long row is summed in float32
        work=Work(macs=(EXP_FLOPS + 1) * m * n, read_bytes=4 * m * n, write_bytes=4 * m * n),
        descents=(Descent(output="Y", inputs=("X",), through_array=False),),
        starts={"naive": NAIVE},
    )


FAMILY = Family(
    name="cpu/softmax",
    title="softmax of each row, float32",
    form="cpu/softmax-MxN",
    make=make,
    examples=("cpu/softmax-512x1024", "cpu/softmax-64x32000"),
)
