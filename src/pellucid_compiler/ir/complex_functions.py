"""Functions of complex numbers in terms of their real and imaginary parts.

``FORMS[name](*operands)`` returns the parts of the result of scalar op ``name`` on
complex operands, for ops whose result is complex; ``QUESTIONS`` has those whose result
is a real number or a bool. A scalar op in neither is undefined for complex numbers.
Formulas with several steps are computed in float64 and rounded once.

The inverse functions follow Kahan, "Branch Cuts for Complex Elementary Functions"
(1987); infinite and NaN parts, C99's annex G. Called only by complex_parts.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, NamedTuple

from pellucid_compiler.ir.expr import Expr, cast, const, is_const, make, select

_LN_2: Final = 0.6931471805599453
_LN_10: Final = 2.302585092994046
_INF: Final = float("inf")
_NAN: Final = float("nan")
_RIGHT_ANGLE: Final = 1.5707963267948966
_STEEP: Final = 20.0  # from here on tanh is 1


class Parts(NamedTuple):
    """A complex number as two real expressions of one dtype."""

    real: Expr
    imag: Expr


Form = Callable[..., Parts]
FORMS: dict[str, Form] = {}
QUESTIONS: dict[str, Callable[..., Expr]] = {}


def _exact(name: str) -> Callable[[Form], Form]:
    """A form computed in the operands' own dtype."""

    def register(form: Form) -> Form:
        FORMS[name] = form
        return form

    return register


def _wide(name: str) -> Callable[[Form], Form]:
    """A form computed in float64 and rounded to the operands' dtype."""

    def register(form: Form) -> Form:
        @functools.wraps(form)
        def rounded(*operands: Parts) -> Parts:
            dtype = operands[0].real.dtype
            wide = (Parts(*(cast(x, "float64") for x in z)) for z in operands)
            return Parts(*(cast(x, dtype) for x in form(*wide)))

        FORMS[name] = rounded
        return form

    return register


def _question(name: str) -> Callable[[Callable[..., Expr]], Callable[..., Expr]]:
    def register(form: Callable[..., Expr]) -> Callable[..., Expr]:
        QUESTIONS[name] = form
        return form

    return register


# ------------------------------------------------------------------ arithmetic


@_exact("add")
def _add(x: Parts, y: Parts) -> Parts:
    return Parts(x.real + y.real, x.imag + y.imag)


@_exact("sub")
def _sub(x: Parts, y: Parts) -> Parts:
    return Parts(x.real - y.real, x.imag - y.imag)


@_exact("neg")
def _neg(x: Parts) -> Parts:
    return Parts(-x.real, -x.imag)


@_exact("conj")
def _conj(x: Parts) -> Parts:
    return Parts(x.real, -x.imag)


@_exact("mul")
def _mul(x: Parts, y: Parts) -> Parts:
    for one, other in ((x, y), (y, x)):
        if is_const(one.imag, 0):
            return Parts(one.real * other.real, one.real * other.imag)
    return Parts(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)


@_exact("div")
def _div(x: Parts, y: Parts) -> Parts:
    """Divides by the larger part of the divisor first, so that no square overflows."""
    if is_const(y.imag, 0):
        return Parts(x.real / y.real, x.imag / y.real)
    real_is_greater = make("abs", y.real) >= make("abs", y.imag)
    great = select(real_is_greater, y.real, y.imag)
    small = select(real_is_greater, y.imag, y.real)
    ratio = select(great == 0, 0.0, small / great)
    whole = great + small * ratio
    first, second = x.real * ratio, x.imag * ratio
    real = select(real_is_greater, x.real + second, first + x.imag)
    imag = select(real_is_greater, x.imag - first, second - x.real)
    return Parts(real / whole, imag / whole)


# ------------------------------------------------------------------ magnitude


def _modulus(z: Parts) -> Expr:
    """``sqrt(x**2 + y**2)`` without overflow."""
    a, b = make("abs", z.real), make("abs", z.imag)
    great, small = make("maximum", a, b), make("minimum", a, b)
    ratio = small / great
    length = great * make("sqrt", ratio * ratio + 1)
    return select(_is_far(z), _INF, select(great == 0, great, length))


def _is_far(z: Parts) -> Expr:
    """Whether it is infinite: a part is, whatever the other one."""
    return make("isinf", z.real) | make("isinf", z.imag)


@_question("abs")
def _abs(z: Parts) -> Expr:
    wide = Parts(cast(z.real, "float64"), cast(z.imag, "float64"))
    return cast(_modulus(wide), z.real.dtype)


@_wide("sqrt")
def _sqrt(z: Parts) -> Parts:
    root = make("sqrt", make("abs", z.real) * 0.5 + _modulus(z) * 0.5)
    other = select(root == 0, 0.0, make("abs", z.imag) / (root * 2))
    is_right = z.real >= 0
    root, other = (select(make("isinf", z.imag), _INF, x) for x in (root, other))
    real, imag = select(is_right, root, other), select(is_right, other, root)
    return Parts(real, make("copysign", imag, z.imag))


