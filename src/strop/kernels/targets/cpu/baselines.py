"""What a candidate is compared with: its problem's start code by each compiler, NumPy, and torch where it is there."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from strop.bench.timed_foreign import Ended
from strop.kernels.problem import Problem
from strop.kernels.targets.cpu.run import Bench, Taken
from strop.kernels.targets.cpu.toolchain import Compiler, compile_candidate, compilers
from strop.kernels.targets.target import Refused, Trial

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    Way = Callable[[Mapping[str, Array]], Any]

MOST_BATCHES = 24  # that a baseline takes part in
LEAST_PAIRS = 3


class Baselines:
    """The baselines of a problem, ready to be timed on the inputs of the candidate's batches, in turn with it.

    Each compiled one has a process and memory of its own; the candidate's stands still while they run.
    """

    def __init__(self, problem: Problem, *, sandbox: str) -> None:
        self.compiled: dict[str, tuple[Bench, Taken]] = {}
        self.python: dict[str, tuple[Way, Taken]] = {}
        self.batches = 0
        for compiler in compilers():
            with contextlib.suppress(Refused, Ended):  # a start code that this compiler doesn't take
                self.compiled[compiler.name] = Bench(problem, _program(problem, compiler), sandbox=sandbox), Taken()
        for name, ways in (("numpy", NUMPY), ("torch", TORCH)):
            way = ways.get(problem.family)
            if way is not None and (name == "numpy" or importlib.util.find_spec(name) is not None):
                self.python[name] = way, Taken()

    def batch(self, number: int, trials: Sequence[Trial]) -> None:
        """Time each on the inputs of a batch; the number is the candidate's."""
        if self.batches >= MOST_BATCHES:
            return
        self.batches += 1
        for name, (bench, taken) in list(self.compiled.items()):
            try:
                done, _, _ = bench.batch(trials, poison=1, stack=False)
                taken.add(number, bench, done, len(trials))
            except Ended:
                bench.close()
                del self.compiled[name]
        for way, taken in self.python.values():
            begin = time.perf_counter()
            way(trials[0].inputs)
            took = time.perf_counter() - begin
            taken.samples.append(took)
            taken.numbered[number] = took

    def compared(self, candidate: Taken) -> dict[str, dict[str, float]]:
        """Return each one's median `seconds` a call, and the candidate's `speedup` over it in batches that both had."""
        cost = median(candidate.all())
        found = {}
        for name, (_, taken) in {**self.compiled, **self.python}.items():
            if not taken.all():
                continue
            both = [each / candidate.numbered[n] for n, each in taken.numbered.items() if n in candidate.numbered]
            seconds = median(taken.samples or taken.disturbed)
            speedup = median(both) if len(both) >= LEAST_PAIRS else seconds / cost
            found[name] = {"seconds": seconds, "speedup": speedup}
        return found

    def close(self) -> None:
        """End the processes."""
        for bench, _ in self.compiled.values():
            bench.close()


_programs: dict[tuple[str, str], bytes] = {}


def _program(problem: Problem, compiler: Compiler) -> bytes:
    key = (compiler.identity(), problem.prelude + problem.start_code)
    if key not in _programs:
        _programs[key] = compile_candidate(
            problem.start_code, buffers=len(problem.buffers), prelude=problem.prelude, chosen=compiler
        )
    return _programs[key]


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
