"""Lazy layers: the number of input features is taken from the first input.

Their weights are ``UninitializedParameter``s until then; the first call changes the
module's class to the ordinary one, ``cls_to_become``.
"""

from __future__ import annotations

import itertools
from typing import Any

from pellucid import Tensor
from pellucid.nn.modules import batchnorm, conv, instancenorm, linear
from pellucid.nn.parameter import (
    UninitializedBuffer,
    UninitializedParameter,
    is_lazy,
)


class LazyModuleMixin:
    """Mixed into a Module: ``initialize_parameters(*input)`` runs before the first
    call.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_lazy_load)  # type: ignore[attr-defined]
        self._initialize_hook = self.register_forward_pre_hook(  # type: ignore[attr-defined]
            _infer_parameters, with_kwargs=True
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer still lacks its shape."""
        tables = (self._parameters, self._buffers)  # type: ignore[attr-defined]
        values = itertools.chain(*(table.values() for table in tables))
        return any(is_lazy(value) for value in values)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters their shapes; every lazy module must define it."""
        raise NotImplementedError(
            f"{type(self).__name__} must define initialize_parameters"
        )


def _infer_parameters(module: Any, args: Any, kwargs: Any) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(
            f"{type(module).__name__}.initialize_parameters left a parameter without "
            "a shape"
        )
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _lazy_load(
    module: Any, state_dict: dict[str, Any], prefix: str, *rest: Any
) -> None:
    """Takes the shapes from a state dict."""
    tables = (module._parameters, module._buffers)
    for name, value in itertools.chain(*(table.items() for table in tables)):
        given = state_dict.get(prefix + name)
        if given is not None and is_lazy(value) and not is_lazy(given):
            value.materialize(given.shape)


class LazyLinear(LazyModuleMixin, linear.Linear):
    """A Linear whose ``in_features`` is the last size of the first input."""

    cls_to_become = linear.Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        options = {"device": device, "dtype": dtype}
        self.weight = UninitializedParameter(**options)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()


class _LazyConv(LazyModuleMixin):
    """What lazy convolutions share."""

    def __init__(
        self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any
    ) -> None:
        names = self._option_names
        options = dict(zip(names, args, strict=False)) | kwargs
        bias = options.pop("bias", True)
        super().__init__(0, 0, kernel_size, bias=False, **options)
        factory: dict[str, Any] = {k: options.get(k) for k in ("device", "dtype")}
        self.weight = UninitializedParameter(**factory)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**factory)

    _option_names: tuple[str, ...]

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:  # type: ignore[attr-defined]
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        layer: Any = self
        if input.dim() not in (layer.dims + 1, layer.dims + 2):
            raise RuntimeError(
                f"{type(self).__name__} takes {layer.dims + 1} or {layer.dims + 2} "
                f"dimensions, not {input.dim()}"
            )
        layer.in_channels = input.shape[input.dim() - layer.dims - 1]
        first, second = layer.out_channels, layer.in_channels
        if layer.transposed:
            first, second = second, first
        if layer.in_channels % layer.groups:
            raise ValueError(
                f"{layer.in_channels} channels do not divide into {layer.groups} groups"
            )
        layer.weight.materialize((first, second // layer.groups, *layer.kernel_size))
        if layer.bias is not None:
            layer.bias.materialize((layer.out_channels,))
        self.reset_parameters()


_CONV_OPTIONS = (
    *("stride", "padding", "dilation", "groups", "bias", "padding_mode"),
    *("device", "dtype"),
)
_TRANSPOSED_OPTIONS = (
    *("stride", "padding", "output_padding", "groups", "bias", "dilation"),
    *("padding_mode", "device", "dtype"),
)


class LazyConv1d(_LazyConv, conv.Conv1d):
    """A Conv1d whose ``in_channels`` is that of the first input."""

    cls_to_become = conv.Conv1d
    _option_names = _CONV_OPTIONS


class LazyConv2d(_LazyConv, conv.Conv2d):
    """A Conv2d whose ``in_channels`` is that of the first input."""

    cls_to_become = conv.Conv2d
    _option_names = _CONV_OPTIONS


class LazyConv3d(_LazyConv, conv.Conv3d):
    """A Conv3d whose ``in_channels`` is that of the first input."""

    cls_to_become = conv.Conv3d
    _option_names = _CONV_OPTIONS


class LazyConvTranspose1d(_LazyConv, conv.ConvTranspose1d):
    """A ConvTranspose1d whose ``in_channels`` is that of the first input."""

    cls_to_become = conv.ConvTranspose1d
    _option_names = _TRANSPOSED_OPTIONS


class LazyConvTranspose2d(_LazyConv, conv.ConvTranspose2d):
    """A ConvTranspose2d whose ``in_channels`` is that of the first input."""

    cls_to_become = conv.ConvTranspose2d
    _option_names = _TRANSPOSED_OPTIONS


class LazyConvTranspose3d(_LazyConv, conv.ConvTranspose3d):
    """A ConvTranspose3d whose ``in_channels`` is that of the first input."""

    cls_to_become = conv.ConvTranspose3d
    _option_names = _TRANSPOSED_OPTIONS


class _LazyNorm(LazyModuleMixin):
    """What lazy batch and instance norms share."""

    _defaults: tuple[bool, bool]

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool | None = None,
        track_running_stats: bool | None = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        usual_affine, usual_track = self._defaults
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = usual_affine if affine is None else affine
        self.track_running_stats = (
            usual_track if track_running_stats is None else track_running_stats
        )
        layer: Any = self
        options = {"device": device, "dtype": dtype}
        if self.affine:
            layer.weight = UninitializedParameter(**options)
            if bias:
                layer.bias = UninitializedParameter(**options)
        if self.track_running_stats:
            layer.running_mean = UninitializedBuffer(**options)
            layer.running_var = UninitializedBuffer(**options)
            layer.num_batches_tracked = layer._zero_count(device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:  # type: ignore[attr-defined]
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        layer: Any = self
        layer.num_features = input.shape[1]
        for value in (layer.weight, layer.bias, layer.running_mean, layer.running_var):
            if is_lazy(value):
                value.materialize((layer.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, batchnorm.BatchNorm1d):
    """A BatchNorm1d whose ``num_features`` is the first input's number of channels."""

    cls_to_become = batchnorm.BatchNorm1d
    _defaults = (True, True)


