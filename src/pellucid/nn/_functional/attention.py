"""Multi-head attention as one function; embedding_bag, rrelu."""

from __future__ import annotations

import math
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import _nn
from pellucid._package.calls.deprecation import deprecated
from pellucid.nn._functional.vision import pad

__all__ = [
    "embedding_bag",
    "multi_head_attention_forward",
    "rrelu",
    "scaled_dot_product_attention",
]

_BAG_MODES = ("sum", "mean", "max")  # the numbers that the embedding_bag op takes


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """``input`` where positive, else times a slope: drawn from U(lower, upper) in
    training, else ``(lower + upper) / 2``.
    """
    op = pellucid.rrelu_ if inplace else pellucid.rrelu
    result: Tensor = op(input, lower, upper, training)
    return result


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The "sum", "mean" or "max" of the rows of ``weight`` that each bag selects.

    A bag is a row of ``input`` (bags, length), or the part of a vector between two
    ``offsets``. Entries equal to ``padding_idx`` are skipped.
    """
    if weight.dtype is pellucid.int64 and input.is_floating_point():
        deprecated("embedding_bag(weight, input)", "embedding_bag(input, weight)")
        input, weight = weight, input
    if mode not in _BAG_MODES:
        raise ValueError(f"embedding_bag: mode is 'sum', 'mean' or 'max', not {mode!r}")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                f"embedding_bag: per_sample_weights need mode 'sum', not {mode!r}"
            )
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                "embedding_bag: per_sample_weights have shape "
                f"{tuple(per_sample_weights.shape)}, the input {tuple(input.shape)}"
            )
    if input.dim() == 2:
        input, offsets, per_sample_weights = _rows_as_bags(
            input, offsets, per_sample_weights
        )
        include_last_offset = False
    elif input.dim() != 1:
        raise ValueError(f"embedding_bag takes 1 or 2 dims, not {input.dim()}")
    elif offsets is None:
        raise ValueError("embedding_bag: a vector of indices needs offsets")
    elif offsets.dim() != 1:
        raise ValueError(f"embedding_bag: offsets have {offsets.dim()} dims; give 1")
    if max_norm is not None:
        pellucid.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
    bags: Tensor = pellucid.embedding_bag(
        *(weight, input, offsets, scale_grad_by_freq, _BAG_MODES.index(mode), sparse),
        *(per_sample_weights, include_last_offset, padding_idx),
    )[0]
    return bags


def _rows_as_bags(
    input: Tensor, offsets: Tensor | None, weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """(indices, offsets, weights) of a 2-d input, one bag per row."""
    if offsets is not None:
        raise ValueError(
            "embedding_bag: each row of a 2-d input is a bag; leave offsets out"
        )
    length = input.shape[1]
    options: dict[str, Any] = {"dtype": input.dtype, "device": input.device}
    if length:
        starts = pellucid.arange(0, input.numel(), length, **options)
    else:
        starts = pellucid.zeros(input.shape[0], **options)
    flat_weights = None if weights is None else weights.reshape(-1)
    return input.reshape(-1), starts, flat_weights


# Attention


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query key^T scale + attn_mask) value`` (Vaswani 2017).

    A bool mask is true where a query may attend to a key; ``scale`` defaults to
    ``1 / sqrt(E)``; ``enable_gqa`` repeats the heads of ``key`` and ``value``.
    """
    if dropout_p == 0.0:
        return _nn.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask,
            0.0,
            is_causal,
            scale=scale,
            enable_gqa=enable_gqa,
        )
    outer = query.shape[:-2]
    if not enable_gqa:
        outer = pellucid.broadcast_shapes(outer, key.shape[:-2])
    shape = (*outer, query.shape[-2], key.shape[-2])
    shaped = pellucid.empty(shape, dtype=pellucid.bool, device=query.device)
    return pellucid._C._pellucid._attention_with_dropout(
        query,
        key,
        value,
        pellucid.bernoulli(shaped, 1 - dropout_p),
        dropout_p,
        attn_mask,
        is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def _packed_projection(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    bias: Tensor | None,
) -> tuple[Tensor, ...]:
    """(q, k, v) by one packed weight; identical inputs share one product."""
    linear = _nn.linear
    if key is value and query is key:
        return tuple(linear(query, weight, bias).chunk(3, -1))
    weights = weight.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    inputs = (query, key, value)
    return tuple(
        linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)
    )


