"""The ways in which a good NumPy user would write a contraction, each as a call that can be timed.

Every operand is first seen as a strided view with one dimension for each of its axes (windows and diagonals are such
views, as ``sliding_window_view`` makes them), so that one rule covers all contractions. A way may return a transposed
view where a copy would be needed to get the asked-for order: that favours NumPy.
"""

from __future__ import annotations

import functools
import itertools
import math
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strop.values.contraction import Contraction
from strop.values.layout import Layout

MOST_TAPS = 64  # terms of a sum written as so many elementwise statements: a 7×7 window still is
MOST_STEPS = 4096  # of a loop over the reduction, for semirings that no library call has
MOST_BROADCAST_BYTES = 2**27
REDUCERS = {"+": "add", "max": "maximum", "min": "minimum"}
COMBINERS = {"*": "multiply", "+": "add"}


@dataclass(frozen=True, slots=True)
class Way:
    """``text`` is how it is written; ``run`` writes into ``out`` where ``writes_out``, otherwise returns the result."""

    text: str
    run: Callable[[], Any]
    writes_out: bool = True


@dataclass(frozen=True, slots=True)
class View:
    """An operand with one dimension for each of its axes."""

    axes: tuple[str, ...]
    array: Any

    def folded(self, *groups: Sequence[str]) -> Callable[[], Any]:
        """A call for the array with one dimension for each group of axes: free where no copy is needed."""
        import numpy as np

        extents = dict(zip(self.axes, self.array.shape, strict=True))
        turned = self.array.transpose([self.axes.index(axis) for group in groups for axis in group])
        shape = [math.prod(extents[axis] for axis in group) for group in groups]
        once = turned.reshape(shape)
        return (lambda: once) if np.may_share_memory(once, self.array) else (lambda: turned.reshape(shape))

    def spread(self, axes: Sequence[str]) -> Any:
        """The array with these axes in this order, 1 where it has none of that name."""
        order = [self.axes.index(axis) for axis in axes if axis in self.axes]
        extents = dict(zip(self.axes, self.array.shape, strict=True))
        return self.array.transpose(order).reshape([extents.get(axis, 1) for axis in axes])


def views(contraction: Contraction, layout: Layout, operands: Sequence[Any]) -> list[View]:
    """Each operand as a view with one dimension for each axis."""
    from numpy.lib.stride_tricks import as_strided

    sizes, found = dict(contraction.sizes), []
    for array, strides in zip(operands, layout.axis_strides(contraction).operands, strict=True):
        shape = [sizes[axis] for axis in strides]
        steps = [stride * array.itemsize for stride in strides.values()]
        found.append(View(tuple(strides), as_strided(array, shape, steps, writeable=False)))
    return found


def ways(contraction: Contraction, layout: Layout, operands: Sequence[Any], out: Any) -> Iterator[Way]:
    """The sensible ones for this contraction, without its epilogue and without adding to what ``out`` holds."""
    seen = views(contraction, layout, operands)
    reduce, combine = contraction.semiring.split(",")
    if len(seen) == 1:
        yield from _one_operand(contraction, seen[0], out, REDUCERS[reduce])
    elif not contraction.reduction:
        yield _elementwise(contraction, seen, out, COMBINERS[combine])
    elif contraction.semiring == "+,*":
        yield from _products(contraction, seen, out)
    else:
        yield from _other_semirings(contraction, seen, out, REDUCERS[reduce], COMBINERS[combine])


def _one_operand(contraction: Contraction, view: View, out: Any, reducer: str) -> Iterator[Way]:
    import numpy as np

    kept = [axis for axis in view.axes if axis in contraction.output]
    summed = tuple(view.axes.index(axis) for axis in view.axes if axis not in contraction.output)
    target = out.transpose([contraction.output.index(axis) for axis in kept])
    if not summed:
        yield Way("np.copyto(out, a)", functools.partial(np.copyto, target, view.array))
        return
    function = getattr(np, reducer)
    name = {"add": "sum", "maximum": "max", "minimum": "min"}[reducer]
    yield Way(f"np.{name}(a, axis)", lambda: function.reduce(view.array, axis=summed, out=target))
    if reducer == "add":
        yield _einsum(contraction, [view], out, optimize=False)


def _elementwise(contraction: Contraction, seen: Sequence[View], out: Any, combiner: str) -> Way:
    import numpy as np

    a, b = (view.spread(contraction.output) for view in seen)
    function = getattr(np, combiner)
    return Way(f"np.{combiner}(a, b)", lambda: function(a, b, out=out))


def _products(contraction: Contraction, seen: Sequence[View], out: Any) -> Iterator[Way]:
    a, b = seen
    output, shared = contraction.output, set(a.axes) & set(b.axes)
    if all(axis in shared or axis in output for axis in contraction.axes):
        batch = [axis for axis in output if axis in shared]
        kinds = list(dict.fromkeys(tuple(x for x in v.axes if x in shared and x not in output) for v in seen))
        for terms in filter(None, kinds):
            yield from _matmul(contraction, (a, b), batch, terms, out)
            if not batch:
                yield from _tensordot(contraction, (a, b), terms)
    yield _einsum(contraction, seen, out, optimize=False)
    yield _einsum(contraction, seen, out, optimize=True)
    steps = math.prod(contraction.extent(axis) for axis in contraction.reduction)
    if steps <= MOST_TAPS:
        yield _loop(contraction, seen, out, "add", "multiply")


