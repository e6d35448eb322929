"""Numbers as people read them."""

from __future__ import annotations


def seconds(value: float) -> str:
    """A time with the unit that leaves one to three digits before the point.

    >>> seconds(7.7e-5), seconds(1.234), seconds(5.3e-8)
    ('77.0 µs', '1.23 s', '53.0 ns')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{digits(value / scale)} {unit}"
    return f"{digits(value / 1e-9)} ns"


def percent(share: float) -> str:
    """A share as a whole percentage, with a digit more where it is small.

    >>> percent(0.957), percent(0.013)
    ('96%', '1.3%')
    """
    return f"{share * 100:.{0 if share >= 0.0995 else 1}f}%"


def times(ratio: float) -> str:
    """A ratio.

    >>> times(1.1234), times(0.0456), times(123.4)
    ('1.12×', '0.046×', '123×')
    """
    return f"{ratio:.2f}×" if 0.1 <= ratio < 10 else f"{ratio:.2g}×" if ratio < 0.1 else f"{digits(ratio)}×"


def digits(value: float) -> str:
    """Three significant digits or all before the point, without an exponent.

    >>> digits(5.678), digits(56.78), digits(5678), digits(9.998)
    ('5.68', '56.8', '5678', '10.0')
    """
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def ago(age_s: float) -> str:
    """An age in the largest unit that it fills.

    >>> ago(3), ago(61), ago(7300), ago(200_000)
    ('3 seconds ago', '1 minute ago', '2 hours ago', '2 days ago')
    """
    for scale, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if age_s >= scale:
            return f"{counted(int(age_s / scale), unit)} ago"
    return f"{counted(int(age_s), 'second')} ago" if age_s >= 1 else "just now"


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "candidate"), counted(1234, "candidate")
    ('1 candidate', '1,234 candidates')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
