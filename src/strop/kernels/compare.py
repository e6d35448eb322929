"""Results beside the reference: exactly, or by the scale of what was summed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def differences(found: Array, expected: Array, scale: Array | None, relative: float) -> str | None:
    """Say how an array differs from what it should be: its first wrong element and how many there are; None if not.

    `relative` 0 asks for equal elements (the zeros' signs aside), else |found - expected| <= relative x scale, element
    by element; without a scale its part is taken by |expected|. NaN passes only where NaN is expected.
    """
    import numpy as np

    if found.shape != expected.shape:
        return f" has the shape {found.shape}, not {expected.shape}"
    both_nan = np.isnan(found) & np.isnan(expected) if found.dtype.kind == "f" else np.False_
    if relative == 0.0:
        right = (found == expected) | both_nan
    else:
        bound = relative * (np.abs(expected.astype(np.float64)) if scale is None else scale.astype(np.float64))
        with np.errstate(invalid="ignore"):
            right = np.abs(found.astype(np.float64) - expected.astype(np.float64)) <= bound
            right |= (found == expected) | both_nan  # infinities
    wrong = int(right.size - np.count_nonzero(right))
    if wrong == 0:
        return None
    at = tuple(int(each) for each in np.unravel_index(int(np.argmin(right)), right.shape))
    where = "".join(f"[{each}]" for each in at)
    rest = f"; {wrong:,} of {right.size:,} elements are wrong" if right.size > 1 else ""
    return f"{where} is {found[at].item()!r}, not {expected[at].item()!r}{rest}"
