"""Elementwise special functions: the error function's family, entropy, zeta.

Smooth parts are the polynomials of special_series.py. Bessel's and Airy's
functions are in bessel.py.
"""

import math

from pellucid_compiler.catalogue import special_series as tables
from pellucid_compiler.catalogue.number_forms import (
    number_first_forms,
    number_forms,
)
from pellucid_compiler.catalogue.routines import gamma as numpy_gamma
from pellucid_compiler.declare import (
    INF,
    NAN,
    PI,
    ROUTINES,
    Routine,
    broadcast_shapes,
    cast,
    common_dtype,
    default_dtype,
    digamma,
    erf,
    erfc,
    exp,
    expand_to,
    graph_rule,
    isnan,
    lgamma,
    library,
    library_op,
    log,
    log1p,
    map_elements,
    pointwise,
    require,
    sqrt,
    tabulate,
    to,
    where,
)
from pellucid_compiler.ir.dtypes import HALF, is_complex, is_float

ROOT_HALF = math.sqrt(0.5)
ROOT_2_OVER_PI = math.sqrt(2 / math.pi)


def polynomial(coefficients, t):
    """``sum c[k] t ** k``, by Horner's rule."""
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * t + coefficient
    return value


def between(low, high, x):
    """``x``, mapped linearly from [low, high] to [-1, 1]."""
    return x * (2 / (high - low)) - (high + low) / (high - low)


def special(schema, refuses=(), **options):
    """A pointwise op of ``torch.special``, of real numbers."""
    return pointwise(
        schema,
        namespace="special",
        method=False,
        inplace=False,
        int_to_float=True,
        rare=True,
        refuses=(*refuses, "complex"),
        **options,
    )


# ------------------------------------------------------------------ entropy, logarithms


@special("special_entr(Tensor self) -> Tensor", domain=(1e-3, 1e3))
def entr(x):
    """``-x log(x)``; 0 at 0, minus infinity below."""
    inside = where(x == 0, 0.0, -x * log(where(x > 0, x, 1.0)))
    return where(isnan(x), x, where(x < 0, -INF, inside))


@entr.partials("the slope at 0 is that of the formula, not of the constant 0")
def _(x, y):
    return -log(x) - 1


@special(
    "special_xlog1py(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    forms=(
        *number_forms("special_xlog1py", "other_scalar", inplace=False),
        *number_first_forms("special_xlog1py", "self_scalar"),
    ),
    domain=(0, 9),
)
def xlog1py(x, y):
    """``x log(1 + y)``; 0 where x is 0, unless y is NaN."""
    return where(isnan(y), NAN, where(x == 0, 0.0, x * log1p(y)))


@xlog1py.partials("the slope at x = 0 is log(1 + y), not that of the constant 0")
def _(x, y, result):
    return where((x == 0) & (y <= -1), 0.0, log1p(y)), x / (y + 1)


# ------------------------------------------------------------------ the error function


def scaled_erfc(x):
    """``exp(x²) erfc(x)``: a series over ``(x - 3.75) / (x + 3.75)`` (Shepherd and
    Laframboise 1981).
    """
    distance = abs(x)
    t = where(distance > 1e15, 1.0, (distance - 3.75) / (distance + 3.75))
    right = polynomial(tables.ERFCX, t) / (1 + 2 * distance)
    return where(x < 0, 2 * exp(x * x) - right, right)


@special("special_erfcx(Tensor self) -> Tensor", refuses=HALF, domain=(-2, 1e6))
def erfcx(x):
    """``exp(x²) erfc(x)``."""
    return scaled_erfc(x)


@erfcx.partials("accuracy: the derivative of a truncated series is less accurate")
def _(x, y):
    return 2 * x * y - 2 / math.sqrt(PI)


@special("special_ndtr(Tensor self) -> Tensor")
def ndtr(x):
    """The normal distribution function: ``erfc(-x / sqrt(2)) / 2``."""
    t = x * ROOT_HALF
    return where(abs(t) < 1, 0.5 + 0.5 * erf(t), 0.5 * erfc(-t))


@special("special_log_ndtr(Tensor self) -> Tensor", refuses=HALF, domain=(-1e4, 50))
def log_ndtr(x):
    """The logarithm of ``ndtr``."""
    t = x * ROOT_HALF
    left = log(scaled_erfc(where(t < -0.5, -t, 0.5)) * 0.5) - t * t
    return where(t < -0.5, left, log1p(-0.5 * erfc(t)))


@log_ndtr.partials("saved values: the density over ndtr, by the result")
def _(x, y):
    far = erfcx.scalar_body(where(x < -1, -x * ROOT_HALF, 1.0))
    density = exp(-0.5 * x * x - y) * (ROOT_2_OVER_PI / 2)
    return where(x < -1, ROOT_2_OVER_PI / far, density)


@special("special_ndtri(Tensor self) -> Tensor", refuses=HALF, domain=(1e-12, 0.999))
def ndtri(p):
    """The inverse of ``ndtr``: series over ``(p - 1/2)²``, in the tails over
    ``1 / sqrt(-2 log p)``.
    """
    q = p - 0.5
    center = q * polynomial(tables.NDTRI_CENTER, between(0.0, 0.1369, q * q))
    small = where(p < 0.5, p, 1 - p)
    r = sqrt(-2 * log(where((small > 0) & (small < 0.2), small, 0.1)))
    s = 1 / r
    near = polynomial(tables.NDTRI_TAIL, between(0.125, 0.5, s))
    far = polynomial(tables.NDTRI_FAR, between(0.02, 0.125, s))
    tail = r * where(s > 0.125, near, far)
    quantile = where(abs(q) < 0.37, center, where(q < 0, -tail, tail))
    ends = where(p == 0, -INF, where(p == 1, INF, NAN))
    return where((p > 0) & (p < 1), quantile, ends)


