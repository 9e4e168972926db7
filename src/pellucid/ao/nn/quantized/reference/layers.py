"""Layers with one weight: linear, convolutions, embeddings."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor, nn
from pellucid.ao.nn.quantized.reference.weights import OneWeight
from pellucid.nn import functional as F


class Linear(OneWeight, nn.Linear):
    """``nn.Linear`` with a rounded weight.

    >>> layer = torch.ao.nn.quantized.reference.Linear(3, 2)
    >>> layer(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias_: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias_, device, dtype)
        self.take_scales("weight", weight_qparams)

    def forward(self, x: Tensor) -> Tensor:
        """``x @ rounded.T + bias``"""
        return F.linear(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_linear: Any, weight_qparams: dict[str, Any]) -> Any:
        """Converts a float layer."""
        sizes = float_linear.in_features, float_linear.out_features
        has_bias = float_linear.bias is not None
        made = cls(*sizes, has_bias, weight_qparams=weight_qparams)
        return _with_parameters_of(float_linear, made)


def _with_parameters_of(layer: Any, made: Any) -> Any:
    made.weight = nn.Parameter(layer.weight.detach())
    if layer.bias is not None:
        made.bias = nn.Parameter(layer.bias.detach())
    return made


class _Convolution(OneWeight):
    def __init__(
        self: Any,
        *args: Any,
        weight_qparams: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.take_scales("weight", weight_qparams)

    def forward(self: Any, x: Tensor) -> Any:
        """The convolution with the rounded weight."""
        return self._conv_forward(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls: Any, float_conv: Any, weight_qparams: dict[str, Any]) -> Any:
        """Converts a float layer."""
        names = (
            *("in_channels", "out_channels", "kernel_size", "stride", "padding"),
            *("dilation", "groups", "padding_mode"),
        )
        given = {name: getattr(float_conv, name) for name in names}
        if float_conv.transposed:
            given["output_padding"] = float_conv.output_padding
        has_bias = float_conv.bias is not None
        made = cls(**given, bias=has_bias, weight_qparams=weight_qparams)
        return _with_parameters_of(float_conv, made)


class Conv1d(_Convolution, nn.Conv1d):
    """``nn.Conv1d`` with a rounded weight."""


class Conv2d(_Convolution, nn.Conv2d):
    """``nn.Conv2d`` with a rounded weight."""


class Conv3d(_Convolution, nn.Conv3d):
    """``nn.Conv3d`` with a rounded weight."""


class _Transposed(_Convolution):
    def forward(self: Any, x: Tensor, output_size: Any = None) -> Any:
        """The transposed convolution with the rounded weight."""
        function = getattr(F, f"conv_transpose{self.dims}d")
        return function(
            *(x, self.get_weight(), self.bias, self.stride, self.padding),
            *(self._output_padding(x, output_size), self.groups, self.dilation),
        )


class ConvTranspose1d(_Transposed, nn.ConvTranspose1d):
    """``nn.ConvTranspose1d`` with a rounded weight."""


class ConvTranspose2d(_Transposed, nn.ConvTranspose2d):
    """``nn.ConvTranspose2d`` with a rounded weight."""


class ConvTranspose3d(_Transposed, nn.ConvTranspose3d):
    """``nn.ConvTranspose3d`` with a rounded weight."""


class Embedding(OneWeight, nn.Embedding):
    """``nn.Embedding`` with rounded rows."""

    def __init__(
        self, *args: Any, weight_qparams: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.take_scales("weight", weight_qparams)

    def forward(self, input: Tensor) -> Tensor:
        """The rounded rows of ``input``."""
        return F.embedding(
            *(input, self.get_weight(), self.padding_idx, self.max_norm),
            *(self.norm_type, self.scale_grad_by_freq, self.sparse),
        )

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: dict[str, Any]) -> Any:
        """Converts a float layer."""
        return cls(
            *(mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm),
            *(mod.norm_type, mod.scale_grad_by_freq, mod.sparse, mod.weight),
            weight_qparams=weight_qparams,
        )


class EmbeddingBag(OneWeight, nn.EmbeddingBag):
    """``nn.EmbeddingBag`` with rounded rows."""

    def __init__(
        self, *args: Any, weight_qparams: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.take_scales("weight", weight_qparams)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Bags of rounded rows."""
        return F.embedding_bag(
            *(input, self.get_weight(), offsets, self.max_norm, self.norm_type),
            *(self.scale_grad_by_freq, self.mode, self.sparse, per_sample_weights),
            *(self.include_last_offset, self.padding_idx),
        )

    @classmethod
    def from_float(cls, mod: Any, weight_qparams: dict[str, Any]) -> Any:
        """Converts a float layer."""
        return cls(
            *(mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type),
            *(mod.scale_grad_by_freq, mod.mode, mod.sparse, mod.weight),
            include_last_offset=mod.include_last_offset,
            padding_idx=mod.padding_idx,
            weight_qparams=weight_qparams,
        )
