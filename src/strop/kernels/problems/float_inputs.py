"""Families of float32 inputs for kernels of the processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Float = np.ndarray[Any, np.dtype[np.float32]]


def dense(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
    """Normal numbers."""
    import numpy as np

    return rng.standard_normal(shape, dtype=np.float32)


def sparse(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
    """One in eight is normal, the others are 0."""
    import numpy as np

    kept = rng.random(shape, dtype=np.float32) < 0.125
    return np.where(kept, dense(rng, shape), np.float32(0))


def extremes(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
    """Magnitudes over eight decades, both signs."""
    import numpy as np

    made: Float = (10.0 ** rng.uniform(-4, 4, shape) * rng.choice([-1.0, 1.0], shape)).astype(np.float32)
    return made


def ramp(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
    """Numbers that count up along the array, from a random start: a row in another's place shows."""
    import numpy as np

    count = int(np.prod(shape))
    made: Float = ((np.arange(count) + rng.integers(0, 1000)) % 8191 / 64.0).reshape(shape).astype(np.float32)
    return made


def cancelling(rng: np.random.Generator, shape: tuple[int, ...]) -> Float:
    """Large numbers, each followed by nearly its opposite: sums are small, so a lost term shows."""
    made = dense(rng, shape) * 100
    half = shape[-1] // 2
    made[..., half : 2 * half] = -made[..., :half] + dense(rng, (*shape[:-1], half))
    return made
