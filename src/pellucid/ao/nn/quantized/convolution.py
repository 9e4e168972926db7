"""Convolutions with int8 weights and quantized results."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.scaled import Scaled
from pellucid.ao.nn.quantized.weights import WithWeight, inner

# Attributes that a float convolution derives from its arguments.
_GEOMETRY = (
    *("in_channels", "out_channels", "kernel_size", "stride", "padding"),
    *("dilation", "transposed", "output_padding", "groups", "padding_mode"),
    "_reversed_padding_repeated_twice",
)


class _Convolution(WithWeight, Scaled, nn.Module):
    """A convolution of ``DIMS`` dims; ``_float_module`` is its float form."""

    _float_module: Any = None
    _OP = ""
    DIMS = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        layer = self._float_module(*args, **{**kwargs, "dtype": None, "device": "meta"})
        self._take_geometry(layer)
        shape = layer.weight.shape
        weight = pellucid.quantize_per_tensor(
            pellucid.zeros(shape), 1.0, 0, pellucid.qint8
        )
        outputs = layer.out_channels
        bias = pellucid.zeros(outputs) if layer.bias is not None else None
        self.set_weight_bias(weight, bias)
        self.scale, self.zero_point = 1.0, 0

    def _take_geometry(self, layer: Any) -> None:
        for name in _GEOMETRY:
            setattr(self, name, getattr(layer, name))
        if self.padding_mode not in ("zeros", "reflect"):
            raise NotImplementedError(
                f"padding_mode={self.padding_mode!r}: quantized convolutions have "
                "'zeros' and 'reflect'"
            )
        if isinstance(self.padding, str):
            raise NotImplementedError(
                f"padding={self.padding!r}: give the padding of each dim as numbers"
            )

    def set_weight_bias(self, w: Tensor, b: Tensor | None) -> None:
        """Replaces both."""
        kind = "conv_transpose" if self.transposed else "conv"
        none = [0] * self.DIMS
        padding = self.padding if self.padding_mode == "zeros" else none
        given = [self.stride, padding]
        if self.transposed:
            given.append(self.output_padding)
        given += [self.dilation, self.groups]
        self._packed_params = called(f"{kind}{self.DIMS}d_prepack", w, b, *given)

    def _weight_bias(self) -> Any:
        return self._packed_params.unpack()

    def weight(self) -> Tensor:
        """The quantized weight."""
        found: Tensor = self._packed_params.weight()
        return found

    def bias(self) -> Tensor | None:
        """The bias, float."""
        found: Tensor | None = self._packed_params.bias()
        return found

    def _padded(self, input: Tensor) -> Tensor:
        if len(input.shape) != self.DIMS + 2:
            raise ValueError(
                f"Input shape must be (N, C, ...) with {self.DIMS} dims behind; it is "
                f"{list(input.shape)}"
            )
        if self.padding_mode == "zeros":
            return input
        twice = self._reversed_padding_repeated_twice
        return nn.functional.pad(input, twice, mode=self.padding_mode)

    def forward(self, input: Tensor) -> Any:
        """``input``: quantized; the result is quantized, too."""
        x = self._padded(input)
        given = self._packed_params, self.scale, self.zero_point
        return called(self._OP, x, *given)

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        weight, bias = self._weight_bias()
        destination[prefix + "weight"], destination[prefix + "bias"] = weight, bias
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        *rest: Any,
    ) -> None:
        names = [prefix + "weight", prefix + "bias"]
        missing = [name for name in names if name not in state_dict]
        if missing:
            rest[0].extend(missing)
        else:
            self.set_weight_bias(*map(state_dict.pop, names))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *rest)

    def _get_name(self) -> str:
        return f"Quantized{self._float_module.__name__}"

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, scale={self.scale}, zero_point={self.zero_point}"
        )
        none = (0,) * self.DIMS
        for name, plain in (("padding", none), ("output_padding", none)):
            if getattr(self, name) != plain:
                text += f", {name}={getattr(self, name)}"
        if self.dilation != (1,) * self.DIMS:
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias() is not None else text + ", bias=False"

    @classmethod
    def _like(cls, mod: Any) -> Any:
        made = cls.__new__(cls)
        nn.Module.__init__(made)
        made._take_geometry(inner(mod))
        return made


class Conv1d(_Convolution):
    """``nn.Conv1d`` of quantized tensors."""

    _float_module, _OP, DIMS = nn.Conv1d, "conv1d", 1


class Conv2d(_Convolution):
    """``nn.Conv2d`` of quantized tensors."""

    _float_module, _OP, DIMS = nn.Conv2d, "conv2d", 2


class Conv3d(_Convolution):
    """``nn.Conv3d`` of quantized tensors."""

    _float_module, _OP, DIMS = nn.Conv3d, "conv3d", 3


class ConvTranspose1d(_Convolution):
    """``nn.ConvTranspose1d`` of quantized tensors."""

    _float_module, _OP, DIMS = nn.ConvTranspose1d, "conv_transpose1d", 1


class ConvTranspose2d(_Convolution):
    """``nn.ConvTranspose2d`` of quantized tensors."""

    _float_module, _OP, DIMS = nn.ConvTranspose2d, "conv_transpose2d", 2


class ConvTranspose3d(_Convolution):
    """``nn.ConvTranspose3d`` of quantized tensors."""

    _float_module, _OP, DIMS = nn.ConvTranspose3d, "conv_transpose3d", 3
