"""How many cycles the caches need to bring what a nest touches: a coarse count of blocks and how often they come."""

from __future__ import annotations

from math import ceil

from strop.loops.accesses import LINE, Accesses
from strop.loops.machine import Machine
from strop.loops.nest import Loop
from strop.loops.registers import RegisterTile, trips

WAYS = 8
"""Lines of one set that stay while others pass through."""
NEAR = 0.4
"""The part of the first-level cache that a tile may touch and still find again."""
PAGE = 4096
FAR_STEP = 8192
"""Bytes of a step from which on the hardware doesn't foresee a walk."""
TLB_PAGES, STLB_PAGES = 64, 2048
"""Pages that the translation buffers of the first and second level hold, some room left."""
NEW_PAGE = (0.0, 30.0, 130.0)
"""Cycles of a row in another page: from the second-level cache, from the third, and beyond the second TLB.

From matmuls of 192x256x256 with rows of 4 KiB, 16x1024x512 and 35x2560x2560 on an Emerald Rapids.
"""
EXPOSED = 0.4
"""The part of the time for lines from the second-level cache that a walk which isn't foreseen waits."""


def traffic_cycles(loops: tuple[Loop, ...], tile: RegisterTile, facts: Accesses, machine: Machine) -> dict[str, float]:
    """Cycles to move the data from the second-level cache, the third, and memory, if nothing else took time.

    What fits a cache as a whole is taken to be there already: a call is one of many on the same arrays. `exposed` is
    the part of the second-level cache's time that comes on top of all else.
    """
    cost = {"exposed": 0.0}
    levels = (
        ("l2", machine.l1_bytes, machine.l2_bytes_per_cycle),
        ("l3", machine.l2_bytes, machine.l3_bytes_per_cycle),
        ("memory", machine.l3_bytes, machine.memory_bytes_per_cycle),
    )
    arrays = range(len(facts.strides))
    whole = sum(_bytes(array, 0, tile, facts) for array in arrays)
    for name, capacity, rate in levels:
        moved = _moved(loops, tile, facts, capacity) if whole > capacity else []
        cost[name] = sum(moved) / rate
        if name == "l2":
            unforeseen = sum(bytes for array, bytes in enumerate(moved) if _unforeseen(array, tile, facts))
            cost["exposed"] = EXPOSED * unforeseen / rate
    cost["exposed"] += sum(_pages(array, loops, tile, facts, machine) for array in range(facts.inputs))
    cost["l2"] += _aliased(tile, facts, machine) / machine.l2_bytes_per_cycle
    return cost


def stays_near(tile: RegisterTile, facts: Accesses, machine: Machine) -> bool:
    """Whether what one register tile touches stays in the first-level cache with room to spare."""
    at = len(tile.axis) - 1 if tile.at is None else tile.at
    return sum(_bytes(array, at, tile, facts) for array in range(len(facts.strides))) <= NEAR * machine.l1_bytes


def _unforeseen(array: int, tile: RegisterTile, facts: Accesses) -> bool:
    """Whether the innermost reduction walks through an input in steps that leave the page."""
    if array == facts.inputs or array in tile.packed or tile.at is None:
        return False
    return abs(facts.strides[array][tile.axis[tile.inner]]) * facts.itemsize >= FAR_STEP


def _pages(array: int, loops: tuple[Loop, ...], tile: RegisterTile, facts: Accesses, machine: Machine) -> float:
    """Cycles lost because an input is walked through in more pages than the first-level TLB holds."""
    if tile.at is None:
        return 0.0
    # A copy walks the same way, but once for all the tiles that read it.
    at = tile.packed[array] + 1 if array in tile.packed else tile.at
    steps, reach = facts.strides[array], tile.extents[at]
    pages = visits = 1.0
    for axis, step in enumerate(steps):
        if not facts.is_output[axis] and abs(step) * facts.itemsize >= PAGE:
            pages *= reach[axis]
            visits *= facts.sizes[axis]
    if pages <= TLB_PAGES:
        return 0.0
    for position in range(at):
        axis = tile.axis[position]
        if facts.is_output[axis] or abs(steps[axis]) * facts.itemsize < PAGE:
            visits *= trips(loops[position], tile.extents[position][axis])
    size = _bytes(array, 0, tile, facts)
    if size <= machine.l2_bytes / 2:
        return visits * NEW_PAGE[0]
    far = size > machine.l3_bytes or pages * max(1.0, facts.sizes[tile.vector] / reach[tile.vector]) > STLB_PAGES
    return visits * (NEW_PAGE[2] if far else NEW_PAGE[1])


