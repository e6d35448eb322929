"""How often each block runs, and how long each instruction takes, estimated from samples.

Issued samples per issue cycle say how often a block runs, unless they are few: then a guess by loop depth weighs in,
and what flows into a block flows out of it. Units are samples per cycle and warp: dividing an instruction's samples by
its block's frequency gives the cycles that one execution takes.
"""

from __future__ import annotations

from collections.abc import Mapping

from strop.stalls.flow.cfg import Graph

ITERATIONS = 8.0  # of a loop of which no sample tells
PRIOR = 4.0  # how many issued samples the guess is worth
SWEEPS = 8
FEWEST = 8  # issued samples of a block, below which its instructions' times aren't known


class Frequency:
    """`of_block[b]`: executions, in issued samples per cycle; `elapsed[i]`: cycles that i takes, with its stalls."""

    def __init__(self, graph: Graph, issued: Mapping[int, int], stalled: Mapping[int, int]) -> None:
        self.graph = graph
        code = graph.function.instructions
        blocks = len(graph.order)
        cycles = [0.0] * blocks
        seen = [0] * blocks
        for block, (start, end) in enumerate(zip(graph.starts, graph.ends, strict=True)):
            for index in range(start, end):
                cycles[block] += code[index].issue_cycles
        for index, count in issued.items():
            seen[graph.block_of[index]] += count
        guess = [ITERATIONS ** min(depth, 4) for depth in graph.depth]
        total = sum(seen)
        expected = sum(rate * length for rate, length in zip(guess, cycles, strict=True))
        scale = total / expected if total and expected else 1.0
        self.of_block = [
            (count + PRIOR * min(1.0, rate * scale)) / (length + PRIOR * min(1.0, rate * scale) / (rate * scale))
            if length
            else rate * scale
            for count, length, rate in zip(seen, cycles, guess, strict=True)
        ]
        if total:
            self._conserve(seen)
        self.known = [count >= FEWEST for count in seen]
        self.elapsed = [float(one.issue_cycles) for one in code]
        self.cost = [float(one.issue_cycles) for one in code]
        for index, count in stalled.items():
            block = graph.block_of[index]
            if self.known[block]:
                self.elapsed[index] += count / self.of_block[block]

    def _conserve(self, seen: list[int]) -> None:
        """Draw each block toward what flows into and out of it, the more the fewer its own samples are."""
        graph, rate = self.graph, self.of_block
        for _ in range(SWEEPS):
            into = [0.0] * len(rate)
            for block, successors in enumerate(graph.successors):
                weight = sum(rate[successor] for successor in successors)
                for successor in successors:
                    into[successor] += rate[block] * (rate[successor] / weight if weight else 1 / len(successors))
            for block, count in enumerate(seen):
                if graph.predecessors[block] and into[block]:
                    trust = count / (count + PRIOR)
                    rate[block] = trust * rate[block] + (1 - trust) * (rate[block] + into[block]) / 2

    def of(self, index: int) -> float:
        """Return how often an instruction runs."""
        return self.of_block[self.graph.block_of[index]]
