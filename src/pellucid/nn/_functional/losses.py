"""Losses composed of ops: margins, distances, likelihoods of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._C import _reduction_number as reduction_number
from pellucid._package.calls.argument_checks import any_true
from pellucid_compiler.composites import losses

__all__ = [
    "cosine_embedding_loss",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


_reduced: Callable[[Tensor, int], Tensor] = losses.reduced


def named_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """The name of the reduction that the deprecated flags select."""
    import warnings

    if reduce is not None and not reduce:
        chosen = "none"
    else:
        is_sum = size_average is not None and not size_average
        chosen = "sum" if is_sum else "mean"
    warnings.warn(
        f"size_average and reduce are deprecated; use reduction={chosen!r}",
        stacklevel=3,
    )
    return chosen


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts under a Poisson distribution.

    ``full`` adds Stirling's approximation of ``log(target!)``.
    """
    number = reduction_number(size_average, reduce, reduction)
    return pellucid.poisson_nll_loss(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood under normal distributions of the given variances."""
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss: the variance {var} is negative")
        var = var * pellucid.ones_like(input)
    elif any_true(var < 0):
        raise ValueError("gaussian_nll_loss: var has negative elements")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif not _broadcasts_to(var, input):
            raise ValueError(
                f"gaussian_nll_loss: var has shape {tuple(var.shape)}, which does not "
                f"broadcast to the input's {tuple(input.shape)}"
            )
    number = reduction_number(None, None, reduction)
    with pellucid.no_grad():
        floor = var.clamp(min=eps) - var
    var = var + floor
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, number)


def _broadcasts_to(tensor: Tensor, other: Tensor) -> bool:
    return tensor.dim() == other.dim() and all(
        n in (1, m) for n, m in zip(tensor.shape, other.shape, strict=True)
    )


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    number = reduction_number(size_average, reduce, reduction)
    return pellucid.hinge_embedding_loss(input, target, margin, number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``, reduced."""
    number = reduction_number(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: the three tensors must have the same number of "
            f"dims, not {input1.dim()}, {input2.dim()} and {target.dim()}"
        )
    return pellucid.margin_ranking_loss(input1, input2, target, margin, number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``, reduced."""
    number = reduction_number(size_average, reduce, reduction)
    return _nn.soft_margin_loss(input, target, number)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross-entropy of every class, averaged over ``input``'s last dim.

    A ``target`` of more dims than ``input`` is averaged over the dim of that number.
    """
    number = reduction_number(size_average, reduce, reduction)
    likely = target * _nn.log_sigmoid(input)
    loss = -(likely + (1 - target) * _nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1
    return _reduced(loss.sum(classes) / input.size(classes), number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    number = reduction_number(size_average, reduce, reduction)
    return pellucid.cosine_embedding_loss(input1, input2, target, margin, number)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``sum max(0, margin - x[y] + x[i]) ** p`` over the wrong classes i, divided by
    the number of classes.
    """
    number = reduction_number(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is 1 or 2, not {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: weight has {weight.dim()} dims; give 1")
    return _nn.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Margins of 1 between the targets, listed before the first -1, and all others."""
    number = reduction_number(size_average, reduce, reduction)
    return _nn.multilabel_margin_loss(input, target, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``, reduced.

    ``swap`` uses ``|positive - negative|`` as the negative distance where it is less.
    """
    number = reduction_number(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin {margin} is not positive")
    return pellucid.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, number
    )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with any distance."""
    distance = distance_function or pellucid.pairwise_distance
    number = reduction_number(None, None, reduction)
    if margin <= 0:
        raise ValueError(
            f"triplet_margin_with_distance_loss: margin {margin} is not positive"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pellucid.minimum(far, distance(positive, negative))
    return _reduced((near - far + margin).clamp_min(0), number)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification of (T, N, C) log probabilities (Graves
    2006).
    """
    lengths, counts = (
        given.to(log_probs.device) if isinstance(given, Tensor) else given
        for given in (input_lengths, target_lengths)
    )
    return pellucid.ctc_loss(
        log_probs,
        targets,
        lengths,
        counts,
        blank,
        reduction_number(None, None, reduction),
        zero_infinity,
    )