@_wide("rsqrt")
def _rsqrt(z: Parts) -> Parts:
    return _div(Parts(const(1, "float64"), const(0, "float64")), _sqrt(z))


# ------------------------------------------------------------------ exp and log


def _from_polar(size: Expr, angle: Expr) -> Parts:
    """The number with this modulus and angle; real at angle 0 even if infinite."""
    imag = select(angle == 0, angle, size * make("sin", angle))
    return Parts(size * make("cos", angle), imag)


def _exponential(name: str, z: Parts) -> Parts:
    """The power ``name`` of the real part, turned by the imaginary part."""
    size = make(name, z.real)
    turned = _from_polar(size, z.imag)
    is_limit = make("isinf", z.real) & _is_open(z.imag)
    real = select(is_limit, size, turned.real)
    vanishes = is_limit & (size == 0)
    return Parts(real, select(vanishes, make("copysign", 0.0, z.imag), turned.imag))


def _is_open(x: Expr) -> Expr:
    """Whether it is infinite or NaN: an angle without sine and cosine."""
    return make("isinf", x) | make("isnan", x)


@_wide("exp")
def _exp(z: Parts) -> Parts:
    return _exponential("exp", z)


@_wide("exp2")
def _exp2(z: Parts) -> Parts:
    return _exponential("exp2", Parts(z.real, z.imag * _LN_2))


@_wide("expm1")
def _expm1(z: Parts) -> Parts:
    half = make("sin", z.imag * 0.5)
    real = make("expm1", z.real) * make("cos", z.imag) - half * half * 2
    return Parts(real, _from_polar(make("exp", z.real), z.imag).imag)


@_wide("log")
def _log(z: Parts) -> Parts:
    """Near the unit circle, ``log |z|`` is computed from ``|z|**2 - 1``."""
    a, b = make("abs", z.real), make("abs", z.imag)
    great, small = make("maximum", a, b), make("minimum", a, b)
    near = make("log1p", (great - 1) * (great + 1) + small * small) * 0.5
    is_near = (great > 0.5) & (great < 2)
    size = select(is_near, near, make("log", _modulus(z)))
    return Parts(size, make("atan2", z.imag, z.real))


@_wide("log2")
def _log2(z: Parts) -> Parts:
    return Parts(*(x / _LN_2 for x in _log(z)))


@_wide("log10")
def _log10(z: Parts) -> Parts:
    return Parts(*(x / _LN_10 for x in _log(z)))


@_wide("log1p")
def _log1p(z: Parts) -> Parts:
    near = make("log1p", z.real * (z.real + 2) + z.imag * z.imag) * 0.5
    far = _log(Parts(z.real + 1, z.imag))
    is_near = (make("abs", z.real) < 0.5) & (make("abs", z.imag) < 0.5)
    return Parts(select(is_near, near, far.real), far.imag)


@_wide("pow")
def _pow(z: Parts, exponent: Parts) -> Parts:
    """``exp(exponent log(z))``; squares are products, powers of 0 and exponents of 0
    and 1 are special cases.
    """
    power = _exp(_mul(exponent, _log(z)))
    square = _mul(z, z)
    is_real = exponent.imag == 0
    is_zero = (z.real == 0) & (z.imag == 0)
    is_one = is_real & (exponent.real == 0)
    is_infinite = exponent.real < 0
    of_zero = select(is_infinite, _INF, _NAN)
    vanishes = exponent.real > 0
    twice = is_real & (exponent.real == 2)
    real = select(is_zero, select(vanishes, 0.0, of_zero), power.real)
    imag = select(is_zero, select(vanishes, 0.0, _NAN), power.imag)
    real, imag = select(is_one, 1.0, real), select(is_one, 0.0, imag)
    once = is_real & (exponent.real == 1)
    real, imag = select(once, z.real, real), select(once, z.imag, imag)
    return Parts(select(twice, square.real, real), select(twice, square.imag, imag))


# ------------------------------------------------------------------ circular functions


def _times_i(z: Parts) -> Parts:
    return Parts(-z.imag, z.real)


def _by_i(z: Parts) -> Parts:
    return Parts(z.imag, -z.real)


@_wide("sinh")
def _sinh(z: Parts) -> Parts:
    """On the axes one part is 0 even if its other factor is infinite or NaN."""
    real = make("sinh", z.real) * make("cos", z.imag)
    imag = make("cosh", z.real) * make("sin", z.imag)
    limit = select(z.real == 0, z.real, make("abs", z.real))
    is_limit = ((z.real == 0) | make("isinf", z.real)) & _is_open(z.imag)
    return Parts(select(is_limit, limit, real), select(z.imag == 0, z.imag, imag))


@_wide("cosh")
def _cosh(z: Parts) -> Parts:
    """On the axes one part is 0 even if its other factor is infinite or NaN."""
    real = make("cosh", z.real) * make("cos", z.imag)
    imag = make("sinh", z.real) * make("sin", z.imag)
    is_flat = z.imag == 0
    imag = select(is_flat, make("copysign", 1.0, z.real) * z.imag, imag)
    is_open = _is_open(z.imag)
    return Parts(
        select(make("isinf", z.real) & is_open, make("abs", z.real), real),
        select((z.real == 0) & is_open, 0.0, imag),
    )


