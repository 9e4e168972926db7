"""Elementwise functions in terms of other ops: tests, powers, gamma functions."""

import math

from pellucid_compiler.composites import api, composite, require


@composite("positive(Tensor(a) self) -> Tensor(a)", tags="pointwise")
def positive(x):
    """The tensor itself; not of bools."""
    require(x.dtype != api.bool, "positive is not defined for bool tensors")
    return x


@composite(
    "isposinf(Tensor self) -> Tensor", out=True, tags="pointwise", casts_out=False
)
def isposinf(x):
    """Where x is plus infinity."""
    return _equals("isposinf", x, math.inf)


@composite(
    "isneginf(Tensor self) -> Tensor", out=True, tags="pointwise", casts_out=False
)
def isneginf(x):
    """Where x is minus infinity."""
    return _equals("isneginf", x, -math.inf)


def _equals(name, x, infinity):
    require(
        not x.is_complex(),
        "{} is not implemented for {} tensors: take real or imag first",
        name,
        x.dtype,
    )
    if x.is_floating_point():
        return x == infinity
    return api.zeros_like(x, dtype=api.bool)


@composite("isreal(Tensor self) -> Tensor")
def isreal(x):
    """Where the imaginary part is zero: everywhere, for real dtypes."""
    return x.imag == 0 if x.is_complex() else api.ones_like(x, dtype=api.bool)


@composite(
    "float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    out=True,
    tags="pointwise",
    casts_out=False,
)
@composite(
    "float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
    out=True,
    tags="pointwise",
    casts_out=False,
)
@composite(
    "float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    out=True,
    tags="pointwise",
    casts_out=False,
)
def float_power(x, exponent):
    """``x ** exponent`` in float64, or complex128 where either is complex."""
    dtype = api.complex128 if _any_complex(x, exponent) else api.float64
    base, power = (_as(v, dtype) for v in (x, exponent))
    return api.pow(base, power)


@composite(
    "float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
    function=False,
    tags="pointwise",
)
@composite(
    "float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
    function=False,
    tags="pointwise",
)
def float_power_(x, exponent):
    """``float_power`` in place; the tensor must be of its dtype."""
    dtype = api.complex128 if _any_complex(x, exponent) else api.float64
    require(
        x.dtype == dtype,
        "float_power_ computes in {}, which a {} tensor cannot hold",
        dtype,
        x.dtype,
    )
    return x.pow_(_as(exponent, dtype))


def _any_complex(*operands):
    return any(
        v.is_complex() if _is_tensor(v) else isinstance(v, complex) for v in operands
    )


def _as(value, dtype):
    return value.to(dtype) if _is_tensor(value) else value


def _is_tensor(value):
    return isinstance(value, api.Tensor)


@composite(
    "ldexp.Tensor(Tensor self, Tensor other) -> Tensor",
    out=True,
    tags="pointwise",
)
def ldexp(x, other):
    """``x`` times 2 to the power ``other``; integers are powers in ``x``'s dtype."""
    return x * _power_of_two(x, other)


@composite("ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)", tags="pointwise")
def ldexp_(x, other):
    """``ldexp`` in place."""
    return x.mul_(_power_of_two(x, other))


def _power_of_two(x, other):
    is_integer = not (other.is_floating_point() or other.is_complex())
    if x.is_floating_point() and is_integer:
        other = other.to(x.dtype)
    return api.pow(2.0, other)


@composite(
    "mvlgamma(Tensor self, int p) -> Tensor",
    out=True,
    inplace=True,
    aliases=("special_multigammaln",),
    tags="pointwise",
)
def mvlgamma(x, p):
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    require(p >= 1, "mvlgamma: p is {}; give 1 or more", p)
    require(x.dtype != api.bool, "mvlgamma does not take bools: convert with .float()")
    require(
        not x.is_complex(),
        "mvlgamma does not take complex numbers",
        error=NotImplementedError,
    )
    x = x if x.is_floating_point() else x.to(api.get_default_dtype())
    halves = api.arange(0, -p, -1, dtype=x.dtype, device=x.device) / 2
    constant = p * (p - 1) / 4 * math.log(math.pi)
    return (x.unsqueeze(-1) + halves).lgamma().sum(-1) + constant


@composite(
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    namespace="special",
    out=True,
    tags="pointwise",
)
def zeta_of_number(s, q):
    """``zeta``, the number in the tensor's float dtype."""
    return api.special.zeta(s, _like(q, s))


@composite(
    "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor",
    namespace="special",
    out=True,
    tags="pointwise",
)
def zeta_at_number(s, q):
    """``zeta``, the number in the tensor's float dtype."""
    return api.special.zeta(_like(s, q), q)


def _like(number, x):
    dtype = x.dtype if x.is_floating_point() else api.get_default_dtype()
    return api.full((), number, dtype=dtype, device=x.device)
