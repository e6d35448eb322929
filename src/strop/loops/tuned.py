"""A tuned contraction: a callable that runs machine code, and what is known about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strop import _native
from strop.errors import MissingOutput, OperandCount
from strop.loops.kernel import native_kernel
from strop.loops.moves import Schedule
from strop.loops.nest import Nest
from strop.loops.operands import (
    adopt_epilogue,
    adopt_operands,
    adopt_output,
    check_shapes,
    layout_of,
    to_library_of,
)
from strop.loops.schedule import to_json
from strop.values.contraction import Contraction
from strop.values.layout import Layout
from strop.values.measurement import Measurement

if TYPE_CHECKING:
    import numpy as np

LONG_FLOPS = 2_000_000
"""Calls with more work than this let other Python threads run: giving up the lock costs what 100 ns do."""

MOST_LAYOUTS = 64
"""Kernels for other layouts that one object keeps."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate of a run: when it ended, what it was, and what came of it."""

    seconds: float
    id: str
    summary: str
    verdict: str
    measured_s: float | None
    best_gflops: float | None


@dataclass(frozen=True, slots=True)
class Finalist:
    """A schedule of the last round: its nest in short, what that leaves out, and whether it ties with the winner."""

    summary: str
    notes: str
    measurement: Measurement
    tie: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a search found out about its winner; a compiled schedule that wasn't measured has none of it."""

    measurement: Measurement | None = None
    peak_gflops: float | None = None
    search: str | None = None
    effort: str | None = None
    trace: tuple[Trial, ...] = ()
    finalists: tuple[Finalist, ...] = ()
    verdicts: Mapping[str, int] = field(default_factory=dict)
    from_store: bool = False
    age_seconds: float | None = None
    run_id: str | None = None
    command: str | None = None
    interrupted: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def ties(self) -> tuple[Finalist, ...]:
        """The finalists that can't be told from the winner."""
        return tuple(finalist for finalist in self.finalists if finalist.tie)


