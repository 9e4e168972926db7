"""Elementwise losses: a distance of input and target, reduced to its mean or sum."""

from pellucid_compiler.catalogue.loss import reduce_loss
from pellucid_compiler.catalogue.real_only import refuse_bool, require_real
from pellucid_compiler.composites import api
from pellucid_compiler.composites.losses import MEAN, reduced
from pellucid_compiler.declare import (
    broadcast_shapes,
    cast,
    const,
    exp,
    fused,
    log,
    log1p,
    map_elements,
    maximum,
    num_elements,
    require,
    where,
    with_partials,
)


def _loss(reduction, distance, *operands):
    loss = map_elements(distance, *operands)
    return reduce_loss(loss, reduction, cast(num_elements(loss), loss.dtype))


@fused(
    "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    namespace="nn",
    layout="operand",
    autocast="float32",
    backward_casts=True,
    backward="mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
    "reduction) -> Tensor",
)
def mse_loss(x, target, reduction):
    """``(x - target)²``."""
    require_real("mse_loss", x, target)
    return _loss(reduction, lambda a, b: (a - b) * (a - b), x, target)


mse_loss.gradients_seen_as(
    target=lambda grad, self, target, reduction: api.ops.aten.mse_loss_backward.default(
        grad, target, self, reduction
    )
)


@fused(
    "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    method=False,
    out=False,
    namespace="nn",
    layout="operand",
    autocast="float32",
)
def l1_loss(x, target, reduction):
    """``|x - target|``."""
    refuse_bool("l1_loss", x)
    refuse_bool("l1_loss", target)
    require(
        reduction != MEAN or x.is_floating or target.is_floating,
        "l1_loss: integers have no mean; convert with .float() or give reduction='sum'",
    )
    return _loss(reduction, lambda a, b: abs(a - b), x, target)


@l1_loss.seen_as
def _(x, target, reduction):
    if x.dtype != target.dtype:
        return NotImplemented
    return reduced((x - target).abs(), reduction)


@fused(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float "
    "beta=1.0) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    namespace="nn",
    layout="operand",
    autocast="float32",
    backward_casts=True,
    backward="smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, "
    "int reduction, float beta) -> Tensor",
)
def smooth_l1_loss(x, target, reduction, beta):
    """``d² / (2 beta)`` for ``d = |x - target|`` below beta, ``d - beta / 2`` above."""
    require_real("smooth_l1_loss", x, target)
    require(beta >= 0, "smooth_l1_loss: beta {} is negative", beta)

    def distance(a, b):
        d = a - b
        return where(abs(d) >= beta, abs(d) - 0.5 * beta, 0.5 * d * d / beta)

    return _loss(reduction, distance, x, target)


smooth_l1_loss.gradients_seen_as(
    target=lambda grad, self, target, reduction, beta: (
        api.ops.aten.smooth_l1_loss_backward.default(
            grad, target, self, reduction, beta
        )
    )
)


@fused(
    "huber_loss(Tensor self, Tensor target, int reduction=Mean, float "
    "delta=1.0) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    namespace="nn",
    layout="operand",
    autocast="float32",
    backward="huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int "
    "reduction, float delta) -> Tensor",
    backward_out="",
)
def huber_loss(x, target, reduction, delta):
    """``d² / 2`` for ``d = |x - target|`` up to delta, then ``delta (d - delta
    / 2)``.
    """
    require_real("huber_loss", x, target)
    require(delta > 0, "huber_loss: delta {} must be positive", delta)

    def distance(a, b):
        d = a - b
        return where(abs(d) > delta, delta * (abs(d) - 0.5 * delta), 0.5 * d * d)

    return _loss(reduction, distance, x, target)


huber_loss.gradients_seen_as(
    target=lambda grad, self, target, reduction, delta: (
        api.ops.aten.huber_loss_backward.default(grad, target, self, reduction, delta)
    )
)


@fused(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
    "reduction=Mean) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    namespace="nn",
    layout="operand",
    autocast="float32",
    backward="binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor "
    "target, Tensor? weight=None, int reduction=Mean) -> Tensor",
    casts_out=False,
)
def binary_cross_entropy(x, target, weight, reduction):
    """``-(t log x + (1 - t) log(1 - x))`` with logarithms clamped to at least -100."""
    require(
        target.dtype == x.dtype,
        f"binary_cross_entropy: the target has dtype {target.dtype}, the input "
        f"{x.dtype}; convert the target",
    )

    advice = (
        "should be between 0 and 1.\n"
        "Give probabilities, or logits to binary_cross_entropy_with_logits."
    )

    def distance(p, t, *w):
        require((p >= 0) & (p <= 1), f"all elements of input {advice}")
        require((t >= 0) & (t <= 1), f"all elements of target {advice}")
        value = (t - 1) * maximum(log1p(-p), -100.0) - t * maximum(log(p), -100.0)
        value = with_partials(value, (p, t), _entropy_slopes)
        return value * w[0] if w else value

    return _loss(reduction, distance, x, target, *_present(weight))


