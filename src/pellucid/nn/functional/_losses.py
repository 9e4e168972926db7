"""Losses that are compositions: margins, distances, likelihoods of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._calls.argument_checks import any_true, refuse_complex
from pellucid._calls.autocast import in_float32

__all__ = [
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "pairwise_distance",
    "pdist",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def named_reduction(
    size_average: bool | None, reduce: bool | None, reduction: str
) -> str:
    """The reduction's name; the two deprecated flags win when given."""
    if size_average is None and reduce is None:
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
        return reduction
    import warnings

    if reduce is False:
        chosen = "none"
    else:
        chosen = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce are deprecated; use reduction={chosen!r}",
        stacklevel=3,
    )
    return chosen


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The mean, the sum or every element of ``loss``."""
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.mean()


@in_float32
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
    """Minus the log likelihood of counts under Poisson's distribution.

    ``full`` adds Stirling's approximation of ``log(target!)``.
    """
    reduction = named_reduction(size_average, reduce, reduction)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log likelihood under normal distributions of the given variances."""
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
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a reduction: give mean, sum or none")
    with pellucid.no_grad():
        floor = var.clamp(min=eps) - var
    var = var + floor
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _broadcasts_to(tensor: Tensor, other: Tensor) -> bool:
    return tensor.dim() == other.dim() and all(
        n in (1, m) for n, m in zip(tensor.shape, other.shape, strict=True)
    )


@in_float32
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = named_reduction(size_average, reduce, reduction)
    zero = pellucid.zeros_like(input)
    unlike = pellucid.where(target != 1, (margin - input).clamp_min(0), zero)
    like = pellucid.where(target != -1, input, zero)
    return reduced(unlike + like, reduction)


