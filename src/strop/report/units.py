"""Numbers as people read them."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A time with the unit that leaves one to three digits before the point.

    >>> seconds(7.7e-5), seconds(1.234), seconds(5.3e-8)
    ('77.0 µs', '1.23 s', '53.0 ns')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{_digits(value / scale)} {unit}"
    return f"{_digits(value / 1e-9)} ns"


def percent(share: float) -> str:
    """A share as a whole percentage.

    >>> percent(0.957)
    '96%'
    """
    return f"{share * 100:.0f}%"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
