"""Arithmetic on elements: sums, products, quotients, remainders, powers."""

from pellucid_compiler.catalogue.number_forms import (
    number_first_forms,
    number_forms,
)
from pellucid_compiler.catalogue.real_only import require_float, require_same_dtype
from pellucid_compiler.catalogue.seen import conjugated
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    cast,
    fmod,
    isnan,
    numbered,
    pointwise,
    power,
    require,
    to,
    trunc,
    where,
)

_ALPHA = ", Scalar alpha=1"


def _refuse_bool(name, *operands):
    """Raise for sums and differences that are undefined for bools."""
    require(
        all(x.dtype != "bool" for x in operands),
        f"{name} does not take bool tensors: use logical_xor or ~ for logic, or "
        "convert with .to(torch.int64)",
    )


def _refuse_bool_division(name, x):
    require(
        x.dtype != "bool",
        f"{name} does not divide bools: convert with .to(torch.int64)",
        error=NotImplementedError,
    )


@pointwise(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    numbers=("other",),
    numbers_as_tensors=True,
    exact=("alpha",),
    forms=number_forms("add", extra=_ALPHA),
    core=("add.Tensor", "add.Scalar"),
)
def add(x, y, alpha):
    """``x + alpha y``."""
    return x + y * alpha


@pointwise(
    "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    numbers=("other",),
    numbers_as_tensors=True,
    exact=("alpha",),
    refuses_bools=True,
    forms=number_forms("sub", extra=_ALPHA),
    aliases=("subtract",),
    core=("sub.Tensor", "sub.Scalar"),
)
def sub(x, y, alpha):
    """``x - alpha y``."""
    _refuse_bool("sub", x, y)
    return x - y * alpha


@pointwise(
    "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    numbers=("other",),
    exact=("alpha",),
    refuses_bools=True,
    inplace=False,
    out="Tensor_out",
    forms=number_forms("rsub", extra=_ALPHA, inplace=False),
    method=False,
    node=numbered("Rsub", tensor=0, number=1),
)
def rsub(x, y, alpha):
    """``y - alpha x``."""
    _refuse_bool("rsub", x, y)
    return y - x * alpha


@pointwise(
    "mul.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    numbers_as_tensors=True,
    forms=number_forms("mul"),
    aliases=("multiply",),
    core=("mul.Tensor", "mul.Scalar"),
)
def mul(x, y):
    """``x y``."""
    return x * y


@pointwise(
    "div.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    numbers_as_tensors=True,
    int_to_float=True,
    forms=number_forms("div"),
    aliases=("divide", "true_divide"),
    core=("div.Tensor", "div.Scalar"),
)
def div(x, y):
    """``x / y``; integers are divided as floating-point numbers."""
    return x / y


@div.partials("the quotient may be written in place: it is computed again")
def _(x, y, result):
    return 1 / y, -(x / y) / y


@pointwise(
    "div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
    numbers=("other",),
    numbers_as_tensors=True,
    node="DivBackward2",
    out="out_mode",
    forms=number_forms("div", "Scalar_mode", ", *, str? rounding_mode"),
    aliases=("divide",),
    core=("div.Tensor_mode", "div.Scalar_mode"),
)
def div_mode(x, y, rounding_mode):
    """``x / y``, rounded to minus infinity (``"floor"``) or zero (``"trunc"``)."""
    require(
        rounding_mode in (None, "floor", "trunc"),
        f"div expected rounding_mode to be None, 'trunc' or 'floor', not "
        f"{rounding_mode!r}",
    )
    if rounding_mode is None:
        return x / y
    _refuse_bool_division("div", x)
    return x // y if rounding_mode == "floor" else _truncated_quotient(x, y)


def _truncated_quotient(x, y):
    if x.dtype.startswith(("float", "bfloat", "weakfloat")):
        return trunc(x / y)
    quotient = x // y
    return where((quotient < 0) & (quotient * y != x), quotient + 1, quotient)


@pointwise(
    "floor_divide(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    numbers_as_tensors=True,
    inplace="Tensor",
    forms=number_forms("floor_divide"),
)
def floor_divide(x, y):
    """``floor(x / y)``, exact for integers."""
    _refuse_bool_division("floor_divide", x)
    return x // y


@pointwise(
    "remainder.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=(*number_forms("remainder"), *number_first_forms("remainder")),
    node=numbered("Remainder", tensor=1, number=0),
    core=("remainder.Tensor", "remainder.Scalar"),
)
def remainder(x, y):
    """``x - floor(x / y) y``: the remainder with the sign of the divisor."""
    _refuse_bool_division("remainder", x)
    return x % y


