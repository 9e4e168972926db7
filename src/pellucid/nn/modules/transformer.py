"""Attention and the transformer's layers (Vaswani 2017)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn import functional, init
from pellucid.nn.modules.activation import GELU, ReLU
from pellucid.nn.modules.container import ModuleList
from pellucid.nn.modules.dropout import Dropout
from pellucid.nn.modules.linear import Linear, NonDynamicallyQuantizableLinear
from pellucid.nn.modules.module import Module
from pellucid.nn.modules.normalization import LayerNorm
from pellucid.nn.parameter import Parameter

_Activation = str | Callable[[Tensor], Tensor]


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads over (L, N, E), or (N, L, E) with
    ``batch_first``.

    Returns the output and the weights (averaged over heads), or None for the latter
    with ``need_weights=False``, which is faster.
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

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
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be positive, not {embed_dim} and "
                f"{num_heads}"
            )
        if embed_dim % num_heads:
            raise AssertionError(
                "embed_dim must be divisible by num_heads: "
                f"{embed_dim} does not divide into {num_heads} heads"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        options = {"device": device, "dtype": dtype}
        self._add_projections(options)
        rows = Parameter(pellucid.empty(3 * embed_dim, **options)) if bias else None
        self.register_parameter("in_proj_bias", rows)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, **options
        )
        if add_bias_kv:
            self.bias_k = Parameter(pellucid.empty((1, 1, embed_dim), **options))
            self.bias_v = Parameter(pellucid.empty((1, 1, embed_dim), **options))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _add_projections(self, options: dict[str, Any]) -> None:
        width = self.embed_dim
        separate = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if self._qkv_same_embed_dim:
            packed = pellucid.empty((3 * width, width), **options)
            self.in_proj_weight = Parameter(packed)
            for name in separate:
                self.register_parameter(name, None)
            return
        for name, inputs in zip(separate, (width, self.kdim, self.vdim), strict=True):
            weight = Parameter(pellucid.empty((width, inputs), **options))
            setattr(self, name, weight)
        self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

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
    ) -> tuple[Tensor, Tensor | None]:
        if query.is_nested:
            if need_weights or key_padding_mask is not None:
                raise RuntimeError(
                    "MultiheadAttention of a nested tensor takes no key_padding_mask, "
                    "which its sizes replace, and returns no weights: pass "
                    "need_weights=False"
                )
            mask = None if is_causal else attn_mask
            return self._attend_ragged(query, key, value, mask, is_causal), None
        transposes = self.batch_first and query.dim() == 3
        if transposes:
            query, key, value = _transposed_together(query, key, value)
        output, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if transposes else output), weights

    def _attend_ragged(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        """Attention within each example of a nested tensor. An example uses the leading
        rows and columns of ``mask`` (T, S), or of its own part of (B * heads, T, S).
        """
        if not self.batch_first or self.bias_k is not None or self.add_zero_attn:
            raise RuntimeError(
                "MultiheadAttention of a nested tensor needs batch_first=True, without "
                "add_bias_kv and add_zero_attn"
            )
        if self._qkv_same_embed_dim:
            weights: Any = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        bias = self.in_proj_bias
        biases: Any = (None,) * 3 if bias is None else bias.chunk(3)
        given = zip((query, key, value), weights, biases, strict=True)
        q, k, v = (
            functional.linear(x, w, b)
            .unflatten(-1, (self.num_heads, -1))
            .transpose(1, 2)
            for x, w, b in given
        )
        if mask is not None:
            mask = self._masks_of_examples(mask, query, key)
        attended = functional.scaled_dot_product_attention(
            q,
            k,
            v,
            mask,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=is_causal,
        )
        result: Tensor = self.out_proj(attended.transpose(1, 2).flatten(2))
        return result

    def _masks_of_examples(self, mask: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """The mask cropped to each example's sizes, as a nested tensor."""
        if mask.dtype == pellucid.bool:  # true where a key is masked
            mask = mask.logical_not()
        pairs = zip(query.unbind(), key.unbind(), strict=True)
        if mask.dim() == 3:
            each: Any = mask.unflatten(0, (-1, self.num_heads)).unbind()
        else:
            each = [mask] * query.size(0)
        cut = [
            own[..., : len(q), : len(k)]
            for own, (q, k) in zip(each, pairs, strict=True)
        ]
        made: Tensor = pellucid._nested_tensor_from_tensor_list(cut)
        return made


def _transposed_together(*inputs: Tensor) -> list[Tensor]:
    """Batch and time transposed; identical inputs stay identical."""
    made: list[Tensor] = []
    for tensor in inputs:
        pairs = zip(inputs, made, strict=False)
        same = next((result for other, result in pairs if other is tensor), None)
        made.append(tensor.transpose(0, 1) if same is None else same)
    return made


