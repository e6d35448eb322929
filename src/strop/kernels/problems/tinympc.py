"""`gemmini/tinympc-forward-5` and its kin: the small matrix-vector steps of a model-predictive controller, in float32.

12 states, 4 inputs, on the 4x4 float array. The Riccati passes of an ADMM iteration: backward makes the feed-forward
terms d from the costs, forward rolls the states out, chain does one after the other. The processor may read and write
every buffer: what is worth doing on the array, and with which fences, is the question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from strop.kernels.problem import Buffer, Descent, Host, Problem, Reference, Role, Tolerance, Work
from strop.kernels.registry import Family

if TYPE_CHECKING:
    import numpy as np

    Arrays = Mapping[str, np.ndarray[Any, Any]]

STATES, INPUTS = 12, 4
LONGEST = 1000  # steps
TOLERANCE = Tolerance(relative=1e-4)  # of the terms in one step; errors of the steps before shrink

PRODUCT = """\
// y = A x on the array, a tile of A and a piece of x at a time; A is m by k, both multiples of DIM.
static void product(const elem_t *A, const elem_t *x, elem_t *y, int m, int k) {
  config_ld(k * sizeof(elem_t), 1.0f, DIM, 0);
  for (int i = 0; i < m; i += DIM) {
    for (int j = 0; j < k; j += DIM) {
      mvin(A + i * k + j, 0, DIM, DIM);
      mvin2(x + j, DIM, 1, DIM);
      preload(DIM, j == 0 ? 0x80000000 : 0xc0000000, 1, DIM, 1, DIM);
      compute_preloaded(0, 0xffffffff, DIM, DIM, DIM, DIM);
    }
    mvout(y + i, 0x80000000, 1, DIM);
  }
  fence();
}

static void begin(void) {
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(sizeof(elem_t), 1.0f, DIM, 1);
  config_st(sizeof(elem_t), 1.0f);
}
"""

FORWARD = """
static void forward(const elem_t A[NX][NX], const elem_t B[NX][NU], const elem_t Kinf[NU][NX], const elem_t d[N][NU],
                    elem_t x[N + 1][NX], elem_t u[N][NU]) {
  static elem_t part[NX];
  for (int i = 0; i < N; i++) {
    product(&Kinf[0][0], x[i], part, NU, NX);
    for (int j = 0; j < NU; j++) u[i][j] = -part[j] - d[i][j];
    product(&A[0][0], x[i], x[i + 1], NX, NX);
    product(&B[0][0], u[i], part, NX, NU);
    for (int j = 0; j < NX; j++) x[i + 1][j] += part[j];
  }
}
"""

BACKWARD = """
static void backward(const elem_t Quu[NU][NU], const elem_t AmBKt[NX][NX], const elem_t Bt[NU][NX],
                     const elem_t Kt[NX][NU], const elem_t q[N][NX], const elem_t r[N][NU], elem_t p[N + 1][NX],
                     elem_t d[N][NU]) {
  static elem_t sum[NU], part[NX];
  for (int i = N - 1; i >= 0; i--) {
    product(&Bt[0][0], p[i + 1], sum, NU, NX);
    for (int j = 0; j < NU; j++) sum[j] += r[i][j];
    product(&Quu[0][0], sum, d[i], NU, NU);
    product(&AmBKt[0][0], p[i + 1], p[i], NX, NX);
    product(&Kt[0][0], r[i], part, NX, NU);
    for (int j = 0; j < NX; j++) p[i][j] += q[i][j] - part[j];
  }
}
"""

# name: (shape, how often a state's or an input's row; role)
_FORWARD = (("A", "xx"), ("B", "xu"), ("Kinf", "ux"))
_BACKWARD = (("Quu", "uu"), ("AmBKt", "xx"), ("Bt", "ux"), ("Kt", "xu"), ("q", "nx"), ("r", "nu"))


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem: `forward-N`, `backward-N` or `chain-N`, N steps."""
    found = re.fullmatch(r"(forward|backward|chain)-([1-9]\d{0,3})", parameters)
    if found is None or int(found[2]) > LONGEST:
        raise ValueError(f"{parameters!r} isn't forward, backward or chain with 1 to {LONGEST} steps")
    which, n = found[1], int(found[2])
    parts = {"forward": ("forward",), "backward": ("backward",), "chain": ("backward", "forward")}[which]
    long = {"x": STATES, "u": INPUTS, "n": n, "m": n + 1}
    named = [*(_BACKWARD if "backward" in parts else ()), *(_FORWARD if "forward" in parts else ())]
    if which == "forward":
        named.append(("d", "nu"))
    buffers = [_buffer(name, (long[form[0]], long[form[1]]), Role.INPUT) for name, form in named]
    if "backward" in parts:
        buffers += [_buffer("p", (n + 1, STATES), Role.INOUT), _buffer("d", (n, INPUTS), Role.OUTPUT)]
    if "forward" in parts:
        buffers += [_buffer("x", (n + 1, STATES), Role.INOUT), _buffer("u", (n, INPUTS), Role.OUTPUT)]
    signature = f"void solution({', '.join(_declared(each, n) for each in buffers)})"
    calls = {
        "backward": "backward(Quu, AmBKt, Bt, Kt, q, r, p, d);",
        "forward": "forward(A, B, Kinf, d, x, u);",
    }
    body = "".join(f"  {calls[part]}\n" for part in parts)
    code = "".join((BACKWARD if part == "backward" else FORWARD) for part in parts)
    per_step = {"forward": 2 * STATES * INPUTS + STATES**2, "backward": 2 * STATES * INPUTS + INPUTS**2 + STATES**2}
    return Problem(
        id=f"gemmini/tinympc-{which}-{n}{'+fsm' if fsm else ''}",
        target="gemmini",
        family="tinympc",
        title=f"{which} pass of TinyMPC over {n} steps, 12 states, 4 inputs, float32 on the 4x4 array",
        geometry="fp32-4x4",
        buffers=tuple(buffers),
        signature=signature,
        prelude=f"#define NX {STATES}\n#define NU {INPUTS}\n#define N {n}",
        reference=lambda inputs: _reference(inputs, parts, n),
        families=_families(buffers),
        tolerance=TOLERANCE,
        rewrites=True,
        work=Work(
            macs=n * sum(per_step[part] for part in parts),
            read_bytes=sum(each.nbytes for each in buffers if each.role is Role.INPUT) + 4 * STATES * len(parts),
            write_bytes=sum(each.nbytes for each in buffers if each.role is not Role.INPUT) - 4 * STATES * len(parts),
        ),
        descents=tuple(
            Descent(output=each.name, inputs=(), through_array=False) for each in buffers if each.role is not Role.INPUT
        ),
        starts={"naive": f"{PRODUCT}{code}\n{signature} {{\n  begin();\n{body}}}\n"},
        fsm=fsm,
    )


