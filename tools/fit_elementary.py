"""Print the polynomial coefficients of ``codegen/elementary/coefficients.py``.

Each polynomial interpolates its function at Chebyshev nodes, in 60 digits: within a
small factor of the best one of its degree. The error of the fit, printed beside it,
must be negligible compared with half an ulp. Run it when a degree or an interval
changes:

    cd src/pellucid_compiler/codegen/elementary
    python ../../../../tools/fit_elementary.py > coefficients.py
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from mpmath import mp, mpf

mp.dps = 60
Function = Callable[[Any], Any]


def chebyshev_nodes(low: Any, high: Any, count: int) -> list[Any]:
    middle, half = (low + high) / 2, (high - low) / 2
    return [
        middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)
    ]


def fit(function: Function, low: Any, high: Any, degree: int) -> list[Any]:
    nodes = chebyshev_nodes(mpf(low), mpf(high), degree + 1)
    matrix = mp.matrix([[x**power for power in range(degree + 1)] for x in nodes])
    solution = mp.lu_solve(matrix, mp.matrix([function(x) for x in nodes]))
    return [solution[i] for i in range(degree + 1)]


def worst_error(function: Function, low: Any, high: Any, coefficients: Any) -> Any:
    low, high, worst = mpf(low), mpf(high), mpf(0)
    for x in chebyshev_nodes(low, high, 203):
        value = sum(float(c) * x**power for power, c in enumerate(coefficients))
        worst = max(worst, abs(value - function(x)))
    return worst


def show(name: str, function: Function, low: Any, high: Any, degree: int) -> None:
    coefficients = fit(function, low, high, degree)
    error = worst_error(function, low, high, coefficients)
    span = f"[{mp.nstr(mpf(low), 4)}, {mp.nstr(mpf(high), 4)}]"
    print(f"\n# on {span}, error {mp.nstr(error, 2)}")
    print(f"{name} = (")
    for coefficient in coefficients:
        print(f"    {float(coefficient)!r},")
    print(")")


def to_single(number: Any) -> float:
    result: float = struct.unpack("<f", struct.pack("<f", float(number)))[0]
    return result


def show_row(numbers: Sequence[Any], indent: str) -> None:
    """Numbers in float32, to the digits that tell one from the next."""
    texts = [repr(float(f"{to_single(x):.9g}")) for x in numbers]
    for k in range(0, len(texts), 4):
        print(f"{indent}{', '.join(texts[k : k + 4])},")


def show_table(name: str, rows: Sequence[Sequence[Any]]) -> None:
    print(f"{name} = (")
    for row in rows:
        print("    (")
        show_row(row, " " * 8)
        print("    ),")
    print(")  # fmt: skip")


def near_single(function: Function, guess: float, width: float) -> float:
    """An argument near ``guess`` where the function is almost a float32."""

    def distance(x: float) -> float:
        exact = function(mpf(x))
        return float(abs(to_single(exact) - exact))

    return min((guess + k * width / 1024 for k in range(-32, 33)), key=distance)


def show_pieces(
    name: str, function: Function, pieces: Sequence[tuple[Any, Any, Any]], degree: int
) -> None:
    """Rows of coefficients of ``x - center``, one column for each piece ``(center, low,
    high)``.
    """
    columns, worst = [], mpf(0)
    for center, low, high in pieces:
        start = function(mpf(center))

        def slope(t: Any, center: float = center, start: Any = start) -> Any:
            t = t if abs(t) > mpf(10) ** -15 else mpf(10) ** -15
            return (function(center + t) - start) / t

        column = [start, *fit(slope, low - center, high - center, degree - 1)]
        columns.append(column)
        worst = max(worst, relative_error(function, center, low, high, column))
    print(f"\n# {len(pieces)} pieces of degree {degree}, relative {mp.nstr(worst, 2)}")
    show_table(name, [*zip(*columns, strict=True)])


def relative_error(
    function: Function, center: float, low: Any, high: Any, column: Sequence[Any]
) -> Any:
    worst = mpf(0)
    for x in chebyshev_nodes(mpf(low), mpf(high), 20):
        value = sum(c * (x - center) ** power for power, c in enumerate(column))
        worst = max(worst, abs(value / function(x) - 1))
    return worst


def octave_pieces(
    function: Function, shift: float, first: int
) -> list[tuple[float, float, float]]:
    """The pieces of ``piece_of_octaves(x + shift)`` by their number, beginning with the
    number ``first``; the least one has its center at 0.
    """
    found: dict[int, tuple[float, float, float]] = {}
    for number in range(first, first + 16):
        octave, quarter = divmod(number, 4)
        width = 2.0 ** (octave - 127) / 4
        low = 2.0 ** (octave - 127) + quarter * width - shift
        center = near_single(function, low + width / 2, width)
        found[number % 16] = (center if low > 0 else 0.0, low, low + width)
    return [found[k] for k in range(16)]


def series(function: Function, order: int) -> Function:
    """``function`` beyond its first ``order`` Taylor terms, over ``x ** order``."""

    def rest(x: Any) -> Any:
        if abs(x) < mpf(10) ** -20:
            return mp.taylor(function, 0, order)[order]
        mp.dps = 100 + 20 * order
        terms = mp.taylor(function, 0, order - 1) if order else []
        value = function(x) - sum(c * x**k for k, c in enumerate(terms))
        result = value / x**order
        mp.dps = 60
        return +result

    return rest


def odd_rest(function: Function) -> Function:
    """``(f(x) - f'(0) x) / x**3`` as a function of ``z = x**2``."""
    rest = series(function, 3)
    return lambda z: rest(mp.sqrt(z))


def erfc_scaled(t: Any) -> Any:
    """``(1 + 2x) exp(x**2) erfc(x)`` where ``t = (x - 4) / (x + 4)``."""
    if t > 1 - mpf(10) ** -15:
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + t) / (1 - t)
    mp.dps = 80
    result = (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    mp.dps = 60
    return +result


def erfinv_central(z: Any) -> Any:
    """``erfinv(x) / x`` where ``z = x**2``."""
    x = mp.sqrt(z)
    return mp.erfinv(x) / x


def erfinv_of_log(w: Any) -> Any:
    """``erfinv(x) / x`` where ``w = -log(1 - x**2)``."""
    if w < mpf(10) ** -12:
        return mp.sqrt(mp.pi) / 2 + (w if w > 0 else 0) * mp.pi**1.5 / 24
    mp.dps = 80
    square = -mp.expm1(-w)
    x = mp.sqrt(square)
    tail = mp.exp(-w) / (1 + x)
    start = mp.sqrt(w) * 0.9 if w > 1 else x * 0.9
    result = mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(tail), start) / x
    mp.dps = 60
    return +result