def _get_activation_fn(activation: _Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation is 'relu' or 'gelu', not {activation!r}")
    result: Callable[[Tensor], Tensor] = getattr(functional, activation)
    return result


class _Layer(Module):
    """The base of encoder and decoder layers: self-attention and feed-forward."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: _Activation,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: Any,
        dtype: Any,
        with_memory: bool,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        attention: dict[str, Any] = {
            "dropout": dropout,
            "bias": bias,
            "batch_first": batch_first,
        }
        self.self_attn = MultiheadAttention(d_model, nhead, **attention, **options)
        if with_memory:
            self.multihead_attn = MultiheadAttention(
                d_model, nhead, **attention, **options
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)
        self.norm_first = norm_first
        count = 3 if with_memory else 2
        for k in range(1, count + 1):
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
            setattr(self, f"norm{k}", norm)
        for k in range(1, count + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _attend_self(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        output, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=is_causal,
            need_weights=False,
        )
        result: Tensor = self.dropout1(output)
        return result

    def _feed_forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return result


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a norm."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
            with_memory=False,
        )

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend_self(x, src_mask, src_key_padding_mask, is_causal)

        def feed(x: Tensor) -> Tensor:
            result: Tensor = self.dropout2(self._feed_forward(x))
            return result

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + feed(self.norm2(src))
        src = self.norm1(src + attend(src))
        result: Tensor = self.norm2(src + feed(src))
        return result


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, a feed-forward network."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
            with_memory=True,
        )

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend_self(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def look(x: Tensor) -> Tensor:
            output, _ = self.multihead_attn(
                x,
                memory,
                memory,
                attn_mask=memory_mask,
                key_padding_mask=memory_key_padding_mask,
                is_causal=memory_is_causal,
                need_weights=False,
            )
            result: Tensor = self.dropout2(output)
            return result

        def feed(x: Tensor) -> Tensor:
            result: Tensor = self.dropout3(self._feed_forward(x))
            return result

        if self.norm_first:
            tgt = tgt + attend(self.norm1(tgt))
            tgt = tgt + look(self.norm2(tgt))
            return tgt + feed(self.norm3(tgt))
        tgt = self.norm1(tgt + attend(tgt))
        tgt = self.norm2(tgt + look(tgt))
        result: Tensor = self.norm3(tgt + feed(tgt))
        return result


def _get_clones(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _is_causal(mask: Tensor | None, hint: bool | None) -> bool:
    """Whether ``mask`` masks exactly the later elements."""
    if hint is not None or mask is None:
        return bool(hint)
    size = mask.shape[-1]
    if tuple(mask.shape) != (size, size):
        return False
    causal = Transformer.generate_square_subsequent_mask(size, dtype=pellucid.float32)
    hidden = mask if mask.dtype == pellucid.bool else mask.isinf()
    return bool((hidden == causal.isinf()).all())


class TransformerEncoder(Module):
    """``num_layers`` copies of an encoder layer in sequence, and a norm."""

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """``src`` after the layers and the norm.

        In evaluation without gradients, if the layers are of the kind that PyTorch
        runs without padding (``enable_nested_tensor``), the output is zero at padded
        positions; otherwise its values there are meaningless.
        """
        causal = _is_causal(mask, is_causal)
        padding = None if mask is not None else src_key_padding_mask
        if padding is not None and self._drops_padding(src, padding):
            src = self._without_padding(src, ~_is_hidden(padding))
        else:
            for layer in self.layers:
                src = layer(src, mask, src_key_padding_mask, is_causal=causal)
        return src if self.norm is None else self.norm(src)

    def _without_padding(self, src: Tensor, is_kept: Tensor) -> Tensor:
        """Runs the layers on the unpadded elements, as a nested tensor; the rest are
        zeros.
        """
        offsets = pellucid.constant_pad_nd(is_kept.sum(1).cumsum(0), (1, 0))
        rows = pellucid._nested_view_from_jagged(src[is_kept], offsets)
        for layer in self.layers:
            rows = layer(rows)
        return pellucid.zeros_like(src).masked_scatter_(
            is_kept.unsqueeze(-1), rows.values()
        )

    def _drops_padding(self, src: Tensor, padding: Tensor) -> bool:
        layer = self.layers[0]
        if not self.enable_nested_tensor or layer.training or src.dim() != 3:
            return False
        if not _is_sparse_layer(layer):
            return False
        if self.mask_check:
            hidden = _is_hidden(padding)
            if bool((hidden[:, :-1] & ~hidden[:, 1:]).any()):
                return False  # the padding is not at the end
        if not pellucid.is_grad_enabled():
            return True
        return not any(t.requires_grad for t in (src, *layer.parameters()))


def _is_hidden(padding: Tensor | None) -> Tensor:
    """A padding mask as bools: true where a key is masked."""
    assert padding is not None
    return padding if padding.dtype == pellucid.bool else padding != 0


def _is_sparse_layer(layer: Module) -> bool:
    """Whether PyTorch has a path for the layer that skips padding."""
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first:
        return False
    if type(layer).forward is not TransformerEncoderLayer.forward:
        return False
    attention = layer.self_attn
    activation = layer.activation
    return (
        attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and attention.num_heads % 2 == 0
        and layer.norm1.eps == layer.norm2.eps
        and (
            activation in (functional.relu, functional.gelu)
            or isinstance(activation, (ReLU, GELU))
        )
    )


class TransformerDecoder(Module):
    """``num_layers`` copies of a decoder layer in sequence, and a norm."""

    def __init__(
        self,
        decoder_layer: TransformerDecoderLayer,
        num_layers: int,
        norm: Module | None = None,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
                causal,
                memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder that attends to its output."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: _Activation = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        layer = (
            *(d_model, nhead, dim_feedforward, dropout, activation),
            *(layer_norm_eps, batch_first, norm_first, bias),
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            first = TransformerEncoderLayer(*layer, **options)
            self.encoder = TransformerEncoder(first, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            second = TransformerDecoderLayer(*layer, **options)
            self.decoder = TransformerDecoder(second, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(
                f"src has a batch of {src.size(batch)}, tgt of {tgt.size(batch)}"
            )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"src and tgt have {src.size(-1)} and {tgt.size(-1)} features, the "
                f"model {self.d_model}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Any = None, dtype: Any = None
    ) -> Tensor:
        """-inf above the diagonal, 0 elsewhere: no element attends to a later one."""
        full = pellucid.full((sz, sz), float("-inf"), device=device, dtype=dtype)
        return full.triu(1)