def _matmul(
    contraction: Contraction, pair: tuple[View, View], batch: Sequence[str], terms: Sequence[str], out: Any
) -> Iterator[Way]:
    import numpy as np

    output, sizes = contraction.output, dict(contraction.sizes)
    rest = [axis for axis in output if axis not in batch]
    left, right = pair
    if rest and rest[-1] in left.axes and not all(axis in left.axes for axis in rest):
        left, right = right, left  # so that what the result stores last is what the right operand varies last
    rows = [axis for axis in rest if axis in left.axes]
    columns = [axis for axis in rest if axis in right.axes]
    made = [*batch, *rows, *columns]
    shape = [sizes[axis] for axis in made]
    one = [[axis] for axis in batch]
    order = [made.index(axis) for axis in output]
    flat = [*(sizes[axis] for axis in batch), math.prod(sizes[x] for x in rows), math.prod(sizes[x] for x in columns)]
    a, b = left.folded(*one, rows, terms), right.folded(*one, terms, columns)
    if list(output) != made or not out.flags.c_contiguous:
        text = "np.matmul(a, b).reshape(...).transpose(...)"
        yield Way(text, lambda: np.matmul(a(), b()).reshape(shape).transpose(order), writes_out=False)
        return
    target = out.reshape(flat)
    if a() is a() and b() is b():
        yield Way("np.matmul(a, b, out=out)", functools.partial(np.matmul, a(), b(), out=target))
    else:
        yield Way("np.matmul(a.reshape(...), b.reshape(...), out=out)", lambda: np.matmul(a(), b(), out=target))


def _tensordot(contraction: Contraction, pair: tuple[View, View], terms: Sequence[str]) -> Iterator[Way]:
    import numpy as np

    for left, right in (pair, pair[::-1]):
        axes = ([left.axes.index(axis) for axis in terms], [right.axes.index(axis) for axis in terms])
        made = [axis for view in (left, right) for axis in view.axes if axis not in terms]
        order = [made.index(axis) for axis in contraction.output]
        yield Way(
            "np.tensordot(a, b, axes).transpose(...)",
            functools.partial(_dot, np.tensordot, left.array, right.array, axes, order),
            writes_out=False,
        )


def _dot(tensordot: Any, left: Any, right: Any, axes: Any, order: Sequence[int]) -> Any:
    return tensordot(left, right, axes).transpose(order)


def _einsum(contraction: Contraction, seen: Sequence[View], out: Any, *, optimize: bool) -> Way:
    import numpy as np

    letters = dict(zip(contraction.axes, string.ascii_letters, strict=False))
    operands = ",".join("".join(letters[axis] for axis in view.axes) for view in seen)
    text = f"{operands}->{''.join(letters[axis] for axis in contraction.output)}"
    arrays = [view.array for view in seen]
    return Way(
        f"np.einsum({text!r}, ..., optimize={optimize})",
        lambda: np.einsum(text, *arrays, out=out, optimize=optimize),
    )


def _other_semirings(
    contraction: Contraction, seen: Sequence[View], out: Any, reducer: str, combiner: str
) -> Iterator[Way]:
    import numpy as np

    steps = math.prod(contraction.extent(axis) for axis in contraction.reduction)
    if steps <= MOST_STEPS:
        yield _loop(contraction, seen, out, reducer, combiner)
    if contraction.points * contraction.itemsize <= MOST_BROADCAST_BYTES:
        every = (*contraction.output, *contraction.reduction)
        summed = tuple(range(len(contraction.output), len(every)))
        a, b = (view.spread(every) for view in seen)
        combine, reduce = getattr(np, combiner), getattr(np, reducer)
        yield Way(
            f"np.{reducer}.reduce(np.{combiner}(a, b), axis)", lambda: reduce.reduce(combine(a, b), summed, out=out)
        )


def _loop(contraction: Contraction, seen: Sequence[View], out: Any, reducer: str, combiner: str) -> Way:
    """One elementwise statement for each term of the reduction."""
    import numpy as np

    extents = [range(contraction.extent(axis)) for axis in contraction.reduction]
    pairs = []
    for point in itertools.product(*extents):
        where = dict(zip(contraction.reduction, point, strict=True))
        pairs.append(
            [
                View(
                    tuple(axis for axis in view.axes if axis not in where),
                    view.array[tuple(where.get(axis, slice(None)) for axis in view.axes)],
                ).spread(contraction.output)
                for view in seen
            ]
        )
    combine, reduce, held = getattr(np, combiner), getattr(np, reducer), np.empty_like(out)

    def run() -> None:
        combine(*pairs[0], out=out)
        for a, b in pairs[1:]:
            combine(a, b, out=held)
            reduce(out, held, out=out)

    return Way(f"for each term: np.{reducer}(out, np.{combiner}(a, b), out=out)", run)
