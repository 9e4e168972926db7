"""Activation functions."""

from pellucid_compiler.catalogue.real_only import refuse_bool, require_float
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    cast,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    log1p,
    map_elements,
    minimum,
    pointwise,
    require,
    tanh,
    where,
    with_partials,
)
from pellucid_compiler.ir.dtypes import is_complex


@pointwise(
    "sigmoid(Tensor self) -> Tensor",
    int_to_float=True,
    backward="sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    backward_reads="output=result",
    aliases=("special_expit",),
    core=True,
)
def sigmoid(x):
    """``1 / (1 + exp(-x))``."""
    return 1 / (1 + exp(-x))


@sigmoid.partials("accuracy: the derived slope is 0 * inf below -745")
def _(x, y):
    return y * (1 - y)


def logistic(x):
    """sigmoid for use in derivatives: its own derivative is accurate for both signs,
    but reads x.
    """

    def rule(x, y):
        return y * logistic(-x)

    return map_elements(lambda e: with_partials(1 / (1 + exp(-e)), [e], rule), x)


@pointwise(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    namespace="nn",
    backward="softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar "
    "threshold) -> Tensor",
    inplace=False,
    method=False,
    also=("nn.functional.softplus",),
    casts_out=False,
)
def softplus(x, beta, threshold):
    """``log(1 + exp(beta x)) / beta``; linear above ``threshold``, where exp
    could overflow.
    """
    require_float("softplus", x)
    return where(x * beta > threshold, x, log1p(exp(x * beta)) / beta)


@softplus.partials("accuracy: the derived second slope loses 7 digits at x = 20")
def _(x, beta, threshold, y):
    return where(x * beta > threshold, 1.0, logistic(x * beta))


@pointwise(
    "relu(Tensor self) -> Tensor",
    backward="threshold_backward(self=result, threshold=0)",
    core=True,
    also=("nn.functional.relu_",),
)
def relu(x):
    """``max(x, 0)``."""
    refuse_bool("relu", x)
    return where(x <= 0, 0, x)


@relu.partials("saved values: saves y alone, so that relu_ differentiates")
def _(x, y):
    return where(y <= 0, 0.0, 1.0)


@pointwise(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    namespace="nn",
    method=False,
    backward="hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, "
    "Scalar max_val) -> Tensor",
    core=True,
    also=("nn.functional.hardtanh_",),
    casts_out=False,
)
def hardtanh(x, min_val, max_val):
    """The elements, clamped to [min_val, max_val]; the slope at a bound is 0."""
    refuse_bool("hardtanh", x)
    require(
        x.dtype != "uint8" or min_val >= 0,
        "hardtanh of a uint8 tensor has no numbers below 0: give min_val=0 or convert "
        "with .to(torch.int64)",
    )
    above = where(x <= min_val, min_val, x)
    return where(above >= max_val, max_val, above)


@pointwise(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    namespace="nn",
    method=False,
    backward="leaky_relu_backward(Tensor grad_output, Tensor self, Scalar "
    "negative_slope, bool self_is_result) -> Tensor",
    backward_reads="self_is_result=False",
    core=True,
    also=("nn.functional.leaky_relu_",),
    casts_out=False,
)
def leaky_relu(x, negative_slope):
    """The elements above 0, ``negative_slope x`` below."""
    require_float("leaky_relu", x)
    return where(x > 0, x, x * negative_slope)


@pointwise(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    namespace="nn",
    method=False,
    backward="elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar "
    "input_scale, bool is_result, Tensor self_or_result) -> Tensor",
    backward_reads="is_result=False, self_or_result=self",
    core=True,
    also=("nn.functional.elu_",),
    casts_out=False,
)
def elu(x, alpha, scale, input_scale):
    """``scale x`` above 0, ``scale alpha (exp(input_scale x) - 1)`` below."""
    require_float("elu", x)
    return where(x > 0, x * scale, expm1(x * input_scale) * (alpha * scale))


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@pointwise(
    "selu(Tensor self) -> Tensor",
    refuses=("integers", "bool"),
    node="EluBackward0",
    method=False,
    also=("nn.functional.selu_",),
    out=False,
)
def selu(x):
    """``elu`` with the self-normalising constants of Klambauer et al. 2017."""
    return where(x > 0, x * _SELU_SCALE, expm1(x) * (_SELU_ALPHA * _SELU_SCALE))


@selu.seen_as
def _(x):
    if not x.is_floating_point():
        return NotImplemented
    return api.ops.aten.elu.default(x, _SELU_ALPHA, _SELU_SCALE)


