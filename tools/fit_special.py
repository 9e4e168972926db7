#!/usr/bin/env python3
"""Fits the polynomials of catalogue/special_series.py and writes that file.

Each function is a smooth part, named here, on an interval of a variable in [-1, 1];
Chebyshev series are truncated where their terms fall below float64's accuracy and then
converted to powers: their terms fall fast enough for that to be stable. Needs mpmath.
Read src/pellucid_compiler/catalogue/special.py, which evaluates them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 40
POINTS = 48
CUT = mpf(2) ** -56
TARGET = (
    Path(__file__).parent.parent / "src/pellucid_compiler/catalogue/special_series.py"
)

HEADER = '''"""Polynomials of the special functions, by tools/fit_special.py.

Coefficients of rising powers of a variable in [-1, 1]. Read special.py.
"""
'''

Function = Callable[[mpf], mpf]


def powers(series: list[mpf]) -> list[float]:
    """A Chebyshev series as coefficients of rising powers."""
    found = [mpf(0)] * len(series)
    before, current = [mpf(0)], [mpf(1)]
    for k, coefficient in enumerate(series):
        for power, factor in enumerate(current):
            found[power] += (coefficient / 2 if k == 0 else coefficient) * factor
        after = [mpf(0), *((1 if k == 0 else 2) * factor for factor in current)]
        for power, factor in enumerate(before):
            after[power] -= factor if k else 0
        before, current = current, after
    return [float(c) for c in found]


def series(function: Function) -> list[mpf]:
    """The Chebyshev coefficients of ``function`` on [-1, 1], without the small ones."""
    angles = [mp.pi * (k + mpf(1) / 2) / POINTS for k in range(POINTS)]
    values = [function(mp.cos(angle)) for angle in angles]
    found = [
        2 * mp.fsum(v * mp.cos(n * a) for v, a in zip(values, angles, strict=True))
        / POINTS
        for n in range(POINTS)
    ]  # fmt: skip
    largest = max(abs(c) for c in found)
    while abs(found[-1]) < CUT * largest:
        found.pop()
    return found


def on(low: float, high: float, function: Function) -> Function:
    """``function`` of ``low .. high`` as one of [-1, 1]."""
    middle, half = mpf(low + high) / 2, mpf(high - low) / 2
    return lambda t: function(middle + half * t)


def erfcx_part(t: mpf) -> mpf:
    """``(1 + 2x) erfcx(x)`` over ``t = (x - 3.75) / (x + 3.75)`` (Shepherd and
    Laframboise 1981).
    """
    x = mpf("3.75") * (1 + t) / (1 - t)
    if x < 50:
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    tail = mp.hyp2f0(1, mpf(1) / 2, -1 / x**2) / (x * mp.sqrt(mp.pi))
    return (1 + 2 * x) * tail


def ndtri_center(u: mpf) -> mpf:
    """``ndtri(1/2 + q) / q`` over ``u = q²``."""
    q = mp.sqrt(u)
    return mp.sqrt(2) * mp.erfinv(2 * q) / q


def ndtri_tail(s: mpf) -> mpf:
    """``-ndtri(p) / r`` for ``r = sqrt(-2 log p)``, over ``s = 1 / r``."""
    r = 1 / s
    logarithm = -r * r / 2
    x = r - mp.log(r * mp.sqrt(2 * mp.pi)) / r
    for _ in range(60):
        tail = mp.log(mp.erfc(x / mp.sqrt(2)) / 2)
        slope = -mp.exp(-x * x / 2 - tail) / mp.sqrt(2 * mp.pi)
        step = (tail - logarithm) / slope
        x -= step
        if abs(step) < mpf(10) ** -32:
            break
    return x / r


def bessel_modulus(order: int, kind: int) -> Function:
    """P (kind 0) and Q x (kind 1) of ``sqrt(2 / πx) (P cos χ - Q sin χ)``, over
    ``(8/x)²`` (Abramowitz and Stegun 9.2.5).
    """

    def part(v: mpf) -> mpf:
        x = 8 / mp.sqrt(v)
        chi = x - (order / mpf(2) + mpf(1) / 4) * mp.pi
        j = mp.besselj(order, x) * mp.sqrt(mp.pi * x / 2)
        y = mp.bessely(order, x) * mp.sqrt(mp.pi * x / 2)
        if kind == 0:
            return j * mp.cos(chi) + y * mp.sin(chi)
        return (y * mp.cos(chi) - j * mp.sin(chi)) * x

    return part


def bessel_second(order: int) -> Function:
    """Y without its logarithm, over ``x²`` on [0, 64]."""

    def part(w: mpf) -> mpf:
        x = mp.sqrt(w)
        rest = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        return rest if order == 0 else (rest + 2 / (mp.pi * x)) / x

    return part


def bessel_k_small(order: int) -> Function:
    """K without its logarithm, over ``x²`` on [0, 4]."""

    def part(w: mpf) -> mpf:
        x = mp.sqrt(w)
        if order == 0:
            return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
        return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))

    return part


def scaled_i(order: int) -> Function:
    """``exp(-x) sqrt(x) I(x)`` over ``8 / x``."""
    return lambda s: (
        mp.exp(-8 / s) * mp.besseli(order, 8 / s) * mp.sqrt(8 / s)
        if s > 0
        else 1 / mp.sqrt(2 * mp.pi)
    )


def scaled_k(order: int) -> Function:
    """``exp(x) sqrt(x) K(x)`` over ``2 / x``."""
    return lambda s: mp.exp(2 / s) * mp.besselk(order, 2 / s) * mp.sqrt(2 / s)


def airy_tail(s: mpf) -> mpf:
    """``2 sqrt(π) x^(1/4) exp(z) Ai(x)`` for ``z = 2/3 x^(3/2)``, over ``1 / z``."""
    z = 1 / s
    x = (mpf(3) / 2 * z) ** (mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * mp.root(x, 4) * mp.exp(z) * mp.airyai(x)


def airy_wave(kind: int) -> Function:
    """The two factors of ``Ai(-x)``'s cosine and sine, over ``1 / z²``
    (Abramowitz and Stegun 10.4.60).
    """

    def part(v: mpf) -> mpf:
        z = 1 / mp.sqrt(v)
        x = (mpf(3) / 2 * z) ** (mpf(2) / 3)
        scale = mp.sqrt(mp.pi) * mp.root(x, 4)
        chi = z + mp.pi / 4
        a, b = mp.airyai(-x) * scale, mp.airybi(-x) * scale
        if kind == 0:
            return a * mp.sin(chi) + b * mp.cos(chi)
        return (b * mp.sin(chi) - a * mp.cos(chi)) * z

    return part


SERIES: dict[str, Function] = {
    "ERFCX": erfcx_part,
    "NDTRI_CENTER": on(0.0, 0.1369, ndtri_center),
    "NDTRI_TAIL": on(0.125, 0.5, ndtri_tail),
    "NDTRI_FAR": on(0.02, 0.125, ndtri_tail),
    "I0_SMALL": on(0.0, 8.0, lambda x: mp.exp(-x) * mp.besseli(0, x)),
    "I1_SMALL": on(0.0, 8.0, lambda x: mp.exp(-x) * mp.besseli(1, x) / x),
    "I0_LARGE": on(0.0, 1.0, scaled_i(0)),
    "I1_LARGE": on(0.0, 1.0, scaled_i(1)),
    "K0_SMALL": on(0.0, 4.0, bessel_k_small(0)),
    "K1_SMALL": on(0.0, 4.0, bessel_k_small(1)),
    "K0_LARGE": on(0.0, 1.0, scaled_k(0)),
    "K1_LARGE": on(0.0, 1.0, scaled_k(1)),
    "J0_SMALL": on(0.0, 64.0, lambda w: mp.besselj(0, mp.sqrt(w))),
    "J1_SMALL": on(0.0, 64.0, lambda w: mp.besselj(1, mp.sqrt(w)) / mp.sqrt(w)),
    "Y0_SMALL": on(0.0, 64.0, bessel_second(0)),
    "Y1_SMALL": on(0.0, 64.0, bessel_second(1)),
    "P0": on(0.0, 1.0, bessel_modulus(0, 0)),
    "Q0": on(0.0, 1.0, bessel_modulus(0, 1)),
    "P1": on(0.0, 1.0, bessel_modulus(1, 0)),
    "Q1": on(0.0, 1.0, bessel_modulus(1, 1)),
    "AIRY_CENTER": on(-4.0, 2.0, mp.airyai),
    "AIRY_TAIL": on(0.0, 0.54, airy_tail),
    "AIRY_P": on(0.0, 0.0352, airy_wave(0)),
    "AIRY_Q": on(0.0, 0.0352, airy_wave(1)),
}


def main() -> None:
    """Writes the file."""
    parts = [HEADER]
    for name, function in SERIES.items():
        terms = ", ".join(map(repr, powers(series(function))))
        body = textwrap.fill(terms, 84, initial_indent="    ", subsequent_indent="    ")
        parts.append(f"{name} = (\n{body},\n)\n")
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
