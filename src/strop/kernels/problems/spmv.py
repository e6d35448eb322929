"""`cpu/spmv-csr-MxN-dD`: y = A x for a sparse matrix of M rows with D elements a row on average, CSR, float32."""

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
void solution(const int ROW[M + 1], const int COL[NNZ], const float VAL[NNZ], const float X[N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int e = ROW[i]; e < ROW[i + 1]; e++) sum += VAL[e] * X[COL[e]];
    Y[i] = sum;
  }
}
"""


def make(parameters: str, fsm: bool) -> Problem:
    """Return the problem of some sizes."""
    found = re.fullmatch(r"csr-([1-9]\d{0,6})x([1-9]\d{0,6})-d([1-9]\d{0,3})", parameters)
    if found is None or fsm:
        raise ValueError(f"{parameters!r} isn't in the form" if not fsm else "+fsm is gemmini's")
    m, n, d = (int(each) for each in found.groups())
    nnz = m * d
    if nnz > MOST or d > n:
        raise ValueError(f"elements go to {MOST:,}, and a row has at most as many as columns")

    def reference(inputs: Arrays) -> Reference:
        import numpy as np

        terms = inputs["VAL"].astype(np.float64) * inputs["X"].astype(np.float64)[inputs["COL"]]
        rows = np.repeat(np.arange(m), np.diff(inputs["ROW"]))
        y, scale = (np.bincount(rows, weights=each, minlength=m) for each in (terms, np.abs(terms)))
        return Reference(outputs={"Y": y.astype(np.float32)}, scales={"Y": scale})

    def rows_of(lengths: Any) -> Any:
        import numpy as np

        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)

    def even(rng: np.random.Generator) -> Arrays:
        """Every row has about as many: were they equal, where rows begin wouldn't have to be read."""
        import numpy as np

        return _filled(rng, rows_of(rng.multinomial(nnz, np.full(m, 1 / m))), rng.integers(0, n, nnz), n)

    def skewed(rng: np.random.Generator) -> Arrays:
        """A few rows hold most elements, many hold none."""

        weights = rng.pareto(1.0, m) + 1e-3
        return _filled(rng, rows_of(rng.multinomial(nnz, weights / weights.sum())), rng.integers(0, n, nnz), n)

    def banded(rng: np.random.Generator) -> Arrays:
        import numpy as np

        near = np.repeat(np.arange(m) * n // m, d) + rng.integers(-2 * d, 2 * d + 1, nnz)
        return _filled(rng, rows_of(np.full(m, d)), np.clip(near, 0, n - 1), n)

    return Problem(
        id=f"cpu/spmv-csr-{m}x{n}-d{d}",
        target="cpu",
        family="spmv",
        title=f"y = A x, {m}x{n} CSR with {nnz:,} elements, float32",
        buffers=(
            Buffer(name="ROW", shape=(m + 1,), dtype="int32", role=Role.INPUT),
            Buffer(name="COL", shape=(nnz,), dtype="int32", role=Role.INPUT),
            Buffer(name="VAL", shape=(nnz,), dtype="float32", role=Role.INPUT),
            Buffer(name="X", shape=(n,), dtype="float32", role=Role.INPUT),
            Buffer(name="Y", shape=(m,), dtype="float32", role=Role.OUTPUT),
        ),
        signature="void solution(const int ROW[M + 1], const int COL[NNZ], const float VAL[NNZ], const float X[N], "
        "float Y[M])",
        prelude=f"#define M {m}\n#define N {n}\n#define NNZ {nnz}",
        reference=reference,
        families={"even": even, "skewed": skewed, "banded": banded},
        tolerance=Tolerance(relative=1e-5),
        work=Work(macs=nnz, read_bytes=4 * (m + 1 + 2 * nnz), write_bytes=4 * m),
        descents=(Descent(output="Y", inputs=("VAL", "X"), through_array=False),),
        starts={"naive": NAIVE},
    )


def _filled(rng: np.random.Generator, rows: Any, columns: Any, n: int) -> Arrays:
    import numpy as np

    return {
        "ROW": rows,
        "COL": columns.astype(np.int32),
        "VAL": float_inputs.dense(rng, columns.shape),
        "X": float_inputs.dense(rng, (n,)),
    }


FAMILY = Family(
    name="cpu/spmv",
    title="sparse matrix times vector, CSR, float32",
    form="cpu/spmv-csr-MxN-dD",
    make=make,
    examples=("cpu/spmv-csr-16384x16384-d16", "cpu/spmv-csr-4096x4096-d64"),
)
