"""sin, cos, tan and their inverses.

``x = k pi/2 + r``: for moderate ``x`` by subtraction with three parts of ``pi/2``,
beyond by multiplication with as many digits of ``2/pi`` as needed (``reduction.py``).
"""

from __future__ import annotations

import math

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary import coefficients as table
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    double_inside,
    is_single,
    polynomial,
    split,
    two_sum,
)
from pellucid_compiler.codegen.elementary.reduction import reduce_angle

_HALF_PI, _HALF_PI_LOW = 1.5707963267948966, 6.123233995736766e-17
_HALF_PI_SINGLE = (1.5707963705062866, -4.371138828673793e-08)
_TAN_EIGHTH_PI = math.sqrt(2) - 1
# Beyond these limits sums overflow, and the remainders of divisions underflow.
_MODERATE = {"float": 2.0**60, "double": 2.0**500}


def _sine(f: Function, r: Value, rest: Value) -> tuple[Value, Value]:
    """``sin(r + rest)`` as a large and a small number."""
    terms = table.SIN_SINGLE if is_single(r) else table.SIN_DOUBLE
    z = r * r
    return r, f.fma(z * r, polynomial(f, z, terms), rest)


def _cosine(f: Function, r: Value, rest: Value) -> tuple[Value, Value]:
    """``cos(r + rest)`` as a large and a small number."""
    terms = table.COS_SINGLE if is_single(r) else table.COS_DOUBLE
    z = r * r
    high = f.fma(z, -0.5, 1.0)
    lost = f.fma(z, -0.5, 1.0 - high) - r * rest
    return high, f.fma(z * z, polynomial(f, z, terms), lost)


def _wave(f: Function, x: Value, quarter_turns: int) -> Value:
    quadrant, r, rest = reduce_angle(f, x)
    quadrant = quadrant + quarter_turns
    odd = (quadrant & 1).differs(0)
    sine, cosine = _sine(f, r, rest), _cosine(f, r, rest)
    result = f.select(odd, cosine[0] + cosine[1], sine[0] + sine[1])
    return f.select((quadrant & 2).differs(0), -result, result)


def sin(f: Function, x: Value) -> Value:
    return f.select(x.equals(0.0), x, _wave(f, x, 0))


def cos(f: Function, x: Value) -> Value:
    return _wave(f, x, 1)


def tan(f: Function, x: Value) -> Value:
    """The quotient of sine and cosine, each as two numbers."""
    quadrant, r, rest = reduce_angle(f, x)
    odd = (quadrant & 1).differs(0)
    sine, sine_low = two_sum(f, *_sine(f, r, rest))
    cosine, cosine_low = two_sum(f, *_cosine(f, r, rest))
    top, top_low = f.select(odd, -cosine, sine), f.select(odd, -cosine_low, sine_low)
    bottom = f.select(odd, sine, cosine)
    bottom_low = f.select(odd, sine_low, cosine_low)
    ratio = top / bottom
    lost = f.fma(-ratio, bottom, top) + f.fma(-ratio, bottom_low, top_low)
    return f.select(x.equals(0.0), x, ratio + lost / bottom)


def _arc_sine_rest(f: Function, x: Value, z: Value) -> Value:
    """``asin(x) - x`` for ``z = x * x`` up to a quarter."""
    return z * x * polynomial(f, z, table.ASIN_DOUBLE)


def _near_one(f: Function, size: Value) -> tuple[Value, Value]:
    """``acos(size)`` as two numbers, by ``2 asin(sqrt((1 - size) / 2))``."""
    z = (1.0 - size) * 0.5
    root = f.unary("sqrt", z)
    lost = f.fma(-root, root, z) / (root + root)
    lost = f.select(z.equals(0.0), 0.0, lost)
    low = _arc_sine_rest(f, root, z) + lost
    return root * 2.0, low * 2.0


