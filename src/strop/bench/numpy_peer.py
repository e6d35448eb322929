"""NumPy as the peer of an answer: both timed in one interleaved run, in a process made for it.

A process of its own, because NumPy's BLAS reads its thread count when it loads, and because ``OPENBLAS_CORETYPE`` and
``OPENBLAS_L2_SIZE``, which some sites set for old builds, slow a current NumPy down. Both sides get the same arrays,
the same CPUs and the same clock. NumPy's side is the fastest of the ways in ``numpy_ways``.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from strop.bench.interleave import interleaved, timed
from strop.bench.numpy_ways import Way
from strop.bench.pinning import peer_environment, timing_cpus
from strop.errors import PeerFailed
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from strop.values.measurement import Measurement

PROTOCOL = "peer/1"
PICK_ROUNDS, PICK_S = 4, 0.15  # to choose among the ways; a way far behind gets no more than one call
HOPELESS = 5.0  # times the fastest first call
SETTLE_S = 0.03  # OpenBLAS's threads spin that long before they sleep
SETTLED_ROUNDS = 24  # at most so many then: they take 1.5 s of waiting
START_S = 60.0
LOADER = "strop:load"


@dataclass(frozen=True, slots=True, kw_only=True)
class NumpyComparison:
    """Samples of both sides in seconds per call; ``ours[i]`` and ``theirs[i]`` are of the same round.

    ``way`` is the NumPy expression that was timed, ``blas`` its library and kernel, ``cpus`` what both ran on.
    """

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    way: str
    numpy: str
    blas: str
    threads: int
    cpus: tuple[int, ...]

    @property
    def speedup_best(self) -> float:
        """NumPy's best time over ours: above 1, ours is faster."""
        return min(self.theirs) / min(self.ours)

    @property
    def speedup_median(self) -> float:
        """The median over the rounds of NumPy's time over ours, so that drift cancels."""
        return median(self._ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """A 95% confidence interval of :attr:`speedup_median`. A tie if 1 lies in it."""
        return Measurement(samples=self._ratios).interval

    @property
    def tie(self) -> bool:
        """Whether neither side is shown to be faster."""
        low, high = self.interval
        return low <= 1 <= high

    @property
    def _ratios(self) -> tuple[float, ...]:
        return tuple(theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The samples and what follows from them."""
        return {
            "peer": "numpy",
            "way": self.way,
            "numpy": self.numpy,
            "blas": self.blas,
            "threads": self.threads,
            "cpus": list(self.cpus),
            "protocol": PROTOCOL,
            "ours_s": list(self.ours),
            "numpy_s": list(self.theirs),
            "speedup_best": self.speedup_best,
            "speedup_median": self.speedup_median,
            "speedup_interval": list(self.interval),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> NumpyComparison:
        """The inverse of :meth:`to_json`; what follows from the samples is computed anew."""
        return cls(
            ours=tuple(value["ours_s"]),
            theirs=tuple(value["numpy_s"]),
            way=value["way"],
            numpy=value["numpy"],
            blas=value["blas"],
            threads=value["threads"],
            cpus=tuple(value["cpus"]),
        )


def time_against_numpy(
    contraction: Contraction,
    tuned: str | os.PathLike[str],
    *,
    threads: int = 1,
    layout: Layout | None = None,
    rounds: int = 60,
    seconds: float = 0.6,
    seed: int = 0,
    loader: str = LOADER,
) -> NumpyComparison:
    """Time the result saved at ``tuned`` (by ``tuned.save``) against NumPy on arrays of ``layout`` (default: C order).

    About ``seconds`` of timing after half a second of start and choice. ``loader`` names the function ("module:name")
    that makes the callable from the path. Raises :class:`PeerFailed` where there is nothing to time, where the two
    results differ, or where the process fails or takes too long.
    """
    if contraction.points == 0:
        raise PeerFailed(peer="NumPy", reason="an empty contraction takes no time")
    cpus = timing_cpus(threads)
    request = {
        "contraction": contraction.to_json(),
        "layout": (layout or Layout.default(contraction)).to_json(),
        "tuned": os.fspath(Path(tuned).absolute()),
        "loader": loader,
        "threads": threads,
        "cpus": list(cpus),
        "rounds": rounds,
        "seconds": seconds,
        "seed": seed,
    }
    answer = _ask(request, limit_s=START_S + 20 * seconds)
    if "failed" in answer:
        raise PeerFailed(peer="NumPy", reason=answer["failed"])
    return NumpyComparison(
        ours=tuple(answer["ours"]),
        theirs=tuple(answer["theirs"]),
        way=answer["way"],
        numpy=answer["numpy"],
        blas=answer["blas"],
        threads=threads,
        cpus=cpus,
    )


def _ask(request: dict[str, Any], *, limit_s: float) -> dict[str, Any]:
    process = subprocess.Popen(
        [sys.executable, "-m", "strop.bench.numpy_peer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=peer_environment(request["threads"]),
        start_new_session=True,
    )
    try:
        answer, words = process.communicate(json.dumps(request).encode(), timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer within {limit_s:.0f} s"}
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    try:
        return dict(json.loads(answer))
    except ValueError:
        last = words.decode(errors="replace").strip().splitlines()[-1:]
        return {"failed": f"its process ended with {process.returncode}" + (f" ({last[0]})" if last else "")}


# In the process of its own --------------------------------------------------------------------------------------------


def main() -> None:
    """Read a request from standard input, answer on standard output; whatever a library prints goes elsewhere."""
    request = json.load(sys.stdin)
    answers = os.dup(1)
    os.dup2(2, 1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, request["cpus"])  # before NumPy loads: its BLAS counts the CPUs it may use
    try:
        answer = _compare(request)
    except Exception as error:
        answer = {"failed": f"{type(error).__name__}: {error}"}
    with os.fdopen(answers, "w") as file:
        json.dump(answer, file)


def _compare(request: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    from strop.bench.numpy_ways import ways
    from strop.bench.peers import blas_of_numpy

    contraction = Contraction.from_json(request["contraction"])
    layout = Layout.from_json(request["layout"])
    operands, extra, out, theirs = _arrays(contraction, layout, request["seed"])

    module, _, name = request["loader"].partition(":")
    tuned = getattr(importlib.import_module(module), name)(request["tuned"])

    def ours() -> Any:
        return tuned(*operands, out=out, **extra)

    product = np.empty_like(theirs) if contraction.accumulate else theirs
    calls: dict[Way, Callable[[], Any]] = {}
    once: dict[Way, float] = {}
    for way in ways(contraction, layout, operands, product):
        call = _whole(contraction, way, product, theirs, extra)
        try:
            call()
            once[way] = timed(call, 1)
        except (MemoryError, ValueError, TypeError) as error:  # a way that this shape doesn't allow
            print(f"{way.text}: {error}", file=sys.stderr)
        else:
            calls[way] = call
    if not calls:
        return {"failed": "NumPy has no way to write it that fits into memory"}
    near = {way: call for way, call in calls.items() if once[way] <= HOPELESS * min(once.values())}
    settle_s = SETTLE_S if request["threads"] > 1 else 0.0
    tried = interleaved(near, rounds=PICK_ROUNDS, seconds=PICK_S, settle_s=settle_s)
    way = min(near, key=lambda way: min(tried[way]))

    out[...] = theirs[...] = 0
    ours()
    result = calls[way]()
    wrong = _difference(out, theirs if way.writes_out or contraction.accumulate else result, contraction)
    if not wrong <= 1:
        return {"failed": f"its result differs from strop's by {wrong:.2g} times what rounding allows"}
    rounds = min(request["rounds"], SETTLED_ROUNDS) if settle_s else request["rounds"]
    seconds = request["seconds"] + 2 * rounds * settle_s
    samples = interleaved({"ours": ours, "theirs": calls[way]}, rounds=rounds, seconds=seconds, settle_s=settle_s)
    return {**samples, "way": way.text, "numpy": np.__version__, "blas": blas_of_numpy() or "unknown"}


def _whole(contraction: Contraction, way: Way, product: Any, held: Any, extra: Mapping[str, Any]) -> Callable[[], Any]:
    """The way with adding to ``held`` and the epilogue, as far as the contraction has them.

    Without ``accumulate``, ``held`` is ``product``. A way that writes into it leaves the whole's result there too.
    """
    import numpy as np

    from strop.bench.numpy_epilogue import epilogue

    after = None
    if contraction.epilogue:
        after = epilogue(contraction.epilogue, extra, contraction.output, contraction.dtype)
    if contraction.accumulate:
        join = {"+": np.add, "max": np.maximum, "min": np.minimum}[contraction.semiring.split(",")[0]]

        def accumulated() -> None:
            made = way.run()
            join(held, product if way.writes_out else made, out=held)
            if after is not None and (result := after(held)) is not held:
                np.copyto(held, result)

        return accumulated
    if after is None:
        return way.run
    if not way.writes_out:
        return lambda: after(way.run())

    def finished() -> None:
        way.run()
        if (result := after(held)) is not held:
            np.copyto(held, result)

    return finished


def _arrays(contraction: Contraction, layout: Layout, seed: int) -> tuple[list[Any], dict[str, Any], Any, Any]:
    """Operands, the epilogue's operands, and a result for each side, laid out as the layout says."""
    import numpy as np

    random = np.random.default_rng(seed)
    dtype = contraction.dtype

    def laid(shape: Sequence[int], strides: Sequence[int], *, fill: bool) -> Any:
        reach = [(extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)]
        below, above = -sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
        pad = 64 // contraction.itemsize
        buffer = np.zeros(below + above + 1 + pad, dtype)
        start = -(buffer.ctypes.data // contraction.itemsize + below) % pad + below  # the first element on 64 bytes
        if fill:
            buffer[...] = random.standard_normal(buffer.size)
        steps = [stride * contraction.itemsize for stride in strides]
        return np.lib.stride_tricks.as_strided(buffer[start:], shape, steps)

    operands = [laid(*pair, fill=True) for pair in zip(contraction.operand_shapes, layout.operands, strict=True)]
    extra = {
        name: laid(shape, strides, fill=True)
        for (name, _), shape, strides in zip(
            contraction.epilogue_operands, contraction.epilogue_shapes, layout.epilogue, strict=True
        )
    }
    out, theirs = (laid(contraction.output_shape, layout.output, fill=False) for _ in range(2))
    return operands, extra, out, theirs


def _difference(ours: Any, theirs: Any, contraction: Contraction) -> float:
    """How far the two are apart, as a multiple of what two orders of summation may differ by on standard normal data.

    Loose, nine tenths of the elements count: strop's own check against float64 was made before, this one only makes
    sure that both computed the same thing. Equal infinities and NaNs agree.
    """
    import numpy as np

    terms = math.prod(contraction.extent(axis) for axis in contraction.reduction)
    ours, theirs = np.atleast_1d(ours), np.atleast_1d(theirs)
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - theirs)
    apart[(ours == theirs) | (np.isnan(ours) & np.isnan(theirs))] = 0
    finite = np.abs(theirs[np.isfinite(theirs)])
    scale = max(1.0, math.sqrt(terms), float(finite.max(initial=0.0)))
    allowed = 64 * float(np.finfo(contraction.dtype).eps) * (4 + math.sqrt(terms)) * scale
    return float(np.quantile(apart, 0.9)) / max(allowed, 1e-6)  # 1e-6: NumPy's side of gelu is no better


if __name__ == "__main__":
    main()