def _buffer(name: str, shape: tuple[int, int], role: Role) -> Buffer:
    return Buffer(
        name=name, shape=shape, dtype="float32", role=role, host=Host.READ if role is Role.INPUT else Host.ANY
    )


def _declared(buffer: Buffer, n: int) -> str:
    rows = {n: "N", n + 1: "N + 1"}
    sizes = {STATES: "NX", INPUTS: "NU"}
    by_step = buffer.name in "qrpdxu"
    first = rows[buffer.shape[0]] if by_step else sizes[buffer.shape[0]]
    const = "const " if buffer.role is Role.INPUT else ""
    return f"{const}elem_t {buffer.name}[{first}][{sizes[buffer.shape[1]]}]"


def _families(buffers: list[Buffer]) -> dict[str, Callable[[np.random.Generator], Arrays]]:
    def made(spread: float, step: Callable[[np.random.Generator, Any], Any]) -> Callable[[np.random.Generator], Arrays]:
        def draw(rng: np.random.Generator) -> Arrays:
            import numpy as np

            arrays = {}
            for buffer in buffers:
                if buffer.role is Role.OUTPUT:
                    continue
                values = step(rng, rng.normal(0, 1, buffer.shape))
                square = buffer.shape[0] == buffer.shape[1] and buffer.name not in "qrpdxu"
                # Matrices that shrink what they multiply: a roll-out neither dies nor explodes.
                scale = 0.1 if buffer.name not in "qrpdxu" else spread
                values = values * scale + (0.5 * np.eye(buffer.shape[0]) if square else 0)
                if buffer.role is Role.INOUT:
                    given = 0 if buffer.name == "x" else -1
                    kept = np.zeros_like(values)
                    kept[given] = values[given]
                    values = kept
                arrays[buffer.name] = values.astype(np.float32)
            return arrays

        return draw

    return {
        "dense": made(1.0, lambda rng, values: values),
        "large": made(1e4, lambda rng, values: values),
        "sparse": made(1.0, lambda rng, values: values * (rng.random(values.shape) < 0.3)),
        "whole": made(8.0, lambda rng, values: values.round()),
    }


def _reference(inputs: Arrays, parts: tuple[str, ...], n: int) -> Reference:
    """The passes in float64, with the magnitudes of the terms that each element is summed from in its own step."""
    import numpy as np

    given = {name: array.astype(np.float64) for name, array in inputs.items()}
    size = {name: np.abs(array) for name, array in given.items()}
    out: dict[str, Any] = {}
    if "backward" in parts:
        p, d, size_p, size_d = given["p"].copy(), np.zeros((n, INPUTS)), size["p"].copy(), np.zeros((n, INPUTS))
        for i in range(n - 1, -1, -1):
            d[i] = given["Quu"] @ (given["Bt"] @ p[i + 1] + given["r"][i])
            size_d[i] = size["Quu"] @ (size["Bt"] @ np.abs(p[i + 1]) + size["r"][i])
            p[i] = given["q"][i] + given["AmBKt"] @ p[i + 1] - given["Kt"] @ given["r"][i]
            size_p[i] = size["q"][i] + size["AmBKt"] @ np.abs(p[i + 1]) + size["Kt"] @ size["r"][i]
        out |= {"p": (p, size_p), "d": (d, size_d)}
        given["d"], size["d"] = d, np.abs(d)
    if "forward" in parts:
        x, u, size_x, size_u = given["x"].copy(), np.zeros((n, INPUTS)), size["x"].copy(), np.zeros((n, INPUTS))
        for i in range(n):
            u[i] = -(given["Kinf"] @ x[i]) - given["d"][i]
            size_u[i] = size["Kinf"] @ np.abs(x[i]) + size["d"][i]
            x[i + 1] = given["A"] @ x[i] + given["B"] @ u[i]
            size_x[i + 1] = size["A"] @ np.abs(x[i]) + size["B"] @ np.abs(u[i])
        out |= {"x": (x, size_x), "u": (u, size_u)}
    return Reference(
        outputs={name: value.astype(np.float32) for name, (value, _) in out.items()},
        scales={name: scale for name, (_, scale) in out.items()},
    )


FAMILY = Family(
    name="gemmini/tinympc",
    title="matrix-vector passes of a model-predictive controller, float32",
    form="gemmini/tinympc-forward-N, -backward-N or -chain-N",
    make=make,
    examples=("gemmini/tinympc-forward-5", "gemmini/tinympc-backward-10", "gemmini/tinympc-chain-10"),
)
