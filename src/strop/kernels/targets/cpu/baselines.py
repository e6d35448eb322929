"""What a candidate is compared with: its problem's start code by each compiler, NumPy, and torch where it is there."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from strop.bench.timed_foreign import Ended
from strop.kernels.problem import Problem
from strop.kernels.targets.cpu.run import Bench, Draws, Taken, timed
from strop.kernels.targets.cpu.toolchain import compile_candidate, compilers
from strop.kernels.targets.target import Refused

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    Way = Callable[[Mapping[str, Array]], Any]

BASELINE_S = 1.5  # for each


def baselines(problem: Problem, draws: Draws, call_s: float, *, sandbox: str) -> dict[str, float]:
    """Return the seconds a call of each baseline, by name. The candidate's process stands still meanwhile."""
    found = {}
    for compiler in compilers():
        try:
            program = compile_candidate(
                problem.start_code, buffers=len(problem.buffers), prelude=problem.prelude, sandbox=sandbox,
                chosen=compiler,
            )  # fmt: skip
            found[compiler.name] = _compiled(problem, program, draws, call_s, sandbox=sandbox)
        except (Refused, Ended):
            continue  # a start code that this compiler doesn't take
    for name, ways in (("numpy", NUMPY), ("torch", TORCH)):
        way = ways.get(problem.family)
        if way is not None and (name == "numpy" or importlib.util.find_spec(name) is not None):
            found[name] = _python(way, draws)
    return found


def _compiled(problem: Problem, program: bytes, draws: Draws, call_s: float, *, sandbox: str) -> float:
    bench = Bench(problem, program, sandbox=sandbox)
    taken = Taken()
    try:
        for _ in timed(bench, draws, taken, call_s=call_s, most_s=BASELINE_S):
            pass
    finally:
        bench.close()
    return median(taken.samples or taken.disturbed)


def _python(way: Way, draws: Draws) -> float:
    samples: list[float] = []
    until = time.monotonic() + BASELINE_S
    while len(samples) < 3 or (len(samples) < 12 and time.monotonic() < until):
        (trial,) = draws.take(1)
        begin = time.perf_counter()
        way(trial.inputs)
        samples.append(time.perf_counter() - begin)
    return median(samples[1:])


def _softmax(inputs: Mapping[str, Array]) -> Array:
    import numpy as np

    x = inputs["X"]
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    result: Array = powers / powers.sum(axis=1, keepdims=True)
    return result


def _depthwise(inputs: Mapping[str, Array]) -> Array:
    import numpy as np

    x, f = inputs["X"], inputs["F"]
    r = f.shape[1]
    h, w = x.shape[1] - r + 1, x.shape[2] - r + 1
    result = np.zeros((x.shape[0], h, w), np.float32)
    for a in range(r):
        for b in range(r):
            result += x[:, a : a + h, b : b + w] * f[:, a, b, None, None]
    return result


def _spmv(inputs: Mapping[str, Array]) -> Array:
    import numpy as np

    rows = inputs["ROW"]
    terms = np.append(inputs["VAL"] * inputs["X"][inputs["COL"]], np.float32(0))
    result: Array = np.add.reduceat(terms, rows[:-1])
    result[np.diff(rows) == 0] = 0
    return result


NUMPY: Mapping[str, Way] = {
    "rowsum": lambda inputs: inputs["X"].sum(axis=1),
    "softmax": _softmax,
    "depthwise": _depthwise,
    "spmv": _spmv,
}


def _torch(call: Callable[[Any, dict[str, Any]], Any]) -> Way:
    """A way by torch, on one thread; tensors share the arrays' memory, so nothing is copied inside the clock."""

    def way(inputs: Mapping[str, Array]) -> Any:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        return call(torch, {name: torch.from_numpy(array) for name, array in inputs.items()})

    return way


TORCH: Mapping[str, Way] = {
    "rowsum": _torch(lambda torch, t: t["X"].sum(dim=1)),
    "softmax": _torch(lambda torch, t: torch.softmax(t["X"], dim=1)),
    "depthwise": _torch(
        lambda torch, t: torch.nn.functional.conv2d(t["X"][None], t["F"][:, None], groups=t["X"].shape[0])
    ),
    "spmv": _torch(
        lambda torch, t: torch.mv(
            torch.sparse_csr_tensor(t["ROW"], t["COL"], t["VAL"], (t["ROW"].numel() - 1, t["X"].numel())), t["X"]
        )
    ),
}