def _moved(loops: tuple[Loop, ...], tile: RegisterTile, facts: Accesses, capacity: int) -> list[float]:
    """Bytes of each array that enter a cache: its block of the outermost loops that fit, as often as it comes."""
    arrays = range(len(facts.strides))
    inside, blocks = len(loops), [0.0 for _ in arrays]
    for at in range(len(loops) + 1):
        blocks = [_bytes(array, at, tile, facts) for array in arrays]
        if sum(blocks) <= capacity:
            inside = at
            break
    total = sum(blocks)
    return [
        # A block stays while the others' pass by, the old and the new ones.
        _entering(array, inside, blocks[array], 2 * total - blocks[array] <= capacity, loops, tile, facts)
        for array in arrays
    ]


def _entering(
    array: int,
    inside: int,
    block: float,
    stays: bool,
    loops: tuple[Loop, ...],
    tile: RegisterTile,
    facts: Accesses,
) -> float:
    """Bytes of one array that enter the cache, `block` at each start of loop `inside` unless it `stays`."""
    strides = facts.strides[array]
    times = [1.0] * (inside + 1)  # that the block of each loop comes anew
    for at in range(inside):
        axis = tile.axis[at]
        if strides[axis]:  # blocks that add up to the whole, short last ones too
            times[at + 1] = times[at] * tile.extents[at][axis] / tile.extents[at + 1][axis]
        else:
            times[at + 1] = times[at] * trips(loops[at], tile.extents[at][axis])
    at = inside
    if stays:  # while the loops just around pass that don't index the array
        while at and not strides[tile.axis[at - 1]]:
            at -= 1
    moved = block * times[at]
    while at and strides[tile.axis[at - 1]]:
        # The same bytes, counted in larger blocks: lines that neighbouring iterations share count once.
        at -= 1
        moved = min(moved, _bytes(array, at, tile, facts) * times[at])
    return moved * (2 if array == facts.inputs else 1)


def _bytes(array: int, at: int, tile: RegisterTile, facts: Accesses) -> float:
    """Bytes of whole lines of an array that the loops from `at` on touch; a packed block has no gaps."""
    strides, reach = facts.strides[array], tile.extents[at]
    if array in tile.packed and at > tile.packed[array]:
        total = facts.itemsize
        for axis, step in enumerate(strides):
            if step:
                total *= reach[axis]
        return float(total)
    rows, line = 1, LINE
    for terms in facts.windows[array]:
        extent, unit = 1, False
        for coefficient, axis in terms:
            extent += coefficient * (reach[axis] - 1)
            unit = unit or abs(strides[axis]) == coefficient
        if unit:
            line = ceil(extent * facts.itemsize / LINE) * LINE
        else:
            rows *= extent
    return float(rows * line)


def _aliased(tile: RegisterTile, facts: Accesses, machine: Machine) -> float:
    """Bytes fetched again because the rows of an input lie so far apart that they share a few sets of the cache."""
    if tile.at is None:
        return 0.0
    total = 0.0
    reach = tile.extents[tile.at]
    for array in range(facts.inputs):
        strides = facts.strides[array]
        if array in tile.packed or strides[tile.vector] != 1:
            continue
        for axis, step in enumerate(strides):
            if facts.is_output[axis] or not step or (step * facts.itemsize) % machine.alias_bytes:
                continue
            if reach[axis] <= WAYS:
                continue
            loaded = float(facts.itemsize)
            for other, size in enumerate(facts.sizes):
                shared = reach[other] if facts.is_output[other] and not strides[other] else 1
                loaded *= ceil(size / shared)
            total += loaded
    return total
