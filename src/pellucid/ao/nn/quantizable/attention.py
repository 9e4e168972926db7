"""Attention made of linear layers that can be observed and quantized."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.nn.quantized import FloatFunctional
from pellucid.ao.quantization.flows import observed
from pellucid.ao.quantization.stubs import DeQuantStub, QuantStub

_Result = tuple[Tensor, Tensor | None]


class MultiheadAttention(nn.MultiheadAttention):
    """``nn.MultiheadAttention`` whose projections are linear layers; the attention
    itself is computed in floats.

    >>> layer = torch.ao.nn.quantizable.MultiheadAttention(4, 2)
    >>> x = torch.ones(3, 1, 4)
    >>> layer(x, x, x)[0].shape
    torch.Size([3, 1, 4])
    """

    _FLOAT_MODULE: Any = nn.MultiheadAttention

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn),
            *(kdim, vdim, batch_first, device, dtype),
        )
        for name, inputs in (
            *(("linear_Q", embed_dim), ("linear_K", self.kdim)),
            *(("linear_V", self.vdim), ("out_proj", embed_dim)),
        ):
            layer = nn.Linear(inputs, embed_dim, bias, device, dtype)
            self.add_module(name, layer)
        self.q_scaling_product = FloatFunctional()
        self.quant_attn_output = QuantStub()
        self.quant_attn_output_weights = QuantStub()
        self.dequant_q, self.dequant_k = DeQuantStub(), DeQuantStub()
        self.dequant_v = DeQuantStub()

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> _Result:
        """As ``nn.MultiheadAttention``; causal masks are given as ``attn_mask``."""
        if is_causal:
            raise AssertionError("is_causal is not supported: give attn_mask")
        if self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        steps, batch, width = query.shape
        if width != self.embed_dim or key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"sizes do not fit: query {list(query.shape)}, key {list(key.shape)}, "
                f"value {list(value.shape)}, embed_dim {self.embed_dim}"
            )
        q, k, v = self.linear_Q(query), self.linear_K(key), self.linear_V(value)
        q = self.q_scaling_product.mul_scalar(q, (width // self.num_heads) ** -0.5)
        k, v, added = self._with_biases(k, v)
        attended, weights = self._attend(
            q, k, v, self._mask(key_padding_mask, attn_mask, added)
        )
        order = (0, 2, 1, 3) if self.batch_first else (2, 0, 1, 3)
        joined = attended.permute(*order).contiguous()
        shape = (batch, steps) if self.batch_first else (steps, batch)
        result = self.out_proj(self.quant_attn_output(joined.view(*shape, width)))
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return result, None
        return result, weights.mean(dim=1) if average_attn_weights else weights

    def _with_biases(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, int]:
        """Keys and values with the rows of ``bias_k`` and zeros, and their count."""
        added = 0
        if self.bias_k is not None and self.bias_v is not None:
            repeats = 1, k.shape[1], 1
            k = pellucid.cat([k, self.bias_k.repeat(*repeats)])
            v = pellucid.cat([v, self.bias_v.repeat(*repeats)])
            added += 1
        if self.add_zero_attn:
            k, v = (pellucid.cat([x, _zeros_like_row(x)]) for x in (k, v))
            added += 1
        return k, v, added

    def _mask(self, padding: Any, mask: Any, added: int) -> Any:
        """What is added to the products, (batch, heads, queries, keys), or None."""

        def as_numbers(x: Tensor) -> Tensor:
            x = nn.functional.pad(x.bool() if x.dtype == pellucid.uint8 else x, added_)
            if x.dtype != pellucid.bool:
                return x
            return pellucid.zeros(x.shape).masked_fill_(x, float("-inf"))

        added_ = (0, added)
        total = None
        if mask is not None:
            if mask.dim() not in (2, 3):
                raise RuntimeError(f"attn_mask has {mask.dim()} dims, and not 2 or 3")
            total = as_numbers(mask)
            if mask.dim() == 3:
                total = total.unflatten(0, (-1, self.num_heads))
        if padding is not None:
            padded = as_numbers(padding)[:, None, None]
            total = padded if total is None else total + padded
        return total

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Any
    ) -> tuple[Tensor, Tensor]:
        """Results and weights in floats, (batch, heads, queries, ...)."""

        def heads(x: Tensor) -> Tensor:
            rows, batch, width = x.shape
            size = width // self.num_heads
            parts = x.contiguous().view(rows, batch * self.num_heads, size)
            return parts.transpose(0, 1)

        batch = q.shape[1]
        q, k = self.dequant_q(heads(q)), self.dequant_k(heads(k))
        v = self.dequant_v(heads(v))
        weights = pellucid.bmm(q, k.transpose(1, 2)).unflatten(0, (batch, -1))
        if mask is not None:
            weights = weights + mask
        weights = nn.functional.softmax(weights, dim=-1)
        kept = nn.functional.dropout(weights, self.dropout, self.training)
        attended = pellucid.bmm(kept.flatten(0, 1), v)
        return attended.unflatten(0, (batch, -1)), weights

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """The observed layer of an ``nn.MultiheadAttention`` with a qconfig."""
        if type(other) is not cls._FLOAT_MODULE or not hasattr(other, "qconfig"):
            raise AssertionError(
                f"needs an nn.MultiheadAttention with a qconfig, not {type(other)}"
            )
        has_bias = other.in_proj_bias is not None
        made = cls(
            *(other.embed_dim, other.num_heads, other.dropout, has_bias),
            *(other.bias_k is not None, other.add_zero_attn, other.kdim, other.vdim),
            other.batch_first,
        )
        made.bias_k, made.bias_v = other.bias_k, other.bias_v
        made.qconfig = other.qconfig
        made.out_proj.weight = other.out_proj.weight
        made.out_proj.bias = other.out_proj.bias
        if other._qkv_same_embed_dim:
            weights: Any = other.in_proj_weight.chunk(3)
        else:
            weights = other.q_proj_weight, other.k_proj_weight, other.v_proj_weight
        biases = other.in_proj_bias.chunk(3) if has_bias else (None,) * 3
        layers = made.linear_Q, made.linear_K, made.linear_V
        for layer, weight, bias in zip(layers, weights, biases, strict=True):
            layer.weight = nn.Parameter(weight)
            layer.bias = None if bias is None else nn.Parameter(bias)
        return observed(made.eval())

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Raises NotImplementedError: ``quantized.MultiheadAttention`` converts."""
        raise NotImplementedError(
            "quantizable.MultiheadAttention is float: use quantized.MultiheadAttention"
        )

    def dequantize(self) -> nn.MultiheadAttention:
        """The float layer of a converted one."""
        weights, biases = zip(
            *(
                layer._weight_bias()
                for layer in (self.linear_Q, self.linear_K, self.linear_V)
            ),
            strict=True,
        )
        has_bias = biases[0] is not None
        made = nn.MultiheadAttention(
            *(self.embed_dim, self.num_heads, self.dropout, has_bias),
            *(self.bias_k is not None, self.add_zero_attn, self.kdim, self.vdim),
            self.batch_first,
        )
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                setattr(made, name, nn.Parameter(getattr(self, name).dequantize()))
        floats = [each.dequantize() for each in weights]
        if made._qkv_same_embed_dim:
            made.in_proj_weight = nn.Parameter(pellucid.cat(floats))
        else:
            for name, weight in zip("qkv", floats, strict=True):
                setattr(made, f"{name}_proj_weight", nn.Parameter(weight))
        if has_bias:
            made.in_proj_bias = nn.Parameter(pellucid.cat(biases))
        weight, bias = self.out_proj._weight_bias()
        made.out_proj.weight = nn.Parameter(weight.dequantize())
        made.out_proj.bias = None if bias is None else nn.Parameter(bias)
        return made


def _zeros_like_row(x: Tensor) -> Tensor:
    """A row of zeros to concatenate with (rows, batch, width)."""
    zeros = pellucid.zeros(1, *x.shape[1:])
    if not x.is_quantized:
        return zeros
    return pellucid.quantize_per_tensor(zeros, x.q_scale(), x.q_zero_point(), x.dtype)