@ndtri.partials("saved values: one over the density at the result")
def _(p, y):
    return math.sqrt(2 * PI) * exp(0.5 * y * y)


# ------------------------------------------------------------------ zeta, polygamma


def _broadcast_pair(a, b):
    """Two floating-point tensors, promoted and broadcast."""
    shape, dtype = broadcast_shapes(a.shape, b.shape), common_dtype(a, b)
    return [expand_to(to(t, dtype), shape) for t in (a, b)]


@library_op(
    "special_zeta(Tensor self, Tensor other) -> Tensor",
    namespace="special",
    method=False,
    rare=True,
    tags="pointwise",
)
def zeta(s, q):
    """Hurwitz' zeta function: ``sum (q + k) ** -s`` over k from 0 on."""
    dtype = common_dtype(s, q)
    require(
        dtype not in HALF and not is_complex(dtype),
        f'"special_zeta" not implemented for {dtype} tensors: convert with .float() '
        "first",
        error=NotImplementedError,
    )
    s, q = (t if t.is_floating else to(t, default_dtype()) for t in (s, q))
    return library("zeta", *_broadcast_pair(s, q))[0]


def _without_formula(name, like):
    """The partial derivative that no formula gives: computing it raises, so that the
    op can be recorded for its other argument, as in PyTorch.
    """

    def element(*p):
        require(
            like[p] < like[p],
            f"the derivative for '{name}' is not implemented.",
            error=NotImplementedError,
        )
        return cast(0.0, like.dtype)

    return tabulate(like.shape, element)


def _zeta_tangents(s, q, y, ds, dq):
    found = None if dq is None else dq * -s * library("zeta", s + 1, q)[0]
    if ds is not None:
        term = ds * _without_formula("zeta", s)
        found = term if found is None else found + term
    return (found,)


ROUTINES["zeta"] = Routine(
    "zeta",
    lambda s, q: [(s.shape, s.dtype)],
    numpy_gamma.zeta,
    graph_rule(_zeta_tangents),
    core=(0, 0),
)


def _at_infinity(x, value):
    """``value``, but 0 at infinity and NaN at minus infinity."""
    return where(x == math.inf, 0.0, where(x == -math.inf, math.nan, value))


_LAST_FACTORIAL = 170  # the argument of the greatest factorial that fits a float64


@library_op(
    "polygamma(int n, Tensor self) -> Tensor",
    refuses=("complex",),
    method=False,
    rare=True,
    forms=("polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",),
    aliases=("special_polygamma",),
    tags="pointwise",
)
def polygamma(n, x):
    """The derivative of order n of digamma: ``(-1)ⁿ⁺¹ n! zeta(n + 1, x)``."""
    require(n is not None and n >= 0, f"polygamma: the order {n} is negative")
    x = x if x.is_floating else to(x, default_dtype())
    if n == 0:
        return digamma(x)
    order = tabulate(x.shape, lambda *p: cast(float(n) + 1.0, x.dtype))
    if n == 1:
        trigamma = library("zeta", order, x)[0]
        return map_elements(_at_infinity, x, trigamma)
    sign = 1.0 if n % 2 else -1.0
    factorial = float(math.factorial(n)) if n <= _LAST_FACTORIAL else math.inf
    return sign * factorial * library("zeta", order, x)[0]


# ------------------------------------------------------------------ incomplete gamma


def _declare_incomplete_gamma(name, alias, sign, text):
    @library_op(
        f"{name}(Tensor self, Tensor other) -> Tensor",
        refuses=("complex",),
        inplace=True,
        rare=True,
        aliases=(f"special_{alias}",),
        tags="pointwise",
    )
    def incomplete(a, x):
        """The regularized incomplete gamma function."""
        require(
            is_float(common_dtype(a, x)),
            f'"{name}" not implemented for {common_dtype(a, x)} tensors: convert with '
            ".float() first",
            error=NotImplementedError,
        )
        return library(name, *_broadcast_pair(a, x))[0]

    incomplete.__doc__ = text

    def tangents(a, x, y, da, dx):
        found = None
        if dx is not None:
            found = dx * (sign * exp((a - 1) * log(x) - x - lgamma(a)))
        if da is not None:
            term = da * _without_formula(f"{name}: input", a)
            found = term if found is None else found + term
        return (found,)

    ROUTINES[name] = Routine(
        name,
        lambda a, x: [(a.shape, a.dtype)],
        lambda a, x: numpy_gamma.incomplete(a, x, upper=sign < 0),
        graph_rule(tangents),
        core=(0, 0),
    )


_declare_incomplete_gamma(
    "igamma", "gammainc", 1, "The integral of ``t^(a-1) exp(-t) / Γ(a)`` from 0 to x."
)
_declare_incomplete_gamma(
    "igammac", "gammaincc", -1, "``1 - igamma(a, x)``, exact for large x."
)
