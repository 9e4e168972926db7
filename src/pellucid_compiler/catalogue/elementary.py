"""Elementary functions of one or two real variables, applied to elements."""

import math

from pellucid_compiler.catalogue.activation import logistic
from pellucid_compiler.catalogue.number_forms import (
    number_first_forms,
    number_forms,
)
from pellucid_compiler.catalogue.real_only import require_real, require_same_dtype
from pellucid_compiler.catalogue.seen import conjugated
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    NAN,
    PI,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    copysign,
    cos,
    cosh,
    detach,
    digamma,
    erf,
    erfc,
    erfinv,
    exp,
    exp2,
    expm1,
    floor,
    is_finite,
    isinf,
    isnan,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    maximum,
    minimum,
    numbered,
    pointwise,
    real,
    require,
    round_even,
    rsqrt,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    to,
    trunc,
    where,
)
from pellucid_compiler.ir.dtypes import is_complex, wide_dtype

LN_2 = 0.6931471805599453


@pointwise("exp(Tensor self) -> Tensor", int_to_float=True, core=True)
def exp_op(x):
    """``e ** x``."""
    return exp(x)


@pointwise(
    "exp2(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_exp2",),
)
def exp2_op(x):
    """``2 ** x``."""
    return exp2(x)


@pointwise(
    "expm1(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_expm1",),
    core=True,
)
def expm1_op(x):
    """``e ** x - 1``, exact near 0."""
    return expm1(x)


@expm1_op.partials("saved values: saves y alone, so that expm1_ differentiates")
def _(x, y):
    return y + 1


@pointwise("log(Tensor self) -> Tensor", int_to_float=True, core=True)
def log_op(x):
    """The natural logarithm."""
    return log(x)


@pointwise("log2(Tensor self) -> Tensor", int_to_float=True, core=True)
def log2_op(x):
    """The logarithm to base 2."""
    return log2(x)


@pointwise("log10(Tensor self) -> Tensor", int_to_float=True, core=True)
def log10_op(x):
    """The logarithm to base 10."""
    return log10(x)


@pointwise(
    "log1p(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_log1p",),
    core=True,
)
def log1p_op(x):
    """``log(1 + x)``, exact near 0."""
    return log1p(x)


@pointwise("sqrt(Tensor self) -> Tensor", int_to_float=True, core=True)
def sqrt_op(x):
    """The square root of x; NaN below 0."""
    return sqrt(x)


@pointwise("rsqrt(Tensor self) -> Tensor", int_to_float=True, core=True)
def rsqrt_op(x):
    """``1 / sqrt(x)``."""
    return rsqrt(x)


rsqrt_op.gradients_seen_as(
    self=lambda grad, result: (
        api.ops.aten.mul.Scalar(grad, -0.5) * conjugated(result.pow(3))
    )
)


@pointwise("sin(Tensor self) -> Tensor", int_to_float=True, core=True)
def sin_op(x):
    """The sine of an angle in radians."""
    return sin(x)


@pointwise("cos(Tensor self) -> Tensor", int_to_float=True, core=True)
def cos_op(x):
    """The cosine of an angle in radians."""
    return cos(x)


@pointwise("tan(Tensor self) -> Tensor", int_to_float=True, core=True)
def tan_op(x):
    """The tangent of an angle in radians."""
    return tan(x)


@pointwise(
    "asin(Tensor self) -> Tensor", int_to_float=True, aliases=("arcsin",), core=True
)
def asin_op(x):
    """The angle in [-π/2, π/2] whose sine is x."""
    return asin(x)


@pointwise(
    "acos(Tensor self) -> Tensor", int_to_float=True, aliases=("arccos",), core=True
)
def acos_op(x):
    """The angle in [0, π] whose cosine is x."""
    return acos(x)


@pointwise(
    "atan(Tensor self) -> Tensor", int_to_float=True, aliases=("arctan",), core=True
)
def atan_op(x):
    """The angle in (-π/2, π/2) whose tangent is x."""
    return atan(x)


# Elsewhere PyTorch's gradients square by ``pow``.
atan_op.gradients_seen_as(
    self=lambda grad, self: grad / conjugated(api.ops.aten.add.Scalar(self * self, 1))
)


