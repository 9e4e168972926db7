"""Batch normalization with running statistics."""

from typing import Any

from pellucid_compiler.composites import api, composite, require

_RUNNING = (
    "Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool {}, float momentum, float eps"
)


def _require_statistics(running_mean, running_var):
    """Raises ValueError, as PyTorch does, for one statistic without the other, and
    RuntimeError for one that requires gradients.
    """
    require(
        (running_mean is None) == (running_var is None),
        "batch_norm needs both running_mean and running_var, or neither; one is None",
        error=ValueError,
    )
    for statistic in (running_mean, running_var):
        require(
            statistic is None
            or not (statistic.requires_grad and api.is_grad_enabled()),
            "batch_norm has no gradient for running statistics, which require one: "
            "give them without, as in running_mean.detach()",
        )


def _update(running, statistic, momentum):
    if running is not None:
        with api.no_grad():
            running.lerp_(_in_dtype_of(running, statistic), momentum)


def by_batch(
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> tuple[Any, Any, Any]:
    """(the result, means, biased variances); updates the running statistics."""
    _require_statistics(running_mean, running_var)
    output, mean, variance = api._C._pellucid._batch_norm_with_batch(
        x, weight, bias, eps
    )
    if running_mean is None:
        return output, mean, variance
    count = x.numel() // max(x.shape[1], 1)
    unbiased = _without_history(variance) * (count / max(count - 1, 1))
    _update(running_mean, _without_history(mean), momentum)
    _update(running_var, unbiased, momentum)
    return output, mean, variance


def _without_history(statistic: Any) -> Any:
    """The statistics detached: a recorded graph of this body contains its ops, but not
    its ``no_grad``.
    """
    return statistic.detach() if statistic.requires_grad else statistic


def _in_dtype_of(like: Any, x: Any) -> Any:
    return x if x.dtype is like.dtype else x.to(like.dtype)


def without_running() -> RuntimeError:
    """The error where running statistics are needed and missing."""
    return RuntimeError(
        "batch_norm without training needs running_mean and running_var"
    )


def by_running(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, eps: float
) -> Any:
    """The result by the running statistics, which are needed."""
    if running_mean is None or running_var is None:
        raise without_running()
    _require_statistics(running_mean, running_var)
    return api._C._pellucid._batch_norm_with_statistics(
        x, running_mean, running_var, weight, bias, eps
    )


def _in_core_ops(
    x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """``batch_norm`` by the op of Core ATen; new running statistics are results."""
    ops, with_weight = api.ops.aten, (x, weight, bias)
    if running_mean is None or running_var is None:
        settings = training, momentum, eps
        return ops._native_batch_norm_legit.no_stats(*with_weight, *settings)[0]
    operands = *with_weight, running_mean, running_var
    if not training:
        without_training = ops._native_batch_norm_legit_no_training.default
        return without_training(*operands, momentum, eps)[0]
    by_batch = ops._native_batch_norm_legit_functional.default
    results = by_batch(*operands, training, momentum, eps)
    with api.no_grad():
        running_mean.copy_(results[3])
        running_var.copy_(results[4])
    return results[0]


@composite(
    f"batch_norm({_RUNNING.format('training')}, bool cudnn_enabled) -> Tensor",
    method=False,
    tags="maybe_aliasing_or_mutating",
    core_as=_in_core_ops,
)
def batch_norm(
    x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
):
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for every channel.

    With ``training``, the statistics are the batch's, and the running ones move towards
    them by ``momentum``; otherwise the running ones are used.
    """
    if training:
        return by_batch(x, weight, bias, running_mean, running_var, momentum, eps)[0]
    return by_running(x, weight, bias, running_mean, running_var, eps)


@composite(
    f"native_batch_norm({_RUNNING.format('training')}) -> (Tensor, Tensor, Tensor)",
    method=False,
    seen=True,
    forms=(
        f"native_batch_norm.out({_RUNNING.format('training')}, *, Tensor(a!) out, "
        "Tensor(b!) save_mean, Tensor(c!) save_invstd) -> "
        "(Tensor(a!), Tensor(b!), Tensor(c!))",
    ),
)
def native_batch_norm(
    x, weight, bias, running_mean, running_var, training, momentum, eps
):
    """``batch_norm``, the batch's means and one over its standard deviations, which
    are empty without ``training``.
    """
    operands = x, weight, bias, running_mean, running_var
    if not training:
        unused = x.new_empty(x.shape[1] if x.is_meta else 0)  # on Meta as PyTorch's
        return by_running(*operands, eps), unused, unused.clone()
    output, mean, variance = by_batch(*operands, momentum, eps)
    statistics = mean.detach(), (variance.detach() + eps).rsqrt()
    like = next((t for t in operands[1:] if t is not None), x)
    return output, *(_in_dtype_of(like, t) for t in statistics)


_OPERANDS = "Tensor input, Tensor? weight, Tensor? bias"
_HIDDEN = {"method": False, "function": False, "seen": True}


@composite(
    f"_native_batch_norm_legit({_OPERANDS}, Tensor(a!) running_mean, Tensor(b!) "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
    "Tensor)",
    **_HIDDEN,
    core=True,
)
def native_batch_norm_legit(*operands):
    """``native_batch_norm`` with running statistics."""
    return api.native_batch_norm(*operands)


@composite(
    f"_native_batch_norm_legit.no_stats({_OPERANDS}, bool training, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    **_HIDDEN,
    core=True,
)
def native_batch_norm_without_stats(x, weight, bias, training, momentum, eps):
    """``native_batch_norm`` without running statistics."""
    return api.native_batch_norm(x, weight, bias, None, None, training, momentum, eps)


@composite(
    f"_native_batch_norm_legit_no_training({_OPERANDS}, Tensor running_mean, Tensor "
    "running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    **_HIDDEN,
    core=True,
)
def native_batch_norm_no_training(
    x, weight, bias, running_mean, running_var, momentum, eps
):
    """``native_batch_norm`` by the running statistics; the others are empty."""
    operands = x, weight, bias, running_mean, running_var
    return by_running(*operands, eps), x.new_empty(0), x.new_empty(0)


@composite(
    f"_native_batch_norm_legit_functional({_OPERANDS}, Tensor running_mean, Tensor "
    "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
    "Tensor, Tensor running_mean_out, Tensor running_var_out)",
    **_HIDDEN,
)
def native_batch_norm_functional(x, weight, bias, running_mean, running_var, *settings):
    """``native_batch_norm``, and the new running statistics."""
    running = running_mean.clone(), running_var.clone()
    results = api.native_batch_norm(x, weight, bias, *running, *settings)
    return *results, *running


@composite(
    "batch_norm_update_stats(Tensor input, Tensor? running_mean, "
    "Tensor? running_var, float momentum) -> (Tensor, Tensor)",
    method=False,
    out=True,
)
def batch_norm_update_stats(x, running_mean, running_var, momentum):
    """Means and biased variances of the channels; updates the running statistics."""
    over, count = [0, *range(2, x.dim())], x.numel() // max(x.shape[1], 1)
    variance, mean = api.var_mean(x, over, correction=0)
    _update(running_mean, mean, momentum)
    _update(running_var, variance * (count / max(count - 1, 1)), momentum)
    return mean, variance


@composite(
    f"instance_norm({_RUNNING.format('use_input_stats')}, bool cudnn_enabled) -> "
    "Tensor",
    method=False,
)
def instance_norm(
    x, weight, bias, running_mean, running_var, by_input, momentum, eps, cudnn_enabled
):
    """``batch_norm`` of every image separately; ``use_input_stats=False`` uses the
    running statistics.
    """
    if not by_input:
        return by_running(x, weight, bias, running_mean, running_var, eps)
    _require_statistics(running_mean, running_var)
    batch, channels, *spatial = x.shape
    if running_mean is None:
        return api.group_norm(x, channels, weight, bias, eps)
    flat = x.reshape(1, batch * channels, *spatial)
    output, mean, variance = api._C._pellucid._batch_norm_with_batch(
        flat,
        None if weight is None else weight.repeat(batch),
        None if bias is None else bias.repeat(batch),
        eps,
    )
    count = x.numel() // max(batch * channels, 1)
    mean, variance = _without_history(mean), _without_history(variance)
    means = mean.view(batch, channels).mean(0)
    variances = variance.view(batch, channels).mean(0) * (count / max(count - 1, 1))
    _update(running_mean, means, momentum)
    _update(running_var, variances, momentum)
    return output.view(x.shape)
