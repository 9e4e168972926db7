"""Cross-entropy of a linear layer's output, optionally in chunks of the batch.

With chunks the logits of all rows are never in memory at once: each chunk is a
checkpoint whose logits are recomputed in the backward pass.
``nn.LinearCrossEntropyLoss`` is its module.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid.nn._functional.elementwise_losses import cross_entropy

__all__ = ["linear_cross_entropy"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_ASPECT = "aspect_ratio"


class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` splits the batch into chunks.

    The chunk size in rows is ``batch_chunk_size``, or follows from
    ``chunking_method``: "auto", or "aspect_ratio:n", with which the logits of a chunk
    take an n-th of the input's memory. The other arguments select variants of GPU
    kernels and change nothing here: chunks can always be differentiated several times,
    and sums have the inputs' dtype.

    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64, chunking_method=None)
    LinearCrossEntropyOptions(batch_chunk_size=64, chunking_method=None)
    """

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: Any = None,
    ) -> None:
        if acc_policy not in _POLICIES:
            raise ValueError(f"acc_policy is {acc_policy!r}; give one of {_POLICIES}")
        if batch_chunk_size is not None and batch_chunk_size <= 0:
            raise ValueError(f"batch_chunk_size is {batch_chunk_size}; give at least 1")
        if acc_dtype is not None and not acc_dtype.is_floating_point:
            raise ValueError(f"acc_dtype is {acc_dtype}; give a float dtype")
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy, self.acc_dtype = acc_policy, acc_dtype
        _divisor_of(chunking_method)

    def __repr__(self) -> str:
        size, method = self.batch_chunk_size, self.chunking_method
        given = f"batch_chunk_size={size}, chunking_method={method!r}"
        return f"LinearCrossEntropyOptions({given})"


def _rows_of_a_piece(options: Any, batch: int, features: int, classes: int) -> int:
    if options.batch_chunk_size is not None:
        return int(options.batch_chunk_size)
    if options.chunking_method is None:
        return max(batch, 1)
    count = math.ceil(batch / math.ceil(classes / max(features, 1)))
    power: int = 1 << max(count - 1, 0).bit_length()
    return max(power // _divisor_of(options.chunking_method), 1)


def _divisor_of(method: str | None) -> int:
    if method in (None, "auto"):
        return 2
    name, _, factor = method.partition(":")
    if name != _ASPECT or not (factor or "1").isdigit() or factor == "0":
        raise ValueError(
            f"chunking_method is {method!r}; give 'auto', '{_ASPECT}', '{_ASPECT}:n' "
            "or None"
        )
    return int(factor or 1)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    ``input`` is (in,) or (N, in), ``linear_weight`` (classes, ..., in), ``linear_bias``
    (classes, ...); ``target`` holds class indices (N, ...) or probabilities (N,
    classes, ...). With ``options`` the batch is processed in chunks.

    >>> rows, vocabulary = torch.randn(6, 4), torch.randn(10, 4)
    >>> target = torch.arange(6)
    >>> loss = torch.nn.functional.linear_cross_entropy(rows, vocabulary, target)
    >>> logits = torch.nn.functional.linear(rows, vocabulary)
    >>> torch.allclose(loss, torch.nn.functional.cross_entropy(logits, target))
    True
    """
    shape = _logits_shape(input, linear_weight, linear_bias)
    if target.shape == shape and ignore_index is not None:
        raise RuntimeError(
            "linear_cross_entropy: ignore_index has no meaning for probabilities"
        )
    ignored = -100 if ignore_index is None else ignore_index
    classes, *outer, features = linear_weight.shape
    if options is not None:
        by_rows = (
            not outer
            and label_smoothing == 0.0
            and target.dtype == pellucid.int64
            and reduction in ("mean", "sum", "none")
        )
        if by_rows and input.dim() == 2:
            size = _rows_of_a_piece(options, input.shape[0], features, classes)
            return _in_pieces(
                input, linear_weight, linear_bias, target, weight, reduction, ignored,
                size,
            )  # fmt: skip
        if not by_rows:
            warnings.warn(
                "linear_cross_entropy: options are ignored: chunks need "
                "class indices, one dim of classes and no label smoothing",
                stacklevel=2,
            )
    flat = linear_weight.reshape(-1, features)
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    return cross_entropy(
        _nn.linear(input, flat, bias).reshape(shape),
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _logits_shape(
    input: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[int, ...]:
    name = "linear_cross_entropy"
    if input.dim() not in (1, 2) or weight.dim() < 2:
        raise RuntimeError(
            f"{name}: input has {input.dim()} dims and linear_weight {weight.dim()}; "
            "give 1 or 2, and at least 2"
        )
    classes, *outer, features = weight.shape
    if input.shape[-1] != features:
        raise RuntimeError(
            f"{name}: input has {input.shape[-1]} features, linear_weight {features}"
        )
    if bias is not None and list(bias.shape) != [classes, *outer]:
        raise RuntimeError(
            f"{name}: linear_bias has shape {tuple(bias.shape)}; "
            f"{(classes, *outer)} was expected"
        )
    if outer and input.dim() == 1:
        raise RuntimeError(f"{name}: several class dims need a batch of inputs")
    return (*input.shape[:-1], classes, *outer)


def _in_pieces(
    input: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignored: int,
    size: int,
) -> Tensor:
    from pellucid.utils.checkpoint import checkpoint

    inner = "none" if reduction == "none" else "sum"

    def piece(rows: Tensor, places: Tensor) -> Tensor:
        logits = _nn.linear(rows, linear_weight, linear_bias)
        return cross_entropy(
            logits, places, weight, ignore_index=ignored, reduction=inner
        )

    found = [
        checkpoint(piece, rows, places, use_reentrant=False)
        for rows, places in zip(input.split(size), target.split(size), strict=True)
    ]
    if reduction == "none":
        return pellucid.cat(found)
    total: Tensor = pellucid.stack(found).sum()
    if reduction == "sum":
        return total
    counted = target != ignored
    if weight is None:
        return total / counted.sum()
    return total / (weight[pellucid.where(counted, target, 0)] * counted).sum()
