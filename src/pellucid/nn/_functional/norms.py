"""Normalization with running statistics, and over neighbouring channels."""

from __future__ import annotations

import math

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._package.calls.captured import captured_as
from pellucid.nn._functional.vision import pad
from pellucid_compiler.composites import normalization

__all__ = [
    "batch_norm",
    "instance_norm",
    "local_response_norm",
    "normalize",
]


def _require_many(size: list[int]) -> None:
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"torch.Size({list(size)}): use a larger batch or eval()"
        )


def _batch_norm_by_op(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training:
        _require_many(list(input.shape))
    statistics = running_mean, running_var, training, momentum, eps, False
    return pellucid.batch_norm(input, weight, bias, *statistics)


@captured_as(_batch_norm_by_op)
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

    With ``training`` the batch's statistics are used, and the running statistics move
    towards them by ``momentum``; otherwise the running statistics are used.
    """
    normalized: Tensor  # calls the op's body, which is cheaper than calling the op
    if training:
        _require_many(list(input.shape))
        normalized, _, _ = normalization.by_batch(
            input, weight, bias, running_mean, running_var, momentum, eps
        )
        return normalized
    normalized = normalization.by_running(
        input, weight, bias, running_mean, running_var, eps
    )
    return normalized


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
    """Normalization of every channel of every sample by its own statistics.

    ``use_input_stats=False`` uses the running statistics.
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"an input of shape {tuple(input.shape)} has one spatial element per "
            "channel: instance_norm needs more in training"
        )
    given = running_mean, running_var, use_input_stats, momentum, eps, False
    return pellucid.instance_norm(input, weight, bias, *given)


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
    around = (size // 2, (size - 1) // 2)
    if dim == 3:
        padded = pad(input.mul(input).unsqueeze(1), (0, 0, *around))
        mean = _nn.avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        # By the op that autocast regions compute in float32, as PyTorch's is.
        squares = input.mul(input).view(batch, 1, channels, input.size(2), -1)
        padded = pad(squares, (0, 0, 0, 0, *around))
        mean = _nn.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1)
        mean = mean.view(input.shape)
    divisor = mean.mul(alpha).add(k).pow(beta)
    result: Tensor = input / divisor
    return result


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """``input`` over its ``p`` norm along ``dim``, clamped to at least ``eps``."""
    norms = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norms if out is None else pellucid.div(input, norms, out=out)
