"""How long ago a producer issued when a consumer is reached: the cheapest way back, in cycles."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from strop.stalls.flow.cfg import Graph

MOST_BLOCKS = 256  # searched for one consumer; a producer that is farther counts as long gone


@dataclass(frozen=True, slots=True)
class Distance:
    """From a producer's issue to the consumer's: cycles of issuing alone, and with the stalls seen on the way."""

    issuing: float
    elapsed: float
    instructions: int


class Distances:
    """Distances in one function; `cost` and `elapsed` are cycles of each instruction, without and with stalls."""

    def __init__(self, graph: Graph, cost: Sequence[float], elapsed: Sequence[float]) -> None:
        self.graph = graph
        self._cost = [0.0, *accumulate(cost)]
        self._elapsed = [0.0, *accumulate(elapsed)]

    def to(self, consumer: int, producers: Collection[int], horizon: float = 4096.0) -> dict[int, Distance]:
        """Return the distance of each producer that a way leads from: the way with the least issue cycles.

        Those more than `horizon` cycles of issuing away are left out.
        """
        graph, cost, elapsed = self.graph, self._cost, self._elapsed
        wanted: dict[int, list[int]] = {}
        for producer in producers:
            if producer >= 0:
                wanted.setdefault(graph.block_of[producer], []).append(producer)
        found: dict[int, Distance] = {}
        left = sum(len(several) for several in wanted.values())
        home = graph.block_of[consumer]
        done: set[int] = set()
        # issuing, elapsed and instructions from a block's end to the consumer; the block
        queue: list[tuple[float, float, int, int]] = []

        def back(block: int, end: int, issuing: float, lapsed: float, count: int) -> int:
            new = 0
            for producer in wanted.get(block, ()):
                if producer < end and producer not in found:
                    new += 1
                    found[producer] = Distance(
                        issuing + cost[end] - cost[producer],
                        lapsed + elapsed[end] - elapsed[producer],
                        count + end - producer,
                    )
            start = graph.starts[block]
            issuing += cost[end] - cost[start]
            if issuing <= horizon:
                for predecessor in graph.predecessors[block]:
                    if predecessor not in done:
                        after = (issuing, lapsed + elapsed[end] - elapsed[start], count + end - start, predecessor)
                        heapq.heappush(queue, after)
            return new

        left -= back(home, consumer, 0.0, 0.0, 0)
        while queue and left > 0 and len(done) < MOST_BLOCKS:
            issuing, lapsed, count, block = heapq.heappop(queue)
            if block not in done:
                done.add(block)
                left -= back(block, graph.ends[block], issuing, lapsed, count)
        return found