def erfinv_tail(s: Any) -> Any:
    """``erfinv(x) / s`` where ``s = sqrt(-log(1 - x))``."""
    tail = mp.exp(-s * s)
    guess = s
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(tail), guess * 0.9) / s


def show_octaves(name: str, function: Function, shift: float, degree: int) -> None:
    """A function of ``x >= 0`` in the pieces of ``x + shift``."""
    first = int(4 * (127 + shift - 1))
    pieces = octave_pieces(function, shift, first)
    show_pieces(name, function, pieces, degree)
    print(f"{name}_CENTER = (")
    show_row([center for center, _, _ in pieces], "    ")
    print(")  # fmt: skip")


def show_sigmoid(name: str, function: Function, width: float, degree: int) -> None:
    """An odd function in pieces of one width, less ``x`` in the first."""
    pieces = [(k * width, (k - 0.5) * width, (k + 0.5) * width) for k in range(16)]
    rest = lambda x: function(x) - (x if x < width / 2 else 0)  # noqa: E731
    show_pieces(name, rest, pieces, degree)


def show_erf_pieces() -> None:
    show_sigmoid("ERF_PIECES", mp.erf, 67 / 256, 6)
    erfcx = lambda x: mp.exp(x * x) * mp.erfc(x)  # noqa: E731
    show_octaves("ERFCX_PIECES", erfcx, 1.0, 6)
    show_octaves("ERFINV_PIECES", erfinv_of_log, 1.25, 6)


def show_log_pieces() -> None:
    """``log(1 / inverse)`` in two parts for a short ``inverse`` near the middle of each
    piece of ``[0.734, 1.47)``; the first has 16 digits behind the point, so that a sum
    with an exponent is exact.
    """
    middles = [0.75 + k / 32 for k in range(8)] + [1 + k / 16 for k in range(8)]
    inverses = [mp.nint(64 / mpf(c)) / 64 for c in middles]
    show_table("LOG_PIECES", [inverses])
    for base, name in ((mp.e, "LOG"), (mpf(2), "LOG2"), (mpf(10), "LOG10")):
        exact = [-mp.log(x) / mp.log(base) for x in inverses]
        high = [mp.nint(x * 2**16) / 2**16 for x in exact]
        show_table(
            f"{name}_PARTS", [high, [x - y for x, y in zip(exact, high, strict=True)]]
        )
    show("LOG_NEAR", series(mp.log1p, 2), -0.0249, 0.0329, 3)


