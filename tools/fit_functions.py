"""Fits the approximations behind epilogues and writes native/loopnest/function_tables.hpp.

    pip install mpmath && python tools/fit_functions.py

Both fits are interpolations in Chebyshev points, which are within a small factor of the best ones (Trefethen,
Approximation Theory and Approximation Practice, 2nd edition, 2019, chapter 16), so nothing has to be iterated. Each
table's comment says the largest relative error found on a fine grid before its coefficients are rounded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60
TABLES = Path(__file__).parent.parent / "native" / "loopnest" / "function_tables.hpp"

# The reduced argument of exp is at most log(2)/2; the rounding of the quotient can exceed it a little.
HALF_LOG2 = mp.log(2) / 2 * mpf("1.001")

# (degree of expm1, degrees of the tail's fraction, end of the tail). Beyond its end exp(-t*t/2) is zero in the type:
# it must exceed sqrt(2 * 104) = 14.42 for float32 and sqrt(2 * 745.2) = 38.61 for float64.
FITS = {"f32": (6, (4, 5), mpf("14.5"), mpf(3)), "f64": (11, (9, 10), mpf(39), mpf(4))}


def chebyshev_points(count: int) -> list[mpf]:
    """The zeros of the Chebyshev polynomial of degree ``count``, in (-1, 1)."""
    return [mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]


def largest_error(candidate: Callable[[mpf], mpf], exact: Callable[[mpf], mpf], points: list[mpf]) -> mpf:
    """The largest relative error over the points."""
    return max(abs(candidate(t) / exact(t) - 1) for t in points)


def fit_expm1(degree: int) -> tuple[list[mpf], mpf]:
    """c[2..degree] of expm1(r) = r + c[2] r^2 + ... on |r| <= log(2)/2, and its relative error."""
    points = [HALF_LOG2 * u for u in chebyshev_points(degree - 1)]
    rows = mp.matrix([[r**power for power in range(degree - 1)] for r in points])
    # (expm1(r) - r)/r^2 by its series: at r = 0, which can be one of the points, the quotient itself is undefined.
    rest = mp.matrix([sum(r**k / mp.factorial(k + 2) for k in range(50)) for r in points])
    solved = mp.lu_solve(rows, rest)
    coefficients = [solved[i] for i in range(degree - 1)]

    def candidate(r: mpf) -> mpf:
        return r + r * r * mp.polyval(coefficients[::-1], r)

    return coefficients, largest_error(candidate, mp.expm1, [HALF_LOG2 * (k + 0.5) / 500 for k in range(-500, 500)])


def scaled_tail(t: mpf) -> mpf:
    """exp(t*t/2) times the normal distribution's tail beyond t >= 0: from 1/2 down to about 1/(t sqrt(2 pi))."""
    return mp.exp(t * t / 2) * mp.erfc(t / mp.sqrt(2)) / 2


def fit_tail(degrees: tuple[int, int], end: mpf, middle: mpf) -> tuple[list[mpf], list[mpf], mpf]:
    """P and Q (Q's first coefficient 1) of scaled_tail = P/Q on [0, end], and the relative error.

    The points are Chebyshev's in v = (t - middle)/(t + middle), which spreads [0, end] evenly for a function like 1/t.
    All coefficients come out positive, so evaluation loses no digits to cancellation.
    """
    above, below = degrees
    last = (end - middle) / (end + middle)

    def place(u: mpf) -> mpf:
        v = (u + 1) / 2 * (last + 1) - 1
        return middle * (1 + v) / (1 - v)

    points = [place(u) for u in chebyshev_points(above + below + 1)]
    rows = mp.matrix(
        [
            [t**power for power in range(above + 1)] + [-scaled_tail(t) * t**power for power in range(1, below + 1)]
            for t in points
        ]
    )
    solved = list(mp.lu_solve(rows, mp.matrix([scaled_tail(t) for t in points])))
    p, q = solved[: above + 1], [mpf(1), *solved[above + 1 :]]
    if min(p + q) <= 0:
        raise ArithmeticError("a coefficient isn't positive: choose another middle")

    def candidate(t: mpf) -> mpf:
        return mp.polyval(p[::-1], t) / mp.polyval(q[::-1], t)

    grid = [place(mpf(k) / 500 - 1) for k in range(1001)]
    return p, q, largest_error(candidate, scaled_tail, grid)


def rounded(value: mpf, scalar: str) -> mpf:
    """The nearest value of the type."""
    return mpf(ctypes.c_float(float(value)).value if scalar == "f32" else float(value))


def row(name: str, values: list[mpf], scalar: str) -> str:
    """One array of the table, in hexadecimal so that no digit is lost."""
    numbers = ", ".join(float(rounded(value, scalar)).hex() for value in values)
    return f"    .{name} = {{{numbers}}},"


def table(scalar: str) -> str:
    """The constants of one element type."""
    degree, degrees, end, middle = FITS[scalar]
    expm1, expm1_error = fit_expm1(degree)
    p, q, tail_error = fit_tail(degrees, end, middle)
    # Rounded down, so that the low part isn't negative: x - 0 * log(2) then keeps the sign of a zero x.
    log2_high = rounded(mp.log(2), scalar)
    if log2_high > mp.log(2):
        log2_high = rounded(mp.log(2) * (1 - mpf(2) ** -24), scalar)
    log2_low = rounded(mp.log(2) - log2_high, scalar)
    lines = [
        f"// expm1: relative error {mp.nstr(expm1_error, 2)}; tail: {mp.nstr(tail_error, 2)}.",
        f"inline const FunctionTable k_{scalar} = {{",
        f"    .log2_high = {float(log2_high).hex()},",
        f"    .log2_low = {float(log2_low).hex()},",
        row("expm1", expm1, scalar),
        row("tail_above", p, scalar),
        row("tail_below", q, scalar),
        f"    .tail_end = {float(end)},",
        "};",
    ]
    return "\n".join(lines)


HEADER = """\
// Written by tools/fit_functions.py; do not edit. Coefficients stand lowest power first.
#pragma once

#include <vector>

namespace strop {

struct FunctionTable {
  double log2_high, log2_low;               // log(2) in two parts
  std::vector<double> expm1;                // expm1(r) = r + r*r*(expm1[0] + expm1[1]*r + ...), |r| <= log(2)/2
  std::vector<double> tail_above, tail_below;  // exp(t*t/2) * erfc(t/sqrt(2))/2 = above(t)/below(t), 0 <= t <= tail_end
  double tail_end;                          // exp(-t*t/2) is zero in the element type from here on
};

"""


def main() -> None:
    """Write the tables."""
    body = "\n\n".join(table(scalar) for scalar in FITS)
    TABLES.write_text(f"{HEADER}{body}\n\n}}  // namespace strop\n")
    print(body)


if __name__ == "__main__":
    main()