@pointwise(
    "fmod.Tensor(Tensor self, Tensor other) -> Tensor",
    numbers=("other",),
    out="Tensor_out",
    forms=number_forms("fmod"),
    node=numbered("Fmod", tensor=1, number=0),
    core=("fmod.Tensor", "fmod.Scalar"),
)
def fmod_op(x, y):
    """``x - trunc(x / y) y``: the remainder with the sign of the dividend."""
    _refuse_bool_division("fmod", x)
    return fmod(x, y)


@pointwise(
    "pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    refuses=("bool",),
    inplace="Tensor",
    node="PowBackward1",
    core=True,
)
def pow_tensor(x, exponent):
    """``x ** exponent``."""
    return power(x, exponent)


@pointwise(
    "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    numbers=("exponent",),
    nonnegative=("exponent",),
    inplace="Scalar",
    core=True,
    inplace_function=False,
)
def pow_scalar(x, exponent):
    """``x ** exponent`` for a number."""
    return power(x, exponent)


@pointwise(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    numbers=("self",),
    inplace=False,
    method=False,
    node="PowBackward2",
    core=True,
)
def pow_of_scalar(x, exponent):
    """``x ** exponent`` for a number x."""
    return power(x, exponent)


@pointwise("square(Tensor self) -> Tensor", node="PowBackward0")
def square(x):
    """``x²``; bools are squared as int64."""
    x = to(x, "int64") if x.dtype == "bool" else x
    return x * x


square.seen_as(lambda self: self.pow(2))


@pointwise("reciprocal(Tensor self) -> Tensor", int_to_float=True, core=True)
def reciprocal(x):
    """``1 / x``."""
    return 1 / x


@reciprocal.partials("saved values: saves y alone, so that reciprocal_ differentiates")
def _(x, y):
    return -y * y


@pointwise(
    "neg(Tensor self) -> Tensor", aliases=("negative",), core=True, casts_out=False
)
def neg(x):
    """``-x``."""
    _refuse_bool("neg", x)
    return -x


@pointwise(
    "abs(Tensor self) -> Tensor",
    refuses=("bool",),
    aliases=("absolute",),
    inplace_function=("abs_",),
    core=True,
    casts_out=False,
    casts_inplace=False,
)
def abs_op(x):
    """``|x|``; the slope at 0 is 0."""
    return abs(x)


@pointwise(
    "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
    unpromoted=("end",),
)
def lerp_scalar(start, end, weight):
    """``start + weight (end - start)``, exact at both ends."""
    require_same_dtype("lerp", start, end)
    require_float("lerp", start)
    return _lerp(start, end, weight)


@pointwise(
    "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    unpromoted=("self", "end", "weight"),
    out="Tensor_out",
    node="LerpBackward1",
    casts_out=False,
)
def lerp_tensor(start, end, weight):
    """``start + weight (end - start)``, exact at both ends."""
    require_same_dtype("lerp", start, end)
    require_float("lerp", start)
    return _lerp(start, end, weight)


def _lerp(start, end, weight):
    weight = cast(weight, start.dtype)
    near = start + weight * (end - start)
    far = end - (end - start) * (1 - weight)
    return where(abs(weight) < 0.5, near, far)


@pointwise(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    refuses=("bool",),
)
def addcmul(x, first, second, value):
    """``x + value first second``."""
    return x + value * first * second


def _by_factor(grad, factor, value):
    return grad * api.ops.aten.mul.Scalar(conjugated(factor), value)


addcmul.gradients_seen_as(
    tensor1=lambda grad, tensor2, value=1: _by_factor(grad, tensor2, value),
    tensor2=lambda grad, tensor1, value=1: _by_factor(grad, tensor1, value),
)


@pointwise(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"
)
def addcdiv(x, numerator, denominator, value):
    """``x + value numerator / denominator``."""
    require(
        numerator.dtype.startswith(("float", "bfloat", "complex")),
        "addcdiv does not divide integers: convert with .to(torch.float32), or use "
        "(input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype)",
    )
    return x + value * numerator / denominator


@pointwise("fmax(Tensor self, Tensor other) -> Tensor", inplace=False)
def fmax(x, y):
    """The greater of the two; of a number and NaN the number."""
    return where((x >= y) | isnan(y), x, y)


@pointwise("fmin(Tensor self, Tensor other) -> Tensor", inplace=False)
def fmin(x, y):
    """The lesser of the two; of a number and NaN the number."""
    return where((x <= y) | isnan(y), x, y)