@_wide("tanh")
def _tanh(z: Parts) -> Parts:
    """At an infinite real part any angle will do; a finite one needs an angle."""
    size, angle = make("abs", z.real), z.imag
    is_open = _is_open(angle)
    is_limit = make("isinf", size) & is_open
    angle = select(is_limit, make("copysign", 0.0, angle), angle)
    slope = make("tan", angle)
    growth = make("sinh", make("minimum", size, _STEEP))
    stretch = slope * slope + 1
    whole = stretch * growth * growth + 1
    real = stretch * make("sqrt", growth * growth + 1) * growth / whole
    sin_times_cos = make("sin", angle) * make("cos", angle)
    faded = sin_times_cos * make("exp", size * -2) * 4
    is_steep = size > _STEEP
    imag = select(is_steep, faded, slope / whole)
    real = select(is_steep, select(is_open & ~is_limit, _NAN, 1.0), real)
    return Parts(
        select(z.real == 0, z.real, make("copysign", real, z.real)),
        select(z.imag == 0, z.imag, imag),
    )


@_wide("sin")
def _sin(z: Parts) -> Parts:
    return _times_i(_sinh(_by_i(z)))


@_wide("cos")
def _cos(z: Parts) -> Parts:
    return _cosh(_times_i(z))


@_wide("tan")
def _tan(z: Parts) -> Parts:
    return _by_i(_tanh(_times_i(z)))


def _roots_about(z: Parts) -> tuple[Parts, Parts]:
    """``sqrt(1 - z)`` and ``sqrt(1 + z)``."""
    return _sqrt(Parts(1 - z.real, -z.imag)), _sqrt(Parts(1 + z.real, z.imag))


@_wide("asin")
def _asin(z: Parts) -> Parts:
    below, above = _roots_about(z)
    real = make("atan2", z.real, _mul(below, above).real)
    imag = make("asinh", _mul(_conj(below), above).imag)
    limit = make("atan2", z.real, make("abs", z.imag))
    is_far = _is_far(z)
    return Parts(
        select(is_far, limit, select(z.real == 0, z.real, real)),
        select(is_far, make("copysign", _INF, z.imag), imag),
    )


@_wide("acos")
def _acos(z: Parts) -> Parts:
    below, above = _roots_about(z)
    real = make("atan2", below.real, above.real) * 2
    imag = make("asinh", _mul(_conj(above), below).imag)
    limit = make("atan2", make("abs", z.imag), z.real)
    is_far = _is_far(z)
    return Parts(
        select(is_far, limit, select(z.real == 0, _RIGHT_ANGLE, real)),
        select(is_far, make("copysign", _INF, -z.imag), imag),
    )


@_wide("asinh")
def _asinh(z: Parts) -> Parts:
    return _by_i(_asin(_times_i(z)))


@_wide("acosh")
def _acosh(z: Parts) -> Parts:
    below = _sqrt(Parts(z.real - 1, z.imag))
    above = _sqrt(Parts(z.real + 1, z.imag))
    imag = make("atan2", below.imag, above.real) * 2
    on_axis = make("copysign", _RIGHT_ANGLE, z.imag)
    is_far = _is_far(z)
    return Parts(
        select(is_far, _INF, make("asinh", _mul(_conj(below), above).real)),
        select(
            is_far, make("atan2", z.imag, z.real), select(z.real == 0, on_axis, imag)
        ),
    )


@_wide("atanh")
def _atanh(z: Parts) -> Parts:
    size, squared = make("abs", z.real), z.imag * z.imag
    away = (1 - size) * (1 - size) + squared
    real = make("log1p", size * 4 / away) * 0.25
    imag = make("atan2", z.imag * 2, (1 - size) * (1 + size) - squared) * 0.5
    is_far = _is_far(z)
    limit = select(
        make("isnan", z.imag), z.imag, make("copysign", _RIGHT_ANGLE, z.imag)
    )
    real = select(is_far | (z.real == 0), 0.0, real)
    return Parts(make("copysign", real, z.real), select(is_far, limit, imag))


@_wide("atan")
def _atan(z: Parts) -> Parts:
    return _by_i(_atanh(_times_i(z)))


# ------------------------------------------------------------------ questions


@_question("real")
def _real(z: Parts) -> Expr:
    return z.real


@_question("imag")
def _imag(z: Parts) -> Expr:
    return z.imag


@_question("eq")
def _eq(x: Parts, y: Parts) -> Expr:
    return (x.real == y.real) & (x.imag == y.imag)


@_question("ne")
def _ne(x: Parts, y: Parts) -> Expr:
    return (x.real != y.real) | (x.imag != y.imag)


@_question("isnan")
def _isnan(z: Parts) -> Expr:
    return make("isnan", z.real) | make("isnan", z.imag)


@_question("isinf")
def _isinf(z: Parts) -> Expr:
    return make("isinf", z.real) | make("isinf", z.imag)
