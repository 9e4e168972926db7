"""``torch.ao.nn.qat``: layers with fake-quantized weights."""

from __future__ import annotations

from typing import Any

from pellucid import Tensor, nn
from pellucid.nn import functional as F


class Rounding:
    """A float layer whose weight is passed through ``weight_fake_quant``."""

    _FLOAT_MODULE: Any = None
    _ROOT: Any = None  # the float layer with the weight
    _WITH_RELU: Any = None  # the float layer followed by relu, for layers that have it
    qconfig: Any
    weight_fake_quant: Any

    def _start(self: Any, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.weight_fake_quant = qconfig.weight()

    @classmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer with the parameters of a float one."""
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for "
                f"{cls._FLOAT_MODULE.__name__}, not {type(mod).__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        layer = mod[0] if isinstance(mod, nn.Sequential) else mod
        made = cls._like(layer, mod.qconfig)
        made.weight = layer.weight
        if getattr(layer, "bias", None) is not None:
            made.bias = layer.bias
        made.train(mod.training)
        return made

    def to_float(self: Any) -> Any:
        """The float layer with these parameters; a batch norm is folded in."""
        weight, bias = self.folded()
        made = self._plain()
        made.weight = nn.Parameter(weight.detach())
        if bias is not None:
            made.bias = nn.Parameter(bias.detach())
        if self._WITH_RELU is not None:
            made = self._WITH_RELU(made, nn.ReLU())
        return made.train(self.training)

    def folded(self: Any) -> tuple[Any, Any]:
        """(weight, bias) of ``to_float``"""
        return self.weight, getattr(self, "bias", None)


class Linear(Rounding, nn.Linear):
    """``nn.Linear`` with a rounded weight.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.qat.Linear(3, 2, qconfig=qconfig)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    _ROOT = _FLOAT_MODULE = nn.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device, dtype)
        self._start(qconfig)

    def forward(self, input: Tensor) -> Tensor:
        """``input @ rounded.T + bias``"""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def _like(cls, layer: Any, qconfig: Any) -> Any:
        has_bias = layer.bias is not None
        return cls(layer.in_features, layer.out_features, has_bias, qconfig)

    def _plain(self) -> Any:
        has_bias = self.bias is not None
        return self._ROOT(self.in_features, self.out_features, has_bias)


class _Convolution(Rounding):
    def __init__(
        self: Any,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            *(in_channels, out_channels, kernel_size, stride, padding, dilation),
            *(groups, bias, padding_mode, device, dtype),
        )
        self._start(qconfig)

    def forward(self: Any, input: Tensor) -> Tensor:
        """The convolution with the rounded weight."""
        weight = self.weight_fake_quant(self.weight)
        made: Tensor = self._conv_forward(input, weight, self.bias)
        return made

    @classmethod
    def _like(cls: Any, layer: Any, qconfig: Any) -> Any:
        return cls(*geometry(layer), padding_mode=layer.padding_mode, qconfig=qconfig)

    def _plain(self: Any) -> Any:
        return self._ROOT(*geometry(self), padding_mode=self.padding_mode)


def geometry(layer: Any) -> tuple[Any, ...]:
    """The arguments of a convolution up to ``bias``."""
    return (
        *(layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride),
        *(layer.padding, layer.dilation, layer.groups, layer.bias is not None),
    )


class Conv1d(_Convolution, nn.Conv1d):
    """``nn.Conv1d`` with a rounded weight."""

    _ROOT = _FLOAT_MODULE = nn.Conv1d


class Conv2d(_Convolution, nn.Conv2d):
    """``nn.Conv2d`` with a rounded weight."""

    _ROOT = _FLOAT_MODULE = nn.Conv2d


class Conv3d(_Convolution, nn.Conv3d):
    """``nn.Conv3d`` with a rounded weight."""

    _ROOT = _FLOAT_MODULE = nn.Conv3d


class Embedding(Rounding, nn.Embedding):
    """``nn.Embedding`` with rounded rows."""

    _ROOT = _FLOAT_MODULE = nn.Embedding

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._start(qconfig)

    def forward(self, input: Tensor) -> Tensor:
        """The rounded rows of ``input``."""
        return F.embedding(
            input,
            self.weight_fake_quant(self.weight),
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def _like(cls, layer: Any, qconfig: Any) -> Any:
        return cls(*_arguments(layer), qconfig=qconfig)

    def _plain(self) -> Any:
        return self._ROOT(*_arguments(self))


def _arguments(layer: Any) -> tuple[Any, ...]:
    return (
        *(layer.num_embeddings, layer.embedding_dim, layer.padding_idx),
        *(layer.max_norm, layer.norm_type, layer.scale_grad_by_freq, layer.sparse),
    )


class EmbeddingBag(Rounding, nn.EmbeddingBag):
    """``nn.EmbeddingBag`` with rounded rows."""

    _ROOT = _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._start(qconfig)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """Bags of rounded rows."""
        return F.embedding_bag(
            *(input, self.weight_fake_quant(self.weight), offsets, self.max_norm),
            *(self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse),
            *(per_sample_weights, self.include_last_offset, self.padding_idx),
        )

    @classmethod
    def _like(cls, layer: Any, qconfig: Any) -> Any:
        return cls(**_bag_arguments(layer), qconfig=qconfig)

    def _plain(self) -> Any:
        return self._ROOT(**_bag_arguments(self))


def _bag_arguments(layer: Any) -> dict[str, Any]:
    names = (
        *("num_embeddings", "embedding_dim", "max_norm", "norm_type", "mode"),
        *("scale_grad_by_freq", "sparse", "include_last_offset", "padding_idx"),
    )
    return {name: getattr(layer, name) for name in names}


__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]


def __getattr__(name: str) -> object:
    """Imports ``dynamic`` at first use."""
    if name == "dynamic":
        from importlib import import_module

        return import_module("pellucid.ao.nn.qat.dynamic")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
