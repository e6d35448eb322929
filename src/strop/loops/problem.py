"""What a loop search works on: a contraction, where its values lie, and for which CPU it is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from strop.values.canonical import digest
from strop.values.contraction import Contraction
from strop.values.layout import Layout

ISAS = ("avx512", "avx2", "portable")
"""The instruction sets, best first."""


@dataclass(frozen=True, slots=True)
class LoopProblem:
    """A contraction with its layout, the instruction set that it is compiled for, and how many threads share it.

    `isa` is a word of `ISAS`. Two problems with equal `digest` have the same candidates, which measure alike on the
    same machine.
    """

    contraction: Contraction
    layout: Layout
    isa: str
    threads: int = 1

    def to_json(self) -> dict[str, Any]:
        """The problem as JSON."""
        return {
            "contraction": self.contraction.to_json(),
            "layout": self.layout.to_json(),
            "isa": self.isa,
            "threads": self.threads,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> LoopProblem:
        """The inverse of `to_json`."""
        return cls(
            Contraction.from_json(value["contraction"]),
            Layout.from_json(value["layout"]),
            value["isa"],
            value["threads"],
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return digest(self.to_json())
