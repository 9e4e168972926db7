"""Rules that bring ops to Core ATen (``core_aten.py``), one function each.

They are what views, reductions, losses and makers of tensors are by other ops; what
they call may have a rule again. An overload that is not offered has no rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.registry import register_decomposition
from pellucid._ops import ops

RULES: dict[Any, Callable[..., Any]] = {}
aten = ops.aten


def _rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(getattr(aten, packet), overload or "default")
            register_decomposition(found, RULES)(function)
        return function

    return register


# Views


@_rule("t")
def _(x: Tensor) -> Any:
    return aten.permute(x, list(range(x.dim()))[::-1])


@_rule("transpose.int")
def _(x: Tensor, dim0: int, dim1: int) -> Any:
    order = list(range(x.dim()))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return aten.permute(x, order)


@_rule("_unsafe_view")
def _(x: Tensor, size: Any) -> Any:
    return aten.view(x, size)


@_rule("split.Tensor")
def _(x: Tensor, split_size: int, dim: int = 0) -> Any:
    size = x.shape[dim]
    parts = [min(split_size, size - at) for at in range(0, size, split_size)]
    return aten.split_with_sizes(x, parts or [0], dim)


@_rule("unbind.int")
def _(x: Tensor, dim: int = 0) -> Any:
    return tuple(aten.select.int(x, dim, k) for k in range(x.shape[dim]))


@_rule("stack")
def _(tensors: list[Tensor], dim: int = 0) -> Any:
    dim = dim % (tensors[0].dim() + 1)
    return aten.cat([aten.unsqueeze(t, dim) for t in tensors], dim)


@_rule("squeeze")
def _(x: Tensor) -> Any:
    return aten.squeeze.dims(x, [k for k, n in enumerate(x.shape) if n == 1])


@_rule("pixel_shuffle")
def _(x: Tensor, upscale_factor: int) -> Any:
    r, (*lead, c, h, w) = upscale_factor, x.shape
    n = len(lead)
    parts = aten.view(x, [*lead, c // r**2, r, r, h, w])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    moved = aten.clone(aten.permute(parts, order), memory_format=_ROW_MAJOR)
    return aten.view(moved, [*lead, c // r**2, h * r, w * r])


_ROW_MAJOR = pellucid.contiguous_format


# Tensors of one number, and ranges


def _filled_like(number: int) -> Callable[..., Any]:
    return lambda x, **options: aten.full_like(x, number, **options)


def _filled(number: int) -> Callable[..., Any]:
    return lambda size, **options: aten.full(size, number, **_float(options))


def _float(options: dict[str, Any]) -> dict[str, Any]:
    dtype = options.get("dtype") or pellucid.get_default_dtype()
    return {**options, "dtype": dtype}


RULES[aten.zeros_like.default] = _filled_like(0)
RULES[aten.ones_like.default] = _filled_like(1)
RULES[aten.zeros.default] = _filled(0)
RULES[aten.ones.default] = _filled(1)


@_rule("arange")
def _(end: Any, **options: Any) -> Any:
    return aten.arange.start_step(0, end, 1, **options)


@_rule("arange.start")
def _(start: Any, end: Any, **options: Any) -> Any:
    return aten.arange.start_step(start, end, 1, **options)


@_rule("eye")
def _(n: int, **options: Any) -> Any:
    return aten.eye.m(n, n, **options)


@_rule("eye.m")
def _(n: int, m: int, **options: Any) -> Any:
    rows, columns = (aten.arange.start_step(0, k, 1) for k in (n, m))
    equal = aten.eq.Tensor(aten.unsqueeze(rows, 1), columns)
    return aten._to_copy(equal, **_float(options))


# Conditions


@_rule("where.ScalarOther")
def _(condition: Tensor, x: Tensor, other: Any) -> Any:
    return aten.where.self(condition, x, _scalar(other, x))


@_rule("where.ScalarSelf")
def _(condition: Tensor, number: Any, other: Tensor) -> Any:
    return aten.where.self(condition, _scalar(number, other), other)


def _scalar(number: Any, like: Tensor) -> Any:
    return aten.scalar_tensor(number, dtype=like.dtype, device=like.device)


@_rule("masked_fill.Scalar")
def _(x: Tensor, mask: Tensor, value: Any) -> Any:
    return aten.where.self(mask, _scalar(value, x), x)


@_rule("masked_fill.Tensor")
def _(x: Tensor, mask: Tensor, value: Tensor) -> Any:
    return aten.where.self(mask, value, x)


def _side(x: Tensor, diagonal: int, compare: Any) -> Any:
    rows, columns = (aten.arange.start_step(0, n, 1) for n in x.shape[-2:])
    distance = aten.sub.Tensor(columns, aten.unsqueeze(rows, 1))
    return aten.where.self(compare(distance, diagonal), x, _scalar(0, x))


@_rule("tril")
def _(x: Tensor, diagonal: int = 0) -> Any:
    return _side(x, diagonal, aten.le.Scalar)


@_rule("triu")
def _(x: Tensor, diagonal: int = 0) -> Any:
    return _side(x, diagonal, aten.ge.Scalar)


# Numbers in other places


@_rule("rsub.Scalar")
def _(x: Tensor, other: Any, alpha: Any = 1) -> Any:
    product = x if alpha == 1 else aten.mul.Scalar(x, alpha)
    return aten.add.Scalar(aten.neg(product), other)


@_rule("clamp_min")
def _(x: Tensor, min: Any) -> Any:
    return aten.clamp(x, min, None)


@_rule("clamp_max")
def _(x: Tensor, max: Any) -> Any:
    return aten.clamp(x, None, max)


@_rule("floor_divide")
def _(x: Tensor, other: Any) -> Any:
    return aten.div.Tensor_mode(x, other, rounding_mode="floor")


@_rule("square")
def _(x: Tensor) -> Any:
    return aten.pow.Tensor_Scalar(x, 2)


# Reductions


@_rule("sum")
def _(x: Tensor, dtype: Any = None) -> Any:
    return aten.sum.dim_IntList(x, [], dtype=dtype)


@_rule("all")
def _(x: Tensor) -> Any:
    return aten.logical_not(aten.any(aten.logical_not(x)))


@_rule("all.dim")
def _(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    return aten.logical_not(aten.any.dim(aten.logical_not(x), dim, keepdim))


@_rule("std.correction")
def _(
    x: Tensor, dim: Any = None, *, correction: Any = None, keepdim: bool = False
) -> Any:
    return aten.sqrt(
        aten.var.correction(x, dim, correction=correction, keepdim=keepdim)
    )


@_rule("aminmax")
def _(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    dims = [] if dim is None else [dim]
    return aten.amin(x, dims, keepdim), aten.amax(x, dims, keepdim)


@_rule("logsumexp")
def _(x: Tensor, dim: list[int], keepdim: bool = False) -> Any:
    most = aten.amax(x, dim, True)
    most = aten.where.self(aten.isinf(most), _scalar(0, most), most)
    total = aten.log(aten.sum.dim_IntList(aten.exp(x - most), dim, keepdim))
    return total + (most if keepdim else aten.squeeze.dims(most, dim))


# Losses


def _reduced(loss: Tensor, reduction: int) -> Any:
    if reduction == 0:
        return loss
    dims = list(range(loss.dim()))
    return aten.mean(loss) if reduction == 1 else aten.sum.dim_IntList(loss, dims)


@_rule("mse_loss")
def _(x: Tensor, target: Tensor, reduction: int = 1) -> Any:
    return _reduced(aten.pow.Tensor_Scalar(x - target, 2), reduction)


@_rule("huber_loss")
def _(x: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Any:
    error = aten.abs(x - target)
    near = 0.5 * error * error
    return _reduced(
        pellucid.where(error < delta, near, delta * (error - 0.5 * delta)), reduction
    )


@_rule("smooth_l1_loss")
def _(x: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Any:
    error = aten.abs(x - target)
    if beta == 0:
        return _reduced(error, reduction)
    near = 0.5 * error * error / beta
    return _reduced(pellucid.where(error < beta, near, error - 0.5 * beta), reduction)


@_rule("binary_cross_entropy_with_logits")
def _(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Any:
    softplus = aten.log1p(aten.exp(aten.neg(aten.abs(x)))) + aten.relu(aten.neg(x))
    if pos_weight is not None:
        softplus = ((pos_weight - 1) * target + 1) * softplus
    loss = (1 - target) * x + softplus
    return _reduced(loss if weight is None else loss * weight, reduction)


@_rule("nll_loss_forward")
def _(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
) -> Any:
    dim = min(x.dim() - 1, 1)
    counts = aten.ne.Scalar(target, ignore_index)
    place = aten.where.self(counts, target, _scalar(0, target))
    picked = aten.gather(x, dim, aten.unsqueeze(place, dim))
    factor = aten._to_copy(counts, dtype=x.dtype)
    if weight is not None:
        factor = factor * aten.index.Tensor(weight, [place])
    loss = aten.neg(aten.squeeze.dims(picked, [dim]))
    loss = aten.where.self(counts, loss * factor, _scalar(0, x))
    if reduction == 0:
        return loss, aten.full([], 0, dtype=x.dtype)
    total = aten.sum.dim_IntList(factor, [])
    found = aten.sum.dim_IntList(loss, [])
    return (found / total if reduction == 1 else found), total


# Activations of two results or halves


@_rule("glu")
def _(x: Tensor, dim: int = -1) -> Any:
    half = x.shape[dim] // 2
    first = aten.slice.Tensor(x, dim, 0, half)
    return first * aten.sigmoid(aten.slice.Tensor(x, dim, half, 2 * half))


@_rule("log_sigmoid_forward")
def _(x: Tensor) -> Any:
    shrunk = aten.exp(aten.neg(aten.abs(x)))
    least = aten.minimum(x, _scalar(0, x))
    return least - aten.log1p(shrunk), aten.slice.Tensor(aten.view(x, [-1]), 0, 0, 0)


# Normalisation, attention


@_rule("_batch_norm_with_statistics")
def _(
    x: Tensor,
    mean: Tensor,
    var: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> Any:
    shape = [1, -1, *(1 for _ in x.shape[2:])]
    scale = aten.rsqrt(var + eps)
    scale = scale if weight is None else scale * weight
    found = (x - aten.view(mean, shape)) * aten.view(scale, shape)
    return found if bias is None else found + aten.view(bias, shape)


@_rule("_batch_norm_with_batch")
def _(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Any:
    dims = [0, *range(2, x.dim())]
    mean = aten.mean.dim(x, dims)
    var = aten.var.correction(x, dims, correction=0)
    found = aten._batch_norm_with_statistics(x, mean, var, weight, bias, eps)
    return found, mean, var


@_rule("_scaled_dot_product_flash_attention_for_cpu")
def _(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    if dropout_p:
        return NotImplemented
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = pellucid.matmul(query, key.transpose(-2, -1)) * factor
    if is_causal:
        rows, columns = scores.shape[-2:]
        mask = pellucid.ones(rows, columns, dtype=pellucid.bool).tril()
        scores = pellucid.where(mask, scores, -math.inf)
    if attn_mask is not None:
        scores = scores + attn_mask
    found = pellucid.matmul(pellucid.softmax(scores, -1), value)
    return found, pellucid.logsumexp(scores, -1)