@pointwise(
    "atan2(Tensor self, Tensor other) -> Tensor",
    int_to_float=True,
    aliases=("arctan2",),
    core=("atan2", "atan2.out"),
)
def atan2_op(y, x):
    """The angle of the point (x, y), in [-π, π]."""
    return atan2(y, x)


@pointwise("sinh(Tensor self) -> Tensor", int_to_float=True, core=True)
def sinh_op(x):
    """``(e ** x - e ** -x) / 2``."""
    return sinh(x)


@pointwise("cosh(Tensor self) -> Tensor", int_to_float=True, core=True)
def cosh_op(x):
    """``(e ** x + e ** -x) / 2``."""
    return cosh(x)


@pointwise(
    "tanh(Tensor self) -> Tensor",
    int_to_float=True,
    backward="tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    backward_reads="output=result",
    core=True,
)
def tanh_op(x):
    """``sinh(x) / cosh(x)``."""
    return tanh(x)


@pointwise(
    "asinh(Tensor self) -> Tensor", int_to_float=True, aliases=("arcsinh",), core=True
)
def asinh_op(x):
    """The inverse of sinh."""
    return asinh(x)


@pointwise(
    "acosh(Tensor self) -> Tensor",
    int_to_float=True,
    domain=(1.0, float("inf")),
    aliases=("arccosh",),
    core=True,
)
def acosh_op(x):
    """The inverse of cosh on [1, inf)."""
    return acosh(x)


@pointwise(
    "atanh(Tensor self) -> Tensor", int_to_float=True, aliases=("arctanh",), core=True
)
def atanh_op(x):
    """The inverse of tanh on (-1, 1)."""
    return atanh(x)


@pointwise(
    "erf(Tensor self) -> Tensor", int_to_float=True, aliases=("special_erf",), core=True
)
def erf_op(x):
    """``2 / sqrt(π)`` times the integral of ``exp(-t²)`` from 0 to x."""
    return erf(x)


@pointwise(
    "erfc(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_erfc",),
)
def erfc_op(x):
    """``1 - erf(x)``, exact for large x."""
    return erfc(x)


@pointwise(
    "erfinv(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_erfinv",),
    inplace_function=False,
)
def erfinv_op(x):
    """The inverse of erf on (-1, 1)."""
    return erfinv(x)


@erfinv_op.partials("the result may be written in place: it is computed again")
def _(x, y):
    root = erfinv(x)
    return 0.5 * math.sqrt(PI) * exp(root * root)


@pointwise(
    "lgamma(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_gammaln",),
    inplace_function=False,
)
def lgamma_op(x):
    """``log |Γ(x)|``."""
    return lgamma(x)


@pointwise(
    "digamma(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_digamma", "special_psi"),
    inplace_function=False,
)
def digamma_op(x):
    """The derivative of ``log Γ``."""
    return digamma(x)


@pointwise("deg2rad(Tensor self) -> Tensor", int_to_float=True)
def deg2rad(x):
    """Degrees to radians."""
    require_real("deg2rad", x)
    return x * (PI / 180)


@pointwise("rad2deg(Tensor self) -> Tensor", int_to_float=True)
def rad2deg(x):
    """Radians to degrees."""
    require_real("rad2deg", x)
    return x * (180 / PI)


@pointwise(
    "sinc(Tensor self) -> Tensor",
    int_to_float=True,
    aliases=("special_sinc",),
    domain=(-1e3, 1e3),
)
def sinc(x):
    """``sin(πx) / (πx)``, 1 at 0."""
    return where(x == 0, 1.0, sin(PI * x) / (PI * x))


@sinc.partials("accuracy: the quotient's slope is 0/0 at 0")
def _(x, y):
    angle = PI * x
    square = angle * angle
    series = 0.0
    for k in range(7, 0, -1):
        series = series * square + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    near = series * PI * angle
    return where(abs(angle) < 0.5, near, (cos(angle) - sin(angle) / angle) / x)


