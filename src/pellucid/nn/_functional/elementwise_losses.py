"""Elementwise and classification losses; the ops take reductions by number."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._package.calls.captured import captured_as
from pellucid._package.calls.deprecation import advise
from pellucid.nn._functional.losses import reduction_number

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]


_NONE, _MEAN, _SUM = range(3)  # the numbers that ops take


def _warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    import warnings

    warnings.warn(
        f"{name}: target has shape {tuple(target.shape)} and input "
        f"{tuple(input.shape)}; they will be broadcast, which is rarely intended",
        stacklevel=4,
    )


def _broadcast(name: str, input: Tensor, target: Tensor) -> Any:
    if target.size() != input.size():
        _warn_of_broadcast(name, input, target)
    return pellucid.broadcast_tensors(input, target)


@captured_as(_broadcast)
def _operands(name: str, input: Tensor, target: Tensor) -> Any:
    """Returns both tensors unchanged: the op broadcasts them."""
    if target.size() != input.size():
        _warn_of_broadcast(name, input, target)
    return input, target


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross-entropy of logits (N, C, ...) and class indices or probabilities."""
    number = reduction_number(size_average, reduce, reduction)
    return _nn.cross_entropy_loss(
        input, target, weight, number, ignore_index, label_smoothing
    )


def _nll_loss_by_op(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = reduction_number(size_average, reduce, reduction)
    return _nn.nll_loss_nd(input, target, weight, number, ignore_index)


@captured_as(_nll_loss_by_op)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probabilities (N, C, ...) at the class indices ``target``."""
    number = reduction_number(size_average, reduce, reduction)
    return _nn.nll_loss(input, target, weight, number, ignore_index)


def _weighted(loss: Tensor, weight: Tensor, number: int) -> Tensor:
    """``loss`` times ``weight``, reduced; a mean divides by the sum of the weights."""
    if weight.size() != loss.size():
        raise ValueError(
            f"weight has shape {tuple(weight.shape)}, the input {tuple(loss.shape)}; "
            "they must be equal"
        )
    loss = loss * weight
    if number == _NONE:
        return loss
    return loss.sum() / weight.sum() if number == _MEAN else loss.sum()


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target) ** 2``, reduced."""
    input, target = _operands("mse_loss", input, target)
    number = reduction_number(size_average, reduce, reduction)
    if weight is None:
        return _nn.mse_loss(input, target, number)
    return _weighted(_nn.mse_loss(input, target, _NONE), weight, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``abs(input - target)``, reduced."""
    input, target = _operands("l1_loss", input, target)
    number = reduction_number(size_average, reduce, reduction)
    if weight is None:
        return _nn.l1_loss(input, target, number)
    return _weighted(_nn.l1_loss(input, target, _NONE), weight, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared error over ``2 beta`` below ``beta``, absolute error above; reduced."""
    input, target = _operands("smooth_l1_loss", input, target)
    number = reduction_number(size_average, reduce, reduction)
    if beta == 0.0:
        return _nn.l1_loss(input, target, number)
    return _nn.smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared error below ``delta``, linear above; reduced."""
    input, target = _operands("huber_loss", input, target)
    number = reduction_number(None, None, reduction)
    if weight is None:
        return _nn.huber_loss(input, target, number, delta)
    return _weighted(_nn.huber_loss(input, target, _NONE, delta), weight, number)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross-entropy of probabilities ``input`` and targets between 0 and 1."""
    number = reduction_number(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}): binary_cross_entropy does not broadcast them"
        )
    return _nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The cross-entropy of ``sigmoid(input)`` and targets between 0 and 1."""
    number = reduction_number(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size "
            f"({input.shape})"
        )
    return pellucid.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, number
    )


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log target - input)``, reduced; "batchmean" divides by the batch."""
    if reduction == "batchmean":
        total = pellucid.kl_div(input, target, _SUM, log_target=log_target)
        return total / input.size(0) if input.ndim else total
    number = reduction_number(size_average, reduce, reduction)
    if number == _MEAN:
        advise(
            "kl_div: reduction='mean' averages over all elements, not the batch: not "
            "the divergence of the distributions; give reduction='batchmean'"
        )
    return pellucid.kl_div(input, target, number, log_target=log_target)
