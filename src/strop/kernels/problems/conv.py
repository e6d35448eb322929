"""`gemmini/conv-b4-h56-w56-c64-k64-r3-s1-p1`: a convolution in int8, NHWC, zero padding, saturated."""

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

FORM = re.compile(
    r"b(?P<b>[1-9]\d{0,2})-h(?P<h>[1-9]\d{0,3})-w(?P<w>[1-9]\d{0,3})-c(?P<c>[1-9]\d{0,4})-k(?P<k>[1-9]\d{0,4})"
    r"-r(?P<r>[1-9]\d?)-s(?P<s>[1-9])-p(?P<p>\d)"
)
MOST_BYTES = 64 << 20
MOST_MACS = 1 << 33

NAIVE = """\
// Sixteen pixels of an output row at a time: for each tap and sixteen channels what it sees, times its weights.
void solution(const elem_t X[NB][H][W][CI], const elem_t F[R][R][CI][CO], elem_t Y[NB][OH][OW][CO]) {
  const uint32_t a = 0, b = DIM, y = 0x80000000;
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(STRIDE * CI, 1.0f, DIM, 0);
  config_ld(CO, 1.0f, DIM, 1);
  config_st(CO);
  for (int n = 0; n < NB; n++)
    for (int row = 0; row < OH; row++)
      for (int col = 0; col < OW; col += DIM)
        for (int to = 0; to < CO; to += DIM) {
          const int pixels = OW - col < DIM ? OW - col : DIM, wide = CO - to < DIM ? CO - to : DIM;
          bool first = true;
          for (int kr = 0; kr < R; kr++)
            for (int kc = 0; kc < R; kc++) {
              const int h = row * STRIDE + kr - PAD, w = col * STRIDE + kc - PAD;
              // Pixels before `from` and from `till` on see the padding.
              int from = w < 0 ? (-w + STRIDE - 1) / STRIDE : 0, till = (W - w + STRIDE - 1) / STRIDE;
              if (h < 0 || h >= H || till < 0) till = 0;
              if (till > pixels) till = pixels;
              if (from > till) from = till;
              for (int ci = 0; ci < CI; ci += DIM) {
                const int deep = CI - ci < DIM ? CI - ci : DIM;
                if (till - from < pixels) mvin(0, a, deep, pixels);
                if (till > from) mvin(&X[n][h][w + from * STRIDE][ci], a + from, deep, till - from);
                mvin2(&F[kr][kc][ci][to], b, wide, deep);
                preload(b, first ? y : y | 0x40000000, wide, deep, wide, pixels);
                compute_preloaded(a, 0xffffffff, deep, pixels, DIM, DIM);
                first = false;
              }
            }
          mvout(&Y[n][row][col][to], y, wide, pixels);
        }
  fence();
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of some sizes."""
    found = FORM.fullmatch(parameters)
    if found is None:
        raise ValueError(f"{parameters!r} isn't in the form")
    b, h, w, c, k, r, s, p = (int(each) for each in found.groups())
    oh, ow = (h + 2 * p - r) // s + 1, (w + 2 * p - r) // s + 1
    if h + 2 * p < r or w + 2 * p < r or p >= r:
        raise ValueError("the window is larger than the padded image, or the padding reaches past the window")
    macs = b * oh * ow * k * c * r * r
    if max(b * h * w * c + r * r * c * k + b * oh * ow * k, macs >> 7) > MOST_BYTES:
        raise ValueError(f"all arrays together go to {MOST_BYTES >> 20} MiB, multiply-adds to {MOST_BYTES << 7:,}")
    image, weights = (b, h, w, c), (r, r, c, k)

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        x = np.pad(inputs["X"], ((0, 0), (p, p), (p, p), (0, 0)))
        total = np.zeros((b * oh * ow, k), np.float64)  # exact: sums stay far below 2^53
        for kr in range(r):
            for kc in range(r):
                seen = x[:, kr : kr + (oh - 1) * s + 1 : s, kc : kc + (ow - 1) * s + 1 : s]
                total += seen.reshape(-1, c).astype(np.float64) @ inputs["F"][kr, kc]
        return Reference(outputs={"Y": int8_inputs.saturated(total).reshape(b, oh, ow, k)})

    def both(one: Any, two: Any) -> Any:
        return lambda rng: {"X": one(rng, image), "F": two(rng, weights)}

    return Problem(
        id=f"gemmini/conv-b{b}-h{h}-w{w}-c{c}-k{k}-r{r}-s{s}-p{p}{'+fsm' if fsm else ''}",
        target="gemmini",
        family="conv",
        title=f"{r}x{r} convolution, {b} images {h}x{w}x{c} to {k} channels, stride {s}, padding {p}, int8, saturated",
        buffers=(
            Buffer(name="X", shape=image, dtype="int8", role=Role.INPUT),
            Buffer(name="F", shape=weights, dtype="int8", role=Role.INPUT),
            Buffer(name="Y", shape=(b, oh, ow, k), dtype="int8", role=Role.OUTPUT),
        ),
        signature="void solution(const elem_t X[NB][H][W][CI], const elem_t F[R][R][CI][CO], elem_t Y[NB][OH][OW][CO])",
        prelude="\n".join(
            f"#define {name} {value}"
            for name, value in (
                ("NB", b), ("H", h), ("W", w), ("CI", c), ("CO", k), ("R", r), ("STRIDE", s), ("PAD", p), ("OH", oh),
                ("OW", ow),
            )
        ),
        reference=reference,
        families={
            "dense": both(int8_inputs.dense, int8_inputs.dense),
            "sparse": both(int8_inputs.small, int8_inputs.sparse),
            "extremes": both(int8_inputs.extremes, int8_inputs.sparse),
            "ramps": both(int8_inputs.ramp, int8_inputs.sparse),
        },
        work=Work(
            macs=_inside(b, h, w, c, k, r, s, p, oh, ow),
            read_bytes=_read(h, w, r, s, p, oh, ow) * b * c + r * r * c * k,
            write_bytes=b * oh * ow * k,
        ),
        descents=(Descent(output="Y", inputs=("X", "F")),),
        starts={"naive": NAIVE},
        fsm=fsm,
    )  # fmt: skip