@double_inside
def asin(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    near = size + _arc_sine_rest(f, size, size * size)
    high, low = _near_one(f, size)
    far, lost = two_sum(f, f.constant(_HALF_PI, x.type), -high)
    far = far + ((lost - low) + _HALF_PI_LOW)
    return f.copysign(f.select(size < 0.5, near, far), x)


@double_inside
def acos(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    rest = _arc_sine_rest(f, x, x * x)
    middle, lost = two_sum(f, f.constant(_HALF_PI, x.type), -x)
    middle = middle + ((lost - rest) + _HALF_PI_LOW)
    high, low = _near_one(f, size)
    back, lost = two_sum(f, f.constant(2 * _HALF_PI, x.type), -high)
    back = back + ((lost - low) + 2 * _HALF_PI_LOW)
    end = f.select(x < 0.0, back, high + low)
    return f.select(size < 0.5, middle, end)


def _arc_tangent(f: Function, top: Value, bottom: Value) -> tuple[Value, Value]:
    """``atan(top / bottom)`` as two numbers, for ``0 <= top <= bottom``.

    Above ``tan(pi/8)`` it is ``pi/4 + atan((top - bottom) / (top + bottom))``.
    """
    folds = top > bottom * _TAN_EIGHTH_PI
    difference, lost_difference = two_sum(f, -bottom, top)
    total, lost_total = two_sum(f, bottom, top)
    numerator = f.select(folds, difference, top)
    denominator = f.select(folds, total, bottom)
    ratio = numerator / denominator
    lost = f.fma(-ratio, denominator, numerator)
    folded = f.fma(-ratio, lost_total, lost_difference)
    lost = (lost + f.select(folds, folded, 0.0)) / denominator
    z = ratio * ratio
    terms = table.ATAN_SINGLE if is_single(z) else table.ATAN_DOUBLE
    rest = f.fma(z * ratio, polynomial(f, z, terms), lost * (1.0 - z))
    half_pi, half_pi_low = split(_HALF_PI, _HALF_PI_LOW, z)
    base = f.select(folds, f.constant(half_pi / 2, z.type), 0.0)
    rest = rest + f.select(folds, f.constant(half_pi_low / 2, z.type), 0.0)
    high, low = two_sum(f, base, ratio)
    return high, low + rest


def _arc_tangent_single(f: Function, x: Value) -> Value:
    """float32: one division, the polynomial, the base angle in two parts."""
    size = f.unary("fabs", x)
    steep, folds = size > _TAN_EIGHTH_PI + 2, size > _TAN_EIGHTH_PI
    top = f.select(steep, -1.0, f.select(folds, size - 1.0, size))
    bottom = f.select(steep, size, f.select(folds, size + 1.0, 1.0))
    ratio = top / bottom
    z = ratio * ratio
    zero = f.constant(0.0, x.type)
    base, base_low = (
        f.select(steep, angle, f.select(folds, f.constant(angle / 2, x.type), zero))
        for angle in _HALF_PI_SINGLE
    )
    rest = f.fma(z * ratio, polynomial(f, z, table.ATAN_SINGLE), base_low)
    return f.copysign(base + (ratio + rest), x)


def atan(f: Function, x: Value) -> Value:
    return _arc_tangent_single(f, x) if is_single(x) else _arc_tangent_double(f, x)


def _arc_tangent_double(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    inverts = size > 1.0
    one = f.constant(1.0, x.type)
    top, bottom = f.select(inverts, one, size), f.select(inverts, size, one)
    top = f.select(size.equals(INFINITY), 0.0, top)
    bottom = f.select(size.equals(INFINITY), 1.0, bottom)
    high, low = _arc_tangent(f, top, bottom)
    far = _HALF_PI - high
    far = far + (((_HALF_PI - far) - high) + (_HALF_PI_LOW - low))
    return f.copysign(f.select(inverts, far, high + low), x)


def atan2(f: Function, y: Value, x: Value) -> Value:
    """The angle of the point (x, y); signed zeros and infinities as in C."""
    rise, run = f.unary("fabs", y), f.unary("fabs", x)
    steep = rise > run
    top, bottom = f.select(steep, run, rise), f.select(steep, rise, run)
    infinite = bottom.equals(INFINITY)
    both = top.equals(INFINITY)
    top = f.select(infinite, f.select(both, f.constant(1.0, x.type), 0.0), top)
    bottom = f.select(infinite | bottom.equals(0.0), 1.0, bottom)
    limit = _MODERATE[x.type.element]
    one = f.constant(1.0, x.type)
    scale = f.select(bottom < 1 / limit, limit, one)
    scale = f.select(bottom > limit, 1 / limit, scale)
    top, bottom = top * scale, bottom * scale
    half_pi, half_pi_low = split(_HALF_PI, _HALF_PI_LOW, x)
    high, low = _arc_tangent(f, top, bottom)
    reflected = half_pi - high
    reflected_low = ((half_pi - reflected) - high) + (half_pi_low - low)
    high = f.select(steep, reflected, high)
    low = f.select(steep, reflected_low, low)
    back = 2 * half_pi - high
    back_low = ((2 * half_pi - back) - high) + (2 * half_pi_low - low)
    behind = (f.copysign(1.0, x)) < 0.0
    angle = f.select(behind, back + back_low, high + low)
    angle = f.copysign(angle, y)
    return f.select(f.is_nan(x) | f.is_nan(y), x + y, angle)