@in_float32
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
    reduction = named_reduction(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: the three tensors must have the same number of "
            f"dims, not {input1.dim()}, {input2.dim()} and {target.dim()}"
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@in_float32
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``, reduced."""
    reduction = named_reduction(size_average, reduce, reduction)
    return reduced((-target * input).exp().log1p(), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross-entropy of every class, averaged over the last dim."""
    reduction = named_reduction(size_average, reduce, reduction)
    log_yes, log_no = _nn.log_sigmoid(input), _nn.log_sigmoid(-input)
    loss = -(target * log_yes + (1 - target) * log_no)
    if weight is not None:
        loss = loss * weight
    return reduced(loss.sum(-1) / input.size(-1), reduction)


@in_float32
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
    reduction = named_reduction(size_average, reduce, reduction)
    if target.dim() + 1 != input1.dim() or target.dim() + 1 != input2.dim():
        raise RuntimeError(
            "cosine_embedding_loss: inputs have one dim more than the target; these "
            f"have {input1.dim()}, {input2.dim()} and {target.dim()}"
        )
    tiny = 1e-12
    product = (input1 * input2).sum(-1)
    sizes = ((input1 * input1).sum(-1) + tiny) * ((input2 * input2).sum(-1) + tiny)
    cosine = product / sizes.sqrt()
    zero = pellucid.zeros_like(cosine)
    like = pellucid.where(target == 1, 1 - cosine, zero)
    unlike = pellucid.where(target == -1, (cosine - margin).clamp_min(0), zero)
    return reduced(like + unlike, reduction)


@in_float32
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
    """``sum max(0, margin - x[y] + x[i]) ** p`` over the wrong classes i, over their
    count.
    """
    reduction = named_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is 1 or 2, not {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: weight has {weight.dim()} dims; give 1")
    scores = input if input.dim() > 1 else input.reshape(1, -1)
    labels = target.reshape(-1, 1)
    if input.dim() > 2 or scores.shape[0] != labels.shape[0] or not scores.shape[1]:
        raise RuntimeError(
            f"multi_margin_loss: an input of shape {tuple(input.shape)} does not fit "
            f"a target of shape {tuple(target.shape)}"
        )
    terms = (margin - scores.gather(1, labels) + scores).clamp_min(0)
    terms = terms if p == 1 else terms * terms
    if weight is not None:
        terms = terms * weight[labels]
    loss = terms.scatter(1, labels, 0.0).sum(1) / scores.shape[1]
    return reduced(loss if input.dim() > 1 else loss[0], reduction)


@in_float32
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Margins of 1 between the classes named before the first -1 and all others."""
    reduction = named_reduction(size_average, reduce, reduction)
    if input.shape != target.shape or input.dim() > 2:
        raise RuntimeError(
            f"multilabel_margin_loss: input {tuple(input.shape)} and target "
            f"{tuple(target.shape)} must have the same shape, of at most 2 dims"
        )
    scores = input if input.dim() > 1 else input.reshape(1, -1)
    labels = target if target.dim() > 1 else target.reshape(1, -1)
    named = (labels < 0).long().cumsum(1) == 0
    places = labels.clamp_min(0)
    is_target = pellucid.zeros_like(scores).scatter_add(
        1, places, named.to(scores.dtype)
    )
    gaps = 1 - scores.gather(1, places).unsqueeze(2) + scores.unsqueeze(1)
    counted = named.unsqueeze(2) & (is_target == 0).unsqueeze(1)
    terms = gaps.clamp_min(0).masked_fill(~counted, 0)
    loss = terms.sum((1, 2)) / scores.shape[1]
    return reduced(loss if input.dim() > 1 else loss[0], reduction)


# Distances


def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8
) -> Tensor:
    """The product over ``dim`` of ``x1`` and ``x2``, each over its norm (at least
    ``eps``), when both have the shape that they broadcast to.
    """
    refuse_complex("cosine_similarity", x1, x2)
    if x1.shape != x2.shape:
        x1, x2 = pellucid.broadcast_tensors(x1, x2)
    norm1 = pellucid.linalg.vector_norm(x1, 2, dim, keepdim=True)
    norm2 = pellucid.linalg.vector_norm(x2, 2, dim, keepdim=True)
    with pellucid.no_grad():
        floor1, floor2 = norm1.clamp_min(eps) - norm1, norm2.clamp_min(eps) - norm2
    return ((x1 / (norm1 + floor1)) * (x2 / (norm2 + floor2))).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The ``p`` norm over the last dim of ``x1 - x2 + eps``."""
    return pellucid.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim=keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The ``p`` distances of all pairs of rows, in the order of ``combinations``."""
    if input.dim() != 2:
        raise RuntimeError(f"pdist takes a matrix, not {input.dim()} dims")
    if p < 0:
        raise RuntimeError(f"pdist: p is {p}; give 0, a positive number or infinity")
    first, second = pellucid.triu_indices(input.shape[0], input.shape[0], 1)
    return pellucid.cdist(input, input, p)[first, second]


@in_float32
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

    ``swap`` takes the positive's distance to the negative where that is less.
    """
    reduction = named_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin {margin} is not positive")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_loss: the three inputs must have as many dims, not "
            f"{anchor.dim()}, {positive.dim()} and {negative.dim()}"
        )
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = pellucid.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((near - far + margin).clamp_min(0), reduction)


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
    distance = pairwise_distance if distance_function is None else distance_function
    reduction = named_reduction(None, None, reduction)
    if margin <= 0:
        raise ValueError(
            f"triplet_margin_with_distance_loss: margin {margin} is not positive"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pellucid.minimum(far, distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0), reduction)


def _check_lengths(
    log_probs: Tensor, targets: Tensor, lengths: Tensor, counts: Tensor, blank: int
) -> None:
    """Raises RuntimeError for lengths of ``ctc_loss`` that its tensors do not have."""
    if log_probs.dim() != 3:
        return  # the op says so
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank is {blank}, and the classes are {classes}")
    longest = targets.shape[1] if targets.dim() == 2 else targets.numel()
    for name, given, limit in (
        ("input_lengths", lengths, steps),
        ("target_lengths", counts, longest),
    ):
        if given.numel() != batch:
            raise RuntimeError(
                f"ctc_loss: {name} has {given.numel()} elements for a batch of {batch}"
            )
        if any_true((given < 0) | (given > limit)):
            raise RuntimeError(f"ctc_loss: {name} are numbers from 0 to {limit} here")


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
    reduction = named_reduction(None, None, reduction)
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        if targets.dim() == 1:
            targets = targets.unsqueeze(0)
    lengths = pellucid.as_tensor(input_lengths, dtype=pellucid.int64).reshape(-1)
    counts = pellucid.as_tensor(target_lengths, dtype=pellucid.int64).reshape(-1)
    _check_lengths(log_probs, targets, lengths, counts, blank)
    loss = pellucid.ctc_loss(
        log_probs, targets, lengths, counts, blank, "none", zero_infinity
    )
    if reduction == "mean":
        return (loss / counts.clamp_min(1).to(loss.dtype)).mean()
    return reduced(loss[0] if single and reduction == "none" else loss, reduction)
