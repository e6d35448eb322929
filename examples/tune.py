"""Tune a matrix product with a fused tail, check it, keep its schedule, and see how it compares with NumPy.

Run: .venv/bin/python examples/tune.py
"""

from __future__ import annotations

import tempfile
import timeit
from pathlib import Path

import numpy as np

import strop

M, N, K = 97, 131, 61  # ragged on purpose: shapes like these are where a library leaves time on the table


def main() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((M, K), dtype=np.float32)
    b = rng.standard_normal((K, N), dtype=np.float32)
    bias = rng.standard_normal(N, dtype=np.float32)

    tuned = strop.tune("mk,kn->mn", a, b, epilogue="relu(x + bias[n])", threads=1)
    out = tuned(a, b, bias=bias)
    print(f"tuned:    {tuned.nest.summary}, {tuned.gflops:.0f} GFLOP/s")

    expected = np.maximum(a.astype(np.float64) @ b + bias, 0)
    print(f"checked:  largest error {np.abs(out - expected).max():.1e}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "matmul.json"
        tuned.save(path)
        again = strop.load(path)
    print(f"reloaded: same result {np.array_equal(again(a, b, bias=bias), out)}")

    # Both into arrays that exist, turn by turn, so that a slow moment of the machine hits both alike.
    mine, theirs = np.empty_like(out), np.empty_like(out)

    def with_numpy() -> None:
        np.matmul(a, b, out=theirs)
        np.add(theirs, bias, out=theirs)
        np.maximum(theirs, 0, out=theirs)

    rounds = [
        (timeit.timeit(lambda: tuned(a, b, out=mine, bias=bias), number=50), timeit.timeit(with_numpy, number=50))
        for _ in range(40)
    ]
    strop_s, numpy_s = (float(np.median(times)) / 50 for times in zip(*rounds, strict=True))
    print(f"strop:    {strop_s * 1e6:.1f} µs a call; NumPy: {numpy_s * 1e6:.1f} µs; {numpy_s / strop_s:.2f}x")


if __name__ == "__main__":
    main()
