"""Normalization with running statistics, and over neighbouring channels."""

from __future__ import annotations

import pellucid
from pellucid import Tensor

__all__ = [
    "batch_norm",
    "instance_norm",
    "local_response_norm",
]


def _require_many(size: list[int]) -> None:
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(
            f"an input of shape {tuple(size)} has one value per channel: training "
            "needs more; use a larger batch or eval()"
        )


def _update_running(running: Tensor | None, found: Tensor, momentum: float) -> None:
    if running is not None:
        with pellucid.no_grad():
            running.lerp_(found.to(running.dtype), momentum)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(input - mean) / sqrt(var + eps) * weight + bias`` for every channel.

    With ``training`` the statistics are the batch's, and the running ones move towards
    them by ``momentum``; otherwise the running ones serve.
    """
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "batch_norm without training needs running_mean and running_var"
            )
        return pellucid._batch_norm_with_statistics(
            input, running_mean, running_var, weight, bias, eps
        )
    _require_many(list(input.shape))
    output, mean, variance = pellucid._batch_norm_with_batch(input, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        count = input.numel() // max(input.shape[1], 1)
        _update_running(running_mean, mean, momentum)
        _update_running(running_var, variance * (count / (count - 1)), momentum)
    return output


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalization of every image by itself.

    ``use_input_stats=False`` takes the running statistics.
    """
    if not use_input_stats:
        return batch_norm(
            input, running_mean, running_var, weight, bias, False, momentum, eps
        )
    batch, channels, *spatial = input.shape
    count = 1
    for n in spatial:
        count *= n
    if count == 1:
        raise ValueError(
            f"an input of shape {tuple(input.shape)} has one spatial element per "
            "channel: instance_norm needs more in training"
        )
    if running_mean is None and running_var is None:
        return pellucid.group_norm(input, channels, weight, bias, eps)
    flat = input.reshape(1, batch * channels, *spatial)
    output, mean, variance = pellucid._batch_norm_with_batch(flat, None, None, eps)
    if running_mean is not None or running_var is not None:
        means = mean.view(batch, channels).mean(0)
        variances = variance.view(batch, channels).mean(0) * (count / (count - 1))
        _update_running(running_mean, means, momentum)
        _update_running(running_var, variances, momentum)
    output = output.view(input.shape)
    shape = (1, channels) + (1,) * len(spatial)
    if weight is not None:
        output = output * weight.view(shape)
    return output if bias is None else output + bias.view(shape)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * mean of squares over size channels) ** beta``
    (Krizhevsky 2012).
    """
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"local_response_norm takes 3 or more dims, not {dim}")
    if input.numel() == 0:
        return input
    batch, channels = input.shape[:2]
    squares = input.mul(input).reshape(batch, 1, channels, -1)
    low = size // 2
    padded = pellucid.nn.functional.pad(squares, (0, 0, low, (size - 1) // 2))
    mean = pellucid.nn.functional.avg_pool2d(padded, (size, 1), stride=1)
    divisor = mean.reshape(input.shape).mul(alpha).add(k).pow(beta)
    result: Tensor = input / divisor
    return result
