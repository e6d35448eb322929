"""Families of int8 inputs: what a kernel that is right on one of them may get wrong on another.

A product of full-range matrices saturates nearly everywhere and shows little more than signs, so most families keep
results inside int8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Int8 = np.ndarray[Any, np.dtype[np.int8]]


def dense(rng: np.random.Generator, shape: tuple[int, ...]) -> Int8:
    """The full range, uniform."""
    import numpy as np

    return rng.integers(-128, 128, shape, dtype=np.int8)


def sparse(rng: np.random.Generator, shape: tuple[int, ...], per_row: int = 4) -> Int8:
    """A few small elements a row, zeros elsewhere: sums stay in range, each element counts."""
    import numpy as np

    made = np.zeros(shape, dtype=np.int8)
    flat = made.reshape(-1, shape[-1])
    for row in flat:
        where = rng.choice(shape[-1], min(per_row, shape[-1]), replace=False)
        row[where] = rng.integers(-3, 4, len(where), dtype=np.int8)
    return made


def small(rng: np.random.Generator, shape: tuple[int, ...]) -> Int8:
    """Elements from -8 to 8."""
    import numpy as np

    return rng.integers(-8, 9, shape, dtype=np.int8)


def extremes(rng: np.random.Generator, shape: tuple[int, ...]) -> Int8:
    """Only -128, -127, 0 and 127."""
    import numpy as np

    return rng.choice(np.array([-128, -127, 0, 127], dtype=np.int8), shape)


def ramp(rng: np.random.Generator, shape: tuple[int, ...]) -> Int8:
    """Elements that count up along the array, from a random start: a row in another's place shows."""
    import numpy as np

    start = int(rng.integers(0, 256))
    return (np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * 7 + start).astype(np.int8)


def saturated(total: np.ndarray[Any, Any]) -> Int8:
    """Whole numbers cut to int8, as the accumulator's way out does with scale 1."""
    import numpy as np

    cut: Int8 = np.clip(total, -128, 127).astype(np.int8)
    return cut
