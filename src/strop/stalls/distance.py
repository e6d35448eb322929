"""How long ago a producer issued when a consumer is reached: the cheapest way back, in cycles."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

from strop.stalls.flow.cfg import Graph

MOST_BLOCKS = 512  # far enough for any latency; beyond it a producer counts as long gone


@dataclass(frozen=True, slots=True, order=True)
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

    def _span(self, first: int, end: int, start: Distance) -> Distance:
        return Distance(
            start.issuing + self._cost[end] - self._cost[first],
            start.elapsed + self._elapsed[end] - self._elapsed[first],
            start.instructions + end - first,
        )

    def to(self, consumer: int, producers: Collection[int]) -> dict[int, Distance]:
        """Return the distance of each producer that a way leads from: the way with the least issue cycles."""
        graph = self.graph
        wanted: dict[int, list[int]] = {}
        for producer in producers:
            if producer >= 0:
                wanted.setdefault(graph.block_of[producer], []).append(producer)
        found: dict[int, Distance] = {}
        left = sum(len(set(several)) for several in wanted.values())

        def back(block: int, end: int, start: Distance) -> Distance:
            for producer in wanted.get(block, ()):
                if producer < end and producer not in found:
                    found[producer] = self._span(producer, end, start)
            return self._span(graph.starts[block], end, start)

        home = graph.block_of[consumer]
        first = back(home, consumer, Distance(0.0, 0.0, 0))
        queue = [(first, block) for block in graph.predecessors[home]]
        heapq.heapify(queue)
        done: set[int] = set()
        while queue and len(done) < MOST_BLOCKS and len(found) < left:
            start, block = heapq.heappop(queue)
            if block in done:
                continue
            done.add(block)
            after = back(block, graph.ends[block], start)
            for predecessor in graph.predecessors[block]:
                if predecessor not in done:
                    heapq.heappush(queue, (after, predecessor))
        return found