def _additive(name: str, mask: Tensor | None, dtype: Any) -> Tensor | None:
    """An additive mask: true, which forbids attention, becomes -inf."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype != pellucid.bool:
        raise AssertionError(f"{name} is bool or floating point, not {mask.dtype}")
    return pellucid.zeros(mask.shape, dtype=dtype).masked_fill(mask, -math.inf)


def _separate_projections(
    inputs: tuple[Tensor, ...],
    weights: tuple[Tensor | None, ...],
    bias: Tensor | None,
) -> tuple[Tensor, ...]:
    """(q, k, v), each by its own weight."""
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    projected = []
    for name, x, w, b in zip(
        ("query", "key", "value"), inputs, weights, biases, strict=True
    ):
        assert w is not None
        if x.shape[-1] != w.shape[1]:
            raise AssertionError(
                f"the {name} has {x.shape[-1]} features, the layer {w.shape[1]}"
            )
        projected.append(_nn.linear(x, w, b))
    return tuple(projected)


def _check_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    width: int,
    heads: int,
    separate_weights: bool,
) -> None:
    """Refuse inputs (L, N, E) and (S, N, E) whose shapes do not match."""
    if separate_weights and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"the key's sequence and batch {tuple(key.shape[:2])} are not the "
            f"value's {tuple(value.shape[:2])}"
        )
    if not separate_weights and key.shape != value.shape:
        raise AssertionError(
            f"the key has shape {tuple(key.shape)}, the value {tuple(value.shape)}"
        )
    if query.shape[-1] != width:
        raise AssertionError(
            f"the query has {query.shape[-1]} features, the layer {width}"
        )
    if width % heads:
        raise AssertionError(f"{width} features do not divide into {heads} heads")


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of inputs (L, N, E), (S, N, E), or without N; (output, weights).

    Bool masks are true where attention is forbidden. ``is_causal`` is a hint about
    ``attn_mask``, which must be given with it.
    """
    if is_causal and attn_mask is None:
        raise RuntimeError("is_causal is a hint about attn_mask: give the mask as well")
    batched = query.dim() == 3
    if query.dim() not in (2, 3) or key.dim() != query.dim():
        raise AssertionError(
            f"query and key have {query.dim()} and {key.dim()} dims; give 2 or 3"
        )
    if not batched:
        query, key, value = (t.unsqueeze(1) for t in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    _check_inputs(
        query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight
    )
    head = width // num_heads
    if use_separate_proj_weight:
        q, k, v = _separate_projections(
            (query, key, value),
            (q_proj_weight, k_proj_weight, v_proj_weight),
            in_proj_bias,
        )
    else:
        assert in_proj_weight is not None
        # identical inputs are three tensors after unsqueeze
        q, k, v = _packed_projection(query, key, value, in_proj_weight, in_proj_bias)
    mask = _merged_mask(
        attn_mask, key_padding_mask, batch, num_heads, length, key.shape[0], q.dtype
    )
    if bias_k is not None and bias_v is not None:
        k = pellucid.cat([k, bias_k.repeat(1, batch, 1)])
        v = pellucid.cat([v, bias_v.repeat(1, batch, 1)])
        mask = None if mask is None else pad(mask, (0, 1))
    q, k, v = (
        t.reshape(t.shape[0], batch, num_heads, head).permute(1, 2, 0, 3)
        for t in (q, k, v)
    )
    if static_k is not None:
        k = static_k.view(batch, num_heads, -1, head)
    if static_v is not None:
        v = static_v.view(batch, num_heads, -1, head)
    if add_zero_attn:
        zero = k.new_zeros(batch, num_heads, 1, head)
        k, v = pellucid.cat([k, zero], 2), pellucid.cat([v, zero], 2)
        mask = None if mask is None else pad(mask, (0, 1))
    dropped = dropout_p if training else 0.0
    weights: Tensor | None = None
    if need_weights:
        scores = (q * math.sqrt(1.0 / head)) @ k.transpose(-2, -1)
        weights = (scores if mask is None else scores + mask).softmax(-1)
        if dropped > 0.0:
            weights = pellucid.dropout(weights, dropped, True)
        output = weights @ v
    else:
        output = scaled_dot_product_attention(q, k, v, mask, dropped)
    output = output.permute(2, 0, 1, 3).reshape(length, batch, width)
    output = _nn.linear(output, out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        output = output.squeeze(1)
        weights = None if weights is None else weights.squeeze(0)
    return output, weights


def _merged_mask(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    batch: int,
    num_heads: int,
    length: int,
    keys: int,
    dtype: Any,
) -> Tensor | None:
    """The additive mask of scores (batch, heads, length, keys), or None."""
    masks = (attn_mask, key_padding_mask)
    if len({mask.dtype for mask in masks if mask is not None}) > 1:
        deprecated("masks of two dtypes", "one dtype for both", stacklevel=3)
    mask = _additive("attn_mask", attn_mask, dtype)
    if mask is not None:
        shapes = {2: (length, keys), 3: (batch * num_heads, length, keys)}
        if tuple(mask.shape) != shapes.get(mask.dim()):
            raise RuntimeError(
                f"attn_mask has shape {tuple(mask.shape)}; give {shapes[2]} or "
                f"{shapes[3]}"
            )
        if mask.dim() == 3:
            mask = mask.view(batch, num_heads, length, keys)
    padding = _additive("key_padding_mask", key_padding_mask, dtype)
    if padding is None:
        return mask
    if tuple(padding.shape) != (batch, keys):
        raise AssertionError(
            f"key_padding_mask has shape {tuple(padding.shape)}, not {(batch, keys)}"
        )
    padding = padding.view(batch, 1, 1, keys)
    return padding if mask is None else mask + padding


def _none_or_dtype(input: Tensor | None) -> pellucid.dtype | None:
    """The dtype of a mask; None for no mask."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: pellucid.dtype | None,
    other_name: str,
    target_type: pellucid.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """An additive mask: -inf where a bool mask is True; a floating-point mask is
    unchanged. AssertionError for other dtypes; warns if the dtype differs from that of
    the other mask.
    """
    if mask is None:
        return None
    if not (mask.dtype == pellucid.bool or mask.is_floating_point()):
        raise AssertionError(
            f"only bool and floating types of {mask_name} are supported"
        )
    if check_other and other_type is not None and mask.dtype != other_type:
        deprecated(f"a {mask_name} of another dtype than {other_name}", "one dtype")
    if mask.is_floating_point():
        return mask
    zeros = pellucid.zeros_like(mask, dtype=target_type)
    return zeros.masked_fill_(mask, float("-inf"))