def _entropy_slopes(p, t, y):
    """As in PyTorch: the quotient by ``p (1 - p)``, clamped to at least 1e-12."""
    return (p - t) / maximum((1 - p) * p, 1e-12), log1p(-p) - log(p)


@fused(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
    "Tensor? pos_weight=None, int reduction=Mean) -> Tensor",
    refuses=("integers", "bool"),
    method=False,
    layout="operand",
    autocast="float32",
)
def binary_cross_entropy_with_logits(x, target, weight, pos_weight, reduction):
    """``binary_cross_entropy(sigmoid(x), target)`` without overflow."""
    require(
        target.is_floating,
        f"binary_cross_entropy_with_logits: the target has dtype {target.dtype}; "
        "convert it with .to(input.dtype)",
    )
    shape = broadcast_shapes(x.shape, target.shape)
    padded = [const(1)] * (len(shape) - target.rank) + [*target.shape]
    for size, wanted in zip(padded, shape, strict=True):
        require(
            size == wanted,
            "binary_cross_entropy_with_logits: the target has size {} where the input "
            "has {}; expand it with .expand_as(input)",
            size,
            wanted,
        )
    weights = [*_present(weight), *_present(pos_weight)]

    def distance(z, t, *w):
        positive = 1 + (w[-1] - 1) * t if pos_weight is not None else 1.0
        softplus = maximum(-z, 0) + log1p(exp(-abs(z)))
        softplus = with_partials(softplus, (z,), lambda z, y: -1 / (1 + exp(z)))
        value = (1 - t) * z + positive * softplus
        return value * w[0] if weight is not None else value

    return _loss(reduction, distance, x, target, *weights)


def _of_logits(grad, self, target, weight, pos_weight, reduction):
    if weight is not None or pos_weight is not None:
        return NotImplemented
    slope = (self.sigmoid() - target) * grad
    return api.ops.aten.div_.Scalar(slope, self.numel()) if reduction == MEAN else slope


binary_cross_entropy_with_logits.gradients_seen_as(self=_of_logits)


@fused(
    "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool "
    "log_target=False) -> Tensor",
    method=False,
    out=False,
    layout="operand",
    autocast="float32",
)
def kl_div(x, target, reduction, log_target):
    """``t (log t - x)``, 0 where t is 0; with ``log_target`` the target is log t."""
    require(
        x.is_floating and target.is_floating,
        f"kl_div: the input is {x.dtype} and the target {target.dtype}; give "
        "logarithms and probabilities as floats",
    )

    def distance(a, t):
        if log_target:
            return exp(t) * (t - a)
        return where(t == 0, 0.0, t * log(t)) - t * a

    return _loss(reduction, distance, x, target)


@kl_div.seen_as
def _(x, target, reduction, *, log_target):
    if log_target:
        return reduced(target.exp() * (target - x), reduction)
    weighted = target * x
    return reduced(target.xlogy(target) - weighted, reduction)


@fused(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    method=False,
    namespace="nn",
    autocast="float32",
    backward_casts=True,
    backward="soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor "
    "target, int reduction) -> Tensor",
    casts_out=False,
)
def soft_margin_loss(x, target, reduction):
    """``log(1 + exp(-target x))``."""
    require(
        x.is_floating,
        f"soft_margin_loss: the result would be {x.dtype}; convert with .float()",
    )
    require(
        target.rank <= x.rank,
        f"soft_margin_loss: a target of rank {target.rank} does not expand to the "
        f"input's rank {x.rank}",
    )
    for own, n in zip(target.shape[::-1], x.shape[::-1], strict=False):
        require(
            (own == 1) | (own == n),
            "soft_margin_loss: a size {} of the target does not expand to the input's "
            "{}",
            own,
            n,
        )
    return _loss(reduction, lambda a, t: log1p(exp(-t * a)), x, target)


def _present(tensor):
    return [] if tensor is None else [tensor]
