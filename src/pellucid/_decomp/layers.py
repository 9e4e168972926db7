"""Layers as the ops under which PyTorch's modes see them.

Those ops are declared in ``catalogue/native_forms.py``.

Used through registry.py. What PyTorch computes in another way, or refuses, is left to
the op itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._decomp.registry import decomposes
from pellucid._ops import ops
from pellucid_compiler.composites import losses

aten = ops.aten
_reduced: Callable[[Tensor, int], Tensor] = losses.reduced


def _activation(name: str) -> None:
    native = getattr(aten, f"_{name}").default

    @decomposes(f"{name}.int")
    def run(x: Tensor, dim: int, dtype: Any) -> Any:
        x = x if dtype is None or dtype == x.dtype else x.to(dtype)
        if not x.is_floating_point():
            return NotImplemented
        return native(x, dim, False)


_activation("softmax")
_activation("log_softmax")


@decomposes("layer_norm")
def layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    cudnn_enable: bool,
) -> Tensor:
    """Without the statistics that ``native_layer_norm`` gives."""
    found: Tensor = pellucid.native_layer_norm(x, normalized_shape, weight, bias, eps)[
        0
    ]
    return found


@decomposes("group_norm")
def group_norm(
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Without the statistics that ``native_group_norm`` gives."""
    if x.dim() < 2 or groups <= 0 or x.shape[1] % groups:
        return NotImplemented
    samples, channels, *pixels = x.shape
    return pellucid.native_group_norm(
        x, weight, bias, samples, channels, prod(pixels), groups, eps
    )[0]


@decomposes("nll_loss")
def nll_loss(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignored: int
) -> Any:
    """``nll_loss_forward``, of images ``nll_loss2d_forward``."""
    if x.dim() not in (1, 2, 4):
        return NotImplemented
    packet = aten.nll_loss2d_forward if x.dim() == 4 else aten.nll_loss_forward
    return packet.default(x, target, weight, reduction, ignored)[0]


@decomposes("cross_entropy_loss")
def cross_entropy_loss(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignored: int,
    label_smoothing: float,
) -> Any:
    """``_log_softmax`` and ``nll_loss_forward`` where the target holds labels."""
    if target.is_floating_point() or label_smoothing or x.dim() not in (1, 2, 4):
        return NotImplemented
    if not x.is_floating_point():
        return NotImplemented
    logarithms = aten._log_softmax.default(x, min(x.dim() - 1, 1), False)
    return nll_loss(logarithms, target, weight, reduction, ignored)


@decomposes("l1_loss")
def l1_loss(x: Tensor, target: Tensor, reduction: int) -> Any:
    """``abs(x - target)`` and a reduction."""
    if x.dtype != target.dtype:
        return NotImplemented
    return _reduced((x - target).abs(), reduction)


def _convolution(dims: int) -> None:
    @decomposes(f"conv{dims}d")
    def conv(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> Any:
        rest = stride, padding, dilation, False, [0] * dims, groups
        return _of_batch(dims, x, lambda x: _run(x, weight, bias, *rest))

    @decomposes(f"conv_transpose{dims}d" + (".input" if dims > 1 else ""))
    def conv_transpose(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        output_padding: Sequence[int],
        groups: int,
        dilation: Sequence[int],
    ) -> Any:
        rest = stride, padding, dilation, True, output_padding, groups
        return _of_batch(dims, x, lambda x: _run(x, weight, bias, *rest))

    def _run(x: Tensor, weight: Tensor, *rest: Any) -> Any:
        if weight.dim() != dims + 2:
            return NotImplemented
        return aten.convolution.default(x, weight, *rest)


def _of_batch(dims: int, x: Tensor, run: Callable[[Tensor], Any]) -> Any:
    if x.dim() == dims + 2:
        return run(x)
    if x.dim() != dims + 1:
        return NotImplemented
    found = run(x.unsqueeze(0))
    return found if found is NotImplemented else found.squeeze(0)


for _dims in (1, 2, 3):
    _convolution(_dims)


@decomposes("max_pool2d")
def max_pool2d(x: Tensor, *options: Any) -> Tensor:
    """Without the places that ``max_pool2d_with_indices`` gives."""
    found: Tensor = aten.max_pool2d_with_indices.default(x, *options)[0]
    return found


@decomposes("adaptive_avg_pool2d")
def adaptive_avg_pool2d(x: Tensor, output_size: Sequence[int]) -> Any:
    """``_adaptive_avg_pool2d``."""
    return aten._adaptive_avg_pool2d.default(x, output_size)


@decomposes("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    *,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    """The kernel that PyTorch takes for heads of one size."""
    same = query.shape[-1:] == key.shape[-1:] == value.shape[-1:]
    if query.dim() != 4 or not same or dropout_p or enable_gqa:
        return NotImplemented
    if mask is not None and (mask.requires_grad or is_causal):
        return NotImplemented
    if mask is not None and mask.dtype == pellucid.bool:
        least = pellucid.zeros_like(mask, dtype=query.dtype)
        mask = least.masked_fill(mask.logical_not(), -float("inf"))
    found: Tensor = aten._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, dropout_p, is_causal, attn_mask=mask, scale=scale
    )[0]
    return found