@pointwise(
    "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
    method=False,
    also=("nn.functional.celu_",),
    backward="elu_backward(scale=1, input_scale=1 / alpha)",
)
def celu(x, alpha):
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))``."""
    require_float("celu", x)
    require(alpha != 0, "celu: alpha is 0, and the negative elements are divided by it")
    return where(x > 0, x, expm1(x / alpha) * alpha)


@pointwise(
    "silu(Tensor self) -> Tensor",
    refuses=("integers", "bool"),
    namespace="nn",
    method=False,
    backward="silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    casts_out=False,
)
def silu(x):
    """``x sigmoid(x)``."""
    return x / (1 + exp(-x))


@silu.partials("accuracy: the derived slope is 0 * inf below -745")
def _(x, y):
    return logistic(x) * (1 + x * logistic(-x))


@pointwise(
    "mish(Tensor self) -> Tensor",
    namespace="nn",
    method=False,
    backward="mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    backward_out="",
    casts_out=False,
)
def mish(x):
    """``x tanh(softplus(x))``."""
    return x * tanh(softplus(x, 1, 20))


@mish.partials("accuracy: the derived second slope cancels above 19")
def _(x, y):
    """``t + x s (1 - t) (1 + t)`` with t = tanh(softplus(x)), using only exp(-|x|)."""
    w, v = exp(x), exp(-x)
    below = w * (w + 2) + 2
    above = 2 * v * (1 + v) + 1
    rest = where(x > 0, 2 * v * v / above, 2 / below)
    t = where(x > 0, 1 - rest, w * (w + 2) / below)
    return t + x * logistic(x) * rest * (1 + t)


@pointwise(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    refuses=("integers", "bool"),
    namespace="nn",
    method=False,
    backward="gelu_backward(Tensor grad_output, Tensor self, *, str "
    "approximate='none') -> Tensor",
    core=True,
    also=("nn.functional.gelu",),
    casts_out=False,
)
def gelu(x, approximate):
    """``x Φ(x)``, Φ the normal distribution; ``"tanh"``: Hendrycks and Gimpel 2016."""
    require(
        approximate in ("none", "tanh"),
        f"gelu expected approximate to be 'none' or 'tanh', not {approximate!r}",
    )
    if approximate == "none":
        return x * 0.5 * (1 + erf(x * 0.7071067811865476))
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + tanh(inner))


@gelu.partials("accuracy: the derived slope cancels below -8")
def _(x, approximate, y):
    if approximate == "none":
        density = 0.3989422804014327 * exp(-0.5 * x * x)
        return 0.5 * erfc(x * -0.7071067811865476) + x * density
    t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))
    inner_slope = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t) * (1 + t) * inner_slope


@pointwise(
    "log_sigmoid(Tensor self) -> Tensor",
    refuses=("integers", "bool"),
    namespace="nn",
    method=False,
    backward="log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> "
    "Tensor",
    backward_reads="buffer=empty()",
    inplace=False,
    casts_out=False,
)
def log_sigmoid(x):
    """``log(sigmoid(x))``."""
    return minimum(x, 0) - log1p(exp(-abs(x)))


@log_sigmoid.seen_as
def _(x):
    if not x.is_floating_point():
        return NotImplemented
    return api.ops.aten.log_sigmoid_forward.default(x)


@log_sigmoid.partials("accuracy: the slopes of min and |x| disagree at 0")
def _(x, y):
    return logistic(-x)


@pointwise(
    "hardsigmoid(Tensor self) -> Tensor",
    refuses=("integers", "bool"),
    namespace="nn",
    method=False,
    backward="hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor",
    casts_out=False,
)
def hardsigmoid(x):
    """``relu6(x + 3) / 6``."""
    return where(x <= -3, 0.0, where(x >= 3, 1.0, x / 6 + 0.5))


@hardsigmoid.partials("PyTorch's slope at NaN is 0")
def _(x, y):
    return where((x > -3) & (x < 3), 1 / 6, 0.0)


@pointwise(
    "hardswish(Tensor self) -> Tensor",
    refuses=("integers", "bool"),
    namespace="nn",
    method=False,
    backward_casts=False,
    backward="hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    backward_out="out",
    casts_out=False,
)
def hardswish(x):
    """``x relu6(x + 3) / 6``."""
    return where(x <= -3, x * 0.0, where(x >= 3, x, x * (x + 3) / 6))


@pointwise(
    "pellucid::softsign(Tensor self) -> Tensor",
    namespace="nn",
    out=False,
    node="DivBackward0",
    inplace=False,
)
def softsign(x):
    """``x / (1 + |x|)``."""
    return x / (1 + abs(x))


@softsign.seen_as
def _(x):
    fits = x.is_floating_point() or x.is_complex()
    return x / (x.abs() + 1) if fits else NotImplemented


@softsign.partials("accuracy: the derived slope cancels for large x")
def _(x, y):
    if is_complex(x.dtype):
        return NotImplemented
    bound = 1 + abs(x)
    return 1 / (bound * bound)


@pointwise(
    "pellucid::tanhshrink(Tensor self) -> Tensor",
    namespace="nn",
    out=False,
    node="SubBackward0",
    inplace=False,
    also=("nn.functional.tanhshrink",),
)
def tanhshrink(x):
    """``x - tanh(x)``."""
    return x - tanh(x)


@tanhshrink.seen_as
def _(x):
    return x - x.tanh() if x.is_floating_point() else NotImplemented


@tanhshrink.partials("accuracy: the derived slope cancels for small x")
def _(x, y):
    def rule(x, y):
        return 2 * tanh(x) / (cosh(x) * cosh(x))

    return with_partials(tanh(x) * tanh(x), [x], rule)


@pointwise(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    namespace="nn",
    method=False,
    backward="softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> "
    "Tensor",
    inplace=False,
    also=("nn.functional.softshrink",),
    casts_out=False,
)
def softshrink(x, lambd):
    """The elements moved towards 0 by ``lambd``, at most to 0."""
    require_float("softshrink", x)
    require(lambd >= 0, "softshrink: lambd is {}; give 0 or a positive number", lambd)
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))


@pointwise(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    backward="hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> "
    "Tensor",
    inplace=False,
    also=("nn.functional.hardshrink",),
    casts_out=False,
)
def hardshrink(x, lambd):
    """0 within ``lambd`` of 0, x elsewhere."""
    require_float("hardshrink", x)
    return where((x >= -lambd) & (x <= lambd), 0, x)


@pointwise(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    refuses=("bool",),
    method=False,
    backward="threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) "
    "-> Tensor",
    also=("nn.functional.threshold_",),
    writes_shared=True,
)
def threshold(x, threshold, value):
    """The elements above ``threshold``, else ``value``."""
    return where(x <= threshold, cast(value, x.dtype), x)
