"""Reaching definitions by native code, where it is compiled: the same answers as `definitions.py`, its reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from strop.stalls.flow.cfg import Graph
from strop.stalls.flow.definitions import Definitions, Read
from strop.stalls.flow.operands import slots_read, slots_written
from strop.stalls.flow.pieces import Pieces
from strop.stalls.instruction import Role

if TYPE_CHECKING:
    from strop._native import Reaching

# Native code has a bit for each piece in each block, Python's numbers none for those above the highest that is set.
MOST_BITS = 1 << 30


def definitions(graph: Graph) -> Definitions:
    """Return the reaching definitions of a function: by native code where there is any, unless the function is huge."""
    try:
        from strop._native import Reaching
    except ImportError:
        return Definitions(graph)
    pieces = NativePieces(graph.function.instructions)
    if len(pieces) * len(graph.starts) > MOST_BITS:
        return Definitions(graph, pieces)
    return NativeDefinitions(graph, pieces, Reaching)


class NativePieces(Pieces):
    """`Pieces`, cut by `strop._native.cut_pieces`."""

    def _divide(self) -> None:
        from strop._native import cut_pieces

        made = cut_pieces(self._code, slots_written, slots_read, Role.PREDICATE, Role.DATA)
        self.registers, self._known, self.of, self.first, self.written, self.read = made


class NativeDefinitions(Definitions):
    """`Definitions`, worked out by `strop._native.Reaching`."""

    def __init__(self, graph: Graph, pieces: Pieces, reaching: type[Reaching]) -> None:
        self._made = reaching
        super().__init__(graph, pieces)

    def _solve(self) -> list[tuple[Read, ...]]:
        graph = self.graph
        self._reaching = self._made(
            graph.starts,
            graph.ends,
            graph.successors,
            graph.predecessors,
            graph.order,
            graph.position,
            bytes(self._guarded),
            self._defs,
            self._reads,
            len(self._pieces),
        )
        return self._reaching.by_piece(Read, self._firsts(), self._reads)

    def needed_after(self, asked: Mapping[int, Iterable[int]]) -> set[tuple[int, int]]:
        """Return what `Definitions.needed_after` does."""
        return self._reaching.needed_after(dict(asked))

    def written_later(self) -> list[int]:
        """Return what `Definitions.written_later` does."""
        return self._reaching.written_later()
