"""Print the polynomial coefficients of ``compiler/elementary/coefficients.py``.

Each polynomial interpolates its function at Chebyshev nodes, in 60 digits: within a
small factor of the best one of its degree. Beside it stands the error of the fit, which
has to vanish beside half an ulp. Run it when a degree or an interval changes:

    python tools/fit_elementary.py > src/pellucid/compiler/elementary/coefficients.py
"""

from __future__ import annotations

from collections.abc import Callable
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


def erfinv_tail(s: Any) -> Any:
    """``erfinv(x) / s`` where ``s = sqrt(-log(1 - x))``."""
    tail = mp.exp(-s * s)
    guess = s
    return mp.findroot(lambda y: mp.log(mp.erfc(y)) - mp.log(tail), guess * 0.9) / s


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
    low, high = mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(mpf(2)) - 1
    show("LOG_SINGLE", series(mp.log1p, 3), low, high, 8)
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
    show("TANH_SINGLE", odd_rest(mp.tanh), 1e-12, 0.3026, 4)
    show("ERF_SINGLE", erf, 1e-12, 0.811, 5)
    show("ERF_DOUBLE", erf, 1e-12, 0.601, 11)
    log_erfc = lambda x: mp.log(mp.erfc(x))  # noqa: E731
    show("LOG_ERFC_SINGLE", log_erfc, 0.899, 4.0, 8)
    show("ERFC_SINGLE", erfc_scaled, -0.84, 0.45, 12)
    show("ERFC_DOUBLE", erfc_scaled, -1, 1, 23)
    show("ERFINV_CENTRAL", erfinv_central, 1e-12, 0.5625, 10)
    show("ERFINV_MIDDLE", erfinv_tail, 1.17, 2.6, 10)
    show("ERFINV_TAIL", erfinv_tail, 2.59, 6.2, 10)
    by_one = lambda t: mp.loggamma(1 + t) / t if abs(t) > 1e-25 else -mp.euler  # noqa: E731
    show("LGAMMA_ONE", by_one, -0.301, 0.301, 20)
    by_two = lambda t: mp.loggamma(2 + t) / t if abs(t) > 1e-25 else 1 - mp.euler  # noqa: E731
    show("LGAMMA_TWO", by_two, -0.701, 0.501, 23)
    root = mp.findroot(mp.digamma, 1.4616)
    by_root = lambda t: mp.digamma(root + t) / t if abs(t) > 1e-25 else mp.psi(1, root)  # noqa: E731
    show("DIGAMMA_ROOT", by_root, 0.9999 - root, 2.0001 - root, 28)
    print(f"\nDIGAMMA_ROOT_HIGH = {float(root)!r}")
    print(f"DIGAMMA_ROOT_LOW = {float(root - mpf(float(root)))!r}")


if __name__ == "__main__":
    main()
