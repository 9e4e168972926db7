"""Bessel's and Airy's functions of elements.

Polynomials near 0, amplitudes and phases far from it (Abramowitz and Stegun, chapters 9
and 10). The derivatives that PyTorch offers are expressed by functions of adjacent
orders.
"""

import math

from pellucid_compiler.catalogue import special_series as tables
from pellucid_compiler.catalogue.real_only import require_real
from pellucid_compiler.catalogue.special import between, polynomial, special
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    NAN,
    PI,
    cos,
    exp,
    log,
    maximum,
    minimum,
    pointwise,
    sign,
    sin,
    sqrt,
    where,
)
from pellucid_compiler.ir.dtypes import HALF

_I_SERIES = {
    0: (tables.I0_SMALL, tables.I0_LARGE),
    1: (tables.I1_SMALL, tables.I1_LARGE),
}


def scaled_i(order, x):
    """``exp(-|x|) I(x)``."""
    small_series, large_series = _I_SERIES[order]
    distance = abs(x)
    near = minimum(distance, 8.0)
    small = polynomial(small_series, between(0.0, 8.0, near))
    small = small * near if order else small
    far = maximum(distance, 8.0)
    large = polynomial(large_series, between(0.0, 1.0, 8 / far)) / sqrt(far)
    value = where(distance <= 8, small, large)
    return sign(x) * value if order else value


def _i0(x):
    return exp(abs(x)) * scaled_i(0, x)


def _i1(x):
    return exp(abs(x)) * scaled_i(1, x)


@pointwise(
    "i0(Tensor self) -> Tensor",
    int_to_float=True,
    rare=True,
    aliases=("special_i0",),
    domain=(2e-3, 30),
)
def i0(x):
    """The modified Bessel function of the first kind, order 0."""
    require_real("i0", x)
    return _i0(x)


@i0.partials("accuracy: the derivative of a truncated series is less accurate")
def _(x, y):
    return i1.scalar_body(x)


i0.gradients_seen_as(self=lambda grad, self: grad * api.special.i1(self))


@special("special_i0e(Tensor self) -> Tensor", domain=(2e-3, 1e3))
def i0e(x):
    """``exp(-|x|) i0(x)``."""
    return scaled_i(0, x)


@i0e.partials("accuracy: the derivative of a truncated series is less accurate")
def _(x, y):
    return i1e.scalar_body(x) - sign(x) * y


@special("special_i1(Tensor self) -> Tensor", domain=(2e-3, 30))
def i1(x):
    """The modified Bessel function of the first kind, order 1."""
    return _i1(x)


def _over(y, x):
    """``y / x``, whose limit at 0 is 1/2."""
    return where(x == 0, 0.5, y / where(x == 0, 1.0, x))


@i1.partials("accuracy: the derivative of a truncated series is less accurate")
def _(x, y):
    return i0.scalar_body(x) - _over(y, x)


@special("special_i1e(Tensor self) -> Tensor", domain=(2e-3, 1e3))
def i1e(x):
    """``exp(-|x|) i1(x)``."""
    return scaled_i(1, x)


@i1e.partials("accuracy: the derivative of a truncated series is less accurate")
def _(x, y):
    return i0e.scalar_body(x) - sign(x) * y - _over(y, x)


# ------------------------------------------------------------------ without derivatives


def _declare(name, function, text, operand="self"):
    """An op of ``torch.special`` whose derivative PyTorch does not offer."""

    def body(x):
        return function(x)

    body.__doc__ = text
    schema = f"special_{name}(Tensor {operand}) -> Tensor"
    special(schema, refuses=HALF, domain=(0.5, 9))(body)


def _k(order, x):
    """``exp(x) K(x)`` up to 2, and beyond."""
    near = minimum(x, 2.0)
    series = tables.K1_SMALL if order else tables.K0_SMALL
    rest = polynomial(series, between(0.0, 4.0, near * near))
    logarithm = log(0.5 * near)
    small = (
        logarithm * _i1(near) + rest / near if order else rest - logarithm * _i0(near)
    )
    far = maximum(x, 2.0)
    large_series = tables.K1_LARGE if order else tables.K0_LARGE
    large = polynomial(large_series, between(0.0, 1.0, 2 / far)) / sqrt(far)
    return small, large


def _at_zero(x, value):
    return where(x == 0, INF, where(x < 0, NAN, value))


