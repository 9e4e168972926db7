"""relu6, rrelu, a leaky relu with random slopes, and the two results of
log_sigmoid_forward.
"""

from pellucid_compiler.composites import api, composite, require

_RANGE = (
    "Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None"
)


@composite("relu6(Tensor self) -> Tensor", namespace="nn", tags="pointwise")
def relu6(x):
    """``min(max(x, 0), 6)``."""
    return api._C._nn.hardtanh(x, 0, 6)


@composite("relu6_(Tensor(a!) self) -> Tensor(a!)", namespace="nn", tags="pointwise")
def relu6_(x):
    """``relu6`` in place."""
    return api._C._nn.hardtanh_(x, 0, 6)


def _require_range(lower, upper):
    require(lower <= upper, "rrelu: lower {} exceeds upper {}", lower, upper)


def _slopes(x, lower, upper, generator):
    """Random slopes where ``x`` is not positive; 1 elsewhere."""
    drawn = api.empty_like(x).uniform_(lower, upper, generator=generator)
    return api.where(x.detach() > 0, 1.0, drawn)


def _leaky(x, lower, upper):
    return api._C._nn.leaky_relu(x, (lower + upper) / 2)


@composite(
    f"rrelu(Tensor self, {_RANGE}) -> Tensor",
    method=False,
    inplace=True,
    inplace_function=True,
    also=("nn.functional.rrelu_",),
    tags="pointwise",
)
def rrelu(x, lower, upper, training, generator):
    """``x`` where positive, else times a slope: drawn from U(lower, upper) in training,
    the mean of both otherwise.
    """
    _require_range(lower, upper)
    if not training:
        return _leaky(x, lower, upper)
    return x * _slopes(x, lower, upper, generator)


_WITH_NOISE = f"Tensor(b!) noise, {_RANGE}"


@composite(
    f"rrelu_with_noise(Tensor self, {_WITH_NOISE}) -> Tensor",
    namespace="nn",
)
def rrelu_with_noise(x, noise, lower, upper, training, generator):
    """``rrelu`` that writes its slopes to ``noise``."""
    _require_range(lower, upper)
    if not training:
        return _leaky(x, lower, upper)
    slopes = _slopes(x, lower, upper, generator)
    noise.copy_(slopes)
    return x * slopes


@composite(
    f"rrelu_with_noise_(Tensor(a!) self, {_WITH_NOISE}) -> Tensor(a!)",
    namespace="nn",
)
def rrelu_with_noise_(x, *options):
    """``rrelu_with_noise`` in place."""
    return x.copy_(rrelu_with_noise(x, *options))


@composite(
    f"rrelu_with_noise.out(Tensor self, {_WITH_NOISE}, *, Tensor(a!) out) -> "
    "Tensor(a!)",
    method=False,
    function=False,
)
def rrelu_with_noise_out(x, *options, out):
    """``rrelu_with_noise`` written to ``out``."""
    with api.no_grad():
        result = rrelu_with_noise(x, *options)
    return out.resize_(result.shape).copy_(result)


@composite(
    f"rrelu_with_noise_functional(Tensor self, Tensor noise, {_RANGE}) -> "
    "(Tensor, Tensor noise_out)",
    method=False,
    function=False,
)
def rrelu_with_noise_functional(x, noise, *options):
    """``rrelu_with_noise`` that returns the slopes and writes nothing."""
    slopes = noise.clone()
    return rrelu_with_noise(x, slopes, *options), slopes


@composite(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, "
    "Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor",
    method=False,
    function=False,
    out=True,
)
def rrelu_with_noise_backward(grad, x, noise, lower, upper, training, self_is_result):
    """The gradient of ``rrelu``, with the drawn slopes or the mean slope."""
    if training and upper - lower > 1e-6:
        return grad * noise
    slope = (lower + upper) / 2
    return api.ops.aten.leaky_relu_backward(grad, x, slope, self_is_result)


def _log_sigmoid_apart(x):
    shrunk = x.abs().neg().exp()
    return x.clamp(max=0) - shrunk.log1p(), shrunk


@composite(
    "log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
    method=False,
    seen=True,
    function=False,
    forms=(
        "log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, "
        "Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))",
    ),
    core_as=_log_sigmoid_apart,
)
def log_sigmoid_forward(x):
    """``log_sigmoid``, and ``exp(-|x|)``."""
    return api._C._nn.log_sigmoid(x), x.detach().abs().neg().exp()