class LazyBatchNorm2d(_LazyNorm, batchnorm.BatchNorm2d):
    """A BatchNorm2d whose ``num_features`` is the first input's number of channels."""

    cls_to_become = batchnorm.BatchNorm2d
    _defaults = (True, True)


class LazyBatchNorm3d(_LazyNorm, batchnorm.BatchNorm3d):
    """A BatchNorm3d whose ``num_features`` is the first input's number of channels."""

    cls_to_become = batchnorm.BatchNorm3d
    _defaults = (True, True)


class LazyInstanceNorm1d(_LazyNorm, instancenorm.InstanceNorm1d):
    """An InstanceNorm1d whose ``num_features`` is the first input's number of
    channels.
    """

    cls_to_become = instancenorm.InstanceNorm1d
    _defaults = (True, True)


class LazyInstanceNorm2d(_LazyNorm, instancenorm.InstanceNorm2d):
    """An InstanceNorm2d whose ``num_features`` is the first input's number of
    channels.
    """

    cls_to_become = instancenorm.InstanceNorm2d
    _defaults = (True, True)


class LazyInstanceNorm3d(_LazyNorm, instancenorm.InstanceNorm3d):
    """An InstanceNorm3d whose ``num_features`` is the first input's number of
    channels.
    """

    cls_to_become = instancenorm.InstanceNorm3d
    _defaults = (True, True)
