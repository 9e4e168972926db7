"""Functions of ``nn.functional`` that the package has too, as PyTorch's runtime names
them: other orders of arguments, reductions by number.

Functions of the package, imported when first asked for. ``native_forms.py`` holds those
that also return what their backward passes need.
"""

from __future__ import annotations

from collections.abc import Sequence

import pellucid
from pellucid import Tensor
from pellucid.nn import functional

_REDUCTIONS = ("none", "mean", "sum")


# Norms


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """``nn.functional.layer_norm``; the last argument is for GPUs."""
    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.batch_norm``; the last argument is for GPUs."""
    return functional.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``nn.functional.instance_norm``; the last argument is for GPUs."""
    return functional.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of order ``pow`` over all dims but ``dim``, which stay with size 1; of
    the whole tensor for -1.
    """
    if dim == -1:
        return pellucid.linalg.vector_norm(v, pow)
    others = [d for d in range(v.dim()) if d != dim]
    return pellucid.linalg.vector_norm(v, pow, others, keepdim=True)


# Losses


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``; 0, 1 or 2 reduce by "none",
    "mean" or "sum".
    """
    return functional.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: int = 1,
) -> Tensor:
    """``nn.functional.cosine_embedding_loss`` with a reduction by number."""
    return functional.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_REDUCTIONS[reduction]
    )


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1
) -> Tensor:
    """``nn.functional.hinge_embedding_loss`` with a reduction by number."""
    return functional.hinge_embedding_loss(
        input, target, margin, reduction=_REDUCTIONS[reduction]
    )


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    reduction: int = 1,
) -> Tensor:
    """``nn.functional.margin_ranking_loss`` with a reduction by number."""
    return functional.margin_ranking_loss(
        input1, input2, target, margin, reduction=_REDUCTIONS[reduction]
    )


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool,
    full: bool,
    eps: float,
    reduction: int,
) -> Tensor:
    """``nn.functional.poisson_nll_loss`` with a reduction by number."""
    return functional.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_REDUCTIONS[reduction]
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """``nn.functional.triplet_margin_loss`` with a reduction by number."""
    return functional.triplet_margin_loss(
        anchor,
        positive,
        negative,
        margin,
        p,
        eps,
        swap,
        reduction=_REDUCTIONS[reduction],
    )


# Others


def affine_grid_generator(
    theta: Tensor, size: Sequence[int], align_corners: bool
) -> Tensor:
    """``nn.functional.affine_grid``."""
    return functional.affine_grid(theta, size, align_corners)