class Tuned(_native.Call):
    """A contraction compiled by a schedule. Call it with the operands; see `strop.tune`.

    `tuned(*operands, out=None, **epilogue_operands)` returns the result in the first operand's library. Arrays of the
    tuned layout run at once; for other strides the same schedule is compiled once and kept. Nothing is copied.
    """

    contraction: Contraction
    layout: Layout
    schedule: Schedule
    nest: Nest
    isa: str
    threads: int
    findings: Findings

    def __init__(
        self,
        *,
        contraction: Contraction,
        layout: Layout,
        schedule: Schedule,
        nest: Nest,
        isa: str,
        threads: int,
        findings: Findings | None = None,
        lazy: bool = False,
    ) -> None:
        """With `lazy` the code is made by the first call: an answer from the store may only be looked at."""
        self.contraction = contraction
        self.layout = layout
        self.schedule = schedule
        self.nest = nest
        self.isa = isa
        self.threads = threads
        self.findings = findings or Findings()
        self._others: dict[tuple[Any, ...], _native.Call] = {}  # by layout
        self._known: dict[Any, _native.Call] = {}  # the same by what is quick to see of the arguments
        self._kernel: Any = None
        if not lazy:
            self._ready()

    def _ready(self) -> Any:
        """The kernel, compiled and bound if it wasn't; None where there is nothing to compute."""
        if self._kernel is None and self.contraction.points:
            self._kernel = _bind(self, self, self.layout)
        return self._kernel

    # What is known --------------------------------------------------------------------------------------------------

    @property
    def measurement(self) -> Measurement | None:
        """The careful measurement of this schedule; None where it was only compiled."""
        return self.findings.measurement

    @property
    def gflops(self) -> float | None:
        """Operations of the contraction divided by the median time, in 1e9 per second."""
        return self.rate(self.measurement) if self.measurement else None

    def rate(self, measurement: Measurement) -> float | None:
        """GFLOP/s of the contraction at a measured time; None where that is 0."""
        return self.contraction.flops / measurement.median / 1e9 if measurement.median else None

    @property
    def peak_gflops(self) -> float | None:
        """What registers alone allow on this machine with these threads, measured in the same run."""
        return self.findings.peak_gflops

    @property
    def share_of_peak(self) -> float | None:
        """`gflops` divided by `peak_gflops`."""
        return self.gflops / self.peak_gflops if self.gflops and self.peak_gflops else None

    @property
    def trace(self) -> tuple[Trial, ...]:
        """The candidates in the order in which they ended."""
        return self.findings.trace

    def asm(self) -> str:
        """The machine code as assembly text."""
        from strop.loops.show import assembly

        return assembly(self._ready())

    def to_json(self) -> dict[str, Any]:
        """The schedule and what it was measured at, as `save` writes it."""
        document = to_json(self.contraction, self.schedule)
        document |= {"isa": self.isa, "threads": self.threads, "layout": self.layout.to_json()}
        if self.measurement is not None:
            document |= {"measurement": self.measurement.to_json(), "gflops": self.gflops}
        return document

    def save(self, path: str | Path) -> None:
        """Write the schedule as JSON, for `strop.load` or `strop.tune(..., schedule=...)`. Raises BadFile."""
        from strop.loops.files import write_text

        write_text(Path(path), json.dumps(self.to_json(), indent=2) + "\n")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what is unpickled in another process, is compiled anew: machine code doesn't travel."""
        return _rebuilt, tuple(getattr(self, name) for name in _PARTS)

    def __repr__(self) -> str:
        speed = f", {self.gflops:.1f} GFLOP/s" if self.gflops else ""
        return f"<Tuned {self.contraction.text}: {self.nest.summary}{speed}, {self.isa}>"

    def _repr_html_(self) -> str:
        from strop.loops.render import notebook

        return notebook(self)

    # Calls that aren't of the tuned form --------------------------------------------------------------------------

    def _call_slowly(self, *operands: Any, out: Any = None, **epilogue: Any) -> Any:
        if self._kernel is None and self._ready() is not None:
            return self(*operands, out=out, **epilogue)
        known = self._known.get(_strides(operands, out, epilogue)) if self._known else None
        if known is not None:
            try:
                return known(*operands, out=out, **epilogue)
            except TypeError:  # equal strides, but something else differs: a type, a shape, an overlap
                pass
        return self._call_checked(operands, out, epilogue)

    def _call_checked(self, operands: tuple[Any, ...], out: Any, epilogue: dict[str, Any]) -> Any:
        contraction = self.contraction
        if len(operands) != len(contraction.operands):
            raise OperandCount(text=contraction.text, expected=len(contraction.operands), found=len(operands))
        arrays = adopt_operands(operands, dtype=contraction.dtype)
        check_shapes(contraction, arrays)
        extras = adopt_epilogue(contraction, epilogue)
        names = [f"operand {i + 1}" for i in range(len(arrays))] + [name for name, _ in contraction.epilogue_operands]
        if out is None:
            if contraction.accumulate:
                raise MissingOutput(text=contraction.text)
            result = _new_output(contraction)
        else:
            result = adopt_output(contraction, out, [*arrays, *extras], names)
        call = self._run(arrays, result, extras)
        key = _strides(operands, out, epilogue)
        if call is not None and key is not None:
            self._known[key] = call
        return out if out is not None else to_library_of(operands[0], result)

    def _run(self, arrays: list[Any], result: Any, extras: list[Any]) -> _native.Call | None:
        """Run on checked arrays; the call that did it, None where there was nothing to run."""
        contraction = self.contraction
        if 0 in contraction.output_shape:
            return None
        if not contraction.points:  # nothing to reduce: every element is the semiring's identity
            from strop.loops.reference import reference

            named = dict(zip((name for name, _ in contraction.epilogue_operands), extras, strict=True))
            result[...] = reference(contraction, arrays, result if contraction.accumulate else None, named)
            return None
        layout = layout_of(contraction, arrays, out=result, epilogue=extras)
        key = (layout.operands, layout.output, layout.epilogue)
        if key not in self._others:
            if len(self._others) >= MOST_LAYOUTS:
                self._others.clear()
                self._known.clear()
            call = _native.Call()
            _bind(call, self, layout)
            self._others[key] = call
        # A window may be longer than what is read of it.
        windows = [
            array if array.shape == shape else array[tuple(map(slice, shape))]
            for array, shape in zip(arrays, contraction.operand_shapes, strict=True)
        ]
        self._others[key]._run_checked((*windows, *extras), result)
        return self._others[key]


_native.enable_vectorcall(Tuned)
_PARTS = ("contraction", "layout", "schedule", "nest", "isa", "threads", "findings")


def _rebuilt(*parts: Any) -> Tuned:
    return Tuned(**dict(zip(_PARTS, parts, strict=True)))


def _strides(operands: tuple[Any, ...], out: Any, epilogue: Mapping[str, Any]) -> Any:
    """The strides of the arguments: enough to guess by, since the call itself checks all."""
    try:
        return (
            tuple(operand.strides for operand in operands),
            None if out is None else out.strides,
            tuple(value.strides for value in epilogue.values()),
        )
    except AttributeError:  # an array of another library
        return None


def _new_output(contraction: Contraction) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.empty(contraction.output_shape, contraction.dtype)


def _bind(call: Any, tuned: Tuned, layout: Layout) -> Any:
    """Make `call` run the schedule compiled for arrays of the layout; the kernel."""
    contraction, size = tuned.contraction, tuned.contraction.itemsize
    kernel = native_kernel(tuned.nest, layout, tuned.isa)

    def form(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return shape, tuple(stride * size for stride in strides)

    call._bind(
        kernel,
        inputs=[form(*pair) for pair in zip(contraction.operand_shapes, layout.operands, strict=True)],
        output=form(contraction.output_shape, layout.output),
        extras=[
            (name, *form(shape, strides))
            for (name, _), shape, strides in zip(
                contraction.epilogue_operands, contraction.epilogue_shapes, layout.epilogue, strict=True
            )
        ],
        dtype=contraction.dtype,
        threads=tuned.threads,
        accumulate=contraction.accumulate,
        release_gil=contraction.flops > LONG_FLOPS,
    )
    return kernel