@pointwise("hypot(Tensor self, Tensor other) -> Tensor", refuses=("integers", "bool"))
def hypot(x, y):
    """``sqrt(x² + y²)`` without intermediate overflow."""
    require_real("hypot", x, y)
    x, y = abs(x), abs(y)
    large, small = maximum(x, y), minimum(x, y)
    ratio = small / where(large == 0, 1.0, large)
    finite = large * sqrt(1 + ratio * ratio)
    return where(isinf(x) | isinf(y), INF, finite)


@hypot.partials("accuracy: the scaled form has no slope at ties")
def _(x, y, result):
    return x / result, y / result


@pointwise(
    "copysign.Tensor(Tensor self, Tensor other) -> Tensor",
    int_to_float=True,
    numbers=("other",),
    forms=number_forms("copysign"),
    node=numbered("Copysign", tensor=0, number=1),
)
def copysign_op(x, y):
    """``|x|`` with the sign of y."""
    return copysign(x, y)


@pointwise(
    "xlogy.Tensor(Tensor self, Tensor other) -> Tensor",
    int_to_float=True,
    numbers=("other",),
    out="OutTensor",
    forms=(
        *number_forms("xlogy", "Scalar_Other", out="OutScalar_Other"),
        *number_first_forms("xlogy", "Scalar_Self", out="OutScalar_Self"),
        "special_xlogy(Tensor self, Tensor other) -> Tensor",
        "special_xlogy.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
        *number_forms("special_xlogy", "other_scalar", inplace=False),
        *number_first_forms("special_xlogy", "self_scalar"),
    ),
    node=numbered("Xlogy", tensor=0, number=2),
    inplace_function=True,
)
def xlogy(x, y):
    """``x log(y)``; 0 where x is 0, unless y is NaN."""
    require_real("xlogy", x, y)
    return where(isnan(y), NAN, where(x == 0, 0.0, x * log(y)))


@xlogy.partials("the slope at x = 0 is log(y), not that of the constant 0")
def _(x, y, result):
    return where((x == 0) & (y <= 0), 0.0, log(y)), x / y


@pointwise(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    refuses=("integers", "bool"),
    inplace=False,
)
def logaddexp(x, y):
    """``log(exp(x) + exp(y))``."""
    if x.dtype.startswith("complex"):
        return _complex_logaddexp(x, y)
    top = maximum(x, y)
    return where(isinf(x) & (x == y), x, top + log1p(exp(-abs(x - y))))


def _complex_logaddexp(x, y):
    """Factors the number with the greater real part out of the logarithm."""
    is_first = real(x) >= real(y)
    top, low = where(is_first, x, y), where(is_first, y, x)
    near = top + log1p(exp(low - top))
    bare = where(real(x) < 0, low, log(exp(x) + exp(y)))
    return where(isinf(real(x)) & (real(x) == real(y)), bare, near)


@logaddexp.partials("accuracy: the slopes through |x - y| cancel")
def _(x, y, result):
    if x.dtype.startswith("complex"):
        return exp(x - result), exp(y - result)
    return logistic(x - y), logistic(y - x)


@pointwise(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    refuses=("integers", "bool"),
    inplace=False,
)
def logaddexp2(x, y):
    """``log2(2 ** x + 2 ** y)``."""
    top = maximum(x, y)
    return where(isinf(x) & (x == y), x, top + log2(1 + exp2(-abs(x - y))))


@logaddexp2.partials("accuracy: the slopes through |x - y| cancel")
def _(x, y, result):
    return logistic((x - y) * LN_2), logistic((y - x) * LN_2)


# ------------------------------------------------------------------ rounding and sign


@pointwise(
    "floor(Tensor self) -> Tensor", refuses=("bool",), core=True, casts_out=False
)
def floor_op(x):
    """The greatest integer not above x."""
    return floor(x)


@pointwise("ceil(Tensor self) -> Tensor", refuses=("bool",), core=True, casts_out=False)
def ceil_op(x):
    """The least integer not below x."""
    return ceil(x)


@pointwise(
    "trunc(Tensor self) -> Tensor",
    refuses=("bool",),
    aliases=("fix",),
    core=True,
    casts_out=False,
)
def trunc_op(x):
    """The elements without their fractions."""
    return trunc(x)