def _inside(b: int, h: int, w: int, c: int, k: int, r: int, s: int, p: int, oh: int, ow: int) -> int:
    """Return the multiply-adds that don't fall on padding."""
    rows = sum(0 <= row * s + tap - p < h for row in range(oh) for tap in range(r))
    cols = sum(0 <= col * s + tap - p < w for col in range(ow) for tap in range(r))
    return b * rows * cols * c * k


def _read(h: int, w: int, r: int, s: int, p: int, oh: int, ow: int) -> int:
    """Return the pixels of an image that some window sees."""
    rows = {row * s + tap - p for row in range(oh) for tap in range(r)} & set(range(h))
    cols = {col * s + tap - p for col in range(ow) for tap in range(r)} & set(range(w))
    return len(rows) * len(cols)


FAMILY = Family(
    name="gemmini/conv",
    title="convolution in int8, NHWC, zero padding, saturated",
    form="gemmini/conv-bB-hH-wW-cC-kK-rR-sS-pP",
    make=make,
    examples=(
        "gemmini/conv-b4-h56-w56-c64-k64-r3-s1-p1",
        "gemmini/conv-b4-h28-w28-c128-k128-r3-s1-p1",
        "gemmini/conv-b4-h14-w14-c256-k256-r3-s1-p1",
        "gemmini/conv-b1-h56-w56-c64-k64-r1-s1-p0",
        "gemmini/conv-b1-h56-w56-c128-k128-r3-s2-p1",
        "gemmini/conv-b1-h14-w14-c256-k256-r3-s1-p1",
        "gemmini/conv-b1-h9-w11-c5-k19-r3-s2-p1",
    ),
)
