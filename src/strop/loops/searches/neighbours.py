"""The neighbours of a plan: the same plan with one thing changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strop.loops.accesses import Accesses
from strop.loops.plan import Plan
from strop.values.contraction import Contraction

UNROLLS = (2, 4, 8)
ACCUMULATORS = (1, 2, 3, 4, 6, 8)
BLOCKS = (32, 64, 128, 256, 512)
PREFETCHES = (4, 16)
MOST_ROWS = 30


def neighbours(plan: Plan, contraction: Contraction, facts: Accesses) -> Iterator[tuple[Plan, str]]:
    """Plans that differ from `plan` in one thing, and what that is."""
    for made, why in _all(plan, contraction, facts):
        if made != plan:
            yield made, why


def _all(plan: Plan, contraction: Contraction, facts: Accesses) -> Iterator[tuple[Plan, str]]:
    yield from _rows(plan, contraction)
    yield from _widths(plan, contraction, facts.lanes)
    yield from _covers(plan, contraction, facts.lanes)
    yield from _tile_axes(plan, contraction)
    yield from _orders(plan)
    yield from _blocks(plan, contraction)
    yield from _packs(plan, facts)
    yield from _loops(plan, contraction)


def _rows(plan: Plan, contraction: Contraction) -> Iterator[tuple[Plan, str]]:
    """One row more or less, of the tile or of one kind of piece."""
    if len(plan.tile) < 2:
        return
    (axis, rows), *rest = plan.tile
    most = min(MOST_ROWS, contraction.extent(axis))
    for wanted in (rows - 2, rows - 1, rows + 1, rows + 2, rows // 2, 2 * rows):
        if 1 <= wanted <= most and wanted != rows and not plan.rows:
            yield replace(plan, tile=((axis, wanted), *rest)), f"{axis} by {wanted}"
    for width, old in dict(zip(plan.pieces, plan.rows, strict=False)).items():
        for new in (old - 1, old + 1):
            if 1 <= new <= most:
                changed = tuple(
                    new if piece == width else step for piece, step in zip(plan.pieces, plan.rows, strict=True)
                )
                yield replace(plan, rows=changed), f"{axis} by {new} where {plan.vector} is {width}"


def _widths(plan: Plan, contraction: Contraction, lanes: int) -> Iterator[tuple[Plan, str]]:
    """Another width of the tile, without a cover."""
    vector, width = plan.tile[-1]
    extent = contraction.extent(vector)
    if vector not in contraction.output:
        wanted = {lanes, 2 * lanes, 4 * lanes}
    else:
        wanted = {lanes * count for count in (1, 2, 3, 4, 5, 6, 8, 12)} | {extent}
    for new in sorted(wanted):
        if new <= extent and (new != width or plan.pieces):
            yield replace(plan, tile=(*plan.tile[:-1], (vector, new)), pieces=(), rows=()), f"{vector} by {new}"


def _covers(plan: Plan, contraction: Contraction, lanes: int) -> Iterator[tuple[Plan, str]]:
    """A vector moved from one piece to another, a piece divided, two joined; a cover where there was none."""
    vector, width = plan.tile[-1]
    extent = contraction.extent(vector)
    if vector not in contraction.output or width % lanes:
        return
    vectors = -(-extent // lanes)
    per = width // lanes
    widths = [-(-piece // lanes) for piece in plan.pieces] or [
        *([per] * (vectors // per)),
        *([vectors % per] if vectors % per else []),
    ]
    if not 1 <= len(widths) <= 24:
        return
    found: set[tuple[int, ...]] = set()
    kinds = sorted(set(widths))
    for a in kinds:
        if a > 1:
            found.add(_changed(widths, [a], [a // 2, a - a // 2]))
        for b in kinds:
            if widths.count(a) + widths.count(b) - (a == b) * widths.count(a) >= 2:
                found.add(_changed(widths, [a, b], [a + b]))
                if a > 1:
                    found.add(_changed(widths, [a, b], [a - 1, b + 1]))
    rows = dict(zip(widths, plan.rows, strict=False)) if plan.rows else {}
    base = plan.tile[0][1]
    for wanted in sorted(found):
        pieces = [count * lanes for count in wanted]
        pieces[-1] -= sum(pieces) - extent
        if len(wanted) == 1:
            pieces = []
        steps = tuple(rows.get(count, max(1, min(base * per // count, MOST_ROWS))) for count in wanted)
        tall = len(plan.tile) > 1 and len(set(steps)) > 1 and bool(pieces)
        tile = (*plan.tile[:-1], (vector, min(extent, wanted[0] * lanes)))
        if len(plan.tile) > 1:
            tile = ((plan.tile[0][0], min(steps[0], contraction.extent(plan.tile[0][0]))), *tile[1:])
        made = replace(plan, tile=tile, pieces=tuple(pieces), rows=steps if tall else ())
        yield made, f"{vector} as {'+'.join(map(str, pieces)) or extent}"


def _changed(widths: list[int], old: list[int], new: list[int]) -> tuple[int, ...]:
    left = widths[:]
    for width in old:
        if width in left:
            left.remove(width)
    return tuple(sorted([*left, *new], reverse=True))


def _tile_axes(plan: Plan, contraction: Contraction) -> Iterator[tuple[Plan, str]]:
    """An axis more in the tile, one less, or another one for the rows."""
    inside = [axis for axis, _ in plan.tile]
    outputs = [axis for axis in contraction.output if axis not in inside and contraction.extent(axis) > 1]
    for axis in outputs:
        for size in (2, 4):
            if size <= contraction.extent(axis):
                made = replace(plan, tile=((axis, size), *plan.tile), rows=(), order=_with(plan.order, axis))
                yield made, f"{axis} by {size} in the tile"
        if len(plan.tile) > 1:
            rows = min(plan.tile[0][1], contraction.extent(axis))
            yield replace(plan, tile=((axis, rows), *plan.tile[1:]), rows=()), f"rows of {axis}"
    if len(plan.tile) > 1:
        yield replace(plan, tile=plan.tile[1:], rows=()), f"{plan.tile[0][0]} outside the tile"


def _with(order: tuple[str, ...], axis: str) -> tuple[str, ...]:
    return order if axis in order else (axis, *order)


def _orders(plan: Plan) -> Iterator[tuple[Plan, str]]:
    """Two neighbouring loops around the tile exchanged, or one put outermost."""
    order = plan.order
    for at in range(len(order) - 1):
        swapped = (*order[:at], order[at + 1], order[at], *order[at + 2 :])
        yield replace(plan, order=swapped), f"order {' '.join(swapped)}"
    for at in range(2, len(order)):
        moved = (order[at], *order[:at], *order[at + 1 :])
        yield replace(plan, order=moved), f"order {' '.join(moved)}"


def _blocks(plan: Plan, contraction: Contraction) -> Iterator[tuple[Plan, str]]:
    """A reduction in blocks of another size, or whole."""
    if plan.blocks:
        yield replace(plan, blocks=()), "reductions whole"
    inside = dict(plan.tile)
    for axis in contraction.reduction:
        for size in BLOCKS:
            if axis not in inside and 2 * size <= contraction.extent(axis):
                yield replace(plan, blocks=((axis, size),)), f"{axis} in blocks of {size}"


def _packs(plan: Plan, facts: Accesses) -> Iterator[tuple[Plan, str]]:
    """Other inputs packed, or none."""
    choices = [(), ("A",), ("B",), ("A", "B")] if facts.inputs == 2 else [(), ("A",)]
    for packs in choices:
        yield replace(plan, packs=packs), f"packs {' '.join(packs) or 'nothing'}"


def _loops(plan: Plan, contraction: Contraction) -> Iterator[tuple[Plan, str]]:
    """Another unrolling, other accumulators, prefetches, rows evened out or not."""
    if not contraction.reduction:
        return
    for unroll in UNROLLS:
        yield replace(plan, unroll=unroll), f"unroll {unroll}"
    for accumulators in ACCUMULATORS:
        yield replace(plan, accumulators=accumulators), f"{accumulators} accumulators"
    for distance in PREFETCHES:
        for operand in "AB"[: len(contraction.operands)]:
            yield replace(plan, prefetches=((operand, distance),)), f"prefetch {operand} {distance} ahead"
    if plan.prefetches:
        yield replace(plan, prefetches=()), "no prefetch"
    yield replace(plan, balanced=not plan.balanced), "rows evened out" if not plan.balanced else "a short last row"