def modified_k(order, x):
    """K: infinite at 0, NaN below."""
    small, large = _k(order, x)
    return _at_zero(x, where(x <= 2, small, exp(-x) * large))


def scaled_k(order, x):
    """``exp(x) K(x)``."""
    small, large = _k(order, x)
    return _at_zero(x, where(x <= 2, small * exp(minimum(x, 2.0)), large))


def _wave(order, far):
    """The amplitude and the sums in cosine and sine of J and Y for ``far >= 8``."""
    v = (8 / far) * (8 / far)
    p_series, q_series = (tables.P1, tables.Q1) if order else (tables.P0, tables.Q0)
    p = polynomial(p_series, between(0.0, 1.0, v))
    q = polynomial(q_series, between(0.0, 1.0, v)) / far
    chi = far - (0.5 * order + 0.25) * PI
    return sqrt(2 / (PI * far)), p, q, chi


def bessel_j(order, x):
    """The Bessel function of the first kind; NaN at infinity, as in PyTorch."""
    distance = abs(x)
    near = minimum(distance, 8.0)
    series = tables.J1_SMALL if order else tables.J0_SMALL
    small = polynomial(series, between(0.0, 64.0, near * near))
    small = small * near if order else small
    scale, p, q, chi = _wave(order, maximum(distance, 8.0))
    large = scale * (p * cos(chi) - q * sin(chi))
    value = where(distance <= 8, small, large)
    return sign(x) * value if order else value


def bessel_y(order, x):
    """The Bessel function of the second kind: minus infinity at 0, NaN below and at
    infinity.
    """
    near = minimum(maximum(x, 1e-300 if x.dtype == "float64" else 1e-38), 8.0)
    series = tables.Y1_SMALL if order else tables.Y0_SMALL
    rest = polynomial(series, between(0.0, 64.0, near * near))
    logarithm = 2 / PI * log(near) * bessel_j(order, near)
    small = logarithm + (rest * near - 2 / (PI * near) if order else rest)
    scale, p, q, chi = _wave(order, maximum(x, 8.0))
    large = scale * (p * sin(chi) + q * cos(chi))
    value = where(x <= 8, small, large)
    return where(x == 0, -INF, where(x < 0, NAN, value))


def spherical_j0(x):
    """``sin(x) / x``."""
    nonzero = where(x == 0, 1.0, x)
    return where(abs(x) == INF, 0.0, where(x == 0, 1.0, sin(nonzero) / nonzero))


def airy_ai(x):
    """Airy's function Ai: a wave left of -4, an exponential right of 2."""
    center = polynomial(tables.AIRY_CENTER, between(-4.0, 2.0, minimum(x, 2.0)))
    right = maximum(x, 2.0)
    root = sqrt(right)
    z = right * root * (2 / 3)
    tail = polynomial(tables.AIRY_TAIL, between(0.0, 0.54, 1 / z))
    tail = tail * exp(-z) / (2 * math.sqrt(PI) * sqrt(root))
    left = maximum(-x, 4.0)
    root = sqrt(left)
    z = left * root * (2 / 3)
    v = between(0.0, 0.0352, 1 / (z * z))
    p, q = polynomial(tables.AIRY_P, v), polynomial(tables.AIRY_Q, v) / z
    chi = z + PI / 4
    wave = (p * sin(chi) - q * cos(chi)) / (math.sqrt(PI) * sqrt(root))
    return where(x < -4, wave, where(x > 2, tail, center))


for _order in (0, 1):
    for _name, _function, _text in (
        ("bessel_j", bessel_j, "The Bessel function of the first kind"),
        ("bessel_y", bessel_y, "The Bessel function of the second kind"),
        (
            "modified_bessel_k",
            modified_k,
            "The modified Bessel function of the second kind",
        ),
        (
            "scaled_modified_bessel_k",
            scaled_k,
            "``exp(x)`` times ``modified_bessel_k``",
        ),
    ):
        _declare(
            f"{_name}{_order}",
            lambda x, order=_order, function=_function: function(order, x),
            f"{_text}, order {_order}.",
            "x" if _name.startswith("scaled") else "self",
        )
_declare(
    "modified_bessel_i0",
    _i0,
    "The modified Bessel function of the first kind, order 0.",
)
_declare(
    "modified_bessel_i1",
    _i1,
    "The modified Bessel function of the first kind, order 1.",
)
_declare("spherical_bessel_j0", spherical_j0, "``sin(x) / x``.", "x")
_declare("airy_ai", airy_ai, "Airy's function Ai.", "x")
