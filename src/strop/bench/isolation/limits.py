"""What foreign code may use up."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one foreign run. Times in seconds, sizes in bytes.

    ``memory_bytes`` is address space and holds for each process; ``file_bytes`` for each file and for all that lies in
    the scratch folder; ``processes`` counts processes and threads together; ``output_bytes`` standard output and
    standard error together.
    """

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_bytes: int = 1024 * MIB
    file_bytes: int = 64 * MIB
    open_files: int = 64
    processes: int = 16
    output_bytes: int = MIB

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0")