@pointwise(
    "round(Tensor self) -> Tensor", refuses=("bool",), core=True, casts_out=False
)
def round_op(x):
    """The nearest integer; the even one of two."""
    return round_even(x)


@pointwise(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    forms=(
        "special_round(Tensor self, *, int decimals=0) -> Tensor",
        "special_round.out(Tensor self, *, int decimals=0, Tensor(a!) out) "
        "-> Tensor(a!)",
    ),
    node="RoundBackward1",
    casts_out=False,
)
def round_decimals(x, decimals):
    """The nearest number with so many decimals; of two, the one whose last is even."""
    require(
        x.dtype.startswith(("float", "bfloat")),
        f"round: {x.dtype} has no decimals; leave them out or convert to a float dtype",
        error=NotImplementedError,
    )
    unit = 10.0 ** abs(decimals)
    if decimals > 0:
        return round_even(x * unit) / unit
    return round_even(x / unit) * unit if decimals else round_even(x)


@pointwise("frac(Tensor self) -> Tensor", refuses=("integers", "bool"), casts_out=False)
def frac(x):
    """``x - trunc(x)``."""
    return x - trunc(x)


@pointwise(
    "sign(Tensor self) -> Tensor", inplace_function=False, core=True, casts_out=False
)
def sign_op(x):
    """-1, 0 or 1, as x is negative, zero or positive."""
    return x if x.dtype == "bool" else sign(x)


@pointwise("sgn(Tensor self) -> Tensor", inplace_function=False, casts_out=False)
def sgn(x):
    """-1, 0 or 1; of a complex number the number of size 1 in its direction."""
    if x.dtype.startswith("complex"):
        z = to(x, wide_dtype(x.dtype))
        return to(where(z == 0, 0, z / abs(z)), x.dtype)
    return x if x.dtype == "bool" else sign(x)


@pointwise("signbit(Tensor self) -> Tensor", inplace=False, casts_out=False)
def signbit(x):
    """Whether the sign bit is set: true for -0 too."""
    if x.dtype.startswith(("float", "bfloat")):
        return copysign(1.0, x) < 0
    return x < 0


@pointwise(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    unpromoted=("values",),
    casts_out=False,
)
def heaviside(x, values):
    """0 below 0, ``values`` at 0, 1 above."""
    require(
        not is_complex(x.dtype) and not is_complex(values.dtype),
        "heaviside does not take complex numbers, which have no order",
    )
    require_same_dtype("heaviside", x, values)
    step = to(where(x > 0, 1, 0), values.dtype)
    return where(x == 0, detach(values), step)


# ------------------------------------------------------------------ classification


@pointwise(
    "isnan(Tensor self) -> Tensor",
    inplace=False,
    out=False,
    forms=("isnan.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",),
    core=True,
)
def isnan_op(x):
    """Whether x is not a number."""
    return isnan(x)


@pointwise(
    "isinf(Tensor self) -> Tensor",
    inplace=False,
    out=False,
    forms=("isinf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",),
    core=True,
)
def isinf_op(x):
    """Whether x is infinite."""
    return isinf(x)


@pointwise("isfinite(Tensor self) -> Tensor", inplace=False, out=False)
def isfinite(x):
    """Whether x is neither infinite nor NaN."""
    return is_finite(x)


@pointwise(
    "logit(Tensor self, float? eps=None) -> Tensor",
    int_to_float=True,
    backward="logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> "
    "Tensor",
    aliases=("special_logit",),
)
def logit(x, eps):
    """``log(x / (1 - x))``, x clamped to [eps, 1 - eps]."""
    require_real("logit", x)
    if eps is not None:
        x = where(x < eps, eps, where(x > 1 - eps, 1 - eps, x))
    return log(x / (1 - x))


@logit.partials("PyTorch's gradient is NaN outside [0, 1], where the value is too")
def _(x, eps, y):
    slope = 1 / (x * (1 - x))
    if eps is None:
        return where((x < 0) | (x > 1), NAN, slope)
    return where((x < eps) | (x > 1 - eps), 0.0, slope), 0.0
