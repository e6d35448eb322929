"""`cpu/depthwise-cC-hH-wW-rR`: each channel's own window over its image, float32; the input comes padded."""

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
void solution(const float X[C][H + R - 1][W + R - 1], const float F[C][R][R], float Y[C][H][W]) {
  for (int c = 0; c < C; c++)
    for (int i = 0; i < H; i++)
      for (int j = 0; j < W; j++) {
        float sum = 0;
        for (int r = 0; r < R; r++)
          for (int s = 0; s < R; s++) sum += X[c][i + r][j + s] * F[c][r][s];
        Y[c][i][j] = sum;
      }
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of some sizes."""
    found = re.fullmatch(r"c([1-9]\d{0,4})-h([1-9]\d{0,3})-w([1-9]\d{0,3})-r([1-9]\d?)", parameters)
    if found is None or fsm:
        raise ValueError(f"{parameters!r} isn't in the form" if not fsm else "+fsm is gemmini's")
    c, h, w, r = (int(each) for each in found.groups())
    image, filters, result = (c, h + r - 1, w + r - 1), (c, r, r), (c, h, w)
    size = c * (h + r - 1) * (w + r - 1)
    if size > MOST:
        raise ValueError(f"an array goes to {MOST:,} elements")

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        x, f = inputs["X"].astype(np.float64), inputs["F"].astype(np.float64)
        y, scale = np.zeros(result), np.zeros(result)
        for a in range(r):
            for b in range(r):
                term = x[:, a : a + h, b : b + w] * f[:, a, b, None, None]
                y += term
                scale += np.abs(term)
        return Reference(outputs={"Y": y.astype(np.float32)}, scales={"Y": scale})

    def both(one: Any, two: Any) -> Any:
        return lambda rng: {"X": one(rng, image), "F": two(rng, filters)}

    return Problem(
        id=f"cpu/depthwise-c{c}-h{h}-w{w}-r{r}",
        target="cpu",
        family="depthwise",
        title=f"{r}x{r} depthwise convolution of {c} channels to {h}x{w}, float32",
        buffers=(
            Buffer(name="X", shape=image, dtype="float32", role=Role.INPUT),
            Buffer(name="F", shape=filters, dtype="float32", role=Role.INPUT),
            Buffer(name="Y", shape=result, dtype="float32", role=Role.OUTPUT),
        ),
        signature="void solution(const float X[C][H + R - 1][W + R - 1], const float F[C][R][R], float Y[C][H][W])",
        prelude=f"#define C {c}\n#define H {h}\n#define W {w}\n#define R {r}",
        reference=reference,
        families={
            "dense": both(float_inputs.dense, float_inputs.dense),
            "sparse": both(float_inputs.sparse, float_inputs.dense),
            "extremes": both(float_inputs.extremes, float_inputs.dense),
            "ramps": both(float_inputs.ramp, float_inputs.ramp),
        },
        tolerance=Tolerance(relative=1e-5),
        rewrites=True,
        work=Work(macs=c * h * w * r * r, read_bytes=4 * (size + c * r * r), write_bytes=4 * c * h * w),
        descents=(Descent(output="Y", inputs=("X", "F"), through_array=False),),
        starts={"naive": NAIVE},
    )


FAMILY = Family(
    name="cpu/depthwise",
    title="depthwise convolution, float32",
    form="cpu/depthwise-cC-hH-wW-rR",
    make=make,
    examples=("cpu/depthwise-c128-h56-w56-r3", "cpu/depthwise-c64-h28-w28-r5"),
)
