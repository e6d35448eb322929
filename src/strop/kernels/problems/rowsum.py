"""`cpu/rowsum-MxN`: the sum of each row, float32: as fast as memory gives, if the sum isn't one chain."""

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

NAIVE = """\
void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
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
        return Reference(outputs={"Y": x.sum(axis=1).astype(np.float32)}, scales={"Y": np.abs(x).sum(axis=1)})

    def one(family: Any) -> Any:
        return lambda rng: {"X": family(rng, (m, n))}

    return Problem(
        id=f"cpu/rowsum-{m}x{n}",
        target="cpu",
        family="rowsum",
        title=f"Y[{m}] = the sum of each row of X[{m}][{n}], float32",
        buffers=(
            Buffer(name="X", shape=(m, n), dtype="float32", role=Role.INPUT),
            Buffer(name="Y", shape=(m,), dtype="float32", role=Role.OUTPUT),
        ),
        signature="void solution(const float X[M][N], float Y[M])",
        prelude=f"#define M {m}\n#define N {n}",
        reference=reference,
        families={
            "dense": one(float_inputs.dense),
            "cancelling": one(float_inputs.cancelling),
            "sparse": one(float_inputs.sparse),
            "extremes": one(float_inputs.extremes),
            "ramps": one(float_inputs.ramp),
        },
        # Roundings of a long sum go both ways; more would let a part of a row be left out.
        tolerance=Tolerance(relative=max(1e-5, n**0.5 * 1e-7)),
        work=Work(macs=m * n // 2, read_bytes=4 * m * n, write_bytes=4 * m),
        descents=(Descent(output="Y", inputs=("X",), through_array=False),),
        starts={"naive": NAIVE},
    )


FAMILY = Family(
    name="cpu/rowsum",
    title="the sum of each row, float32",
    form="cpu/rowsum-MxN",
    make=make,
    examples=("cpu/rowsum-1024x1024", "cpu/rowsum-64x100000"),
)