def main() -> None:
    print(
        '"""Coefficients of the elementary functions\' polynomials, lowest power first.'
    )
    print("\nWritten by ``tools/fit_elementary.py``, which says what each one fits.")
    print('"""')
    half_ln2 = mp.log(2) / 2 * (1 + mpf(10) ** -3)
    exponential = series(mp.exp, 2)
    show("EXP_SINGLE", exponential, -half_ln2, half_ln2, 4)
    show("EXP_DOUBLE", exponential, -half_ln2, half_ln2, 10)
    exp2 = series(lambda x: mp.mpf(2) ** x, 1)
    show("EXP2_SINGLE", exp2, -0.5005, 0.5005, 5)
    show("EXP2_DOUBLE", exp2, -0.5005, 0.5005, 11)
    high = mp.sqrt(mpf(2)) - 1
    widest = (high / (2 + high)) ** 2
    atanh = lambda z: 2 * odd_rest(mp.atanh)(z)  # noqa: E731
    show("LOG_DOUBLE", atanh, mpf(10) ** -12, widest * 1.001, 6)
    show("LOG_EXTRA", lambda z: 2 * series(mp.atanh, 5)(mp.sqrt(z)), 1e-12, widest, 8)
    quarter_pi = (mp.pi / 4 * (1 + mpf(10) ** -3)) ** 2
    sine, cosine = odd_rest(mp.sin), lambda z: series(mp.cos, 4)(mp.sqrt(z))
    show("SIN_SINGLE", sine, 1e-12, quarter_pi, 2)
    show("COS_SINGLE", cosine, 1e-12, quarter_pi, 2)
    show("SIN_DOUBLE", sine, 1e-12, quarter_pi, 6)
    show("COS_DOUBLE", cosine, 1e-12, quarter_pi, 6)
    show("ASIN_DOUBLE", odd_rest(mp.asin), 1e-12, 0.2501, 13)
    eighth_pi = mp.tan(mp.pi / 8) ** 2 * mpf(1.001)
    show("ATAN_DOUBLE", odd_rest(mp.atan), 1e-12, eighth_pi, 12)
    show("ATAN_SINGLE", odd_rest(mp.atan), 1e-12, eighth_pi, 4)
    show("LOG_COARSE", atanh, 1e-12, widest, 4)
    show("EXP_COARSE", exponential, -half_ln2, half_ln2, 6)
    show("SINH_DOUBLE", odd_rest(mp.sinh), 1e-12, 1.001, 7)
    erf = lambda z: series(mp.erf, 1)(mp.sqrt(z)) - 1  # noqa: E731
    show("ERF_DOUBLE", erf, 1e-12, 0.601, 11)
    show("ERFC_DOUBLE", erfc_scaled, -1, 1, 23)
    show("ERFINV_CENTRAL", erfinv_central, 1e-12, 0.5625, 10)
    show("ERFINV_MIDDLE", erfinv_tail, 1.17, 2.6, 10)
    show("ERFINV_TAIL", erfinv_tail, 2.59, 6.2, 10)
    by_one = lambda t: mp.loggamma(1 + t) / t if abs(t) > 1e-25 else -mp.euler  # noqa: E731
    show("LGAMMA_ONE", by_one, -0.301, 0.301, 20)
    show("LGAMMA_ONE_COARSE", by_one, -0.301, 0.301, 9)
    by_two = lambda t: mp.loggamma(2 + t) / t if abs(t) > 1e-25 else 1 - mp.euler  # noqa: E731
    show("LGAMMA_TWO", by_two, -0.701, 0.501, 23)
    show("LGAMMA_TWO_COARSE", by_two, -0.701, 0.501, 11)
    root = mp.findroot(mp.digamma, 1.4616)
    by_root = lambda t: mp.digamma(root + t) / t if abs(t) > 1e-25 else mp.psi(1, root)  # noqa: E731
    show("DIGAMMA_ROOT", by_root, 0.9999 - root, 2.0001 - root, 28)
    print(f"\nDIGAMMA_ROOT_HIGH = {float(root)!r}")
    print(f"DIGAMMA_ROOT_LOW = {float(root - mpf(float(root)))!r}")
    show_sigmoid("TANH_PIECES", mp.tanh, 1235 / 2048, 7)
    show_erf_pieces()
    show_log_pieces()


if __name__ == "__main__":
    main()
